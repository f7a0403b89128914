//! The `spec` of a definition.

use serde_json::{Map, Value};

use super::super::names;
use super::super::path::Path;
use super::super::structural::{flag, list, text, texts};
use super::{not_supported, validate_names, versions};
use crate::status::{Fault, FieldError};
use crate::validation::syntax;

/// The schemas of a definition, with their paths. A schema that all versions share is at the top
/// level, as in the server's internal type.
pub(super) fn schemas(spec: Option<&Map<String, Value>>) -> Vec<(Path, &Value)> {
    let Some(spec) = spec else { return Vec::new() };
    let given = |version| schema(version);
    match shared(spec, "schema") {
        Some(_) => {
            list(spec, "versions").take(1).filter_map(given).map(|schema| (Path::new("spec.validation"), schema)).collect()
        }
        None => {
            let place = |(index, version)| Some((Path::new(format!("spec.versions[{index}].schema")), schema(version)?));
            list(spec, "versions").enumerate().filter_map(place).collect()
        }
    }
}

fn schema(version: &Value) -> Option<&Value> {
    version.get("schema")?.get("openAPIV3Schema").filter(|schema| !schema.is_null())
}

/// Returns the value of `field` if it is the same in all versions.
fn shared<'a>(spec: &'a Map<String, Value>, field: &str) -> Option<&'a Value> {
    let mut values = list(spec, "versions").map(|version| version.get(field).filter(|value| !value.is_null()));
    let first = values.next()??;
    values.all(|value| value == Some(first)).then_some(first)
}

pub(super) fn validate(spec: &Map<String, Value>) -> Vec<FieldError> {
    let path = Path::new("spec");
    let mut errors = validate_group(spec, &path);
    match text(spec, "scope").unwrap_or_default().as_str() {
        "Cluster" | "Namespaced" => {}
        "" => errors.push(FieldError::required(path.child("scope"), "")),
        other => errors.push(not_supported(path.child("scope"), other, &["Cluster", "Namespaced"])),
    }
    for (index, version) in list(spec, "versions").enumerate() {
        if schema(version).is_none() {
            errors.push(FieldError::required(format!("spec.versions[{index}].schema.openAPIV3Schema"), ""));
        }
    }
    let has_status =
        |version: &Value| version.get("subresources").and_then(|all| all.get("status")).is_some_and(|status| !status.is_null());
    let shared_schema = shared(spec, "schema").is_some();
    for (index, version) in list(spec, "versions").enumerate() {
        let at = path.child("versions").key(index);
        let name = text_of(version, "name");
        if let Some(wrong) = names::dns_1035_label(name) {
            errors.push(FieldError::invalid(at.child("name"), name, wrong));
        }
        errors.extend(versions::validate_deprecation(version, &at));
        if !shared_schema && let Some(schema) = schema(version) {
            errors.extend(versions::validate_schema(schema, &at.child("schema"), has_status(version)));
        }
        errors.extend(validate_parts(spec, version, &at, PartLocation::Version));
    }
    errors.extend(validate_versions(spec, &path));
    let names = spec.get("names").and_then(Value::as_object).cloned().unwrap_or_default();
    for name in ["plural", "singular", "kind", "listKind"] {
        if text(&names, name).unwrap_or_default().is_empty() {
            errors.push(FieldError::required(path.child("names").child(name), ""));
        }
    }
    errors.extend(validate_names(&names, &path.child("names")));
    if let Some(first) = list(spec, "versions").next() {
        if let Some(schema) = schema(first).filter(|_| shared_schema) {
            let status = list(spec, "versions").any(has_status);
            errors.extend(versions::validate_schema(schema, &path.child("validation"), status));
        }
        errors.extend(validate_parts(spec, first, &path, PartLocation::Shared));
    }
    errors.extend(validate_conversion(spec, &path.child("conversion")));
    errors
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PartLocation {
    Version,
    Shared,
}

fn validate_parts(spec: &Map<String, Value>, version: &Value, path: &Path, location: PartLocation) -> Vec<FieldError> {
    let here = |field: &str| {
        version
            .get(field)
            .filter(|value| !value.is_null() && shared(spec, field).is_some() == (location == PartLocation::Shared))
    };
    let mut errors = Vec::new();
    if let Some(subresources) = here("subresources") {
        errors.extend(versions::validate_scale(subresources, &path.child("subresources")));
    }
    if let Some(columns) = here("additionalPrinterColumns").and_then(Value::as_array) {
        let at = path.child("additionalPrinterColumns");
        errors.extend(columns.iter().enumerate().flat_map(|(index, column)| versions::validate_column(column, &at.key(index))));
    }
    if let (Some(fields), Some(schema)) = (here("selectableFields").and_then(Value::as_array), schema(version)) {
        errors.extend(versions::validate_selectable(fields, schema, &path.child("selectableFields")));
    }
    errors
}

fn text_of<'a>(value: &'a Value, name: &str) -> &'a str {
    crate::object::text(value, name)
}

fn validate_group(spec: &Map<String, Value>, path: &Path) -> Vec<FieldError> {
    let group = text(spec, "group").unwrap_or_default();
    let at = path.child("group");
    let wrong = syntax::dns_subdomain(&group);
    let error = match group.as_str() {
        "" => FieldError::required(at, ""),
        group if !wrong.is_empty() => FieldError::invalid(at, group, wrong.join(",")),
        group if !group.contains('.') => FieldError::invalid(at, group, "should be a domain with at least one dot"),
        _ => return Vec::new(),
    };
    vec![error]
}

fn validate_versions(spec: &Map<String, Value>, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let names: Vec<&str> = list(spec, "versions").map(|version| text_of(version, "name")).collect();
    let shown = versions::shown(spec);
    let wrong = |why: &str| FieldError::new(Fault::InvalidShown(shown.clone()), path.child("versions"), why);
    if names.iter().enumerate().any(|(index, name)| names.iter().take(index).any(|other| other == name)) {
        errors.push(wrong("must contain unique version names"));
    }
    if list(spec, "versions").filter(|version| version.as_object().is_some_and(|version| flag(version, "storage"))).count() != 1
    {
        errors.push(wrong("must have exactly one version marked as storage version"));
    }
    if let Some((first, why)) = names.first().and_then(|first| Some((*first, names::dns_1035_label(first)?))) {
        errors.push(FieldError::invalid(path.child("version"), first, why));
    }
    errors
}

fn validate_conversion(spec: &Map<String, Value>, path: &Path) -> Vec<FieldError> {
    let Some(conversion) = spec.get("conversion").and_then(Value::as_object) else { return Vec::new() };
    let mut errors = Vec::new();
    let strategy = text(conversion, "strategy").unwrap_or_default();
    let webhook = conversion.get("webhook").and_then(Value::as_object);
    let config = webhook.and_then(|webhook| webhook.get("clientConfig")).filter(|config| !config.is_null());
    let reviewed = webhook.map(|webhook| texts(webhook, "conversionReviewVersions")).unwrap_or_default();
    let (at, reviews) = (path.child("webhookClientConfig"), path.child("conversionReviewVersions"));
    match strategy.as_str() {
        "" => errors.push(FieldError::required(path.child("strategy"), "")),
        "None" | "Webhook" => {}
        other => errors.push(not_supported(path.child("strategy"), other, &["None", "Webhook"])),
    }
    if strategy != "Webhook" {
        let why = "should not be set when strategy is not set to Webhook";
        errors.extend(config.map(|_| FieldError::forbidden(at, why)));
        errors.extend((!reviewed.is_empty()).then(|| FieldError::forbidden(reviews, why)));
        return errors;
    }
    match config {
        None => errors.push(FieldError::required(at, "required when strategy is set to Webhook")),
        Some(config) if config.get("url").is_some() == config.get("service").is_some() => {
            errors.push(FieldError::required(at, "exactly one of url or service is required"));
        }
        Some(_) => {}
    }
    if reviewed.is_empty() {
        errors.push(FieldError::required(reviews, ""));
    } else if !reviewed.iter().any(|version| matches!(version.as_str(), "v1" | "v1beta1")) {
        errors.push(FieldError::invalid(reviews, reviewed, "must include at least one of v1, v1beta1"));
    }
    errors
}
