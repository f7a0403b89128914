//! The typed round trip of built-in kinds: decodes an object into the API server's types, and
//! encodes it again.
//!
//! The texts of wrong types are our own, because Go's names the types of its structs.

use std::fmt::{self, Write as _};

use gyre_core::quantity::Quantity;
use serde_json::{Map, Number, Value};

use super::time::{self, Precision};
use super::{base64, openapi};
use crate::kinds::{FieldValidation, Kind};
use crate::object;
use crate::schema::{SchemaRef, Type};
use crate::status::Status;

pub(crate) fn decode(kind: &Kind, object: &mut Value, validation: FieldValidation) -> Result<Vec<String>, Status> {
    let cannot = |why: &str| {
        let (version, kind) = (&kind.version, &kind.kind);
        Status::bad_request(format!("{kind} in version {version:?} cannot be handled as a {kind}: {why}"))
    };
    let unknown = round_trip(kind.schema.root(), object).map_err(|error| cannot(&error))?;
    match validation {
        FieldValidation::Ignore => Ok(Vec::new()),
        FieldValidation::Warn => Ok(unknown),
        FieldValidation::Strict if unknown.is_empty() => Ok(unknown),
        FieldValidation::Strict => Err(cannot(&format!("strict decoding error: {}", unknown.join(", ")))),
    }
}

/// Decodes and encodes a value of any definition. Returns the messages about unknown fields.
///
/// # Errors
///
/// The first value that does not fit its type.
pub(crate) fn round_trip(schema: SchemaRef<'_>, value: &mut Value) -> Result<Vec<String>, String> {
    let mut decoder = Decoder { unknown: Vec::new(), path: String::new() };
    decoder.value(schema, value)?;
    Ok(decoder.unknown)
}

struct Decoder {
    unknown: Vec<String>,
    /// The place of the value, with indices.
    path: String,
}

impl Decoder {
    /// Brings a value into form. A value that is null afterwards is absent.
    fn value(&mut self, schema: SchemaRef<'_>, value: &mut Value) -> Result<(), String> {
        match schema.kind {
            Type::Any => Ok(()),
            _ if value.is_null() => Ok(()),
            Type::Quantity => quantity(value),
            Type::IntOrString if value.is_string() => Ok(()),
            Type::IntOrString => self.integer(value, "int32", i32::MIN.into(), i32::MAX.into()),
            Type::Object if schema.properties.is_empty() => self.map(schema, value),
            Type::Object => self.object(schema, value),
            Type::Array => self.list(schema, value),
            Type::String => self.string(schema, value),
            Type::Integer => match schema.format.as_deref() {
                Some("int32") => self.integer(value, "int32", i32::MIN.into(), i32::MAX.into()),
                _ => self.integer(value, "int64", i64::MIN, i64::MAX),
            },
            Type::Number if !value.is_number() => self.mismatch(value, "number"),
            Type::Boolean if !value.is_boolean() => self.mismatch(value, "boolean"),
            Type::Number | Type::Boolean => Ok(()),
        }
    }

    fn object(&mut self, schema: SchemaRef<'_>, value: &mut Value) -> Result<(), String> {
        let Some(object) = value.as_object_mut() else { return self.mismatch(value, "object") };
        let length = self.path.len();
        for (name, field) in object.iter_mut() {
            let Some(field_schema) = schema.property(name) else {
                let path = crate::validation::field::child(&self.path, name);
                self.unknown.push(format!("unknown field \"{path}\""));
                *field = Value::Null;
                continue;
            };
            if length > 0 {
                self.path.push('.');
            }
            self.path.push_str(name);
            self.value(field_schema, field)?;
            self.path.truncate(length);
        }
        settle(schema, object);
        Ok(())
    }

    fn map(&mut self, schema: SchemaRef<'_>, value: &mut Value) -> Result<(), String> {
        let Some(object) = value.as_object_mut() else { return self.mismatch(value, "object") };
        let Some(values) = schema.additional_properties() else { return Ok(()) };
        self.each(values, object.iter_mut())
    }

    fn list(&mut self, schema: SchemaRef<'_>, value: &mut Value) -> Result<(), String> {
        let Some(list) = value.as_array_mut() else { return self.mismatch(value, "array") };
        let Some(items) = schema.items() else { return Ok(()) };
        self.each(items, list.iter_mut().enumerate())
    }

    fn each<'v, K: fmt::Display>(
        &mut self,
        schema: SchemaRef<'_>,
        values: impl Iterator<Item = (K, &'v mut Value)>,
    ) -> Result<(), String> {
        let length = self.path.len();
        for (key, value) in values {
            if value.is_null() {
                *value = zero(schema);
            }
            // Writing to a string does not fail.
            let _ = write!(self.path, "[{key}]");
            self.value(schema, value)?;
            self.path.truncate(length);
        }
        Ok(())
    }

    fn string(&mut self, schema: SchemaRef<'_>, value: &mut Value) -> Result<(), String> {
        let Value::String(text) = &*value else { return self.mismatch(value, "string") };
        match schema.format.as_deref() {
            Some("date-time") => {
                let precision = match schema.definition.as_deref() {
                    Some(openapi::MICRO_TIME) => Precision::Micros,
                    _ => Precision::Seconds,
                };
                *value = time::normalise(text, precision)?.map_or(Value::Null, Value::from);
            }
            Some("byte") => {
                let bytes = base64::decode(text).ok_or_else(|| format!("{}: illegal base64 data", self.path))?;
                *value = Value::from(base64::encode(&bytes));
            }
            _ => {}
        }
        Ok(())
    }

    fn integer(&self, value: &Value, name: &str, least: i64, most: i64) -> Result<(), String> {
        let fits = value.as_i64().is_some_and(|number| (least..=most).contains(&number));
        if fits { Ok(()) } else { self.mismatch(value, name) }
    }

    fn mismatch(&self, value: &Value, expected: &str) -> Result<(), String> {
        let place = if self.path.is_empty() { String::new() } else { format!("{}: ", self.path) };
        let number = value.as_number().map(|number| format!(" {number}")).unwrap_or_default();
        Err(format!("{place}expected {expected}, got {}{number}", object::type_name(value)))
    }
}

/// Normalises a quantity. Go reads it from the text of any JSON value.
fn quantity(value: &mut Value) -> Result<(), String> {
    let text = match &*value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    *value = Value::from(Quantity::parse(&text)?.canonical());
    Ok(())
}

/// Drops the fields of a struct that Go does not render, and adds those that it always renders.
fn settle(place: SchemaRef<'_>, object: &mut Map<String, Value>) {
    let schema = place.schema();
    object.retain(|name, value| match value {
        Value::Null => false,
        _ if schema.omit_zero.iter().any(|omitted| omitted == name) => !is_zero(value),
        _ if schema.omit_empty.iter().any(|omitted| omitted == name) => !is_empty(value),
        Value::String(text) => {
            // `TypeMeta` is inlined in every object, and the dump does not describe it.
            !(text.is_empty() && matches!(name.as_str(), "apiVersion" | "kind") && !schema.always.contains_key(name))
        }
        _ => true,
    });
    for (name, rendered) in &schema.always {
        let value = object.entry(name.clone()).or_insert_with(|| rendered.clone());
        // A pointer to an empty struct is not nil.
        let is_struct = place.property(name).is_some_and(|property| !property.properties.is_empty());
        if rendered.is_null() && is_empty(value) && !is_struct {
            *value = Value::Null;
        }
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Array(_) => false,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(entries) => entries.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Null => true,
        _ => false,
    }
}

/// Returns the value that Go uses for a null item of a list or a null entry of a map, because it
/// has no absent values.
fn zero(schema: SchemaRef<'_>) -> Value {
    match schema.kind {
        Type::Any => Value::Null,
        Type::Object if schema.properties.is_empty() => Value::Null,
        Type::Object => Value::Object(Map::new()),
        Type::Array => Value::Null,
        Type::String if schema.format.as_deref() == Some("date-time") => Value::Null,
        Type::String => Value::from(""),
        Type::Integer | Type::Number | Type::IntOrString => Value::Number(Number::from(0)),
        Type::Boolean => Value::Bool(false),
        Type::Quantity => Value::from("0"),
    }
}
