//! The expected type of the body of a request, and the errors for other types.

use std::fmt;

use crate::kinds::{Kind, Origin};
use crate::status::Status;

#[derive(Debug)]
pub(crate) struct Expected<'a> {
    pub(super) api_version: String,
    pub(super) kind: &'a str,
    /// Whether it is options, which are alike in all versions.
    pub(super) is_options: bool,
    /// Whether the server has a Go type for it, and so a protobuf message.
    pub(super) is_typed: bool,
}

impl<'a> Expected<'a> {
    pub(crate) fn object(kind: &'a Kind) -> Self {
        let is_typed = matches!(kind.origin, Origin::Builtin);
        Self { api_version: kind.api_version(), kind: &kind.kind, is_options: false, is_typed }
    }

    pub(crate) fn typed(api_version: &str, kind: &'a str) -> Self {
        Self { api_version: api_version.to_owned(), kind, is_options: false, is_typed: true }
    }

    pub(crate) fn scale() -> Self {
        Self { api_version: "autoscaling/v1".to_owned(), kind: "Scale", is_options: false, is_typed: true }
    }

    pub(crate) fn delete_options() -> Self {
        Self { api_version: "v1".to_owned(), kind: "DeleteOptions", is_options: true, is_typed: true }
    }

    pub(crate) fn unrecognized(&self, why: &str, body: &[u8]) -> Status {
        if self.is_options {
            return Status::bad_request(why);
        }
        let summary = summary(body);
        Status::bad_request(format!("the object provided is unrecognized (must be of type {}): {why} ({summary})", self.kind))
    }

    pub(crate) fn not_handled(&self, api_version: &str, kind: &str, why: &impl fmt::Display) -> Status {
        if self.is_options {
            return Status::bad_request(why.to_string());
        }
        let version = api_version.rsplit('/').next().unwrap_or_default();
        Status::bad_request(format!("{kind} in version {version:?} cannot be handled as a {}: {why}", self.kind))
    }
}

/// Returns the beginning of a body as errors show it.
fn summary(body: &[u8]) -> String {
    const LENGTH: usize = 30;
    let (shown, rest) = body.split_at_checked(LENGTH).unwrap_or((body, &[]));
    let text = match shown {
        [] => "<empty>".to_owned(),
        [b'{', ..] => String::from_utf8_lossy(shown).into_owned(),
        _ => shown.iter().map(|byte| format!("{byte:02x}")).collect(),
    };
    if rest.is_empty() { text } else { text + " ..." }
}
