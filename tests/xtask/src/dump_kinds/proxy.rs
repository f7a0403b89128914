//! Reads from the API server with an `Accept` header, which `kubectl get --raw` does not send.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use gyre_controlplane::{ControlPlane, Guarded};
use serde_json::Value;

/// The timeout for `kubectl proxy` and for the API server to serve everything.
const PATIENCE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(100);

/// `kubectl proxy` on a socket: it does TLS and authentication, so that plain HTTP is enough here.
pub(super) struct Proxy {
    socket: PathBuf,
    _process: Guarded,
}

impl Proxy {
    pub(super) fn start(plane: &ControlPlane) -> anyhow::Result<Self> {
        let socket = plane.folder().join("proxy.sock");
        let mut command = plane.kubectl();
        command.arg("proxy").arg(format!("--unix-socket={}", socket.display()));
        let log = plane.logs_dir().join("proxy.log");
        let process = Guarded::spawn("proxy", &command, &log, Duration::from_secs(1))?;
        let proxy = Self { socket, _process: process };
        wait("kubectl proxy does not listen", || Ok(UnixStream::connect(&proxy.socket).ok()))?;
        Ok(proxy)
    }

    pub(super) fn json(&self, path: &str, accept: &str) -> anyhow::Result<Value> {
        serde_json::from_str(&self.get(path, accept)?).with_context(|| format!("{path} is no JSON"))
    }

    /// Returns the unchanged body of the answer to a GET of `path`, which is JSON. Retries, because
    /// schemas are published some time after the server is ready.
    pub(super) fn text(&self, path: &str) -> anyhow::Result<String> {
        let text = wait(&format!("{path} is not served"), || Ok(self.get(path, "application/json").ok()))?;
        serde_json::from_str::<Value>(&text).with_context(|| format!("{path} is no JSON"))?;
        Ok(text)
    }

    fn get(&self, path: &str, accept: &str) -> anyhow::Result<String> {
        let mut stream = UnixStream::connect(&self.socket).context("cannot reach kubectl proxy")?;
        // HTTP/1.0: the answer is not chunked and ends with the connection.
        write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\nAccept: {accept}\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).with_context(|| format!("cannot read {path}"))?;
        let (head, body) = answer.split_once("\r\n\r\n").with_context(|| format!("{path}: an answer without a head"))?;
        let status = head.lines().next().unwrap_or_default();
        ensure!(status.split(' ').nth(1) == Some("200"), "{path}: {status}");
        Ok(body.to_string())
    }
}

/// Tries until there is a result. Errors: of `attempt`, or the timeout.
pub(super) fn wait<T>(complaint: &str, mut attempt: impl FnMut() -> anyhow::Result<Option<T>>) -> anyhow::Result<T> {
    let start = Instant::now();
    loop {
        if let Some(result) = attempt()? {
            return Ok(result);
        }
        if start.elapsed() > PATIENCE {
            bail!("{complaint} after {} s", PATIENCE.as_secs());
        }
        std::thread::sleep(POLL);
    }
}
