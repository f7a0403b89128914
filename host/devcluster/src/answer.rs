//! What the server answers.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::Value;

use crate::status::Status;
use crate::watch::Watch;

/// The answer to a request.
#[derive(Debug)]
pub struct Answer {
    /// HTTP status.
    pub status: StatusCode,
    /// Headers, `content-type` among them.
    pub headers: HeaderMap,
    /// The body.
    pub body: Body,
}

/// The body of an [`Answer`].
#[derive(Debug)]
pub enum Body {
    /// All of it.
    Full(Bytes),
    /// Events, as they come: ask [`crate::Server::watch`] for them.
    Watch(Box<Watch>),
}

impl Answer {
    /// A body of some content type.
    pub fn new(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
        Self { status, headers, body: Body::Full(body.into()) }
    }

    /// JSON.
    pub fn json(status: StatusCode, value: &Value) -> Self {
        Self::new(status, "application/json", value.to_string())
    }

    /// Text.
    pub fn text(status: StatusCode, text: impl Into<Bytes>) -> Self {
        Self::new(status, "text/plain; charset=utf-8", text)
    }

    /// What Go's multiplexer says where nothing is registered.
    pub(crate) fn no_such_page() -> Self {
        Self::text(StatusCode::NOT_FOUND, "404 page not found\n")
    }

    /// Events, as they come.
    pub(crate) fn watch(watch: Watch) -> Self {
        let mut answer = Self::new(StatusCode::OK, "application/json", Bytes::new());
        answer.body = Body::Watch(Box::new(watch));
        answer
    }

    /// Adds `Warning` headers, as RFC 7234 section 5.5 has them.
    pub(crate) fn with_warnings(mut self, warnings: &[String]) -> Self {
        for warning in warnings {
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

impl From<Status> for Answer {
    fn from(status: Status) -> Self {
        let mut answer = Self::json(status.code, &status.to_json());
        let retry_after = status.details.as_ref().and_then(|details| details.get("retryAfterSeconds")).and_then(Value::as_u64);
        if let Some(seconds) = retry_after {
            answer.headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        answer.with_warnings(&status.warnings)
    }
}
