//! Values as Go writes them, where they are more than a message: in printer columns, in `fieldsV1`,
//! and in the fields of causes.

use std::fmt::Write as _;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Number;

/// Formats a number as `%v` does.
pub(crate) fn print_number(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() => print_float(float, -4..21),
        _ => number.to_string(),
    }
}

/// Formats a float with the shortest digits. Exponents other than `plain` are written, with at
/// least two digits.
pub(crate) fn print_float(float: f64, plain: Range<i32>) -> String {
    let scientific = format!("{float:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if plain.contains(&exponent) {
        return float.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}

/// `unicode.IsPrint`: letters, marks, numbers, punctuation, symbols, and the ASCII space.
fn is_printed(character: char) -> bool {
    static PRINTED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^[\pL\pM\pN\pP\pS]$").ok());
    let is_in_class = |regex: &Regex| regex.is_match(character.encode_utf8(&mut [0; 4]));
    matches!(character, ' '..='~') || !character.is_ascii() && PRINTED.as_ref().is_none_or(is_in_class)
}

/// JSON text as Go's encoder writes it: characters of HTML markup are escaped.
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

/// Formats a text as `%q` does.
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
    fn numbers_are_printed_as_go_prints_them() {
        for (value, printed) in [
            (json!(1.5), "1.5"),
            (json!(1.0), "1"),
            (json!(-7), "-7"),
            (json!(1e20), "100000000000000000000"),
            (json!(1e21), "1e+21"),
            (json!(0.0001), "0.0001"),
            (json!(0.000_012), "1.2e-05"),
        ] {
            assert_eq!(print_number(value.as_number().unwrap()), printed);
        }
    }
}
