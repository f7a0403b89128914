//! The built-in kinds: what the dump of a real server says of them, and what only its code says.

use serde_json::Value;

use crate::kinds::{FieldValidation, Kind, Subresource};
use crate::status::{FieldError, Status};

/// The kinds of the dump. Their schemas are loaded when they are first used.
pub(crate) fn kinds() -> Vec<Kind> {
    Vec::new()
}

/// See [`Kind::decode`].
pub(crate) fn decode(_kind: &Kind, _object: &mut Value, _validation: FieldValidation) -> Result<Vec<String>, Status> {
    Ok(Vec::new())
}

/// See [`Kind::default`].
pub(crate) fn default(_kind: &Kind, _object: &mut Value) {}

/// See [`Kind::prepare_for_create`].
pub(crate) fn prepare_for_create(_kind: &Kind, _object: &mut Value) {}

/// See [`Kind::prepare_for_update`].
pub(crate) fn prepare_for_update(_kind: &Kind, _subresource: Option<Subresource>, _object: &mut Value, _old: &Value) {}

/// See [`Kind::validate`].
pub(crate) fn validate(_kind: &Kind, _object: &Value) -> Vec<FieldError> {
    Vec::new()
}

/// See [`Kind::validate_update`].
pub(crate) fn validate_update(_kind: &Kind, _sub: Option<Subresource>, _object: &Value, _old: &Value) -> Vec<FieldError> {
    Vec::new()
}

/// See [`Kind::reset_fields`].
pub(crate) fn reset_fields(_kind: &Kind, _subresource: Option<Subresource>) -> Vec<Vec<&'static str>> {
    Vec::new()
}

/// See [`Kind::selectable_field`].
pub(crate) fn selectable_field(_kind: &Kind, _object: &Value, _field: &str) -> Option<String> {
    None
}

pub(crate) fn convert(value: &Value, _from: &Kind, _to: &Kind) -> Value {
    value.clone()
}
pub(crate) fn json_type(_: &Value) -> &'static str {
    "string"
}
pub(crate) fn version() -> &'static Value {
    &Value::Null
}
pub(crate) fn allocate_address(_: &mut Value, next: u64) -> u64 {
    next
}
