//! Reads fields that may be absent, as zero values like Go.

use std::collections::BTreeSet;

use serde_json::Value;

pub(super) fn text<'a>(object: &'a Value, path: &str) -> &'a str {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn text_or<'a>(object: &'a Value, path: &str, absent: &'a str) -> &'a str {
    object.pointer(path).and_then(Value::as_str).unwrap_or(absent)
}

pub(super) fn filled_or<'a>(object: &'a Value, path: &str, empty: &'a str) -> &'a str {
    Some(text(object, path)).filter(|text| !text.is_empty()).unwrap_or(empty)
}

pub(super) fn number(object: &Value, path: &str) -> i64 {
    object.pointer(path).and_then(Value::as_i64).unwrap_or_default()
}

pub(super) fn flag(object: &Value, path: &str) -> bool {
    object.pointer(path).and_then(Value::as_bool).unwrap_or_default()
}

pub(super) fn list<'a>(object: &'a Value, path: &str) -> &'a [Value] {
    object.pointer(path).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

pub(super) fn count(object: &Value, path: &str) -> usize {
    match object.pointer(path) {
        Some(Value::Object(fields)) => fields.len(),
        Some(Value::Array(items)) => items.len(),
        _ => 0,
    }
}

pub(super) fn shown(object: &Value, path: &str) -> Option<String> {
    match object.pointer(path)? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

pub(super) fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a str> {
    let conditions = list(object, "/status/conditions");
    conditions.iter().find(|condition| text(condition, "/type") == kind).map(|condition| text(condition, "/status"))
}

pub(super) fn labels(labels: Option<&Value>) -> String {
    let labels = labels.and_then(Value::as_object).into_iter().flatten();
    let labels: BTreeSet<String> = labels.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())).collect();
    none_if_empty(labels.into_iter().collect::<Vec<_>>().join(","))
}

pub(super) fn none_if_empty(text: String) -> String {
    if text.is_empty() { "<none>".to_owned() } else { text }
}

pub(super) fn first_few(texts: &[String], limit: usize, separator: &str) -> String {
    let shown = texts.iter().take(limit).map(String::as_str).collect::<Vec<_>>().join(separator);
    match texts.len().checked_sub(limit) {
        None | Some(0) => shown,
        Some(more) => format!("{shown} + {more} more..."),
    }
}

pub(super) fn optional_flag(object: &Value, path: &str) -> &'static str {
    match object.pointer(path).and_then(Value::as_bool) {
        Some(true) => "True",
        Some(false) => "False",
        None => "<unset>",
    }
}
