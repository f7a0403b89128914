//! Messages that are not a JSON object of their fields.

use jiff::Timestamp;
use serde_json::Value;

use super::reader::{Error, Reader};
use super::scalar::{bytes, text, varint};

/// Go's zero time, the first second of the year 1, which is null in JSON.
const ZERO_TIME: i64 = -62_135_596_800;
const TIME_OUT_OF_RANGE: Error = Error("time out of range");

/// `metav1.Time`: whole seconds.
pub(super) fn time(message: &[u8]) -> Result<Value, Error> {
    Ok(timestamp(message)?.map_or(Value::Null, |(seconds, _)| Value::from(format!("{seconds:.0}"))))
}

/// `metav1.MicroTime`: six digits more.
pub(super) fn micro_time(message: &[u8]) -> Result<Value, Error> {
    let Some((seconds, nanos)) = timestamp(message)? else { return Ok(Value::Null) };
    let micros = jiff::SignedDuration::from_micros((nanos / 1000).into());
    let time = seconds.checked_add(micros).map_err(|_| TIME_OUT_OF_RANGE)?;
    Ok(Value::from(format!("{time:.6}")))
}

/// The seconds and the nanoseconds of a time; `None` for the zero time.
fn timestamp(message: &[u8]) -> Result<Option<(Timestamp, i32)>, Error> {
    let (mut seconds, mut nanos) = (0, 0);
    let mut reader = Reader::new(message);
    if reader.is_empty() {
        return Ok(None);
    }
    while let Some(tag) = reader.tag()? {
        match tag.number {
            1 => seconds = varint(tag, &mut reader)?.cast_signed(),
            2 => nanos = varint(tag, &mut reader)? as u32 as i32,
            _ => reader.skip(tag)?,
        }
    }
    if seconds == ZERO_TIME && nanos / 1000 == 0 {
        return Ok(None);
    }
    let time = Timestamp::from_second(seconds).map_err(|_| TIME_OUT_OF_RANGE)?;
    Ok(Some((time, nanos)))
}

/// `resource.Quantity`: its text, not yet checked.
pub(super) fn quantity(message: &[u8]) -> Result<Value, Error> {
    let mut quantity = "0".to_owned();
    let mut reader = Reader::new(message);
    while let Some(tag) = reader.tag()? {
        match tag.number {
            1 => quantity = text(bytes(tag, &mut reader)?),
            _ => reader.skip(tag)?,
        }
    }
    Ok(Value::from(quantity))
}

/// `intstr.IntOrString`.
pub(super) fn int_or_string(message: &[u8]) -> Result<Value, Error> {
    let (mut variant, mut number, mut string) = (0, 0, String::new());
    let mut reader = Reader::new(message);
    while let Some(tag) = reader.tag()? {
        match tag.number {
            1 => variant = varint(tag, &mut reader)?,
            2 => number = varint(tag, &mut reader)? as u32 as i32,
            3 => string = text(bytes(tag, &mut reader)?),
            _ => reader.skip(tag)?,
        }
    }
    match variant {
        0 => Ok(Value::from(number)),
        1 => Ok(Value::from(string)),
        _ => Err(Error("neither an integer nor a string")),
    }
}

/// `runtime.RawExtension`, `metav1.FieldsV1` and `apiextensions.JSON`: JSON as it is.
pub(super) fn json(message: &[u8]) -> Result<Value, Error> {
    let mut raw: &[u8] = &[];
    let mut reader = Reader::new(message);
    while let Some(tag) = reader.tag()? {
        match tag.number {
            1 => raw = bytes(tag, &mut reader)?,
            _ => reader.skip(tag)?,
        }
    }
    if raw.is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_slice(raw).map_err(|_| Error("raw JSON that is not JSON"))
}

/// `authorization.ExtraValue` and the like: a list of texts.
pub(super) fn texts(message: &[u8]) -> Result<Value, Error> {
    let mut texts = Vec::new();
    let mut reader = Reader::new(message);
    while let Some(tag) = reader.tag()? {
        match tag.number {
            1 => texts.push(Value::from(text(bytes(tag, &mut reader)?))),
            _ => reader.skip(tag)?,
        }
    }
    Ok(Value::Array(texts))
}

/// Reads a nested schema, or an item of a list.
type Read<'a> = &'a dyn Fn(&[u8]) -> Result<Value, Error>;

/// `apiextensions.JSONSchemaPropsOrBool`.
pub(super) fn schema_or_bool(message: &[u8], read: Read<'_>) -> Result<Value, Error> {
    let (mut allows, mut schema) = (false, None);
    let mut reader = Reader::new(message);
    while let Some(tag) = reader.tag()? {
        match tag.number {
            1 => allows = varint(tag, &mut reader)? != 0,
            2 => schema = Some(read(bytes(tag, &mut reader)?)?),
            _ => reader.skip(tag)?,
        }
    }
    Ok(schema.unwrap_or(Value::Bool(allows)))
}

/// `apiextensions.JSONSchemaPropsOrArray`.
pub(super) fn schema_or_schemas(message: &[u8], read: Read<'_>) -> Result<Value, Error> {
    schema_or_list(message, read, read)
}

/// `apiextensions.JSONSchemaPropsOrStringArray`.
pub(super) fn schema_or_strings(message: &[u8], read: Read<'_>) -> Result<Value, Error> {
    schema_or_list(message, read, &|bytes: &[u8]| Ok(Value::from(text(bytes))))
}

fn schema_or_list(message: &[u8], read: Read<'_>, item: Read<'_>) -> Result<Value, Error> {
    let (mut schema, mut list) = (Value::Null, Vec::new());
    let mut reader = Reader::new(message);
    while let Some(tag) = reader.tag()? {
        match tag.number {
            1 => schema = read(bytes(tag, &mut reader)?)?,
            2 => list.push(item(bytes(tag, &mut reader)?)?),
            _ => reader.skip(tag)?,
        }
    }
    Ok(if list.is_empty() { schema } else { Value::Array(list) })
}
