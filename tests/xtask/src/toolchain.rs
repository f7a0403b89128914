//! Installs the parts of the Rust toolchain that a command needs. `cargo` and `rustc` themselves
//! exist, because this program runs.

use std::ffi::OsString;
use std::fmt;
use std::net::{TcpStream, ToSocketAddrs as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};

use crate::build;
use crate::steps;

const FILE: &str = include_str!("../../../rust-toolchain.toml");

/// The server of rustup, unless `RUSTUP_DIST_SERVER` is set.
const SERVER: &str = "https://static.rust-lang.org";

/// The timeout of a connection; rustup itself would retry for minutes without an answer.
const REACHED_WITHIN: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// It compiles plugins, and needs the targets.
    Plugins,
    /// It also checks formatting and lints, and needs the targets and the components.
    Everything,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Target(String),
    Component(String),
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Target(name) => write!(f, "the target {name}"),
            Self::Component(name) => write!(f, "the component {name}"),
        }
    }
}

impl Part {
    fn arguments(&self) -> [&str; 3] {
        match self {
            Self::Target(name) => ["target", "add", name],
            Self::Component(name) => ["component", "add", name],
        }
    }

    fn is_installed(&self) -> anyhow::Result<bool> {
        Ok(match self {
            Self::Target(name) => {
                let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
                let folder = steps::stdout_of(program(&rustc).args(["--print", "target-libdir", "--target", name]))?;
                Path::new(folder.trim()).is_dir()
            }
            // rustup's proxy of this name exists even if the component is missing, and then fails.
            Self::Component(name) => {
                let name = if name == "clippy" { "clippy-driver" } else { name };
                succeeds(program(&name.into()).arg("--version"))
            }
        })
    }
}

/// Installs the missing parts, and prints them.
///
/// # Errors
///
/// A part cannot be installed; the error has the remedy. It comes within two seconds, unless the
/// network fails during the download.
pub(crate) fn ensure(needed: Use) -> anyhow::Result<()> {
    let missing = missing(needed)?;
    if missing.is_empty() {
        return Ok(());
    }
    let list = list(&missing);
    if !succeeds(program(&"rustup".into()).arg("--version")) {
        bail!(
            "this Rust lacks {list}, and there is no rustup to install it: install Rust with rustup (https://rustup.rs), or add \
             what is missing with your package manager"
        );
    }
    let commands: Vec<Command> = missing.iter().map(install).collect();
    let lines: Vec<String> = commands.iter().map(|command| format!("`{}`", steps::line(command))).collect();
    let lines = lines.join(" and ");
    if let Err(reason) = reach(&server()) {
        bail!("this Rust lacks {list}, and rustup cannot download it ({reason}): run {lines} when the network is there");
    }
    eprintln!("installing {list}");
    for mut command in commands {
        steps::run(&mut command).with_context(|| format!("cannot install {list}; run {lines}"))?;
    }
    let missing = self::missing(needed)?;
    ensure!(
        missing.is_empty(),
        "rustup has installed {list}, but the `rustc` on the PATH still lacks it: put the folder of rustup's programs first in PATH"
    );
    Ok(())
}

/// Returns whether programs can be compiled for a target, if there is a linker for it.
pub(crate) fn has_target(name: &str) -> anyhow::Result<bool> {
    Part::Target(name.to_owned()).is_installed()
}

fn missing(needed: Use) -> anyhow::Result<Vec<Part>> {
    let mut parts = listed("targets").map(Part::Target).collect::<Vec<_>>();
    if needed == Use::Everything {
        parts.extend(listed("components").map(Part::Component));
    }
    let mut missing = Vec::new();
    for part in parts {
        if !part.is_installed()? {
            missing.push(part);
        }
    }
    Ok(missing)
}

fn listed(key: &str) -> impl Iterator<Item = String> {
    let values = FILE.lines().find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix('='));
    values.unwrap_or_default().split('"').skip(1).step_by(2).map(str::to_owned)
}

fn list(parts: &[Part]) -> String {
    parts.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ")
}

fn install(part: &Part) -> Command {
    let mut command = program(&"rustup".into());
    // rustup prints a backtrace with its errors if this variable is set.
    command.args(part.arguments()).env("RUST_BACKTRACE", "0").stdin(Stdio::null());
    command
}

fn program(name: &OsString) -> Command {
    let mut command = Command::new(name);
    command.current_dir(build::root());
    command
}

fn succeeds(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Returns the address that rustup connects to first: its server, or a proxy.
fn server() -> String {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let server = variable("RUSTUP_DIST_SERVER").unwrap_or_else(|| SERVER.to_owned());
    let proxies: &[&str] = if server.starts_with("https:") {
        &["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
    } else {
        &["http_proxy", "all_proxy", "ALL_PROXY"]
    };
    // The list in `no_proxy` is not parsed: if it is set, the server itself is tried.
    match proxies.iter().find_map(|name| variable(name)) {
        Some(proxy) if variable("no_proxy").or_else(|| variable("NO_PROXY")).is_none() => proxy,
        _ => server,
    }
}

/// Connects to the host of a URL, and closes the connection. Errors: a short reason.
fn reach(url: &str) -> Result<(), String> {
    let Some(address) = address(url) else { return Ok(()) };
    let (sender, receiver) = mpsc::channel();
    // A thread, because name resolution has no timeout.
    let asked = address.clone();
    std::thread::spawn(move || {
        let found = asked.to_socket_addrs().map(|addresses| addresses.collect::<Vec<_>>());
        let connected = found.and_then(|addresses| {
            let mut result = Err(std::io::Error::other("it has no address"));
            for address in addresses {
                result = TcpStream::connect_timeout(&address, REACHED_WITHIN).map(drop);
                if result.is_ok() {
                    break;
                }
            }
            result
        });
        // The receiver is gone after the timeout.
        let _ = sender.send(connected);
    });
    match receiver.recv_timeout(REACHED_WITHIN) {
        Ok(connected) => connected.map_err(|error| format!("no connection to {address}: {error}")),
        Err(_) => Err(format!("no connection to {address} within {} s", REACHED_WITHIN.as_secs())),
    }
}

/// Returns `host:port` of a URL, or `None` if it has no host, e.g. `file://`.
fn address(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let port = match scheme {
        "http" => 80,
        "https" => 443,
        "socks5" | "socks5h" => 1080,
        _ => return None,
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let host = authority.rsplit('@').next().unwrap_or(authority);
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    Some(if has_port { host.to_owned() } else { format!("{host}:{port}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_toolchain_file_lists_what_the_project_needs() {
        assert_eq!(listed("targets").collect::<Vec<_>>(), ["wasm32-wasip2"]);
        assert_eq!(listed("components").collect::<Vec<_>>(), ["rustfmt", "clippy"]);
        assert_eq!(listed("profile").count(), 0);
    }

    #[test]
    fn a_url_names_the_host_to_connect_to() {
        for (url, expected) in [
            ("https://static.rust-lang.org", Some("static.rust-lang.org:443")),
            ("http://127.0.0.1:9/dist?x", Some("127.0.0.1:9")),
            ("http://user:secret@proxy", Some("proxy:80")),
            ("https://[::1]:8443", Some("[::1]:8443")),
            ("https://[::1]/", Some("[::1]:443")),
            ("socks5h://proxy", Some("proxy:1080")),
            ("file:///mirror", None),
            ("mirror", None),
        ] {
            assert_eq!(address(url).as_deref(), expected, "{url}");
        }
    }
}
