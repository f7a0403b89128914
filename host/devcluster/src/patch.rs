//! Applies a PATCH to an object, except server-side apply, which is in `fields`.

pub(crate) mod json;
pub(crate) mod merge;
pub(crate) mod strategic;

use http::StatusCode;
use serde_json::Value;

use crate::go;
use crate::status::Status;

/// The error for a patch that cannot be applied. The server gives no reason.
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

fn undecodable(value: &Value, go_type: &str) -> String {
    format!("json: cannot unmarshal {} into Go value of type {go_type}", go::json_type_name(value))
}

#[cfg(test)]
mod tests;
