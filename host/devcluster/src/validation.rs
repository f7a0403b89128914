//! Validates the metadata of all kinds, like apimachinery's `ValidateObjectMeta`.

pub(crate) mod field;
pub(crate) mod selector;
pub(crate) mod syntax;

use serde_json::Value;

use crate::kinds::{Kind, Origin, Scope};
use crate::object;
use crate::status::FieldError;
use field::{Errors, Field};
use syntax::Whole;

/// The maximum total size of annotations, keys and values.
const ANNOTATIONS_LIMIT: usize = 256 * 1024;
const FIELD_MANAGER_LIMIT: usize = 128;
const SUBRESOURCE_LIMIT: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Naming {
    Subdomain,
    Label,
    PathSegment,
}

fn naming(kind: &Kind) -> Naming {
    if matches!(kind.origin, Origin::Custom(_)) {
        return Naming::Subdomain;
    }
    match (kind.group(), &*kind.resource.plural) {
        ("", "namespaces" | "services") | ("apps", "statefulsets") => Naming::Label,
        ("rbac.authorization.k8s.io", _) | ("" | "events.k8s.io", "events") | ("policy", "poddisruptionbudgets") => {
            Naming::PathSegment
        }
        _ => Naming::Subdomain,
    }
}

fn name_errors(naming: Naming, name: &str, whole: Whole) -> Vec<String> {
    match naming {
        Naming::PathSegment => syntax::path_segment(name, whole),
        Naming::Subdomain | Naming::Label => {
            // A generated suffix follows a trailing dash, so the dash is valid here.
            let masked = match whole {
                Whole::Prefix if name.len() > 1 && name.ends_with('-') => {
                    let mut kept = name.to_owned();
                    kept.pop();
                    kept.pop();
                    Some(kept + "a")
                }
                _ => None,
            };
            let name = masked.as_deref().unwrap_or(name);
            if naming == Naming::Label { syntax::dns_label(name) } else { syntax::dns_subdomain(name) }
        }
    }
}

pub(crate) fn validate_metadata(kind: &Kind, object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let metadata = Field::root(object).get("metadata");
    if metadata.get("name").text().is_empty() {
        metadata.get("name").required(&mut errors, "name or generateName is required");
    }
    names(&metadata, naming(kind), &mut errors);
    let namespace = metadata.get("namespace");
    match (kind.scope, namespace.text()) {
        (Scope::Namespaced, "") => namespace.required(&mut errors, ""),
        (Scope::Namespaced, text) => namespace.invalid_each(&mut errors, syntax::dns_label(text)),
        (Scope::Cluster, "") => {}
        (Scope::Cluster, _) => namespace.forbidden(&mut errors, "not allowed on this type"),
    }
    content(&metadata, &mut errors);
    errors
}

/// Validates the metadata of an object in a custom object. Its name and namespace may be absent.
pub(crate) fn validate_embedded_metadata(metadata: &Field<'_>, errors: &mut Errors) {
    names(metadata, Naming::PathSegment, errors);
    let namespace = metadata.get("namespace");
    if !namespace.text().is_empty() {
        namespace.invalid_each(errors, syntax::dns_label(namespace.text()));
    }
    content(metadata, errors);
}

fn names(metadata: &Field<'_>, naming: Naming, errors: &mut Errors) {
    for (field, whole) in [("generateName", Whole::Prefix), ("name", Whole::Name)] {
        let name = metadata.get(field);
        if !name.text().is_empty() {
            name.invalid_each(errors, name_errors(naming, name.text(), whole));
        }
    }
}

fn content(metadata: &Field<'_>, errors: &mut Errors) {
    metadata.get("generation").nonnegative(errors);
    labels(&metadata.get("labels"), errors);
    annotations(&metadata.get("annotations"), errors);
    owner_references(&metadata.get("ownerReferences"), errors);
    finalizers(&metadata.get("finalizers"), errors);
    managed_fields(&metadata.get("managedFields"), errors);
}

pub(crate) fn validate_metadata_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let metadata = Field::root(new).get("metadata");
    let before = Field::root(old).get("metadata");
    if before.get("deletionTimestamp").is_set() {
        no_new_finalizers(&metadata.get("finalizers"), old, &mut errors);
    }
    let resource_version = metadata.get("resourceVersion");
    if resource_version.text().is_empty() {
        errors.push(FieldError::invalid(resource_version.path(), "", "must be specified for an update"));
    }
    let generation = metadata.get("generation");
    if generation.integer().unwrap_or_default() < before.get("generation").integer().unwrap_or_default() {
        let shown = generation.integer().unwrap_or_default();
        errors.push(FieldError::invalid(generation.path(), shown, "must not be decremented"));
    }
    for name in ["name", "namespace", "uid"] {
        if metadata.get(name).text() != before.get(name).text() {
            errors.push(FieldError::invalid(metadata.child_path(name), metadata.get(name).text(), "field is immutable"));
        }
    }
    for name in ["creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        metadata.get(name).immutable(&mut errors, &before.get(name));
    }
    labels(&metadata.get("labels"), &mut errors);
    annotations(&metadata.get("annotations"), &mut errors);
    owner_references(&metadata.get("ownerReferences"), &mut errors);
    managed_fields(&metadata.get("managedFields"), &mut errors);
    errors
}

pub(crate) fn labels(labels: &Field<'_>, errors: &mut Errors) {
    for (key, value) in labels.object().into_iter().flatten() {
        let key_errors = syntax::qualified_name(key).into_iter();
        errors.extend(key_errors.map(|message| FieldError::invalid(labels.path(), key.as_str(), message)));
        let value = value.as_str().unwrap_or_default();
        errors.extend(syntax::label_value(value).into_iter().map(|message| FieldError::invalid(labels.path(), value, message)));
    }
}

pub(crate) fn annotations(annotations: &Field<'_>, errors: &mut Errors) {
    let mut size = 0;
    for (key, value) in annotations.object().into_iter().flatten() {
        size += key.len() + value.as_str().map_or(0, str::len);
        let messages = syntax::qualified_name(&key.to_lowercase()).into_iter();
        errors.extend(messages.map(|message| FieldError::invalid(annotations.path(), key.as_str(), message)));
    }
    if size > ANNOTATIONS_LIMIT {
        annotations.too_long(errors, ANNOTATIONS_LIMIT);
    }
}

fn owner_references(references: &Field<'_>, errors: &mut Errors) {
    let mut controller: Option<String> = None;
    for reference in references.items() {
        // The API server's paths do not contain the index of the reference.
        let reference = reference.named(references.path());
        let api_version = reference.get("apiVersion");
        // A text that is not of the form of `group/version` has no version.
        let version = match api_version.text().split_once('/') {
            Some((_, version)) if version.contains('/') => "",
            Some((_, version)) => version,
            None => api_version.text(),
        };
        if version.is_empty() {
            errors.push(FieldError::invalid(api_version.path(), api_version.text(), "version must not be empty"));
        }
        for name in ["kind", "name", "uid"] {
            if reference.get(name).text().is_empty() {
                errors.push(FieldError::invalid(reference.child_path(name), "", "must not be empty"));
            }
        }
        if (api_version.text(), reference.get("kind").text()) == ("v1", "Event") {
            reference.invalid(errors, "/v1, Kind=Event is disallowed from being an owner");
        }
        if reference.get("controller").is_true() {
            let this = format!("{}/{}", reference.get("kind").text(), reference.get("name").text());
            match &controller {
                None => controller = Some(this),
                Some(first) => references.invalid(
                    errors,
                    format!(
                        "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {this}"
                    ),
                ),
            }
        }
    }
}

fn finalizers(finalizers: &Field<'_>, errors: &mut Errors) {
    let (mut orphans, mut waits) = (false, false);
    for finalizer in finalizers.items() {
        finalizer.named(finalizers.path()).qualified_name(errors);
        orphans |= finalizer.text() == "orphan";
        waits |= finalizer.text() == "foregroundDeletion";
    }
    if orphans && waits {
        finalizers.invalid(errors, "finalizer orphan and foregroundDeletion cannot be both set");
    }
}

fn no_new_finalizers(finalizers: &Field<'_>, old: &Value, errors: &mut Errors) {
    let before: Vec<&str> = object::finalizers(old).collect();
    let mut extra: Vec<String> = finalizers
        .items()
        .map(|item| item.text())
        .filter(|name| !before.contains(name))
        .map(|name| format!("{name:?}"))
        .collect();
    extra.sort_unstable();
    extra.dedup();
    if !extra.is_empty() {
        let list = extra.join(", ");
        let detail =
            format!("no new finalizers can be added if the object is being deleted, found new finalizers []string{{{list}}}");
        finalizers.forbidden(errors, &detail);
    }
}

fn managed_fields(entries: &Field<'_>, errors: &mut Errors) {
    for entry in entries.items() {
        let operation = entry.get("operation");
        if !matches!(operation.text(), "Apply" | "Update") {
            errors.push(FieldError::invalid(operation.path(), operation.text(), "must be `Apply` or `Update`"));
        }
        let fields_type = entry.get("fieldsType");
        if !matches!(fields_type.text(), "" | "FieldsV1") {
            fields_type.invalid(errors, "must be `FieldsV1`");
        }
        field_manager(&entry.get("manager"), errors);
        let subresource = entry.get("subresource");
        if subresource.text().len() > SUBRESOURCE_LIMIT {
            subresource.too_long(errors, SUBRESOURCE_LIMIT);
        }
    }
}

pub(crate) fn field_manager(manager: &Field<'_>, errors: &mut Errors) {
    if manager.text().len() > FIELD_MANAGER_LIMIT {
        manager.too_long(errors, FIELD_MANAGER_LIMIT);
    }
    for (position, character) in manager.text().char_indices().filter(|(_, character)| character.is_control()) {
        let code = u32::from(character);
        manager.invalid(errors, format!("invalid character U+{code:04X} (at position {position})"));
    }
}
