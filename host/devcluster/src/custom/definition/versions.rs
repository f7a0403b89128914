//! Validates a version of a definition: its schema, subresources, columns and selectable fields.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::super::field_path::{self, Indexing};
use super::super::path::Path;
use super::super::structural::{Node, flag, list, text};
use super::{defaults, open_api, regular};
use crate::status::{Fault, FieldError};

pub(super) fn validate_schema(schema: &Value, path: &Path, has_status: bool) -> Vec<FieldError> {
    let at = path.child("openAPIV3Schema");
    let mut errors = Vec::new();
    if has_status {
        errors.extend(validate_root(schema, &at));
    }
    if schema.get("nullable").and_then(Value::as_bool).unwrap_or_default() {
        errors.push(FieldError::forbidden(at.child("nullable"), "nullable cannot be true at the root"));
    }
    let node = Node::parse(schema);
    let regular = regular::validate(schema, &at);
    let mut rules = false;
    if regular.is_empty() {
        let defaults = defaults::validate(&node, &at);
        rules = defaults.is_empty();
        errors.extend(defaults);
    } else {
        errors.extend(regular);
    }
    errors.extend(open_api::validate(schema, &at, rules));
    errors
}

/// The keywords allowed at the root of a schema with the status subresource.
const AT_ROOT: [&str; 22] = [
    "Description",
    "Type",
    "Format",
    "Title",
    "Maximum",
    "ExclusiveMaximum",
    "Minimum",
    "ExclusiveMinimum",
    "MaxLength",
    "MinLength",
    "Pattern",
    "MaxItems",
    "MinItems",
    "UniqueItems",
    "MultipleOf",
    "Required",
    "Items",
    "Properties",
    "ExternalDocs",
    "Example",
    "XPreserveUnknownFields",
    "XValidations",
];

fn validate_root(schema: &Value, path: &Path) -> Option<FieldError> {
    let schema = schema.as_object()?;
    if let Some(kind) = text(schema, "type").filter(|kind| !kind.is_empty() && kind != "object") {
        let why = "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
        return Some(FieldError::invalid(path.child("type"), kind, why));
    }
    let internal = |name: &str| match name.strip_prefix("x-kubernetes-") {
        Some("preserve-unknown-fields") => "XPreserveUnknownFields".to_owned(),
        Some("validations") => "XValidations".to_owned(),
        Some(other) => other.to_owned(),
        None => name.chars().enumerate().map(|(index, c)| if index == 0 { c.to_ascii_uppercase() } else { c }).collect(),
    };
    let said = |value: &Value| !matches!(value, Value::Null | Value::Bool(false));
    let outside = schema.iter().any(|(name, value)| said(value) && !AT_ROOT.contains(&internal(name).as_str()));
    outside.then(|| {
        let why = format!(
            "only [{}] fields are allowed at the root of the schema if the status subresource is enabled",
            AT_ROOT.join(" ")
        );
        FieldError::new(Fault::Invalid(Value::Object(schema.clone())), path, why)
    })
}

pub(super) fn validate_deprecation(version: &Value, path: &Path) -> Vec<FieldError> {
    let Some(warning) = version.get("deprecationWarning").and_then(Value::as_str) else { return Vec::new() };
    let invalid = |why: String| FieldError::invalid(path.child("deprecationWarning"), warning, why);
    if !version.as_object().is_some_and(|version| flag(version, "deprecated")) {
        return vec![invalid("can only be set for deprecated versions".to_owned())];
    }
    let mut errors = Vec::new();
    if warning.len() > 256 {
        errors.push(invalid("must be <= 256 characters long".to_owned()));
    }
    if warning.is_empty() {
        errors.push(invalid("must not be an empty string".to_owned()));
    }
    if let Some((index, _)) = warning.char_indices().find(|(_, c)| c.is_control() || (c.is_whitespace() && *c != ' ')) {
        let why = format!("must only contain printable UTF-8 characters; non-printable character found at index {index}");
        errors.push(invalid(why));
    }
    errors
}

pub(super) fn validate_scale(subresources: &Value, path: &Path) -> Vec<FieldError> {
    let Some(scale) = subresources.get("scale").and_then(Value::as_object) else { return Vec::new() };
    let mut errors = Vec::new();
    let paths: [(&str, &[&str], &str); 3] = [
        ("specReplicasPath", &[".spec."], "should be a json path under .spec"),
        ("statusReplicasPath", &[".status."], "should be a json path under .status"),
        ("labelSelectorPath", &[".spec.", ".status."], "should be a json path under either .spec or .status"),
    ];
    for (name, roots, why) in paths {
        let at = path.child("scale").child(name);
        let given = text(scale, name).unwrap_or_default();
        match given.as_str() {
            "" if name == "labelSelectorPath" => {}
            "" => errors.push(FieldError::required(at, "")),
            given if !given.starts_with('.') => errors.push(not_simple(at, given)),
            given if !roots.iter().any(|root| given.starts_with(root)) => errors.push(FieldError::invalid(at, given, why)),
            _ => {}
        }
    }
    errors
}

fn not_simple(path: Path, given: &str) -> FieldError {
    FieldError::invalid(path, given, "must be a simple json path starting with .")
}

pub(super) fn validate_column(column: &Value, path: &Path) -> Vec<FieldError> {
    const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
    const FORMATS: [&str; 8] = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
    let mut errors = Vec::new();
    let text = |name: &str| crate::object::text(column, name);
    if text("name").is_empty() {
        errors.push(FieldError::required(path.child("name"), ""));
    }
    let one_of = format!("must be one of {}", TYPES.join(","));
    match text("type") {
        "" => errors.push(FieldError::required(path.child("type"), one_of)),
        kind if !TYPES.contains(&kind) => errors.push(FieldError::invalid(path.child("type"), kind, one_of)),
        _ => {}
    }
    match text("format") {
        format if format.is_empty() || FORMATS.contains(&format) => {}
        format => {
            errors.push(FieldError::invalid(path.child("format"), format, format!("must be one of {}", FORMATS.join(","))))
        }
    }
    match text("jsonPath") {
        "" => errors.push(FieldError::required(path.child("JSONPath"), "")),
        given if !given.starts_with('.') => errors.push(not_simple(path.child("JSONPath"), given)),
        _ => {}
    }
    errors
}

pub(super) fn validate_selectable(fields: &[Value], schema: &Value, path: &Path) -> Vec<FieldError> {
    const MOST: usize = 8;
    let node = Node::parse(schema);
    let mut errors = Vec::new();
    let mut seen = BTreeSet::new();
    for (index, field) in fields.iter().enumerate() {
        let at = path.key(index).child("jsonPath");
        let given = crate::object::text(field, "jsonPath");
        if given.is_empty() {
            errors.push(FieldError::required(at, ""));
            continue;
        }
        let (found, schema) = match field_path::resolve(given, &node, Indexing::Forbidden) {
            Ok(found) => found,
            Err(error) => {
                errors.push(FieldError::invalid(at, given, format!("is an invalid path: {error}")));
                continue;
            }
        };
        if found == "metadata" || found.starts_with("metadata.") {
            errors.push(FieldError::invalid(at.clone(), given, "must not point to fields in metadata"));
        }
        if !matches!(schema.kind.as_str(), "string" | "boolean" | "integer") {
            let why = "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.";
            errors.push(FieldError::invalid(at.clone(), given, why));
        }
        if !seen.insert(found) {
            errors.push(FieldError::new(Fault::Duplicate(given.into()), at, ""));
        }
    }
    if seen.len() > MOST {
        errors.push(FieldError::new(Fault::TooMany { actual: seen.len(), limit: MOST }, path, ""));
    }
    errors
}

/// Formats the versions like the server's internal type in errors, without the shared parts.
pub(super) fn shown(spec: &Map<String, Value>) -> String {
    let shown = |version: &Value| {
        let version = version.as_object().cloned().unwrap_or_default();
        let (name, warning) =
            (Value::from(text(&version, "name").unwrap_or_default()), version.get("deprecationWarning").cloned());
        format!(
            "{{\"Name\":{name},\"Served\":{},\"Storage\":{},\"Deprecated\":{},\"DeprecationWarning\":{},\"Schema\":null,\"Subresources\":null,\
             \"AdditionalPrinterColumns\":null,\"SelectableFields\":null}}",
            flag(&version, "served"),
            flag(&version, "storage"),
            flag(&version, "deprecated"),
            warning.unwrap_or_default(),
        )
    };
    format!("[{}]", list(spec, "versions").map(shown).collect::<Vec<_>>().join(","))
}
