//! The built-in kinds, from the dump of a real server and, for the rest, from rules in its code.
//!
//! ```text
//!  dump/discovery.json ─▶ documents ─▶ Kind ─▶ schema, on first use: dump/openapi ─▶ openapi
//!                                                                    dump/types, defaults ─▶ types
//!  a write: decode ─▶ defaults ─▶ strategy ─▶ validate ─▶ store
//! ```

mod base64;
mod convert;
mod decode;
mod defaults;
mod documents;
mod openapi;
mod selectable;
mod strategy;
#[cfg(test)]
mod tests;
mod time;
mod types;
mod validate;
pub(crate) mod wire;

use std::sync::LazyLock;

use serde_json::Value;

use crate::kinds::{self, FieldValidation, Kind, Subresource};
use crate::status::{FieldError, Status};

pub(crate) use base64::encode as base64_text;
pub(crate) use convert::convert;
pub(crate) use decode::round_trip;
pub(crate) use documents::{definition, kinds, openapi_hash, openapi_json};
pub(crate) use strategy::{admit_service_account, allocate_for_service, set_requestor};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Builtin;

impl kinds::Strategy for Builtin {
    fn decode(&self, kind: &Kind, object: &mut Value, validation: FieldValidation) -> Result<Vec<String>, Status> {
        decode::decode(kind, object, validation)
    }

    fn as_read(&self, _stored: &Value) -> Option<Value> {
        None
    }

    fn default(&self, kind: &Kind, object: &mut Value) {
        defaults::default(kind, object);
    }

    fn prepare_for_create(&self, kind: &Kind, object: &mut Value) {
        strategy::prepare_for_create(kind, object);
    }

    fn prepare_for_update(&self, kind: &Kind, subresource: Option<Subresource>, object: &mut Value, old: &Value) {
        strategy::prepare_for_update(kind, subresource, object, old);
    }

    fn validate(&self, kind: &Kind, object: &Value) -> Vec<FieldError> {
        validate::validate(kind, object)
    }

    fn validate_update(&self, kind: &Kind, subresource: Option<Subresource>, object: &Value, old: &Value) -> Vec<FieldError> {
        validate::validate_update(kind, subresource, object, old)
    }

    fn reset_fields(&self, kind: &Kind, subresource: Option<Subresource>) -> Vec<Vec<&'static str>> {
        strategy::reset_fields(kind, subresource)
    }

    fn selectable_field(&self, kind: &Kind, object: &Value, field: &str) -> Option<String> {
        selectable::selectable_field(kind, object, field)
    }
}

pub(crate) fn scale_schema() -> crate::schema::RootSchema {
    definition("apps", "v1", "io.k8s.api.autoscaling.v1.Scale")
}

/// Brings an object into the form in which Go encodes it: drops empty values that Go omits, and
/// adds those that it always encodes. An object with a value of a wrong type stays as it is.
pub(crate) fn settle(kind: &Kind, object: &mut Value) {
    let mut settled = object.clone();
    if round_trip(kind.schema.root(), &mut settled).is_ok() {
        *object = settled;
    }
}

/// The answer of `/version`: that of the dumped server.
pub(crate) fn version() -> &'static Value {
    static VERSION: LazyLock<Value> = LazyLock::new(|| {
        let mut version: Value = serde_json::from_str(include_str!("builtin/dump/version.json")).unwrap_or_default();
        if let Some(version) = version.as_object_mut() {
            // Clients expect these fields, but the dump has no values for them.
            for field in ["buildDate", "compiler", "gitCommit", "gitTreeState", "goVersion", "platform"] {
                version.insert(field.to_owned(), Value::from("devcluster"));
            }
        }
        version
    });
    &VERSION
}
