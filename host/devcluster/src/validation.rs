//! stub
use serde_json::Value;

use crate::kinds::Kind;
use crate::status::FieldError;

pub(crate) fn validate_metadata(_: &Kind, _: &Value) -> Vec<FieldError> {
    Vec::new()
}
pub(crate) fn validate_metadata_update(_: &Value, _: &Value) -> Vec<FieldError> {
    Vec::new()
}
