//! `/debug/record`: a recording, while it is made. Only for local clients: in a cluster, the API
//! server authorizes and audits users who forward ports or run commands in the pod.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use gyre_sandbox::Bytes;

use crate::admin::local::{self, Ends};
use crate::leadership::election::Leaders;
use crate::mounts::Mounts;
use crate::mounts::active_program::secrets;
use crate::mounts::mount::Lead;
use crate::mounts::services::HostServices;
use crate::record::format::Secrets;
use crate::record::session::{self, RecordingRequest};
use crate::record::{Bounds, Recordings};
use crate::telemetry::metrics::Metrics;

/// The path of the endpoint.
pub const PATH: &str = "/debug/record";
/// The media type of a recording.
pub const MEDIA_TYPE: &str = "application/jsonl";

/// The default maximum number of calls.
pub const CALLS: u64 = 1_000;
pub(crate) const TIME: Duration = Duration::from_secs(60);
/// The default maximum number of bytes.
pub const BYTES: u64 = 64 << 20;
/// The longest time that a request may ask for: a recording is no log.
pub const LONGEST: Duration = Duration::from_secs(24 * 3600);

#[derive(Clone)]
pub(crate) struct Recorded {
    pub(crate) recordings: Recordings,
    pub(crate) most: Secrets,
}

#[derive(Debug, PartialEq, Eq)]
struct Query {
    mount: Option<String>,
    bounds: Bounds,
    time: Duration,
    secrets: Secrets,
    again: Again,
}

/// Whether the plugin is also called for unchanged objects.
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
            let number = || value.parse::<u64>().map_err(|_| format!("{key} must be a number, not {value:?}"));
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
                        "unknown parameter {pair:?}; the parameters are mount, calls, bytes, seconds, secrets and again"
                    ));
                }
            }
        }
        Ok(parsed)
    }
}

pub(crate) struct Host<'a> {
    pub(crate) recorded: &'a Recorded,
    pub(crate) mounts: &'a Mounts,
    pub(crate) metrics: &'a Arc<Metrics>,
    pub(crate) leaders: Option<&'a Leaders>,
    pub(crate) services: Option<&'a Arc<HostServices>>,
}

pub(crate) fn answer(ends: Ends, headers: &HeaderMap, query: &str, host: &Host<'_>) -> Response {
    if !local::is_local(ends, headers) {
        let text = "recordings are served only to clients on the host's own machine; in a cluster, use kubectl port-forward, or kubectl exec \
                    and gyre record\n";
        return (StatusCode::FORBIDDEN, text).into_response();
    }
    match record(query, host) {
        Ok(body) => ([(CONTENT_TYPE, MEDIA_TYPE)], body).into_response(),
        Err((status, text)) => (status, text + "\n").into_response(),
    }
}

fn record(query: &str, host: &Host<'_>) -> Result<Body, (StatusCode, String)> {
    let bad = |text: String| (StatusCode::BAD_REQUEST, text);
    let query = Query::parse(query).map_err(bad)?;
    let mounts = host.mounts.all().into_iter().map(|(mount, _)| mount).collect();
    let mount = local::find(query.mount.as_deref(), mounts, "nothing is mounted", "record")
        .map_err(|text| (StatusCode::NOT_FOUND, text))?;
    if query.secrets == Secrets::Kept && host.recorded.most == Secrets::Redacted {
        let text = "this host does not record the values of Secrets; start it with --record-secrets to allow that";
        return Err((StatusCode::FORBIDDEN, text.to_owned()));
    }
    if mount.leads() == Lead::No {
        return Err((StatusCode::CONFLICT, local::follows(&mount, host.leaders, "record")));
    }
    let wanted =
        RecordingRequest { mount: Arc::clone(&mount.name), bounds: query.bounds, time: query.time, secrets: query.secrets };
    let known: Vec<Bytes> = match query.secrets {
        Secrets::Kept => Vec::new(),
        Secrets::Redacted => mount.active().map(|active| secrets(&active.secrets())).unwrap_or_default(),
    };
    let lines = session::start(&host.recorded.recordings, wanted, known, host.metrics)
        .map_err(|error| (StatusCode::TOO_MANY_REQUESTS, error.to_string()))?;
    if let (Again::Yes, Some(services)) = (query.again, host.services) {
        mount.call_again(&services.queue);
    }
    let stream = futures::stream::unfold(lines, async |mut lines| {
        let line = lines.recv().await?;
        Some((Ok::<_, std::convert::Infallible>(line), lines))
    });
    Ok(Body::from_stream(stream))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_parsed_or_refused_with_a_reason() {
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
