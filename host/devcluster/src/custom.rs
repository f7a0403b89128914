//! Custom kinds: what a CustomResourceDefinition makes of the server.

use jiff::Timestamp;
use serde_json::Value;

use crate::kinds::{FieldValidation, Kind, Subresource};
use crate::status::{FieldError, Status};
use crate::table::Column;

/// What one version of a CustomResourceDefinition says.
#[derive(Debug)]
pub struct Version {
    /// The columns of its Table, without the name.
    pub columns: Vec<Column>,
}

/// The kinds that a CustomResourceDefinition serves, if its names are accepted.
pub(crate) fn kinds(_definition: &Value) -> Vec<Kind> {
    Vec::new()
}

/// The status that a CustomResourceDefinition should have beside the others that there are; none if it has it.
pub(crate) fn settle<'a>(_definition: &Value, _others: impl Iterator<Item = &'a Value>, _now: Timestamp) -> Option<Value> {
    None
}

/// See [`Kind::decode`].
pub(crate) fn decode(
    _kind: &Kind,
    _version: &Version,
    _object: &mut Value,
    _validation: FieldValidation,
) -> Result<Vec<String>, Status> {
    Ok(Vec::new())
}

/// See [`Kind::default`].
pub(crate) fn default(_version: &Version, _object: &mut Value) {}

/// See [`Kind::prepare_for_create`].
pub(crate) fn prepare_for_create(_version: &Version, _object: &mut Value) {}

/// See [`Kind::prepare_for_update`].
pub(crate) fn prepare_for_update(_version: &Version, _subresource: Option<Subresource>, _object: &mut Value, _old: &Value) {}

/// See [`Kind::validate`].
pub(crate) fn validate(_version: &Version, _object: &Value) -> Vec<FieldError> {
    Vec::new()
}

/// See [`Kind::validate_update`].
pub(crate) fn validate_update(_version: &Version, _sub: Option<Subresource>, _object: &Value, _old: &Value) -> Vec<FieldError> {
    Vec::new()
}

/// See [`Kind::reset_fields`].
pub(crate) fn reset_fields(_version: &Version, _subresource: Option<Subresource>) -> Vec<Vec<&'static str>> {
    Vec::new()
}

/// See [`Kind::selectable_field`].
pub(crate) fn selectable_field(_version: &Version, _object: &Value, _field: &str) -> Option<String> {
    None
}

#[derive(Debug)]
pub(crate) struct Scale {
    pub(crate) spec_replicas_path: String,
    pub(crate) status_replicas_path: String,
    pub(crate) label_selector_path: Option<String>,
}
impl Version {
    pub(crate) fn scale(&self) -> Option<&Scale> {
        None
    }
    pub(crate) fn openapi_schema(&self) -> &Value {
        &Value::Null
    }
    pub(crate) fn storage_version(&self) -> &str {
        ""
    }
}
pub(crate) fn is_established(_: &Value) -> bool {
    false
}
