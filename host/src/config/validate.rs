//! What a JSON Schema finds wrong with a document, for people.

use std::collections::BTreeSet;

use jsonschema::ValidationError;
use serde_json::Value;

use super::node::Part;
use super::problem::{Problems, nearest};

/// The part of a schema that an error comes from.
pub(super) fn schema_of<'s>(error: &ValidationError<'_>, schema: &'s Value) -> &'s Value {
    let keyword = error.schema_path().as_str();
    keyword.rsplit_once('/').and_then(|(parent, _)| schema.pointer(parent)).unwrap_or(&Value::Null)
}

/// Reports keys of a map that its schema does not know, each with the known one that is meant, or else all that are known.
pub(super) fn report_unknown(
    map: &Part,
    what: &str,
    unknown: &[String],
    schema: &Value,
    known_are: impl Fn(&[&str]) -> String,
    problems: &mut Problems,
) {
    let known = keys(schema);
    let unknown: BTreeSet<&str> = unknown.iter().map(String::as_str).collect();
    for (key, place) in map.keys(|key| unknown.contains(key)) {
        let remedy = match nearest(key, known.iter().copied()) {
            Some(near) => format!("did you mean {near}?"),
            None => known_are(&known),
        };
        problems.add(place, format!("unknown {what} {key:?}"), remedy);
    }
}

/// The keys that a schema knows.
pub(super) fn keys(schema: &Value) -> Vec<&str> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten().map(|(key, _)| key.as_str()).collect()
}
