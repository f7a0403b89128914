//! Values as Go's `fmt` prints them: the API server's messages and printer columns show them so.

use std::fmt::Write as _;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Number, Value};

/// Formats a decoded value as `%v` does, e.g. `map[name:a ports:[1 2]]`.
pub(crate) fn print(value: &Value) -> String {
    let mut text = String::new();
    write_value(&mut text, value);
    text
}

/// Formats a number as `%v` does.
pub(crate) fn print_number(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() => print_float(float),
        _ => number.to_string(),
    }
}

/// `unicode.IsPrint`: letters, marks, numbers, punctuation, symbols, and of the spaces that of
/// ASCII.
fn is_printed(character: char) -> bool {
    static PRINTED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^[\pL\pM\pN\pP\pS]$").ok());
    let is_in_class = |regex: &Regex| regex.is_match(character.encode_utf8(&mut [0; 4]));
    matches!(character, ' '..='~') || !character.is_ascii() && PRINTED.as_ref().is_none_or(is_in_class)
}

/// Formats the type of a decoded value as `%T` does, e.g. `map[string]interface {}`.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// Returns a JSON decoder's name of a value in `cannot unmarshal … into Go value`.
pub(crate) fn json_type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// JSON as Go's encoder writes it: fields in order, and what HTML would read as markup escaped.
pub(crate) fn escaped_json(value: &Value) -> String {
    escape_markup(&sorted(value).to_string())
}

/// JSON text in which what HTML would read as markup is escaped.
pub(crate) fn escape_markup(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                // Writing to a String cannot fail.
                let _ = write!(text, "\\u{:04x}", u32::from(character));
            }
            other => text.push(other),
        }
    }
    text
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            Value::Object(fields.into_iter().map(|(name, value)| (name.clone(), sorted(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

fn write_value(text: &mut String, value: &Value) {
    match value {
        Value::Null => text.push_str("<nil>"),
        Value::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => text.push_str(&print_number(number)),
        Value::String(value) => text.push_str(value),
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(' ');
                }
                write_value(text, item);
            }
            text.push(']');
        }
        Value::Object(fields) => {
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort();
            text.push_str("map[");
            for (index, name) in names.into_iter().enumerate() {
                if index > 0 {
                    text.push(' ');
                }
                text.push_str(name);
                text.push(':');
                write_value(text, fields.get(name).unwrap_or(&Value::Null));
            }
            text.push(']');
        }
    }
}

/// `%v` of a float64 is `%g` with the shortest digits, but with an exponent only from 21 on.
fn print_float(float: f64) -> String {
    let scientific = format!("{float:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..21).contains(&exponent) {
        return format!("{float}");
    }
    let mut text = mantissa.to_owned();
    let sign = if exponent < 0 { '-' } else { '+' };
    // Writing to a String cannot fail.
    let _ = write!(text, "e{sign}{:02}", exponent.unsigned_abs());
    text
}

/// A text as Go's `%q` writes it.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{b}' => quoted.push_str("\\v"),
            // Writing to a String cannot fail.
            control if control.is_ascii_control() => drop(write!(quoted, "\\x{:02x}", u32::from(control))),
            other if is_printed(other) => quoted.push(other),
            other if u32::from(other) > 0xffff => drop(write!(quoted, "\\U{:08x}", u32::from(other))),
            other => drop(write!(quoted, "\\u{:04x}", u32::from(other))),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_printed_as_go_prints_them() {
        for (value, printed) in [
            (json!(null), "<nil>"),
            (json!({ "b": [1, "x", null, true], "a": {} }), "map[a:map[] b:[1 x <nil> true]]"),
            (json!(1.5), "1.5"),
            (json!(1.0), "1"),
            (json!(-7), "-7"),
            (json!(1e20), "100000000000000000000"),
            (json!(1e21), "1e+21"),
            (json!(0.0001), "0.0001"),
            (json!(0.000_012), "1.2e-05"),
        ] {
            assert_eq!(print(&value), printed);
        }
    }
}
