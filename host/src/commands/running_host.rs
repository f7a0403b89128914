//! Requests to the debug endpoints of a running host.

use std::io::Read as _;
use std::net::IpAddr;
use std::path::Path;
use std::pin::Pin;

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use gyre_engine::error::error_chain;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{Request, Uri};
use http_body::Body as _;
use kube::client::Body;
use kube::{Client, Config};

use crate::config::values::whole as whole_number;

/// The host to connect to.
#[derive(Clone, Debug, Args)]
pub(crate) struct HostArguments {
    /// URL of the host [default: this machine, with the port of --metrics-port].
    #[arg(long, value_name = "URL", value_parser = from)]
    from: Option<Uri>,
    /// Port of the host on this machine, if --from is not given. The chart sets the environment
    /// variable in the host's container.
    #[arg(long, value_name = "PORT", env = "GYRE_METRICS_PORT", default_value_t = 2112, value_parser = whole_number(1..=u16::MAX))]
    metrics_port: u16,
    /// Connect to this machine over TLS, if --from is not given.
    #[arg(long, value_name = "BOOL", env = "GYRE_METRICS_SECURE", num_args = 0..=1, require_equals = true,
        default_value_t = false, default_missing_value = "true", action = clap::ArgAction::Set)]
    metrics_secure: bool,
}

pub(crate) fn mount(text: &str) -> Result<String, String> {
    let remedy = "expected the name of a mount: lower-case letters, digits and hyphens";
    if gyre_core::names::is_dns_label(text) { Ok(text.to_owned()) } else { Err(remedy.to_owned()) }
}

fn from(text: &str) -> Result<Uri, String> {
    let uri = text.parse().ok().filter(|uri: &Uri| matches!(uri.scheme_str(), Some("http" | "https")));
    uri.ok_or_else(|| "expected the address of a host such as http://127.0.0.1:2112".to_owned())
}

/// The most bytes of a refusal: a host gives its reason in a sentence.
const LONGEST_REFUSAL: usize = 4096;
const REFUSAL: &str = "text/plain";

impl HostArguments {
    /// Sends GET, and returns the body of an answer with this media type.
    pub(crate) async fn get(&self, path_and_query: &str, media_type: &str) -> anyhow::Result<Body> {
        self.get_with(path_and_query, media_type, None).await
    }

    /// Like [`Self::get`], with a bearer token.
    pub(crate) async fn get_with(&self, path_and_query: &str, media_type: &str, token: Option<&str>) -> anyhow::Result<Body> {
        let scheme = if self.metrics_secure { "https" } else { "http" };
        let local =
            || Uri::try_from(format!("{scheme}://127.0.0.1:{}", self.metrics_port)).context("cannot address this machine");
        let from = self.from.clone().map_or_else(local, Ok)?;
        let mut configuration = Config::new(from.clone());
        // Local only: a program that could impersonate the host here could also read its traffic.
        configuration.accept_invalid_certs = is_this_machine(&from);
        configuration.default_retry = false;
        let client = Client::try_from(configuration).context("cannot set up the client")?;
        let authorization = token.map(|token| (AUTHORIZATION, format!("Bearer {token}")));
        let request =
            authorization.into_iter().fold(Request::get(path_and_query), |request, (name, value)| request.header(name, value));
        let request = request.body(Body::empty()).context("cannot build the request")?;
        let response = client.send(request).await.map_err(|error| {
            anyhow!(
                "no host answers at {from}; give its URL with --from, and in a cluster, forward its port with kubectl port-forward: {}",
                error_chain(&error)
            )
        })?;
        let status = response.status();
        let expected = if status.is_success() { media_type } else { REFUSAL };
        let given = response.headers().get(CONTENT_TYPE).and_then(|given| given.to_str().ok());
        let given = given.unwrap_or("no media type").split(';').next().unwrap_or_default().trim().to_owned();
        if given != expected {
            bail!(
                "{from} does not serve this endpoint: it answers {status}, with {given}; give the URL of a gyre host with --from"
            );
        }
        let mut body = response.into_body();
        if status.is_success() {
            return Ok(body);
        }
        let text = whole(&mut body, LONGEST_REFUSAL).await?;
        bail!("{}", String::from_utf8_lossy(&text).trim())
    }
}

/// The largest token file. Tokens of service accounts have about a kilobyte.
const LARGEST_TOKEN: u64 = 64 << 10;

/// Reads a bearer token from a file, or from standard input for `-`.
pub(crate) fn token(path: &Path) -> anyhow::Result<String> {
    let cannot = || format!("cannot read the token from {}; name a file that contains one", path.display());
    let source: Box<dyn std::io::Read> = if path.as_os_str() == "-" {
        Box::new(std::io::stdin())
    } else {
        Box::new(std::fs::File::open(path).with_context(cannot)?)
    };
    let mut token = String::new();
    source.take(LARGEST_TOKEN).read_to_string(&mut token).with_context(cannot)?;
    let token = token.trim();
    let is_token = !token.is_empty() && token.chars().all(|letter| letter.is_ascii_graphic());
    if is_token {
        Ok(token.to_owned())
    } else {
        bail!("{} contains no token: expected one line, as `kubectl create token` prints it", path.display())
    }
}

/// Reads at most this many bytes of a body.
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

/// The next piece of a body, or `None` at its end.
pub(crate) async fn chunk(body: &mut Body) -> anyhow::Result<Option<bytes::Bytes>> {
    loop {
        match std::future::poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await {
            None => return Ok(None),
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
            Some(Err(error)) => return Err(anyhow!("the host closed the connection in the middle of its answer: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    use super::*;

    async fn asked(answer: &'static str) -> Result<Vec<u8>, String> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let from = format!("http://{}", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 1024]).unwrap();
            write!(stream, "HTTP/1.1 {answer}").unwrap();
        });
        let arguments = HostArguments { from: Some(super::from(&from).unwrap()), metrics_port: 1, metrics_secure: false };
        let answered = async { whole(&mut arguments.get("/debug/record", "application/jsonl").await?, 100).await };
        let answered = answered.await.map_err(|error: anyhow::Error| error.to_string().replace(&from, "URL"));
        server.join().unwrap();
        answered
    }

    #[tokio::test]
    async fn answers_of_other_servers_are_refused() {
        let recording = "200 OK\r\ncontent-type: application/jsonl\r\ncontent-length: 2\r\n\r\n{}";
        assert_eq!(asked(recording).await, Ok(b"{}".to_vec()));
        let refusal = "409 Conflict\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: 8\r\n\r\nit is so";
        assert_eq!(asked(refusal).await, Err("it is so".to_owned()));
        let no_gyre = "URL/ does not serve this endpoint: it answers ";
        let page = "200 OK\r\ncontent-type: text/html\r\ncontent-length: 6\r\n\r\n<html>";
        assert_eq!(asked(page).await, Err(format!("{no_gyre}200 OK, with text/html; give the URL of a gyre host with --from")));
        let nothing = "404 Not Found\r\ncontent-length: 0\r\n\r\n";
        let said = format!("{no_gyre}404 Not Found, with no media type; give the URL of a gyre host with --from");
        assert_eq!(asked(nothing).await, Err(said));
    }
}
