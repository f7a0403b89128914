//! CustomResourceDefinitions: defaults, preparation and validation.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::names;
use super::path::Path;
use super::serve::{condition, without_conversion};
use super::structural::{flag, list, text, texts};
use crate::kinds::Subresource;
use crate::object;
use crate::status::{Fault, FieldError};

pub(in crate::custom) mod approval;
mod defaults;
mod open_api;
mod regular;
mod spec;
mod strategy;
mod versions;

pub(crate) use strategy::Definitions;

/// The finalizer that keeps a definition until its objects are deleted.
pub(crate) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

pub(crate) fn default(definition: &mut Value) {
    let storage = storage_version(definition);
    if let Some(spec) = definition.get_mut("spec").and_then(Value::as_object_mut) {
        let names = spec.entry("names").or_insert_with(|| json!({}));
        let kind = object::text(names, "kind").to_owned();
        if let Some(names) = names.as_object_mut() {
            let mut absent = |name: &str, value: String| {
                if text(names, name).is_none_or(|given| given.is_empty()) && !value.is_empty() {
                    names.insert(name.to_owned(), Value::from(value));
                }
            };
            absent("singular", kind.to_lowercase());
            absent("listKind", if kind.is_empty() { String::new() } else { format!("{kind}List") });
        }
        if spec.get("conversion").is_none_or(Value::is_null) {
            spec.insert("conversion".to_owned(), json!({ "strategy": "None" }));
        }
    }
    if let (Some(storage), Some(definition)) = (storage, definition.as_object_mut()) {
        let status = definition.entry("status").or_insert_with(empty_status);
        let stored = status.get("storedVersions").and_then(Value::as_array).is_some_and(|stored| !stored.is_empty());
        if let Some(status) = status.as_object_mut().filter(|_| !stored) {
            status.insert("storedVersions".to_owned(), json!([storage]));
        }
    }
}

fn empty_status() -> Value {
    json!({ "conditions": null, "acceptedNames": { "plural": "", "kind": "" }, "storedVersions": null })
}

fn storage_version(definition: &Value) -> Option<String> {
    let versions = definition.get("spec")?.get("versions")?.as_array()?;
    let storage = versions.iter().find(|version| version.get("storage").and_then(Value::as_bool).unwrap_or_default())?;
    Some(object::text(storage, "name").to_owned())
}

pub(crate) fn prepare_for_create(definition: &mut Value) {
    if let Some(fields) = definition.as_object_mut() {
        fields.insert("status".to_owned(), empty_status());
    }
    object::set_metadata(definition, "generation", Value::from(1));
    record_storage_version(definition);
}

/// Restores the part that the request cannot change, and counts the generation.
pub(crate) fn prepare_for_update(subresource: Option<Subresource>, definition: &mut Value, old: &Value) {
    let kept = if subresource == Some(Subresource::Status) { "spec" } else { "status" };
    if let Some(fields) = definition.as_object_mut() {
        match old.get(kept) {
            Some(value) => fields.insert(kept.to_owned(), value.clone()),
            None => fields.remove(kept),
        };
    }
    let generation =
        old.get("metadata").and_then(|metadata| metadata.get("generation")).and_then(Value::as_i64).unwrap_or_default();
    let changed = i64::from(definition.get("spec") != old.get("spec"));
    object::set_metadata(definition, "generation", Value::from(generation.saturating_add(changed)));
    if subresource != Some(Subresource::Status) {
        record_storage_version(definition);
    }
}

fn record_storage_version(definition: &mut Value) {
    let storage = storage_version(definition);
    if let (Some(storage), Some(status)) = (storage, definition.get_mut("status").and_then(Value::as_object_mut)) {
        let mut stored = texts(status, "storedVersions");
        if !stored.contains(&storage) {
            stored.push(storage);
        }
        status.insert("storedVersions".to_owned(), Value::from(stored));
    }
}

pub(crate) fn validate(definition: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let empty = Map::new();
    let spec = definition.get("spec").and_then(Value::as_object).unwrap_or(&empty);
    let names = spec.get("names").unwrap_or(&Value::Null);
    if object::name(definition) != format!("{}.{}", object::text(names, "plural"), text(spec, "group").unwrap_or_default()) {
        let name = object::name(definition);
        errors.push(FieldError::invalid("metadata.name", name, "must be spec.names.plural+\".\"+spec.group"));
    }
    errors.extend(validate_both(definition, spec, None));
    errors
}

pub(crate) fn validate_update(subresource: Option<Subresource>, definition: &Value, old: &Value) -> Vec<FieldError> {
    let empty = Map::new();
    if subresource == Some(Subresource::Status) {
        return validate_status(definition);
    }
    let spec_of =
        |definition: &'_ Value| definition.get("spec").and_then(Value::as_object).cloned().unwrap_or_else(|| empty.clone());
    let (spec, old_spec) = (spec_of(definition), spec_of(old));
    let mut errors = validate_both(definition, &spec, Some(old));
    let name = |spec: &Map<String, Value>, name: &str| spec.get("names").and_then(|names| names.get(name)).cloned();
    let mut immutable = |path: &str, new: Option<Value>, old: Option<Value>| {
        if new != old {
            errors.push(FieldError::invalid(path, new.unwrap_or_default(), "field is immutable"));
        }
    };
    if condition(old, "Established") {
        immutable("spec.scope", spec.get("scope").cloned(), old_spec.get("scope").cloned());
        immutable("spec.names.kind", name(&spec, "kind"), name(&old_spec, "kind"));
    }
    immutable("spec.group", spec.get("group").cloned(), old_spec.get("group").cloned());
    immutable("spec.names.plural", name(&spec, "plural"), name(&old_spec, "plural"));
    errors
}

fn validate_both(definition: &Value, spec: &Map<String, Value>, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = spec::validate(spec);
    errors.extend(validate_status(definition));
    errors.extend(validate_stored(definition, spec));
    errors.extend(approval::validate(definition, old));
    if flag(spec, "preserveUnknownFields") {
        let why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        errors.push(FieldError::invalid("spec.preserveUnknownFields", true, why));
    }
    errors
}

fn validate_status(definition: &Value) -> Vec<FieldError> {
    let accepted = definition.get("status").and_then(|status| status.get("acceptedNames")).and_then(Value::as_object);
    accepted.map(|names| validate_names(names, &Path::new("status.acceptedNames"))).unwrap_or_default()
}

/// Validates that the spec has all versions in which objects may be stored.
fn validate_stored(definition: &Value, spec: &Map<String, Value>) -> Vec<FieldError> {
    let path = Path::new("status.storedVersions");
    let status = definition.get("status").and_then(Value::as_object);
    let stored = status.map(|status| texts(status, "storedVersions")).unwrap_or_default();
    if stored.is_empty() {
        return vec![FieldError::invalid(path, Value::Null, "must have at least one stored version")];
    }
    let mut errors = Vec::new();
    let name = |version: &Value| object::text(version, "name").to_owned();
    let is_storage = |version: &Value| version.get("storage").and_then(Value::as_bool).unwrap_or_default();
    for version in list(spec, "versions").filter(|version| is_storage(version) && !stored.contains(&name(version))) {
        let why = format!("must have the storage version {}", name(version));
        errors.push(FieldError::invalid(&path, stored.clone(), why));
    }
    for (index, version) in stored.iter().enumerate() {
        if !list(spec, "versions").any(|known| name(known) == *version) {
            let why = format!(
                "missing from spec.versions; {version} was previously a storage version, and must remain in spec.versions until a storage \
                 migration ensures no data remains persisted in {version} and removes {version} from status.storedVersions"
            );
            errors.push(FieldError::invalid(path.key(index), version.as_str(), why));
        }
    }
    errors
}

fn validate_names(names: &Map<String, Value>, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for name in ["plural", "singular"] {
        let given = text(names, name).unwrap_or_default();
        if let Some(wrong) = names::dns_1035_label(&given).filter(|_| !given.is_empty()) {
            errors.push(FieldError::invalid(path.child(name), given, wrong));
        }
    }
    for name in ["kind", "listKind"] {
        let given = text(names, name).unwrap_or_default();
        if let Some(wrong) = names::dns_1035_label(&given.to_lowercase()).filter(|_| !given.is_empty()) {
            let why = format!("may have mixed case, but should otherwise match: {wrong}");
            errors.push(FieldError::invalid(path.child(name), given, why));
        }
    }
    let several = |name: &str, errors: &mut Vec<FieldError>| {
        for (index, given) in texts(names, name).into_iter().enumerate() {
            if let Some(wrong) = names::dns_1035_label(&given) {
                errors.push(FieldError::invalid(path.child(name).key(index), given, wrong));
            }
        }
    };
    several("shortNames", &mut errors);
    let kind = text(names, "kind").unwrap_or_default();
    if !kind.is_empty() && Some(&kind) == text(names, "listKind").as_ref() {
        errors.push(FieldError::invalid(path.child("listKind"), kind, "kind and listKind may not be the same"));
    }
    several("categories", &mut errors);
    errors
}

/// In the real server, one controller accepts the names, and then another establishes the
/// definition. Changes `status` to that of the first write, unless it has happened.
pub(crate) fn install_first(definition: &Value, status: &mut Value) {
    let is_known = |condition: &&Value| object::text(condition, "type") == "Established";
    let before = definition.pointer("/status/conditions").and_then(Value::as_array);
    if before.is_some_and(|conditions| conditions.iter().any(|condition| is_known(&condition))) {
        return;
    }
    let conditions = status.get_mut("conditions").and_then(Value::as_array_mut);
    let established = conditions.into_iter().flatten().find(|condition| is_known(&&**condition));
    if let Some(condition) = established.filter(|condition| object::text(condition, "status") == "True") {
        for (field, text) in
            [("status", "False"), ("reason", "Installing"), ("message", "the initial names have been accepted")]
        {
            if let Some(condition) = condition.as_object_mut() {
                condition.insert(field.to_owned(), Value::from(text));
            }
        }
    }
}

pub(crate) fn mark_for_cleanup(definition: &mut Value, now: Timestamp) {
    let time = object::seconds(now);
    object::set_metadata(definition, "deletionTimestamp", Value::from(time.as_str()));
    let mut finalizers: Vec<Value> = object::finalizers(definition).map(Value::from).collect();
    if !finalizers.iter().any(|finalizer| finalizer == CLEANUP) {
        finalizers.push(Value::from(CLEANUP));
    }
    object::set_metadata(definition, "finalizers", Value::Array(finalizers));
    let condition = json!({
        "type": "Terminating", "status": "True", "reason": "InstanceDeletionPending", "lastTransitionTime": time,
        "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    });
    let conditions = definition.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
    if let Some(conditions) = conditions {
        conditions.retain(|known| object::text(known, "type") != "Terminating");
        conditions.push(condition);
    }
}

/// Returns warnings about unknown formats that are not in `old`, and about a conversion webhook.
pub(crate) fn warnings(definition: &Value, old: Option<&Value>) -> Vec<String> {
    let before = old.map(unrecognized_formats).unwrap_or_default();
    let new = unrecognized_formats(definition).into_iter().filter(|format| !before.contains(format));
    let formats = new.map(|format| format!("unrecognized format {format:?}"));
    formats.chain(definition.get("spec").and_then(without_conversion)).collect()
}

fn unrecognized_formats(definition: &Value) -> Vec<String> {
    let mut formats = Vec::new();
    for (_, schema) in spec::schemas(definition.get("spec").and_then(Value::as_object)) {
        open_api::unrecognized_formats(schema, 0, &mut formats);
    }
    formats
}

fn not_supported(path: Path, value: &str, supported: &[&str]) -> FieldError {
    let supported = supported.iter().map(|text| (*text).to_owned()).collect();
    FieldError::new(Fault::NotSupported { value: Value::from(value), supported }, path, "")
}
