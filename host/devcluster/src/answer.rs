//! The answers of the server.

use std::collections::HashSet;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::Value;

use crate::status::Status;
use crate::watch::Watch;

/// The answer to a request.
#[derive(Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: StatusCode,
    /// The headers, including `content-type`.
    pub headers: HeaderMap,
    /// The body.
    pub body: Body,
}

/// The body of an [`Answer`].
#[derive(Debug)]
pub enum Body {
    /// A complete body.
    Full(Bytes),
    /// Events of a watch, from [`crate::Server::watch`].
    Watch(Box<Watch>),
}

impl Answer {
    /// A complete answer with this content type.
    pub fn new(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
        Self { status, headers, body: Body::Full(body.into()) }
    }

    /// A JSON answer.
    pub fn json(status: StatusCode, value: &Value) -> Self {
        Self::new(status, "application/json", value.to_string())
    }

    /// A text answer.
    pub fn text(status: StatusCode, text: impl Into<Bytes>) -> Self {
        Self::new(status, "text/plain; charset=utf-8", text)
    }

    /// The answer of Go's multiplexer to unknown paths.
    pub(crate) fn no_such_page() -> Self {
        Self::text(StatusCode::NOT_FOUND, "404 page not found\n")
    }

    pub(crate) fn watch(watch: Watch) -> Self {
        let mut answer = Self::new(StatusCode::OK, "application/json", Bytes::new());
        answer.body = Body::Watch(Box::new(watch));
        answer
    }

    /// Adds `Warning` headers (RFC 7234, section 5.5), without duplicates and limited in length.
    pub(crate) fn with_warnings(mut self, warnings: &[String]) -> Self {
        for warning in cut_warnings(warnings) {
            let escaped: String = warning
                .chars()
                .filter(|character| !character.is_control())
                .flat_map(|character| match character {
                    '"' | '\\' => vec!['\\', character],
                    other => vec![other],
                })
                .collect();
            if let Ok(value) = HeaderValue::from_bytes(format!("299 - \"{escaped}\"").as_bytes()) {
                self.headers.append(header::WARNING, value);
            }
        }
        self
    }
}

/// Cuts warnings that are too long together (apiserver's `pkg/endpoints/filters/warning.go`).
fn cut_warnings(warnings: &[String]) -> Vec<String> {
    /// The maximum number of characters in total, and of each if that is exceeded.
    const ALL: usize = 4 * 1024;
    const EACH: usize = 256;
    let mut known = HashSet::new();
    let mut ordered: Vec<&String> = Vec::new();
    let mut length = 0_usize;
    for warning in warnings.iter().filter(|warning| !warning.is_empty()) {
        if !known.insert(warning) {
            continue;
        }
        ordered.push(warning);
        length = length.saturating_add(warning.chars().count());
        if length > ALL {
            break;
        }
    }
    if length <= ALL {
        return ordered.into_iter().cloned().collect();
    }
    // The warnings up to the first that was too much, then others while there is room.
    let cut = |warning: &String| warning.chars().take(EACH).collect::<String>();
    let mut sent: Vec<String> = ordered.iter().map(|warning| cut(warning)).collect();
    let mut written: usize = sent.iter().map(|warning| warning.chars().count()).sum();
    let more = warnings.iter().filter(|warning| !warning.is_empty() && !known.contains(warning)).collect::<Vec<_>>();
    let mut seen = HashSet::new();
    for warning in more {
        if written >= ALL {
            break;
        }
        if seen.insert(warning) {
            let warning = cut(warning);
            written = written.saturating_add(warning.chars().count());
            sent.push(warning);
        }
    }
    sent
}

impl From<Status> for Answer {
    fn from(status: Status) -> Self {
        let mut answer = Self::new(status.code, "application/json", status.to_text());
        let retry_after = status.details.as_ref().and_then(|details| details.get("retryAfterSeconds")).and_then(Value::as_u64);
        if let Some(seconds) = retry_after {
            answer.headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        answer.with_warnings(&status.warnings)
    }
}
