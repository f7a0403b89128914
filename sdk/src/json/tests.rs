use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::*;

#[derive(Debug, PartialEq, Deserialize)]
struct Everything {
    inner: Inner,
    optional: Option<Inner>,
    list: Vec<Option<Inner>>,
    map: BTreeMap<String, Vec<Inner>>,
    pair: (Inner, u8),
    newtype: Newtype,
    choice: Vec<Choice>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Inner {
    number: i64,
    #[serde(default)]
    fraction: f64,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Newtype(Inner);

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Choice {
    Unit,
    Tuple(u8, u8),
    Struct { number: u8 },
}

#[derive(Debug, Deserialize)]
struct Raw {
    raw: Box<RawValue>,
    any: Value,
}

const EVERYTHING: &str = r#"{
    "inner": {"number": -1, "fraction": 2.5, "unknown": [[{}]]},
    "optional": null,
    "list": [null, {"number": 2}],
    "map": {"one": [{"number": 3}], "\u00fcber": []},
    "pair": [{"number": 4}, 5],
    "newtype": {"number": 6},
    "choice": ["unit", {"tuple": [7, 8]}, {"struct": {"number": 9}}],
    "more": {"of": ["it"]}
}"#;

#[test]
fn all_kinds_of_types_are_read_as_serde_json_reads_them() {
    let expected: Everything = serde_json::from_str(EVERYTHING).unwrap();
    assert_eq!(read::<Everything>(EVERYTHING.as_bytes()).unwrap(), expected);
    let raw: Raw = read(br#"{"raw": {"a" : 1}, "any": [{"b": 2}]}"#).unwrap();
    assert_eq!((raw.raw.get(), raw.any.to_string().as_str()), (r#"{"a" : 1}"#, r#"[{"b":2}]"#));
}

#[track_caller]
fn check_error(json: &str, expected: &str) {
    let error = read::<Inner>(json.as_bytes()).unwrap_err().to_string();
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn errors_are_those_of_serde_json() {
    for json in ["", "{", r#"{"number": 1} {}"#, r#"{"number": "1"}"#, r#"{"number": 1, "number": 1}"#, "{}", "null", "7"] {
        check_error(json, &serde_json::from_str::<Inner>(json).unwrap_err().to_string());
    }
}

#[test]
fn a_struct_is_no_array() {
    assert!(serde_json::from_str::<Inner>("[1, 2.5]").is_ok());
    check_error("[1, 2.5]", "invalid type: sequence, expected struct Inner");
}
