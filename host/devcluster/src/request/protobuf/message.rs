//! Converts messages into JSON as Go does.

use serde_json::{Map, Value};

use super::reader::{BYTES, Error, FIXED64, Reader, Tag, VARINT};
use super::scalar::{bytes, expect, text, varint};
use super::special;
use crate::builtin::wire::{self, Field, Many, Message, SCHEMA, ValueType};

/// The maximum depth of messages, as of JSON. Only schemas of custom kinds are recursive.
pub(super) const DEPTH: usize = 128;

/// Reads a message of this type. Repeated fields are merged, as protobuf specifies.
pub(super) fn read(name: &str, bytes: &[u8], depth: usize, object: &mut Map<String, Value>) -> Result<(), Error> {
    let depth = depth.checked_sub(1).ok_or(Error("messages are nested too deeply"))?;
    let known: Option<&Message> = wire::message(name);
    let mut reader = Reader::new(bytes);
    while let Some(tag) = reader.tag()? {
        match known.and_then(|fields| fields.get(&tag.number)) {
            Some(field) => read_field(field, tag, &mut reader, depth, object)?,
            None => reader.skip(tag)?,
        }
    }
    Ok(())
}

pub(super) fn object(name: &str, bytes: &[u8], depth: usize) -> Result<Value, Error> {
    let mut object = Map::new();
    read(name, bytes, depth, &mut object)?;
    Ok(Value::Object(object))
}

fn read_field(
    field: &Field,
    tag: Tag,
    reader: &mut Reader<'_>,
    depth: usize,
    object: &mut Map<String, Value>,
) -> Result<(), Error> {
    match (field.many, &field.value_type) {
        (Many::No, ValueType::Message(name)) => {
            let bytes = bytes(tag, reader)?;
            if field.name.is_empty() {
                return read(name, bytes, depth, object);
            }
            let place = object.entry(field.name.as_str()).or_insert_with(|| Value::Object(Map::new()));
            place.as_object_mut().map_or(Ok(()), |object| read(name, bytes, depth, object))
        }
        (Many::No, value_type) => {
            let value = value(value_type, tag, reader, depth)?;
            if value.is_null() || (field.omit_zero && is_zero(&value)) {
                object.remove(&field.name);
            } else {
                object.insert(field.name.clone(), value);
            }
            Ok(())
        }
        (Many::List, value_type) => {
            let place = object.entry(field.name.as_str()).or_insert_with(|| Value::Array(Vec::new()));
            place.as_array_mut().map_or(Ok(()), |list| read_items(list, value_type, tag, reader, depth))
        }
        (Many::Map, value_type) => {
            let entry = bytes(tag, reader)?;
            let (key, value) = read_entry(value_type, entry, depth)?;
            let place = object.entry(field.name.as_str()).or_insert_with(|| Value::Object(Map::new()));
            if let Some(map) = place.as_object_mut() {
                map.insert(key, value);
            }
            Ok(())
        }
    }
}

fn read_items(
    list: &mut Vec<Value>,
    value_type: &ValueType,
    tag: Tag,
    reader: &mut Reader<'_>,
    depth: usize,
) -> Result<(), Error> {
    let item_type = match value_type {
        ValueType::Bool | ValueType::Int32 | ValueType::Int64 => VARINT,
        ValueType::Double => FIXED64,
        _ => BYTES,
    };
    if item_type == BYTES || tag.wire_type != BYTES {
        list.push(value(value_type, tag, reader, depth)?);
        return Ok(());
    }
    let mut packed = Reader::new(reader.bytes()?);
    let tag = Tag { wire_type: item_type, ..tag };
    while !packed.is_empty() {
        list.push(value(value_type, tag, &mut packed, depth)?);
    }
    Ok(())
}

/// A key and its value; either may be left out.
fn read_entry(value_type: &ValueType, entry: &[u8], depth: usize) -> Result<(String, Value), Error> {
    let (mut key, mut found) = (String::new(), None);
    let mut reader = Reader::new(entry);
    while let Some(tag) = reader.tag()? {
        match tag.number {
            1 => key = text(bytes(tag, &mut reader)?),
            2 => found = Some(value(value_type, tag, &mut reader, depth)?),
            _ => reader.skip(tag)?,
        }
    }
    let value = match found {
        Some(found) => found,
        None => absent(value_type, depth)?,
    };
    Ok((key, value))
}

/// Returns the value that Go uses if a map's value is not written.
fn absent(value_type: &ValueType, depth: usize) -> Result<Value, Error> {
    let wire_type = match value_type {
        ValueType::Bool | ValueType::Int32 | ValueType::Int64 => VARINT,
        ValueType::Double => FIXED64,
        _ => BYTES,
    };
    // The zero of every wire type is written in zeros, of which no more are read than it has.
    value(value_type, Tag { number: 2, wire_type }, &mut Reader::new(&[0; 8]), depth)
}

/// One value; null if JSON cannot express it.
pub(super) fn value(value_type: &ValueType, tag: Tag, reader: &mut Reader<'_>, depth: usize) -> Result<Value, Error> {
    Ok(match value_type {
        ValueType::Bool => Value::Bool(varint(tag, reader)? != 0),
        // The upper half of what is written is the sign's.
        ValueType::Int32 => Value::from(varint(tag, reader)? as u32 as i32),
        ValueType::Int64 => Value::from(varint(tag, reader)?.cast_signed()),
        ValueType::Double => {
            expect(tag, FIXED64)?;
            gyre_core::yaml::json_number(f64::from_bits(reader.fixed64()?))
        }
        ValueType::String => Value::from(text(bytes(tag, reader)?)),
        ValueType::Bytes => Value::from(crate::builtin::base64_text(bytes(tag, reader)?)),
        ValueType::Message(name) => object(name, bytes(tag, reader)?, depth)?,
        ValueType::Time => special::time(bytes(tag, reader)?)?,
        ValueType::MicroTime => special::micro_time(bytes(tag, reader)?)?,
        ValueType::Quantity => special::quantity(bytes(tag, reader)?)?,
        ValueType::IntOrString => special::int_or_string(bytes(tag, reader)?)?,
        ValueType::Json => special::json(bytes(tag, reader)?)?,
        ValueType::Texts => special::texts(bytes(tag, reader)?)?,
        ValueType::SchemaOrBool => special::schema_or_bool(bytes(tag, reader)?, &|schema| object(SCHEMA, schema, depth))?,
        ValueType::SchemaOrSchemas => special::schema_or_schemas(bytes(tag, reader)?, &|schema| object(SCHEMA, schema, depth))?,
        ValueType::SchemaOrStrings => special::schema_or_strings(bytes(tag, reader)?, &|schema| object(SCHEMA, schema, depth))?,
    })
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}
