//! The arguments of the admin server.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use gyre_engine::admin::{Options, RESERVED_PATHS, Security};

use crate::config::values::{is_in_pod, whole};

/// Where the host serves probes, metrics and debug endpoints.
#[derive(Clone, Debug, Args)]
pub(crate) struct AdminArguments {
    /// Address on which to serve /healthz, /readyz, /metrics, /debug/state and, only to clients on
    /// this machine, /debug/record and /debug/shadow; "off" disables all of them [default: in a Pod
    /// 0.0.0.0, elsewhere 127.0.0.1, and the port of --metrics-port].
    #[arg(long, value_name = "ADDRESS", env = "GYRE_LISTEN")]
    listen: Option<Listen>,
    /// Port of the endpoints of the host, if --listen is not given.
    #[arg(long, value_name = "PORT", env = "GYRE_METRICS_PORT", default_value_t = 2112, value_parser = whole(0..=u16::MAX))]
    metrics_port: u16,
    /// Path of the metrics endpoint.
    #[arg(long, value_name = "PATH", env = "GYRE_METRICS_PATH", default_value = "/metrics", value_parser = path)]
    metrics_path: String,
    /// Serve metrics.
    #[arg(long, value_name = "BOOL", env = "GYRE_METRICS", action = clap::ArgAction::Set, default_value_t = true)]
    metrics: bool,
    #[command(flatten)]
    pub(crate) secure: SecureArguments,
    /// Directory of the TLS certificate (tls.crt) and its key (tls.key), which are reloaded when
    /// they change [default: a self-signed certificate].
    #[arg(long, value_name = "DIRECTORY", env = "GYRE_METRICS_CERT_PATH")]
    metrics_cert_path: Option<PathBuf>,
}

/// Whether clients need permissions.
#[derive(Clone, Debug, Args)]
pub(crate) struct SecureArguments {
    /// Serve the endpoints of the host over TLS. Clients of the metrics and of /debug/state then
    /// need a bearer token that the API server accepts, and permission to `get` the path (a
    /// nonResourceURL).
    #[arg(
        long, value_name = "BOOL", env = "GYRE_METRICS_SECURE", num_args = 0..=1, require_equals = true,
        default_value_t = false, default_missing_value = "true", action = clap::ArgAction::Set
    )]
    pub(crate) metrics_secure: bool,
}

impl AdminArguments {
    pub(crate) fn options(self) -> Option<Options> {
        let address = match self.listen {
            Some(Listen(address)) => address?,
            // The probes and scrapers of a Pod come from other machines, those of a laptop do not.
            None if is_in_pod() => (Ipv4Addr::UNSPECIFIED, self.metrics_port).into(),
            None => (Ipv4Addr::LOCALHOST, self.metrics_port).into(),
        };
        let security = match (self.secure.metrics_secure, self.metrics_cert_path) {
            (false, _) => Security::None,
            (true, None) => Security::OwnCertificate,
            (true, Some(directory)) => Security::Certificate(directory),
        };
        Some(Options { address, metrics_path: self.metrics.then_some(self.metrics_path), security })
    }
}

fn path(text: &str) -> Result<String, String> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/-_.".contains(letter);
    if text.starts_with('/') && text.len() > 1 && text.chars().all(is_plain) && !RESERVED_PATHS.contains(&text) {
        Ok(text.to_owned())
    } else {
        Err("expected a path such as /metrics, of letters, digits, /, -, _ and ., which no other endpoint has".to_owned())
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Listen(pub(crate) Option<SocketAddr>);

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "off" {
            return Ok(Self(None));
        }
        text.parse()
            .map(|address| Self(Some(address)))
            .map_err(|_| "expected an address and port such as 127.0.0.1:2112, or off".to_owned())
    }
}
