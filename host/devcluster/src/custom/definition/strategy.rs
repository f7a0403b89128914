//! The strategy of the built-in kind CustomResourceDefinition.

use serde_json::Value;

use crate::builtin::Builtin;
use crate::kinds::{FieldValidation, Kind, Strategy, Subresource};
use crate::status::{FieldError, Status};

#[derive(Debug)]
pub(crate) struct Definitions;

impl Strategy for Definitions {
    fn decode(&self, kind: &Kind, object: &mut Value, validation: FieldValidation) -> Result<Vec<String>, Status> {
        Builtin.decode(kind, object, validation)
    }

    fn as_read(&self, stored: &Value) -> Option<Value> {
        Builtin.as_read(stored)
    }

    fn default(&self, kind: &Kind, object: &mut Value) {
        Builtin.default(kind, object);
        super::default(object);
    }

    fn prepare_for_create(&self, _kind: &Kind, object: &mut Value) {
        super::prepare_for_create(object);
    }

    fn prepare_for_update(&self, _kind: &Kind, subresource: Option<Subresource>, object: &mut Value, old: &Value) {
        super::prepare_for_update(subresource, object, old);
    }

    fn validate(&self, _kind: &Kind, object: &Value) -> Vec<FieldError> {
        super::validate(object)
    }

    fn validate_update(&self, _kind: &Kind, subresource: Option<Subresource>, object: &Value, old: &Value) -> Vec<FieldError> {
        super::validate_update(subresource, object, old)
    }

    fn reset_fields(&self, kind: &Kind, subresource: Option<Subresource>) -> Vec<Vec<&'static str>> {
        Builtin.reset_fields(kind, subresource)
    }

    fn selectable_field(&self, kind: &Kind, object: &Value, field: &str) -> Option<String> {
        Builtin.selectable_field(kind, object, field)
    }
}
