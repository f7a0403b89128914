//! The answer to a request, whose body is read within bounds of size and time.

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HeaderName, RETRY_AFTER};
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use tokio::time::{Instant, timeout_at};

use crate::bounds;
use crate::error::Error;

/// The longest text of an error that is shown.
const LONGEST_MESSAGE: usize = 300;

#[derive(Debug)]
pub(crate) struct Response {
    inner: reqwest::Response,
    /// The host that answered.
    pub(crate) host: String,
    /// Whether the registry itself answered, and no place that it redirects to.
    pub(crate) is_of_registry: bool,
    timeout: Duration,
}

impl Response {
    pub(crate) fn new(inner: reqwest::Response, host: String, timeout: Duration) -> Self {
        Self { inner, host, is_of_registry: false, timeout }
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.inner.status()
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        self.inner.headers()
    }

    /// The first header of this name, if it is ASCII.
    pub(crate) fn header(&self, name: HeaderName) -> Option<&str> {
        self.headers().get(name)?.to_str().ok()
    }

    /// The seconds of `Retry-After`. A date is ignored, because clocks differ.
    pub(crate) fn retry_after(&self) -> Option<u64> {
        self.header(RETRY_AFTER)?.trim().parse().ok()
    }

    /// The announced size of the body.
    pub(crate) fn length(&self) -> Option<u64> {
        self.header(CONTENT_LENGTH)?.trim().parse().ok()
    }

    /// The body, of at most `limit` bytes.
    ///
    /// # Errors
    ///
    /// If it is larger, or does not come in time.
    pub(crate) async fn bytes(self, what: &'static str, limit: u64) -> Result<Vec<u8>, Error> {
        let host = self.host.clone();
        let announced = self.length();
        let too_large = || Error::TooLarge { host: host.clone(), what, limit };
        if announced.is_some_and(|length| length > limit) {
            return Err(too_large());
        }
        let mut transfer = self.transfer(announced.unwrap_or(limit));
        let mut bytes = Vec::new();
        while let Some(piece) = transfer.next().await? {
            if (bytes.len() + piece.len()) as u64 > limit {
                return Err(too_large());
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(bytes)
    }

    /// The body in pieces, for which there is time as for `size` bytes.
    pub(crate) fn transfer(self, size: u64) -> Transfer {
        let end = Instant::now() + bounds::time_for(size, self.timeout);
        Transfer { inner: self.inner, host: self.host, timeout: self.timeout, end }
    }

    /// The text of an error that the body has, after a colon; empty if there is no text.
    pub(crate) async fn message(self) -> String {
        let Ok(bytes) = self.bytes("the error", bounds::TOKEN).await else { return String::new() };
        message(&bytes).map(|message| format!(": {message}")).unwrap_or_default()
    }
}

/// A body that is read in pieces.
pub(crate) struct Transfer {
    inner: reqwest::Response,
    pub(crate) host: String,
    timeout: Duration,
    end: Instant,
}

impl Transfer {
    /// The next piece; `None` at the end.
    ///
    /// # Errors
    ///
    /// If it breaks off, stands still, or is slower than the least rate.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        let host = self.host.clone();
        let deadline = self.end.min(Instant::now() + self.timeout);
        match timeout_at(deadline, self.inner.chunk()).await {
            Ok(Ok(piece)) => Ok(piece),
            Ok(Err(error)) => Err(Error::Interrupted { host, source: Some(error.without_url()) }),
            Err(_) if deadline == self.end => Err(Error::Slow { host }),
            Err(_) => Err(Error::Timeout { host, waited: self.timeout }),
        }
    }
}

/// The text in the body of an error, by the specification or as realms write it.
fn message(bytes: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Body {
        errors: Option<Vec<Detail>>,
        details: Option<String>,
        error_description: Option<String>,
        message: Option<String>,
    }
    #[derive(Deserialize)]
    struct Detail {
        code: Option<String>,
        message: Option<String>,
    }
    let body: Body = serde_json::from_slice(bytes).ok()?;
    let of_list = body.errors.unwrap_or_default().into_iter().next().and_then(|detail| detail.message.or(detail.code));
    let text = of_list.or(body.details).or(body.error_description).or(body.message)?;
    let text = gyre_core::text::cut(&gyre_core::text::without_control(&text), LONGEST_MESSAGE);
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_text_of_an_error_is_found() {
        for (body, expected) in [
            (r#"{"errors":[{"code":"DENIED","message":"no access","detail":{}}]}"#, Some("no access")),
            (r#"{"errors":[{"code":"DENIED"}]}"#, Some("DENIED")),
            (r#"{"details":"incorrect username or password"}"#, Some("incorrect username or password")),
            (r#"{"message":"a\nb"}"#, Some("a\\nb")),
            (r#"{"errors":[]}"#, None),
            ("<html>", None),
            ("", None),
        ] {
            assert_eq!(message(body.as_bytes()).as_deref(), expected, "{body}");
        }
    }

    proptest! {
        #[test]
        fn the_text_of_an_error_is_short_and_on_one_line(bytes: Vec<u8>, text in ".{0,500}") {
            let body = serde_json::json!({"errors": [{"message": text}]}).to_string();
            for bytes in [bytes, body.into_bytes()] {
                if let Some(message) = message(&bytes) {
                    prop_assert!(message.len() <= LONGEST_MESSAGE && !message.contains(char::is_control));
                }
            }
        }
    }
}
