//! Metadata of custom objects and of the objects embedded in them: brings it into the form of
//! `ObjectMeta`, for every schema.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::path::Path;
use super::structural::{MAX_VALUE_DEPTH, Node};
use crate::object;
use crate::status::FieldError;
use crate::validation;
use crate::validation::field::Field;

/// The type of a field of `ObjectMeta`.
#[derive(Clone, Copy)]
enum Shape {
    Text,
    Integer,
    Boolean,
    Time,
    Texts,
    TextMap,
    Raw,
    List(&'static Struct),
}

struct Struct {
    fields: &'static [(&'static str, Shape)],
    /// The fields that Go encodes even if they are empty.
    always: &'static [&'static str],
}

static OBJECT_META: Struct = Struct {
    fields: &[
        ("name", Shape::Text),
        ("generateName", Shape::Text),
        ("namespace", Shape::Text),
        ("selfLink", Shape::Text),
        ("uid", Shape::Text),
        ("resourceVersion", Shape::Text),
        ("generation", Shape::Integer),
        ("creationTimestamp", Shape::Time),
        ("deletionTimestamp", Shape::Time),
        ("deletionGracePeriodSeconds", Shape::Integer),
        ("labels", Shape::TextMap),
        ("annotations", Shape::TextMap),
        ("ownerReferences", Shape::List(&OWNER_REFERENCE)),
        ("finalizers", Shape::Texts),
        ("managedFields", Shape::List(&MANAGED_FIELDS)),
    ],
    always: &[],
};

static OWNER_REFERENCE: Struct = Struct {
    fields: &[
        ("apiVersion", Shape::Text),
        ("kind", Shape::Text),
        ("name", Shape::Text),
        ("uid", Shape::Text),
        ("controller", Shape::Boolean),
        ("blockOwnerDeletion", Shape::Boolean),
    ],
    always: &["apiVersion", "kind", "name", "uid"],
};

static MANAGED_FIELDS: Struct = Struct {
    fields: &[
        ("manager", Shape::Text),
        ("operation", Shape::Text),
        ("apiVersion", Shape::Text),
        ("time", Shape::Time),
        ("fieldsType", Shape::Text),
        ("fieldsV1", Shape::Raw),
        ("subresource", Shape::Text),
    ],
    always: &[],
};

/// Brings `metadata` into the form of `ObjectMeta`. Unknown fields are dropped, and their paths
/// added to `unknown`.
///
/// # Errors
///
/// A value has the wrong type.
pub(crate) fn coerce(metadata: &mut Value, path: &Path, unknown: &mut Vec<String>) -> Result<(), String> {
    match metadata {
        Value::Object(fields) => coerce_struct(&OBJECT_META, fields, path, unknown),
        Value::Null => {
            *metadata = Value::Object(Map::new());
            Ok(())
        }
        other => Err(wrong_type(other, path, "object")),
    }
}

fn coerce_struct(
    shape: &Struct,
    fields: &mut Map<String, Value>,
    path: &Path,
    unknown: &mut Vec<String>,
) -> Result<(), String> {
    let mut failed = None;
    fields.retain(|name, value| {
        if failed.is_some() {
            return true;
        }
        let Some((_, field)) = shape.fields.iter().find(|(known, _)| known == name) else {
            unknown.push(path.child(name).into());
            return false;
        };
        match coerce_field(*field, value, &path.child(name), unknown) {
            Ok(()) => shape.always.contains(&name.as_str()) || !is_empty(value),
            Err(error) => {
                failed = Some(error);
                true
            }
        }
    });
    for name in shape.always {
        fields.entry(*name).or_insert_with(|| Value::from(""));
    }
    failed.map_or(Ok(()), Err)
}

fn coerce_field(shape: Shape, value: &mut Value, path: &Path, unknown: &mut Vec<String>) -> Result<(), String> {
    let wrong = |value: &Value, expected: &str| Err(wrong_type(value, path, expected));
    match (shape, &mut *value) {
        (Shape::Text, Value::Null) => *value = Value::from(""),
        (_, Value::Null) | (Shape::Text, Value::String(_)) | (Shape::Boolean, Value::Bool(_)) | (Shape::Raw, _) => {}
        (Shape::Text, _) => return wrong(value, "string"),
        (Shape::Boolean, _) => return wrong(value, "boolean"),
        (Shape::Integer, value) if value.is_i64() => {}
        (Shape::Integer, _) => return wrong(value, "int64"),
        (Shape::Time, Value::String(text)) => *text = coerce_time(text)?,
        (Shape::Time, _) => return wrong(value, "string"),
        (Shape::Texts, Value::Array(items)) => coerce_texts(items, path)?,
        (Shape::TextMap, Value::Object(fields)) => coerce_texts(fields.values_mut(), path)?,
        (Shape::List(shape), Value::Array(items)) => {
            for (index, item) in items.iter_mut().enumerate() {
                if item.is_null() {
                    *item = Value::Object(Map::new());
                }
                let path = path.key(index);
                match item {
                    Value::Object(fields) => coerce_struct(shape, fields, &path, unknown)?,
                    other => return Err(wrong_type(other, &path, "object")),
                }
            }
        }
        (Shape::Texts | Shape::List(_), _) => return wrong(value, "array"),
        (Shape::TextMap, _) => return wrong(value, "object"),
    }
    Ok(())
}

fn coerce_texts<'v>(values: impl IntoIterator<Item = &'v mut Value>, path: &Path) -> Result<(), String> {
    for value in values {
        match value {
            Value::String(_) => {}
            Value::Null => *value = Value::from(""),
            other => return Err(wrong_type(other, path, "string")),
        }
    }
    Ok(())
}

fn wrong_type(value: &Value, path: &Path, expected: &str) -> String {
    format!("{path}: expected {expected}, got {}", object::type_name(value))
}

fn coerce_time(text: &str) -> Result<String, String> {
    match text.parse::<Timestamp>() {
        Ok(time) => Ok(time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
        Err(_) => Err(format!("parsing time {text:?}: it is not in the form of 2006-01-02T15:04:05Z")),
    }
}

/// Returns whether Go's `omitempty` leaves the value out.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Number(number) => number.as_i64() == Some(0),
        Value::Bool(_) => false,
    }
}

/// Coerces the metadata of embedded objects to `ObjectMeta`. Fails if `apiVersion`, `kind` or
/// `metadata` have the wrong type.
pub(crate) fn coerce_embedded(
    value: &mut Value,
    schema: &Node,
    path: &Path,
    unknown: &mut Vec<String>,
) -> Result<(), FieldError> {
    coerce_embedded_at(value, schema, path, unknown, 0)
}

fn coerce_embedded_at(
    value: &mut Value,
    schema: &Node,
    path: &Path,
    unknown: &mut Vec<String>,
    depth: usize,
) -> Result<(), FieldError> {
    if depth > MAX_VALUE_DEPTH {
        return Ok(());
    }
    match value {
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                if schema.embedded_resource {
                    match name.as_str() {
                        "apiVersion" | "kind" if !field.is_string() => {
                            return Err(FieldError::invalid(path.child(name), field.clone(), "must be a string"));
                        }
                        "metadata" => {
                            let before = field.clone();
                            coerce(field, &path.child(name), unknown)
                                .map_err(|error| FieldError::invalid(path.child(name), before, error))?;
                        }
                        _ => {}
                    }
                }
                if let Some(property) = schema.properties.get(name) {
                    coerce_embedded_at(field, property, &path.child(name), unknown, depth + 1)?;
                } else if let Some(each) = schema.each() {
                    coerce_embedded_at(field, each, &path.key(name), unknown, depth + 1)?;
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = &schema.items {
                for (index, item) in items.iter_mut().enumerate() {
                    coerce_embedded_at(item, schema, &path.key(index), unknown, depth + 1)?;
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    Ok(())
}

pub(crate) fn validate_embedded(value: &Value, schema: &Node, path: &Path, errors: &mut Vec<FieldError>) {
    validate_embedded_at(value, schema, path, errors, 0);
}

fn validate_embedded_at(value: &Value, schema: &Node, path: &Path, errors: &mut Vec<FieldError>, depth: usize) {
    if depth > MAX_VALUE_DEPTH {
        return;
    }
    match value {
        Value::Object(fields) => {
            if schema.embedded_resource {
                validate_type(fields, path, errors);
                let metadata = Field::at(fields.get("metadata"), path.child("metadata"));
                validation::validate_embedded_metadata(&metadata, errors);
            }
            for (name, field) in fields {
                if let Some(property) = schema.properties.get(name) {
                    validate_embedded_at(field, property, &path.child(name), errors, depth + 1);
                } else if let Some(each) = schema.each() {
                    validate_embedded_at(field, each, &path.key(name), errors, depth + 1);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = &schema.items {
                for (index, item) in items.iter().enumerate() {
                    validate_embedded_at(item, schema, &path.key(index), errors, depth + 1);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn validate_type(fields: &Map<String, Value>, path: &Path, errors: &mut Vec<FieldError>) {
    for name in ["apiVersion", "kind"] {
        let at = path.child(name);
        match fields.get(name) {
            None => errors.push(FieldError::required(at, "")),
            Some(Value::String(text)) if text.is_empty() => {
                errors.push(FieldError::invalid(at, text.as_str(), "must not be empty"))
            }
            Some(Value::String(text)) if name == "apiVersion" && text.matches('/').count() > 1 => {
                errors.push(FieldError::invalid(at, text.as_str(), format!("unexpected GroupVersion string: {text}")));
            }
            Some(Value::String(text)) if name == "kind" => {
                if let Some(wrong) = super::names::dns_1035_label(&text.to_lowercase()) {
                    let detail = format!("may have mixed case, but should otherwise match: {wrong}");
                    errors.push(FieldError::invalid(at, text.as_str(), detail));
                }
            }
            Some(Value::String(_)) => {}
            Some(other) => errors.push(FieldError::invalid(at, other.clone(), "must be a string")),
        }
    }
}
