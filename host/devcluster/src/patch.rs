//! Applies a PATCH to an object. Server-side apply is elsewhere, because it depends on the owners of fields.

pub(crate) mod json;
pub(crate) mod merge;
pub(crate) mod strategic;

use http::StatusCode;
use serde_json::Value;

use crate::go;
use crate::status::Status;

/// A patch that cannot be applied: the server says no more than this.
fn rejected() -> Status {
    Status {
        details: Some(Value::Object(serde_json::Map::new())),
        ..Status::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "Invalid",
            "the server rejected our request due to an error in our request",
        )
    }
}

/// The patch is not of the type that it is decoded into.
fn undecodable(value: &Value, go_type: &str) -> String {
    format!("json: cannot unmarshal {} into Go value of type {go_type}", go::json_type_name(value))
}

#[cfg(test)]
mod tests;
