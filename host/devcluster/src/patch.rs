//! Applies a PATCH to an object. Server-side apply is in `fields`, because it depends on the owners
//! of fields.

pub(crate) mod json;
pub(crate) mod merge;
pub(crate) mod strategic;

use http::StatusCode;
use serde_json::Value;

use crate::object;
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

/// The message of a patch that is not of the type that it is decoded into.
fn undecodable(value: &Value, expected: &str) -> String {
    format!("expected {expected}, got {}", object::type_name(value))
}

#[cfg(test)]
mod tests;
