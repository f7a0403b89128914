//! JSON Merge Patch, RFC 7386.

use serde_json::{Map, Value};

use super::undecodable;
use crate::status::Status;

/// Returns the object with the patch merged into it.
///
/// # Errors
///
/// `BadRequest` if the patch is not a JSON object.
pub(crate) fn apply(object: &Value, patch: &Value) -> Result<Value, Status> {
    let patch = match patch {
        Value::Object(patch) => patch,
        Value::Null => return Err(Status::bad_request("Invalid JSON Patch")),
        other => {
            let why = undecodable(other, "object");
            return Err(Status::bad_request(format!("error decoding patch: {why}")));
        }
    };
    let mut merged = object.clone();
    match &mut merged {
        Value::Object(fields) => merge(fields, patch),
        other => *other = without_nulls(&Value::Object(patch.clone())),
    }
    Ok(merged)
}

fn merge(fields: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (name, value) in patch {
        match (fields.get_mut(name), value) {
            (_, Value::Null) => {
                fields.remove(name);
            }
            (Some(Value::Object(old)), Value::Object(patch)) => merge(old, patch),
            // The server's library removes nulls, except from values that replace an object.
            (Some(old @ Value::Object(_)), value) => *old = value.clone(),
            (_, value) => {
                fields.insert(name.clone(), without_nulls(value));
            }
        }
    }
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(name, value)| (name.clone(), without_nulls(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(without_nulls).collect()),
        other => other.clone(),
    }
}
