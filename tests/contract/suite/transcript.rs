//! The requests to a server and its answers, masked for comparison.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Transcript {
    pub(crate) exchanges: Vec<Exchange>,
}

/// A request and its answer, or a value of the check itself, which has no status.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Exchange {
    /// The request or the name of the value, for people. It is not compared.
    pub(crate) request: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<u16>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) headers: BTreeMap<String, Vec<String>>,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(crate) body: Value,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) events: Vec<Value>,
}

impl Exchange {
    /// The compared part: all but the warnings about what devcluster lacks.
    pub(crate) fn compared(&self) -> Value {
        let mut headers = self.headers.clone();
        if let Some(warnings) = headers.get_mut("warning") {
            warnings.retain(|warning| !warning.starts_with("299 - \"devcluster "));
        }
        headers.retain(|_, values| !values.is_empty());
        serde_json::json!({ "status": self.status, "headers": headers, "body": self.body, "events": self.events })
    }
}

impl Transcript {
    pub(crate) fn load(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("no transcript at {}: {error}", path.display()));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{} is no transcript: {error}", path.display()))
    }

    pub(crate) fn save(&self, path: &Path) {
        std::fs::write(path, serde_json::to_string_pretty(self).unwrap() + "\n").unwrap();
    }
}

impl fmt::Display for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for exchange in &self.exchanges {
            writeln!(f, "> {}", exchange.request)?;
            if let Some(status) = exchange.status {
                writeln!(f, "< {status} {:?}", exchange.headers)?;
            }
            if !exchange.body.is_null() {
                writeln!(f, "{:#}", exchange.body)?;
            }
            for event in &exchange.events {
                writeln!(f, "event {event:#}")?;
            }
        }
        Ok(())
    }
}
