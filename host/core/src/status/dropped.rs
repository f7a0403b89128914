//! Finds the fields of a status that the API server did not store, because its schema lacks them.

use serde_json::{Map, Value};

use crate::text::cut;

/// The fields that are named; more are only counted.
const NAMED: usize = 3;
/// The most bytes of a named field: a plugin may invent long names.
const NAME_LIMIT: usize = 200;

/// The fields of a written status that are missing in the API server's answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DroppedFields {
    named: Vec<String>,
    count: usize,
}

impl DroppedFields {
    /// Compares what was written with what was stored. `is_expected` says for a field of the
    /// status itself whether the schema should have it.
    pub fn find(written: &Map<String, Value>, stored: Option<&Map<String, Value>>, is_expected: impl Fn(&str) -> bool) -> Self {
        let mut dropped = Self::default();
        for (field, value) in written.iter().filter(|(field, _)| is_expected(field)) {
            dropped.compare(&format!("status.{field}"), value, stored.and_then(|stored| stored.get(field)));
        }
        dropped
    }

    /// Returns whether nothing was dropped.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    fn compare(&mut self, path: &str, written: &Value, stored: Option<&Value>) {
        match (written, stored) {
            // A merge patch removes it.
            (Value::Null, None) => {}
            (_, None) => {
                self.count += 1;
                if self.named.len() < NAMED {
                    self.named.push(cut(path, NAME_LIMIT));
                }
            }
            (Value::Object(written), Some(Value::Object(stored))) => {
                for (field, value) in written {
                    self.compare(&format!("{path}.{field}"), value, stored.get(field));
                }
            }
            // Pruning keeps the length of a list.
            (Value::Array(written), Some(Value::Array(stored))) if written.len() == stored.len() => {
                for (index, (written, stored)) in written.iter().zip(stored).enumerate() {
                    self.compare(&format!("{path}[{index}]"), written, Some(stored));
                }
            }
            // Another value is somebody's decision, e.g. a webhook's.
            (_, Some(_)) => {}
        }
    }
}

/// Lists the first fields, and the number of the others.
impl std::fmt::Display for DroppedFields {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.named.join(", "))?;
        match self.count - self.named.len() {
            0 => Ok(()),
            more => write!(formatter, " and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(written: &Value, stored: &Value, expected: &str) {
        let dropped = DroppedFields::find(written.as_object().unwrap(), stored.as_object(), |field| field != "conditions");
        assert_eq!(dropped.to_string(), expected, "{written} {stored}");
        assert_eq!(dropped.is_empty(), expected.is_empty());
    }

    #[test]
    fn missing_fields_are_named_and_other_values_are_not() {
        check(&json!({"a": 1, "b": {"c": 2, "d": 3}}), &json!({"a": 1, "b": {"c": 2}}), "status.b.d");
        check(&json!({"a": 1, "b": {"c": 2}}), &Value::Null, "status.a, status.b");
        check(&json!({"list": [{"a": 1}, {"a": 1, "b": 2}]}), &json!({"list": [{"a": 1}, {"a": 1}]}), "status.list[1].b");
        check(&json!({"a": 1, "list": [1], "gone": null}), &json!({"a": 2, "list": [], "more": 1}), "");
        check(&json!({"conditions": []}), &json!({}), "");
        let many = json!({"a": 1, "b": 1, "c": 1, "d": 1, "e": 1});
        check(&many, &json!({}), "status.a, status.b, status.c and 2 more");
    }
}
