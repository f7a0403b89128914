use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value;

use super::differences::{self, Difference};
use super::messages;
use super::transcript::Transcript;

/// The maximum number of differences of one answer that are shown: with more, people read the
/// transcripts themselves.
const MAX_SHOWN: usize = 40;
/// The places of messages, in which some words may differ.
const MESSAGES: [&str; 4] =
    ["/body/message", "/body/details/causes/*/message", "/headers/warning/*", "/events/*/object/message"];

pub(crate) fn diff(check: &str, expected: &Transcript, found: &Transcript) -> String {
    let mut report = String::new();
    for (index, pair) in expected.exchanges.iter().zip(&found.exchanges).enumerate() {
        let (expected, found) = pair;
        let mut places = Vec::new();
        compare("", &expected.compared(), &found.compared(), &mut places);
        places.retain(|place| !differences::KNOWN.iter().any(|known| known.covers(check, &place.path)));
        places.retain(|place| !place.is_same_message());
        if places.is_empty() {
            continue;
        }
        let _ = writeln!(report, "request {}: {}", index + 1, expected.request);
        for Place { path, expected, found } in places.iter().take(MAX_SHOWN) {
            let _ =
                writeln!(report, "  {path}\n    expected {}\n    found    {}", shown(expected.as_ref()), shown(found.as_ref()));
        }
        if places.len() > MAX_SHOWN {
            let _ = writeln!(report, "  and {} more places", places.len() - MAX_SHOWN);
        }
    }
    let (expected, found) = (expected.exchanges.len(), found.exchanges.len());
    if expected != found {
        let _ = writeln!(report, "{expected} requests were expected, and {found} were made");
    }
    report
}

/// A difference between two answers; `None` where one has no value.
struct Place {
    path: String,
    expected: Option<Value>,
    found: Option<Value>,
}

impl Place {
    /// Returns whether only the words of a message differ that devcluster chooses itself.
    fn is_same_message(&self) -> bool {
        let texts = self.expected.as_ref().and_then(Value::as_str).zip(self.found.as_ref().and_then(Value::as_str));
        MESSAGES.iter().any(|pattern| matches_pattern(pattern, &self.path))
            && texts.is_some_and(|(expected, found)| messages::is_same(expected, found))
    }
}

fn compare(path: &str, expected: &Value, found: &Value, places: &mut Vec<Place>) {
    match (expected, found) {
        (Value::Object(left), Value::Object(right)) => {
            let keys: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
            for key in keys {
                step(&format!("{path}/{}", key.replace('~', "~0").replace('/', "~1")), left.get(key), right.get(key), places);
            }
        }
        (Value::Array(left), Value::Array(right)) => {
            for index in 0..left.len().max(right.len()) {
                step(&format!("{path}/{index}"), left.get(index), right.get(index), places);
            }
        }
        _ => step(path, Some(expected), Some(found), places),
    }
}

fn step(path: &str, expected: Option<&Value>, found: Option<&Value>, places: &mut Vec<Place>) {
    match (expected, found) {
        (Some(left), Some(right)) if left == right => {}
        (Some(left @ (Value::Object(_) | Value::Array(_))), Some(right))
            if std::mem::discriminant(left) == std::mem::discriminant(right) =>
        {
            compare(path, left, right, places);
        }
        _ => places.push(Place { path: path.to_owned(), expected: expected.cloned(), found: found.cloned() }),
    }
}

fn shown(value: Option<&Value>) -> String {
    value.map_or_else(|| "nothing".to_owned(), Value::to_string)
}

impl Difference {
    fn covers(&self, check: &str, path: &str) -> bool {
        (self.check == "*" || self.check == check) && matches_pattern(self.path, path)
    }
}

/// Returns whether a path is what a pattern says, in which `*` is one step and a last `**` is any
/// number of steps.
fn matches_pattern(pattern: &str, path: &str) -> bool {
    let (mut pattern, mut path) = (pattern.split('/'), path.split('/'));
    loop {
        match (pattern.next(), path.next()) {
            (Some("**"), _) | (None, None) => return true,
            (Some("*"), Some(_)) => {}
            (Some(left), Some(right)) if left == right => {}
            _ => return false,
        }
    }
}

#[test]
fn every_differing_place_is_named_and_equal_ones_are_not() {
    let (left, right) =
        (serde_json::json!({"a": [1, 2], "b": {"c": 1}, "d": 0}), serde_json::json!({"a": [1, 3, 4], "b": [], "d": 0}));
    let mut places = Vec::new();
    compare("", &left, &right, &mut places);
    let paths: Vec<&str> = places.iter().map(|place| place.path.as_str()).collect();
    assert_eq!(paths, ["/a/1", "/a/2", "/b"]);
}

#[test]
fn patterns_cover_steps() {
    assert!(matches_pattern("/body/*/name", "/body/x/name"));
    assert!(matches_pattern("/body/**", "/body/x/name"));
    assert!(!matches_pattern("/body/*", "/body/x/name"));
    assert!(!matches_pattern("/body/x/name", "/body/x"));
}
