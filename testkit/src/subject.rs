//! The names of objects.

use std::fmt;

use serde::Deserialize;
use serde_json::Value;

/// Names an object. It prints as `Job default/hello`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Subject {
    /// E.g. `batch/v1`.
    pub api_version: String,
    /// E.g. `Job`.
    pub kind: String,
    /// `None` if it is cluster-scoped.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

impl Subject {
    /// Returns the subject of an object; missing fields are empty.
    pub fn of(object: &Value) -> Self {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        Self {
            api_version: text("/apiVersion").unwrap_or_default(),
            kind: text("/kind").unwrap_or_default(),
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name").unwrap_or_default(),
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, namespace, name, .. } = self;
        match namespace {
            Some(namespace) => write!(formatter, "{kind} {namespace}/{name}"),
            None => write!(formatter, "{kind} {name}"),
        }
    }
}
