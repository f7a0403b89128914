//! Request bodies in protobuf, as typed clients of Go send them.
//!
//! ```text
//!  "k8s\0" Unknown{ typeMeta{ apiVersion, kind }, raw } ─▶ builtin::wire: message and fields
//!                                                   └───▶ message ─▶ JSON as Go makes it
//!                                                            └─▶ special: times, quantities, …
//! ```
//!
//! The result is decoded and defaulted like every other JSON. Fields that the tables do not have
//! are skipped, as in the real server, for every `fieldValidation`.
//!
//! What is absent: answers in protobuf. Go's clients also accept JSON.

mod message;
mod reader;
mod scalar;
mod special;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use self::message::DEPTH;
use self::reader::{Error, Reader};
use self::scalar::{bytes, text};
use super::expected::Expected;
use crate::builtin::wire;
use crate::status::Status;

pub(super) const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// The prefix of all bodies; its last byte is the version of the format.
const PREFIX: &[u8] = b"k8s\0";

/// The outer message: `runtime.Unknown`.
#[derive(Debug, Default)]
struct Envelope<'a> {
    api_version: String,
    kind: String,
    raw: &'a [u8],
}

/// Reads a body. Its `apiVersion` and `kind` are taken from it, if it has them; of a kind that is
/// not the expected one, nothing else is read.
///
/// # Errors
///
/// `BadRequest`.
pub(super) fn object(body: &[u8], expected: &Expected<'_>) -> Result<Value, Status> {
    let envelope = Envelope::open(body).map_err(|why| expected.unrecognized(&why, body))?;
    let kind = if envelope.kind.is_empty() { expected.kind } else { &envelope.kind };
    let api_version = if envelope.api_version.is_empty() { &expected.api_version } else { &envelope.api_version };
    let mut object = Map::new();
    // Options are alike in all versions.
    if kind == expected.kind && (*api_version == expected.api_version || expected.is_options) {
        let read = match wire::message_of(&expected.api_version, kind) {
            Some(name) => message::read(name, envelope.raw, DEPTH, &mut object),
            None => Ok(()),
        };
        read.map_err(|error| expected.not_handled(api_version, kind, &error))?;
    }
    for (field, text) in [("apiVersion", envelope.api_version), ("kind", envelope.kind)] {
        if !text.is_empty() {
            object.insert(field.to_owned(), Value::from(text));
        }
    }
    Ok(Value::Object(object))
}

impl<'a> Envelope<'a> {
    fn open(body: &'a [u8]) -> Result<Self, String> {
        if body.is_empty() {
            return Err("empty data".to_owned());
        }
        match body.strip_prefix(PREFIX) {
            None => Err("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]".to_owned()),
            Some([]) => Err("empty body".to_owned()),
            Some(message) => Self::read(message).map_err(|error| error.to_string()),
        }
    }

    fn read(message: &'a [u8]) -> Result<Self, Error> {
        let mut envelope = Self::default();
        let mut reader = Reader::new(message);
        while let Some(tag) = reader.tag()? {
            match tag.number {
                1 => envelope.read_type(bytes(tag, &mut reader)?)?,
                2 => envelope.raw = bytes(tag, &mut reader)?,
                3 => drop(bytes(tag, &mut reader)?),
                4 => drop(bytes(tag, &mut reader)?),
                _ => reader.skip(tag)?,
            }
        }
        Ok(envelope)
    }

    fn read_type(&mut self, message: &[u8]) -> Result<(), Error> {
        let mut reader = Reader::new(message);
        while let Some(tag) = reader.tag()? {
            match tag.number {
                1 => self.api_version = text(bytes(tag, &mut reader)?),
                2 => self.kind = text(bytes(tag, &mut reader)?),
                _ => reader.skip(tag)?,
            }
        }
        Ok(())
    }
}
