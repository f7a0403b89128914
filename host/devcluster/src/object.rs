//! Reads and writes the metadata of JSON objects.

use jiff::Timestamp;
use serde_json::{Map, Value};

/// Returns about how many bytes a value takes: the tree, and its JSON, which is kept once used.
pub fn footprint(value: &Value) -> usize {
    const VALUE: usize = size_of::<Value>();
    /// A B-tree node of a map has room for eleven entries, of which about six are used.
    const NODE: usize = 11 * (size_of::<String>() + VALUE);
    const NODE_ENTRIES: usize = 6;
    /// Quotes, a comma and a colon.
    const PUNCTUATION: usize = 4;
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => VALUE + PUNCTUATION,
        Value::String(text) => VALUE + PUNCTUATION + 2 * text.len(),
        Value::Array(items) => VALUE + items.iter().map(footprint).sum::<usize>(),
        Value::Object(fields) => {
            let entry = |(name, field): (&String, &Value)| PUNCTUATION + 2 * name.len() + footprint(field);
            VALUE + fields.len().div_ceil(NODE_ENTRIES) * NODE + fields.iter().map(entry).sum::<usize>()
        }
    }
}

/// Returns the object's `metadata`, created if absent; `None` if one of them is not a JSON object.
pub fn metadata_mut(object: &mut Value) -> Option<&mut Map<String, Value>> {
    let metadata = object.as_object_mut()?.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    if metadata.is_null() {
        *metadata = Value::Object(Map::new());
    }
    metadata.as_object_mut()
}

/// Returns a text field of `metadata`, or an empty text.
pub fn metadata<'a>(object: &'a Value, field: &str) -> &'a str {
    object.get("metadata").and_then(|metadata| metadata.get(field)).and_then(Value::as_str).unwrap_or_default()
}

/// Returns a text field of the object, or an empty text.
pub fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// Returns `metadata.name`.
pub fn name(object: &Value) -> &str {
    metadata(object, "name")
}

/// Returns `metadata.namespace`, empty for cluster-scoped objects.
pub fn namespace(object: &Value) -> &str {
    metadata(object, "namespace")
}

/// Returns `metadata.uid`.
pub fn uid(object: &Value) -> Option<&str> {
    Some(metadata(object, "uid")).filter(|uid| !uid.is_empty())
}

/// Returns `metadata.labels`.
pub fn labels(object: &Value) -> impl Iterator<Item = (&str, &str)> {
    let labels = object.get("metadata").and_then(|metadata| metadata.get("labels")).and_then(Value::as_object);
    labels.into_iter().flatten().filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
}

/// Returns the value of a label.
pub fn label<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.get("metadata")?.get("labels")?.get(key)?.as_str()
}

/// Returns the name of a value's type in JSON, as messages show it.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The UIDs of `metadata.ownerReferences`.
pub fn owner_uids(object: &Value) -> impl Iterator<Item = &str> {
    owner_references(object).filter_map(|reference| reference.get("uid")?.as_str())
}

/// Returns `metadata.ownerReferences`.
pub fn owner_references(object: &Value) -> impl Iterator<Item = &Value> {
    object.get("metadata").and_then(|metadata| metadata.get("ownerReferences")).and_then(Value::as_array).into_iter().flatten()
}

/// Returns `metadata.finalizers`.
pub fn finalizers(object: &Value) -> impl Iterator<Item = &str> {
    let finalizers = object.get("metadata").and_then(|metadata| metadata.get("finalizers")).and_then(Value::as_array);
    finalizers.into_iter().flatten().filter_map(Value::as_str)
}

/// Returns whether it has a deletionTimestamp.
pub fn is_deleting(object: &Value) -> bool {
    !metadata(object, "deletionTimestamp").is_empty()
}

/// Sets a field of `metadata`.
pub fn set_metadata(object: &mut Value, field: &str, value: Value) {
    if let Some(metadata) = metadata_mut(object) {
        metadata.insert(field.to_owned(), value);
    }
}

/// Removes a field of `metadata`.
pub fn remove_metadata(object: &mut Value, field: &str) -> Option<Value> {
    object.get_mut("metadata")?.as_object_mut()?.remove(field)
}

/// Sets `metadata.resourceVersion`.
pub fn set_resource_version(object: &mut Value, revision: u64) {
    set_metadata(object, "resourceVersion", Value::from(revision.to_string()));
}

/// Formats a time as in metadata: whole seconds, UTC.
pub(crate) fn seconds(time: Timestamp) -> String {
    Timestamp::from_second(time.as_second()).unwrap_or(time).to_string()
}
