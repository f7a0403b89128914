//! Describes the errors of a JSON Schema for people.

use std::collections::BTreeSet;

use jsonschema::ValidationError;
use serde_json::Value;

use crate::document::Part;
use crate::problem::Problems;

/// The part of a schema that an error comes from.
pub fn schema_of<'s>(error: &ValidationError<'_>, schema: &'s Value) -> &'s Value {
    let keyword = error.schema_path().as_str();
    keyword.rsplit_once('/').and_then(|(parent, _)| schema.pointer(parent)).unwrap_or(&Value::Null)
}

/// Reports unknown keys, each with the most similar known one, or all known ones.
pub fn report_unknown(
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

/// The keys in a schema.
pub fn keys(schema: &Value) -> Vec<&str> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten().map(|(key, _)| key.as_str()).collect()
}

/// The most similar known word, if one is similar enough.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let distance = |known: &str| {
        let known = known.to_lowercase();
        // One letter in three may be wrong, and one word may be the beginning of the other.
        let is_short = word.len() >= 3 && (known.starts_with(&word) || word.starts_with(&known));
        let distance = strsim::osa_distance(&word, &known);
        (is_short || distance <= (word.len().max(known.len()) / 3).max(1)).then_some(distance)
    };
    known.into_iter().filter_map(|known| Some((distance(known)?, known))).min_by_key(|near| near.0).map(|(_, known)| known)
}
