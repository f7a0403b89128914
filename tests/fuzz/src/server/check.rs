//! Laws of every answer.

use gyre_devcluster::answer::{Answer, Body};
use http::{StatusCode, header};
use serde_json::Value;

use crate::outcome::Failure;

#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) status: StatusCode,
    pub(crate) value: Option<Value>,
}

/// Client errors for which the real server, too, answers `500 Internal error`.
const REAL_INTERNAL_ERRORS: &[&str] = &["the spec replicas field"];

/// Checks that JSON is valid, errors are a Status with the code, and none is the server's fault.
pub(crate) fn answer(answer: &Answer) -> Result<Checked, Failure> {
    let status = answer.status;
    let Body::Full(bytes) = &answer.body else { return Ok(Checked { status, value: None }) };
    let content_type = answer.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let value: Option<Value> = if content_type.starts_with("application/json") && !bytes.is_empty() {
        let shown = || String::from_utf8_lossy(bytes).chars().take(500).collect::<String>();
        Some(parse(bytes).map_err(|error| Failure(format!("{status}: no JSON: {error}: {}", shown())))?)
    } else {
        None
    };
    if let Some(value) = &value
        && !status.is_success()
        && (value["kind"] != "Status" || value["code"] != status.as_u16())
    {
        return Err(Failure(format!("{status} with another Status: {value}")));
    }
    // Other reasons are errors of libraries, which the real server passes on, too.
    if status.is_server_error() && value.as_ref().is_none_or(|value| value["reason"] == "InternalError") {
        let text = String::from_utf8_lossy(bytes);
        if !REAL_INTERNAL_ERRORS.iter().any(|known| text.contains(known)) {
            return Err(Failure(format!("{status}: {text}")));
        }
    }
    Ok(Checked { status, value })
}

pub(crate) fn events(frame: &[u8]) -> Result<(), Failure> {
    for line in frame.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let event = parse(line).map_err(|error| Failure(format!("an event that is no JSON: {error}")))?;
        let is_known =
            event["type"].as_str().is_some_and(|kind| ["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"].contains(&kind));
        if !is_known || !event["object"].is_object() {
            return Err(Failure(format!("no event: {event}")));
        }
    }
    Ok(())
}

/// The parser's recursion limit is no violation.
fn parse(bytes: &[u8]) -> Result<Value, String> {
    match serde_json::from_slice(bytes) {
        Err(error) if error.to_string().starts_with("recursion limit") => Ok(Value::Null),
        result => result.map_err(|error| error.to_string()),
    }
}
