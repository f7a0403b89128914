//! The protobuf form of objects: the messages and their fields (`dump/wire.json.gz`).

use std::collections::HashMap;
use std::io::Read as _;
use std::sync::{Arc, LazyLock};

use flate2::read::GzDecoder;
use serde::Deserialize;

/// The message of a schema in a CustomResourceDefinition.
pub(crate) const SCHEMA: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";

static WIRE: LazyLock<Wire> = LazyLock::new(|| {
    let mut text = Vec::new();
    // Empty if invalid: a test reads the embedded dump.
    match GzDecoder::new(include_bytes!("dump/wire.json.gz").as_slice()).read_to_end(&mut text) {
        Ok(_) => serde_json::from_slice(&text).unwrap_or_default(),
        Err(_) => Wire::default(),
    }
});

#[derive(Default, Deserialize)]
struct Wire {
    kinds: HashMap<String, HashMap<String, String>>,
    messages: HashMap<String, Message>,
}

/// The fields of a message, by number.
pub(crate) type Message = HashMap<u32, Field>;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Field {
    /// The name in JSON; empty if the message is inlined in the enclosing one.
    #[serde(default)]
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) value_type: ValueType,
    #[serde(default)]
    pub(crate) many: Many,
    /// True if JSON omits the zero value.
    #[serde(default)]
    pub(crate) omit_zero: bool,
}

/// The number of values of a field.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Many {
    #[default]
    No,
    List,
    Map,
}

/// The type of a value: a scalar, a message, or a message with its own JSON encoding.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(from = "String")]
pub(crate) enum ValueType {
    String,
    Bytes,
    Bool,
    Int32,
    Int64,
    Double,
    Time,
    MicroTime,
    Quantity,
    IntOrString,
    Json,
    SchemaOrBool,
    SchemaOrSchemas,
    SchemaOrStrings,
    Texts,
    Message(Arc<str>),
}

impl From<String> for ValueType {
    fn from(name: String) -> Self {
        match name.as_str() {
            "string" => Self::String,
            "bytes" => Self::Bytes,
            "bool" => Self::Bool,
            "int32" => Self::Int32,
            "int64" => Self::Int64,
            "double" => Self::Double,
            "time" => Self::Time,
            "microTime" => Self::MicroTime,
            "quantity" => Self::Quantity,
            "intOrString" => Self::IntOrString,
            "json" => Self::Json,
            "schemaOrBool" => Self::SchemaOrBool,
            "schemaOrSchemas" => Self::SchemaOrSchemas,
            "schemaOrStrings" => Self::SchemaOrStrings,
            "texts" => Self::Texts,
            _ => Self::Message(name.into()),
        }
    }
}

pub(crate) fn message_of(api_version: &str, kind: &str) -> Option<&'static str> {
    Some(WIRE.kinds.get(api_version)?.get(kind)?)
}

pub(crate) fn message(name: &str) -> Option<&'static Message> {
    WIRE.messages.get(name)
}
