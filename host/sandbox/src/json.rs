//! Parses untrusted JSON.

use gyre_core::text::displayed;
use serde::de::DeserializeOwned;

/// The most bytes of an error message: serde quotes unexpected strings of any length.
const PROBLEM: usize = 1_024;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum JsonError {
    TooDeep,
    Invalid(String),
}

/// Parses a text that nests at most `depth` deep. Checks this first, in one pass without recursion:
/// a DOM of 8 MiB of brackets would take a hundred times that.
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8], depth: usize) -> Result<T, JsonError> {
    if nests_deeper_than(bytes, depth) {
        return Err(JsonError::TooDeep);
    }
    serde_json::from_slice(bytes).map_err(|error| JsonError::Invalid(displayed(&error, PROBLEM)))
}

fn nests_deeper_than(bytes: &[u8], limit: usize) -> bool {
    let mut depth = 0_usize;
    let mut bytes = bytes.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'{' | b'[' => {
                depth += 1;
                if depth > limit {
                    return true;
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => skip_string(&mut bytes),
            _ => {}
        }
    }
    false
}

fn skip_string(bytes: &mut std::slice::Iter<'_, u8>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => {
                bytes.next();
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value};

    use super::*;

    fn object(text: &str, depth: usize) -> Result<Map<String, Value>, JsonError> {
        parse(text.as_bytes(), depth)
    }

    #[test]
    fn depth_is_counted_outside_of_strings() {
        assert!(object(r#"{"a":{"b":[1]}}"#, 3).is_ok());
        assert_eq!(object(r#"{"a":{"b":[1]}}"#, 2), Err(JsonError::TooDeep));
        assert!(object(r#"{"a":"[[[[\"[[[["}"#, 1).is_ok());
        assert_eq!(object(r#"{"a":"\\","b":[]}"#, 1), Err(JsonError::TooDeep));
    }

    #[test]
    fn only_json_objects_are_valid() {
        for text in ["", "[]", "1", "{", "{\"a\":\"\u{1}\"}", "{} {}", "null"] {
            assert!(matches!(object(text, 9), Err(JsonError::Invalid(_))), "{text}");
        }
        assert!(matches!(parse::<Value>(b"\"\xff\"", 9), Err(JsonError::Invalid(_))));
    }

    #[test]
    fn a_problem_does_not_quote_the_whole_text() {
        let Err(JsonError::Invalid(message)) = object(&format!("\"{}\"", "x".repeat(1 << 20)), 9) else {
            panic!("it was read")
        };
        assert!(message.starts_with("invalid type: string") && message.len() <= PROBLEM, "{} bytes", message.len());
    }
}
