//! Asking a running host for what it shows to its own machine.

use std::net::IpAddr;
use std::pin::Pin;

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use http::{Request, Uri};
use http_body::Body as _;
use kube::client::Body;
use kube::{Client, Config};

use crate::cli;
use crate::cluster::kinds::error_chain;

/// Which host is asked.
#[derive(Clone, Debug, Args)]
pub(crate) struct HostArguments {
    /// Where the host listens [default: this machine, and the port of --metrics-port].
    #[arg(long, value_name = "URL", value_parser = from)]
    from: Option<Uri>,
    /// The port on this machine, where --from does not say; in the host's own container it is known.
    #[arg(long, value_name = "PORT", env = "METRICS_PORT", default_value_t = 2112, value_parser = cli::whole(1..=u16::MAX))]
    metrics_port: u16,
    /// Whether the host serves over TLS, where --from does not say.
    #[arg(long, value_name = "BOOL", env = "METRICS_SECURE", num_args = 0..=1, require_equals = true,
        default_value_t = false, default_missing_value = "true", action = clap::ArgAction::Set)]
    metrics_secure: bool,
}

/// The name of a mount, as an argument.
///
/// # Errors
///
/// What it should be.
pub(crate) fn mount(text: &str) -> Result<String, String> {
    let remedy = "expected the name of a mount: lower-case letters, digits and hyphens";
    if gyre_core::names::is_dns_label(text) { Ok(text.to_owned()) } else { Err(remedy.to_owned()) }
}

fn from(text: &str) -> Result<Uri, String> {
    let uri = text.parse().ok().filter(|uri: &Uri| matches!(uri.scheme_str(), Some("http" | "https")));
    uri.ok_or_else(|| "expected the address of a host such as http://127.0.0.1:2112".to_owned())
}

/// A host gives its reasons in a sentence.
const LONGEST_REFUSAL: usize = 4096;

impl HostArguments {
    /// What the host answers to GET.
    ///
    /// # Errors
    ///
    /// When no host answers, and what it says against it.
    pub(crate) async fn get(&self, path_and_query: &str) -> anyhow::Result<Body> {
        let scheme = if self.metrics_secure { "https" } else { "http" };
        let local =
            || Uri::try_from(format!("{scheme}://127.0.0.1:{}", self.metrics_port)).context("cannot address this machine");
        let from = self.from.clone().map_or_else(local, Ok)?;
        let mut configuration = Config::new(from.clone());
        // The host answers its own machine only, so whoever answers here could as well read what it sends.
        configuration.accept_invalid_certs = is_this_machine(&from);
        configuration.default_retry = false;
        let client = Client::try_from(configuration).context("cannot set up the client")?;
        let request = Request::get(path_and_query).body(Body::empty()).context("cannot ask for it")?;
        let response = client.send(request).await.map_err(|error| {
            anyhow!(
                "no host answers at {from}; say with --from where it listens, and in a cluster forward its port with kubectl port-forward: {}",
                error_chain(&error)
            )
        })?;
        let status = response.status();
        let mut body = response.into_body();
        if status.is_success() {
            return Ok(body);
        }
        let text = whole(&mut body, LONGEST_REFUSAL).await?;
        let text = String::from_utf8_lossy(&text).trim().to_owned();
        match status.as_u16() {
            404 if text.is_empty() => bail!("what answers at {from} is no gyre that can say"),
            _ if text.is_empty() => bail!("the host at {from} answers {status}"),
            _ => bail!("{text}"),
        }
    }
}

/// As much of a body as that.
///
/// # Errors
///
/// When the host ends before.
pub(crate) async fn whole(body: &mut Body, most: usize) -> anyhow::Result<Vec<u8>> {
    let mut text = Vec::new();
    while let Some(chunk) = chunk(body).await? {
        let room = most.saturating_sub(text.len());
        text.extend_from_slice(chunk.get(..chunk.len().min(room)).unwrap_or_default());
        if chunk.len() > room {
            break;
        }
    }
    Ok(text)
}

fn is_this_machine(uri: &Uri) -> bool {
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The next piece of a body; none: it has ended.
///
/// # Errors
///
/// When the host ends amid it.
pub(crate) async fn chunk(body: &mut Body) -> anyhow::Result<Option<bytes::Bytes>> {
    loop {
        match std::future::poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await {
            None => return Ok(None),
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
            Some(Err(error)) => return Err(anyhow!("the host ended amid its answer: {error}")),
        }
    }
}
