//! Custom kinds, which CustomResourceDefinitions add to the server.
//!
//! ```text
//!  CRD ─▶ definition: defaults, validation ─▶ settle: names, conditions ─▶ serve: kinds, versions
//!                                                                                       │
//!  object ─▶ metadata, prune: decode, default ─▶ validate, lists, cel ◀── structural: the schema
//! ```

use jiff::Timestamp;
use serde_json::Value;

use crate::kinds::{self, FieldValidation, Kind, Subresource};
use crate::object;
use crate::status::{Fault, FieldError, Status};

mod cel;
mod correlate;
pub(crate) mod definition;
mod field_path;
mod format;
mod lists;
mod metadata;
mod names;
mod path;
mod pattern;
mod program;
mod prune;
mod schemas;
mod serve;
mod settle;
mod structural;
mod validate;

#[cfg(test)]
mod tests;

use cel::{Ratchet, Root};
use path::Path;
use serve::Version;

/// The kinds that a CustomResourceDefinition serves, if its names are accepted.
pub(crate) fn kinds(definition: &Value) -> Vec<Kind> {
    serve::kinds(definition)
}

/// Returns the new status of a CustomResourceDefinition beside `others`, or `None` if up to date.
pub(crate) fn settle<'a>(definition: &Value, others: impl Iterator<Item = &'a Value>, now: Timestamp) -> Option<Value> {
    settle::settle(definition, others, now)
}

impl kinds::Strategy for Version {
    fn decode(&self, kind: &Kind, object: &mut Value, validation: FieldValidation) -> Result<Vec<String>, Status> {
        let unfit = |why: String| {
            let name = &kind.kind;
            Status::bad_request(format!("{name} in version {:?} cannot be handled as a {name}: {why}", &*kind.version))
        };
        let mut unknown = Vec::new();
        if let Some(fields) = object.as_object_mut()
            && let Some(metadata) = fields.get_mut("metadata")
        {
            metadata::coerce(metadata, &Path::new("metadata"), &mut unknown).map_err(unfit)?;
        }
        unknown.extend(prune::prune(object, &self.schema, prune::Level::Resource));
        prune::drop_nulls(object, Some(&self.schema));
        prune::canonical_numbers(object);
        let mut embedded = Vec::new();
        metadata::coerce_embedded(object, &self.schema, &Path::root(), &mut embedded)
            .map_err(|error| unfit(error.to_string()))?;
        embedded.sort();
        unknown.extend(embedded);
        let warnings: Vec<String> = unknown.iter().map(|field| format!("unknown field \"{field}\"")).collect();
        match validation {
            FieldValidation::Ignore => Ok(Vec::new()),
            FieldValidation::Warn => Ok(warnings),
            FieldValidation::Strict if warnings.is_empty() => Ok(warnings),
            FieldValidation::Strict => Err(unfit(format!("strict decoding error: {}", warnings.join(", ")))),
        }
    }

    fn as_read(&self, stored: &Value) -> Option<Value> {
        if prune::is_settled(stored, &self.schema) {
            return None;
        }
        let mut read = stored.clone();
        prune::prune(&mut read, &self.schema, prune::Level::Resource);
        prune::drop_nulls(&mut read, Some(&self.schema));
        prune::default(&mut read, &self.schema);
        Some(read).filter(|read| read != stored)
    }

    fn default(&self, _kind: &Kind, object: &mut Value) {
        prune::default(object, &self.schema);
    }

    fn prepare_for_create(&self, _kind: &Kind, object: &mut Value) {
        if self.has_status
            && let Some(fields) = object.as_object_mut()
        {
            fields.remove("status");
        }
        object::set_metadata(object, "generation", Value::from(1));
    }

    fn prepare_for_update(&self, _kind: &Kind, subresource: Option<Subresource>, object: &mut Value, old: &Value) {
        if subresource == Some(Subresource::Status) {
            let status = object.get("status").cloned();
            let managed_fields = object::remove_metadata(object, "managedFields");
            object.clone_from(old);
            replace_status(object, status);
            object::remove_metadata(object, "managedFields");
            if let Some(managed_fields) = managed_fields {
                object::set_metadata(object, "managedFields", managed_fields);
            }
            return;
        }
        if self.has_status {
            replace_status(object, old.get("status").cloned());
        }
        let generation =
            old.get("metadata").and_then(|metadata| metadata.get("generation")).and_then(Value::as_i64).unwrap_or_default();
        let changed = i64::from(!same_but_metadata(object, old));
        object::set_metadata(object, "generation", Value::from(generation.saturating_add(changed)));
    }

    fn validate(&self, _kind: &Kind, object: &Value) -> Vec<FieldError> {
        let mut errors = self.type_errors(object);
        if !errors.is_empty() {
            return errors;
        }
        errors.extend(validate::validate(object, &self.schema, &Path::root(), None));
        errors.extend(self.scale_errors(None, object));
        metadata::validate_embedded(object, &self.schema, &Path::root(), &mut errors);
        errors.extend(lists::validate(object, &self.schema));
        add_rules(self, errors, || cel::validate(object, &self.schema, &Path::root(), None, Ratchet::Never, Root::Resource))
    }

    fn validate_update(&self, _kind: &Kind, sub: Option<Subresource>, object: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.type_errors(object);
        if !errors.is_empty() {
            return errors;
        }
        let root = Path::root();
        if sub == Some(Subresource::Status) {
            if let (Some(status), Some(schema)) = (object.get("status"), self.schema.properties.get("status")) {
                errors.extend(validate::validate(status, schema, &Path::new("status"), old.get("status")));
            }
        } else {
            errors.extend(validate::validate(object, &self.schema, &root, Some(old)));
        }
        errors.extend(self.scale_errors(sub, object));
        if sub != Some(Subresource::Status) {
            metadata::validate_embedded(object, &self.schema, &root, &mut errors);
        }
        if lists::validate(old, &self.schema).is_empty() {
            errors.extend(lists::validate(object, &self.schema));
        }
        add_rules(self, errors, || cel::validate(object, &self.schema, &root, Some(old), Ratchet::Unchanged, Root::Resource))
    }

    fn reset_fields(&self, _kind: &Kind, subresource: Option<Subresource>) -> Vec<Vec<&'static str>> {
        match subresource {
            Some(Subresource::Status) => vec![vec!["metadata"], vec!["spec"]],
            _ if self.has_status => vec![vec!["status"]],
            _ => Vec::new(),
        }
    }

    fn selectable_field(&self, _kind: &Kind, object: &Value, field: &str) -> Option<String> {
        let known = self.selectable_fields.iter().any(|path| path.trim_start_matches('.') == field);
        known.then(|| match serve::at_path(object, field) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        })
    }
}

fn replace_status(object: &mut Value, status: Option<Value>) {
    let Some(fields) = object.as_object_mut() else { return };
    match status {
        Some(status) => fields.insert("status".to_owned(), status),
        None => fields.remove("status"),
    };
}

fn same_but_metadata(one: &Value, other: &Value) -> bool {
    let fields = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let (mut one, mut other) = (fields(one), fields(other));
    one.remove("metadata");
    other.remove("metadata");
    one == other
}

/// Adds the errors of `rules`, which are not evaluated for values of the wrong shape.
fn add_rules(version: &Version, mut errors: Vec<FieldError>, rules: impl FnOnce() -> Vec<FieldError>) -> Vec<FieldError> {
    let blocks = |error: &FieldError| {
        let fault = &error.fault;
        matches!(
            fault,
            Fault::NotSupported { .. } | Fault::Required | Fault::TooLong | Fault::TooMany { .. } | Fault::TypeInvalid(_)
        )
    };
    if !version.has_rules {
        return errors;
    }
    if errors.iter().any(blocks) {
        let why = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";
        errors.push(FieldError::invalid(Path::root(), Value::Null, why));
    } else {
        errors.extend(rules());
    }
    errors
}

pub(crate) fn serves_the_same(one: &Value, other: &Value) -> bool {
    ["/spec", "/status/acceptedNames"].iter().all(|pointer| one.pointer(pointer) == other.pointer(pointer))
}

pub(crate) fn is_terminating(definition: &Value) -> bool {
    serve::condition(definition, "Terminating")
}

pub(crate) fn is_established(definition: &Value) -> bool {
    serve::condition(definition, "Established")
}
