use std::collections::BTreeMap;
use std::fmt::Debug;

use proptest::prelude::*;
use serde::{Deserialize, Serialize};
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

#[test]
fn raw_values_pass_as_they_stand() {
    #[derive(Serialize)]
    struct Out<'a> {
        raw: &'a RawValue,
    }
    let raw: Raw = read(br#"{"raw": {"a\u0062" : [1, "\""]} , "any": 1}"#).unwrap();
    assert_eq!(raw.raw.get(), r#"{"a\u0062" : [1, "\""]}"#);
    assert_eq!(write(&Out { raw: &raw.raw }).unwrap(), br#"{"raw":{"a\u0062" : [1, "\""]}}"#);
}

#[track_caller]
fn check_error<T: DeserializeOwned + Debug>(json: &str, expected: &str) {
    assert_eq!(read::<T>(json.as_bytes()).unwrap_err().to_string(), expected);
}

#[test]
fn errors_of_types_are_those_of_serde_json() {
    let end = |error: String| error.split(" at line ").next().unwrap().to_owned();
    let cases = [
        r#"{"number": 1} {}"#,
        r#"{"number": "1"}"#,
        r#"{"number": 1, "number": 1}"#,
        "{}",
        "null",
        "7",
        "-7",
        "true",
        "\"\"",
        r#"{"number": null}"#,
        r#"{"number": [1]}"#,
        r#"{"number": {}}"#,
        r#"{"number": 9223372036854775808}"#,
        r#"{"number": 1, "fraction": "x"}"#,
    ];
    for json in cases {
        let ours = read::<Inner>(json.as_bytes()).unwrap_err().to_string();
        assert_eq!(end(ours), end(serde_json::from_str::<Inner>(json).unwrap_err().to_string()), "{json}");
    }
}

#[test]
fn what_is_unknown_is_named_as_by_serde_json() {
    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct None {}
    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "read only to fail")]
    struct Two {
        one: Option<u8>,
        other: Option<u8>,
    }
    #[derive(Debug, Deserialize)]
    enum One {
        Only,
    }
    check_error::<None>(r#"{"a":1}"#, "unknown field `a`, there are no fields at line 1 column 4");
    check_error::<Two>(r#"{"a":1}"#, "unknown field `a`, expected `one` or `other` at line 1 column 4");
    check_error::<One>(r#""A""#, "unknown variant `A`, expected `Only` at line 1 column 3");
    check_error::<Choice>(r#"{"A":1}"#, "unknown variant `A`, expected one of `unit`, `tuple`, `struct` at line 1 column 4");
    assert!(matches!(read::<One>(br#"{"Only":null}"#), Ok(One::Only)));
    assert!(matches!(serde_json::from_str(r#"{"Only":null}"#), Ok(One::Only)));
}

#[test]
fn errors_say_where() {
    check_error::<Inner>("{\n  \"number\": \"x\"}", "invalid type: string \"x\", expected i64 at line 2 column 15");
    check_error::<Inner>("{\"number\": 1.5}", "invalid type: floating point number, expected i64 at line 1 column 14");
    check_error::<Inner>("{\"number\": 1", "EOF while parsing at line 1 column 12");
    check_error::<Inner>("[1, 2.5]", "invalid type: sequence, expected struct Inner at line 1 column 0");
    assert_eq!(read::<String>(b"\"\xff\"").unwrap_err().to_string(), "not UTF-8 from byte 1 on");
}

#[test]
fn a_struct_is_no_array() {
    assert!(serde_json::from_str::<Inner>("[1, 2.5]").is_ok());
    assert!(read::<Inner>(b"[1, 2.5]").is_err());
}

#[test]
fn what_is_no_json_is_refused() {
    let cases = [
        "",
        " ",
        "{",
        "[",
        "[1",
        "[1,",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "{1:1}",
        "{,}",
        "01",
        "-",
        "1.",
        ".5",
        "1e",
        "1e+",
        "+1",
        "0x1",
        "nul",
        "truefalse",
        "\"",
        "\"\\",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u+123\"",
        "\"\\ud800\"",
        "\"\\ud800\\u0041\"",
        "\"\\udc00\"",
        "\"\n\"",
        "\"\u{1}\"",
        "1e999",
        "NaN",
        "]",
        "}",
        "[}",
        "{]",
        "1 2",
        "\u{feff}1",
    ];
    for json in cases {
        assert!(serde_json::from_str::<Value>(json).is_err(), "{json}");
        assert!(read::<Value>(json.as_bytes()).is_err(), "{json}");
    }
}

#[test]
fn only_what_is_read_must_not_nest_too_deep() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(read::<Value>(nested(127).as_bytes()).is_ok());
    check_error::<Value>(&nested(1000), "recursion limit exceeded at line 1 column 128");
    let inner = format!("{{\"deep\": {}, \"number\": 1}}", nested(100_000));
    assert_eq!(read::<Inner>(inner.as_bytes()).unwrap(), Inner { number: 1, fraction: 0.0 });
}

#[test]
fn what_is_no_number_is_null_as_in_serde_json() {
    assert_eq!(write(&[f64::NAN, f64::INFINITY, 0.1, 1e300, -0.0]).unwrap(), b"[null,null,0.1,1e+300,-0.0]");
    assert_eq!(serde_json::to_string(&[f64::NAN, f64::INFINITY, 0.1, 1e300, -0.0]).unwrap(), "[null,null,0.1,1e+300,-0.0]");
}

#[test]
fn keys_may_be_numbers_as_in_serde_json() {
    let map = BTreeMap::from([(-1_i64, true), (20, false)]);
    let json = write(&map).unwrap();
    assert_eq!(json, serde_json::to_vec(&map).unwrap());
    assert_eq!(read::<BTreeMap<i64, bool>>(&json).unwrap(), map);
    let map = BTreeMap::from([(true, 'x')]);
    assert_eq!(read::<BTreeMap<bool, char>>(&write(&map).unwrap()).unwrap(), map);
    assert!(write(&BTreeMap::from([(vec![1], 1)])).is_err());
    assert!(write(&BTreeMap::from([((), 1)])).is_err());
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Variant {
    Unit,
    Newtype(Box<Shape>),
    Tuple(i8, Option<u16>),
    Struct { list: Vec<Shape>, unit: () },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Shape {
    small: (i8, u8, i16, u16, i32, u32),
    large: (i64, u64, i128, u128),
    fractions: (f32, f64),
    text: (char, String),
    map: BTreeMap<String, Option<bool>>,
    variants: Vec<Variant>,
}

fn any_shape() -> impl Strategy<Value = Shape> {
    let leaf = (
        any::<(i8, u8, i16, u16, i32, u32)>(),
        any::<(i64, u64, i128, u128)>(),
        (prop::num::f32::NORMAL, prop::num::f64::NORMAL),
        any::<(char, String)>(),
    )
        .prop_flat_map(|(small, large, fractions, text)| {
            proptest::collection::btree_map(any::<String>(), any::<Option<bool>>(), 0..3).prop_map(move |map| Shape {
                small,
                large,
                fractions,
                text: text.clone(),
                map,
                variants: Vec::new(),
            })
        });
    leaf.prop_recursive(3, 8, 3, |inner| {
        let variant = prop_oneof![
            Just(Variant::Unit),
            inner.clone().prop_map(|shape| Variant::Newtype(Box::new(shape))),
            any::<(i8, Option<u16>)>().prop_map(|(one, other)| Variant::Tuple(one, other)),
            proptest::collection::vec(inner.clone(), 0..3).prop_map(|list| Variant::Struct { list, unit: () }),
        ];
        (inner, proptest::collection::vec(variant, 0..3)).prop_map(|(shape, variants)| Shape { variants, ..shape })
    })
}

proptest! {
    #[test]
    fn what_is_written_is_what_serde_json_writes(shape in any_shape()) {
        let json = write(&shape).unwrap();
        prop_assert_eq!(String::from_utf8(json).unwrap(), serde_json::to_string(&shape).unwrap());
    }

    #[test]
    fn what_is_written_is_read_again(shape in any_shape()) {
        prop_assert_eq!(read::<Shape>(&serde_json::to_vec_pretty(&shape).unwrap()).unwrap(), shape.clone());
        let value: Value = serde_json::to_value(&shape.map).unwrap();
        prop_assert_eq!(read::<Value>(&serde_json::to_vec(&value).unwrap()).unwrap(), value);
    }

    /// Also not of a text that is cut short or changed: an answer or an error, never a panic.
    #[test]
    fn nothing_makes_it_panic(shape in any_shape(), at in any::<prop::sample::Index>(), other in "[]\\[{}\",:0-9a-z\\\\ü]{0,2}") {
        let json = serde_json::to_string(&shape).unwrap();
        let start = json.floor_char_boundary(at.index(json.len()));
        let rest = json[start..].chars().skip(1).collect::<String>();
        let changed = format!("{}{other}{rest}", &json[..start]);
        let ours = read::<Value>(changed.as_bytes());
        prop_assert_eq!(ours.is_ok(), serde_json::from_str::<Value>(&changed).is_ok(), "{}", changed);
        let _ = read::<Shape>(changed.as_bytes());
        let _ = read::<Shape>(&json.as_bytes()[..start]);
    }

    #[test]
    fn stops_of_strings_are_found(text in "[ -~\u{0}-\u{20}ü\u{7f}\\\\\"]{0,40}") {
        let is_stop = |byte: u8| byte < b' ' || byte == b'"' || byte == b'\\';
        prop_assert_eq!(plain_length(text.as_bytes()), text.bytes().position(is_stop).unwrap_or(text.len()));
    }
}
