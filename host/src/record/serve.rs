//! `/debug/record`: a recording, as it is made.
//!
//! It is served to whoever is on the host's own machine and nobody else: in a cluster, those who may forward a port of its pod or run
//! commands in it, which the API server decides and audits. Objects are worth more care than what else the server shows.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::connect_info::{ConnectInfo, Connected};
use axum::http::header::{CONTENT_TYPE, HOST};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::serve::IncomingStream;
use gyre_sandbox::Bytes;
use tokio::net::TcpListener;

use super::format::Secrets;
use super::session::{self, Wanted};
use super::{Bounds, Recordings};
use crate::admin::Secure;
use crate::mounts::Mounts;
use crate::mounts::live::Ground;
use crate::mounts::mount::{Lead, Mount};
use crate::telemetry::metrics::Metrics;

/// Where it is.
pub(crate) const PATH: &str = "/debug/record";

/// Unless it is said otherwise.
pub(crate) const CALLS: u64 = 1_000;
/// Unless it is said otherwise.
pub(crate) const TIME: Duration = Duration::from_secs(60);
/// Unless it is said otherwise.
pub(crate) const BYTES: u64 = 64 << 20;
/// A recording is no log.
pub(crate) const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// Both ends of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    peer: IpAddr,
    /// None: it cannot be told.
    own: Option<IpAddr>,
}

impl Connected<IncomingStream<'_, Secure>> for Ends {
    fn connect_info(stream: IncomingStream<'_, Secure>) -> Self {
        let own = stream.io().get_ref().0.local_addr().ok();
        Self { peer: stream.remote_addr().ip(), own: own.map(|address| address.ip()) }
    }
}

impl Connected<IncomingStream<'_, TcpListener>> for Ends {
    fn connect_info(stream: IncomingStream<'_, TcpListener>) -> Self {
        let own = stream.io().local_addr().ok();
        Self { peer: stream.remote_addr().ip(), own: own.map(|address: SocketAddr| address.ip()) }
    }
}

impl Ends {
    /// Both have to be: a proxy beside the host may pass on from a loopback address what comes from elsewhere.
    fn are_local(self) -> bool {
        let is_local = |address: IpAddr| address.to_canonical().is_loopback();
        is_local(self.peer) && self.own.is_some_and(is_local)
    }
}

/// What of a host it takes to serve recordings.
#[derive(Clone)]
pub(crate) struct Recorded {
    pub(crate) recordings: Recordings,
    /// Whether values of Secrets may be asked for.
    pub(crate) most: Secrets,
}

/// What a request asks for.
#[derive(Debug, PartialEq, Eq)]
struct Query {
    mount: Option<String>,
    bounds: Bounds,
    time: Duration,
    secrets: Secrets,
    again: Again,
}

/// Whether the plugin is to be called about objects that have not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Again {
    Yes,
    No,
}

impl Query {
    fn parse(query: &str) -> Result<Self, String> {
        let mut parsed = Self {
            mount: None,
            bounds: Bounds { calls: CALLS, bytes: BYTES },
            time: TIME,
            secrets: Secrets::Redacted,
            again: Again::No,
        };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let number = || value.parse::<u64>().map_err(|_| format!("{key} is a number, not {value:?}"));
            match (key, value) {
                ("mount", name) => parsed.mount = Some(name.to_owned()),
                ("calls", _) => parsed.bounds.calls = number()?,
                ("bytes", _) => parsed.bounds.bytes = number()?,
                ("seconds", _) => parsed.time = Duration::from_secs(number()?).min(LONGEST),
                ("secrets", "keep") => parsed.secrets = Secrets::Kept,
                ("secrets", "redact") => parsed.secrets = Secrets::Redacted,
                ("again", "yes") => parsed.again = Again::Yes,
                ("again", "no") => parsed.again = Again::No,
                _ => {
                    return Err(format!(
                        "{pair:?} means nothing here; there are mount, calls, bytes, seconds, secrets and again"
                    ));
                }
            }
        }
        Ok(parsed)
    }
}

/// What the answer is made from.
pub(crate) struct Host<'a> {
    pub(crate) recorded: &'a Recorded,
    pub(crate) mounts: &'a Mounts,
    pub(crate) metrics: &'a Arc<Metrics>,
    pub(crate) ground: Option<&'a Arc<Ground>>,
}

/// Whether a request names the host by its address. A page in a browser on the machine may have a name of its own come to mean that, and
/// is to read nothing.
fn is_by_address(headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()?.parse::<Authority>().ok());
    host.is_some_and(|host| {
        let name = host.host().trim_matches(['[', ']']);
        name == "localhost" || name.parse::<IpAddr>().is_ok()
    })
}

/// Answers a request.
pub(crate) fn answer(ConnectInfo(ends): ConnectInfo<Ends>, headers: &HeaderMap, query: &str, host: &Host<'_>) -> Response {
    if !ends.are_local() || !is_by_address(headers) {
        let text = "calls are recorded for those on the host's own machine only; in a cluster, use kubectl port-forward, or kubectl exec \
                    and gyre record\n";
        return (StatusCode::FORBIDDEN, text).into_response();
    }
    match record(query, host) {
        Ok(body) => ([(CONTENT_TYPE, "application/jsonl")], body).into_response(),
        Err((status, text)) => (status, text + "\n").into_response(),
    }
}

fn record(query: &str, host: &Host<'_>) -> Result<Body, (StatusCode, String)> {
    let bad = |text: String| (StatusCode::BAD_REQUEST, text);
    let query = Query::parse(query).map_err(bad)?;
    let mount = find(query.mount.as_deref(), host.mounts).map_err(|text| (StatusCode::NOT_FOUND, text))?;
    if query.secrets == Secrets::Kept && host.recorded.most == Secrets::Redacted {
        let text = "this host does not record values of Secrets; it does when it is started with --record-secrets";
        return Err((StatusCode::FORBIDDEN, text.to_owned()));
    }
    if mount.leads() == Lead::No {
        let text = format!("this replica does not work for {}; ask the one that does: its Lease names the pod", mount.name);
        return Err((StatusCode::CONFLICT, text));
    }
    let wanted = Wanted { mount: Arc::clone(&mount.name), bounds: query.bounds, time: query.time, secrets: query.secrets };
    let known: Vec<Bytes> = match query.secrets {
        Secrets::Kept => Vec::new(),
        Secrets::Redacted => mount.live().map(|live| live.secrets()).unwrap_or_default(),
    };
    let lines = session::start(&host.recorded.recordings, wanted, known, host.metrics)
        .map_err(|error| (StatusCode::TOO_MANY_REQUESTS, error.to_string()))?;
    if let (Again::Yes, Some(ground)) = (query.again, host.ground) {
        mount.call_again(&ground.queue);
    }
    let stream = futures::stream::unfold(lines, async |mut lines| {
        let line = lines.recv().await?;
        Some((Ok::<_, std::convert::Infallible>(line), lines))
    });
    Ok(Body::from_stream(stream))
}

/// The mount of that name; without one, the only one there is.
fn find(name: Option<&str>, mounts: &Mounts) -> Result<Arc<Mount>, String> {
    let all = mounts.all();
    let names = || all.iter().map(|(mount, _)| &*mount.name).collect::<Vec<_>>().join(", ");
    match (name, all.as_slice()) {
        (None, [(only, _)]) => Ok(Arc::clone(only)),
        (_, []) => Err("nothing is mounted".to_owned()),
        (None, _) => Err(format!("say which mount to record: {}", names())),
        (Some(name), _) => {
            let found = all.iter().find(|(mount, _)| *mount.name == *name);
            found.map(|(mount, _)| Arc::clone(mount)).ok_or_else(|| format!("there is no mount {name}; there are: {}", names()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_begins_and_ends_on_the_machine_is_local() {
        let ends =
            |peer: &str, own: Option<&str>| Ends { peer: peer.parse().unwrap(), own: own.map(|own| own.parse().unwrap()) };
        for (peer, own) in [("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("::ffff:127.0.0.1", "::ffff:127.0.0.1")] {
            assert!(ends(peer, Some(own)).are_local(), "{peer} {own}");
        }
        for (peer, own) in [("10.0.0.7", "10.0.0.8"), ("127.0.0.6", "10.0.0.8"), ("::ffff:10.0.0.7", "::1")] {
            assert!(!ends(peer, Some(own)).are_local(), "{peer} {own}");
        }
        assert!(!ends("127.0.0.1", None).are_local());
    }

    #[test]
    fn a_host_that_is_called_by_another_name_answers_nobody() {
        for (host, expected) in [
            ("127.0.0.1:2112", true),
            ("[::1]:2112", true),
            ("localhost:8080", true),
            ("localhost", true),
            ("evil.example:2112", false),
            ("127.0.0.1.evil.example", false),
            ("", false),
        ] {
            assert_eq!(is_by_address(&HeaderMap::from_iter([(HOST, host.parse().unwrap())])), expected, "{host}");
        }
        assert!(!is_by_address(&HeaderMap::new()));
    }

    #[test]
    fn a_query_says_what_is_recorded_or_what_is_wrong() {
        let parsed = Query::parse("mount=echo&calls=5&bytes=6&seconds=7&secrets=keep&again=yes").unwrap();
        let expected = Query {
            mount: Some("echo".to_owned()),
            bounds: Bounds { calls: 5, bytes: 6 },
            time: Duration::from_secs(7),
            secrets: Secrets::Kept,
            again: Again::Yes,
        };
        assert_eq!(parsed, expected);
        assert_eq!(Query::parse(&format!("seconds={}", u64::MAX)).unwrap().time, LONGEST);
        for wrong in ["calls=many", "secrets=all", "what"] {
            assert!(Query::parse(wrong).is_err(), "{wrong}");
        }
    }
}
