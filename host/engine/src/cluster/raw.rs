//! Reads JSON text in place, without a DOM.
//!
//! It is more lenient than serde's derived readers, because one odd object must not stop a watch:
//! duplicate keys are passed on (as in Go, the last one counts), halves of surrogate pairs become
//! U+FFFD, and values of an unexpected type count as absent. Skipped values may nest to any depth.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// Calls `visit` with the key and the value's text of each member of a JSON object, in order.
pub(super) fn members<'a>(json: &'a str, visit: impl FnMut(Cow<'a, str>, &'a str)) -> Result<(), serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(json);
    reader.deserialize_map(Members(visit))?;
    reader.end()
}

pub(crate) fn member<'a>(json: &'a str, name: &str) -> Option<&'a str> {
    let mut found = None;
    let read = members(json, |key, value| {
        if key == name {
            found = Some(value);
        }
    });
    found.filter(|_| read.is_ok())
}

pub(super) fn elements(json: &str) -> Vec<&str> {
    let elements: Option<Vec<&RawValue>> = serde_json::from_str(json).ok();
    elements.into_iter().flatten().map(RawValue::get).collect()
}

/// A JSON string, unescaped; borrowed if nothing is escaped, `None` if it is not a string.
pub(crate) fn text(json: &str) -> Option<Cow<'_, str>> {
    serde_json::from_str::<Text<'_>>(json).ok().map(|text| text.0)
}

struct Members<F>(F);

impl<'de, F: FnMut(Cow<'de, str>, &'de str)> Visitor<'de> for Members<F> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(Text(key)) = map.next_key()? {
            let value: &RawValue = map.next_value()?;
            (self.0)(key, value.get());
        }
        Ok(())
    }
}

/// A string that may have halves of surrogate pairs, which serde_json passes on only as bytes.
struct Text<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl<'de> Visitor<'de> for Bytes {
            type Value = Text<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a JSON string")
            }

            fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> Result<Text<'de>, E> {
                Ok(Text(String::from_utf8_lossy(bytes)))
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(String::from_utf8_lossy(bytes).into_owned())))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_unescaped_and_borrowed_where_nothing_is_escaped() {
        assert!(matches!(text(r#""plain ü""#), Some(Cow::Borrowed("plain ü"))));
        assert_eq!(text(r#""a\"b\\c\u003c\u00fc\ud83d\ude00""#).as_deref(), Some("a\"b\\c<ü😀"));
        let half = text(r#""a\ud83d!""#).unwrap();
        assert!(half.starts_with('a') && half.ends_with('!') && half.contains('\u{fffd}'), "{half:?}");
        for other in ["null", "7", "[]", "[97]", "{}", "", "\"open"] {
            assert_eq!(text(other), None, "{other}");
        }
    }

    #[test]
    fn members_are_shown_in_order_with_duplicates_and_the_last_one_is_found() {
        let json = r#"{ "a" : 1 , "b\ud83d":[ {} ], "a": "x" }"#;
        let mut seen = Vec::new();
        members(json, |key, value| seen.push((key.into_owned(), value))).unwrap();
        assert_eq!(seen.iter().map(|(_, value)| *value).collect::<Vec<_>>(), ["1", "[ {} ]", "\"x\""]);
        assert_eq!((seen[0].0.as_str(), seen[2].0.as_str()), ("a", "a"));
        assert_eq!(member(json, "a"), Some("\"x\""));
        assert_eq!(member(json, "c"), None);
        for other in ["null", "7", "[]", "\"a\"", "", r#"{"a":1"#, r#"{"a":1} x"#] {
            assert!(members(other, |_, _| {}).is_err() && member(other, "a").is_none(), "{other}");
        }
    }

    #[test]
    fn skipped_fields_may_nest_to_any_depth() {
        let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(member(&deep, "b"), None);
        assert_eq!(member(&deep, "a").map(str::len), Some(200_000));
        assert_eq!(elements(member(&deep, "a").unwrap()).len(), 1);
        assert_eq!(elements("null").len(), 0);
    }
}
