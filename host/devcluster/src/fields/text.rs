//! The order and text of values in structured-merge-diff: for keys of `FieldsV1` and for messages.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use crate::go;

/// Formats a value like Go's JSON encoder: whole floats without a fraction, `<`, `>` and `&`
/// escaped.
pub(super) fn json(value: &Value) -> String {
    match value {
        Value::Number(number) => json_number(number),
        Value::Array(items) => format!("[{}]", joined(items.iter().map(json), ",")),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| format!("{}:{}", json_string(name), json(value)));
            format!("{{{}}}", joined(fields, ","))
        }
        Value::String(text) => json_string(text),
        Value::Null | Value::Bool(_) => value.to_string(),
    }
}

pub(super) fn json_string(text: &str) -> String {
    go::escape_markup(&Value::from(text).to_string())
}

fn json_number(number: &Number) -> String {
    match float(number) {
        Some(value) => go::print_float(value, -6..21).replacen("e-0", "e-", 1),
        None => number.to_string(),
    }
}

/// `value.ToString` of structured-merge-diff, for keys in paths.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(_) => value.to_string(),
        Value::Number(value) => go::print_number(value),
        Value::String(text) => go::quoted(text),
        Value::Array(items) => format!("[{}]", joined(items.iter().map(shown), ",")),
        Value::Object(fields) => joined(fields.iter().map(|(name, value)| format!("{name}={}", shown(value))), ""),
    }
}

/// Compares values: numbers by size, then text, booleans, lists, objects and null.
pub(super) fn compare(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => compare_numbers(left, right),
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Array(left), Value::Array(right)) => {
            let differing = left.iter().zip(right).map(|(left, right)| compare(left, right)).find(|order| order.is_ne());
            differing.unwrap_or_else(|| left.len().cmp(&right.len()))
        }
        (Value::Object(left), Value::Object(right)) => {
            let pairs = left.iter().zip(right);
            let orders = pairs
                .map(|((left_name, left), (right_name, right))| left_name.cmp(right_name).then_with(|| compare(left, right)));
            orders.into_iter().find(|order| order.is_ne()).unwrap_or_else(|| left.len().cmp(&right.len()))
        }
        _ => rank(left).cmp(&rank(right)),
    }
}

pub(super) fn same(left: &Value, right: &Value) -> bool {
    compare(left, right).is_eq()
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

fn float(number: &Number) -> Option<f64> {
    if number.is_f64() { number.as_f64() } else { None }
}

fn whole(number: &Number) -> i128 {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from)).unwrap_or_default()
}

/// Compares exactly, because rounding to floats would give no total order of the keys of a map.
fn compare_numbers(left: &Number, right: &Number) -> Ordering {
    match (float(left), float(right)) {
        (None, None) => whole(left).cmp(&whole(right)),
        (Some(left), Some(right)) => left.partial_cmp(&right).unwrap_or(Ordering::Equal),
        (Some(left), None) => compare_mixed(left, whole(right)),
        (None, Some(right)) => compare_mixed(right, whole(left)).reverse(),
    }
}

fn compare_mixed(left: f64, right: i128) -> Ordering {
    // The cast saturates, and integers of JSON are far from the limits of i128.
    (left.trunc() as i128).cmp(&right).then_with(|| left.fract().partial_cmp(&0.0).unwrap_or(Ordering::Equal))
}

fn joined(parts: impl Iterator<Item = String>, separator: &str) -> String {
    parts.collect::<Vec<_>>().join(separator)
}
