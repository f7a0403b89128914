//! Bodies of the real kubectl, objects from the real encoder, and corrupted bytes.

use std::io::Read as _;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::read::GzDecoder;
use http::StatusCode;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::kinds::Kind;

/// An object of every kind from the Go types' encoders: see `tests/controlplane/kinds/wire.go`.
static SAMPLES: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let mut text = String::new();
    let compressed = include_bytes!("../../builtin/dump/wireSamples.json.gz").as_slice();
    GzDecoder::new(compressed).read_to_string(&mut text).unwrap();
    serde_json::from_str(&text).unwrap()
});

fn bytes_of(sample: &Value) -> Vec<u8> {
    BASE64_STANDARD.decode(sample["protobuf"].as_str().unwrap()).unwrap()
}

fn text_of<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap()
}

fn kind(api_version: &str, kind: &str) -> Kind {
    let found = crate::builtin::kinds().into_iter().find(|one| one.api_version() == api_version && *one.kind == *kind);
    found.unwrap_or_else(|| panic!("{api_version} {kind}"))
}

fn varint(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 0x7f {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

fn field(number: usize, bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let bytes = bytes.as_ref();
    [&varint(number << 3 | 2), &varint(bytes.len()), bytes].concat()
}

fn enveloped(api_version: &str, kind: &str, raw: impl AsRef<[u8]>) -> Vec<u8> {
    let kind = [field(1, api_version), field(2, kind)].concat();
    [PREFIX.to_vec(), field(1, kind), field(2, raw), field(3, ""), field(4, "")].concat()
}

fn config_map(body: &[u8]) -> Result<Value, Status> {
    object(body, &Expected::object(&kind("v1", "ConfigMap")))
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(_, value)| !value.is_null());
            fields.map(|(name, value)| (name.clone(), without_nulls(value))).collect()
        }
        Value::Array(items) => items.iter().map(without_nulls_in_lists).collect(),
        other => other.clone(),
    }
}

fn without_nulls_in_lists(value: &Value) -> Value {
    if value.is_null() { Value::Null } else { without_nulls(value) }
}

#[test]
fn every_built_in_kind_has_a_message() {
    for kind in crate::builtin::kinds() {
        assert!(wire::message_of(&kind.api_version(), &kind.kind).is_some(), "{} {}", kind.api_version(), kind.kind);
        for expected in [Expected::scale(), Expected::delete_options()] {
            assert!(wire::message_of(&expected.api_version, expected.kind).is_some(), "{}", expected.kind);
        }
    }
}

#[test]
fn every_field_of_every_message_becomes_what_go_makes_of_it() {
    assert!(SAMPLES.len() > 40);
    for sample in SAMPLES.iter() {
        let (api_version, kind) = (text_of(sample, "apiVersion"), text_of(sample, "kind"));
        let mut object = Map::new();
        message::read(wire::message_of(api_version, kind).unwrap(), &bytes_of(sample), DEPTH, &mut object).unwrap();
        object.insert("apiVersion".to_owned(), api_version.into());
        object.insert("kind".to_owned(), kind.into());
        assert_eq!(without_nulls(&Value::Object(object)), without_nulls(&sample["json"]), "{api_version} {kind}");
    }
}

#[test]
fn bodies_of_kubectl_are_what_it_prints() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("kubectl.json")).unwrap();
    for case in cases {
        let Some(printed) = case.get("json") else { continue };
        let kind = kind(text_of(printed, "apiVersion"), text_of(printed, "kind"));
        let object = object(&bytes_of(&case), &Expected::object(&kind)).unwrap();
        let typed = |value: &Value| {
            let mut value = value.clone();
            // kubectl prints the namespace, but sends it in the path.
            crate::object::remove_metadata(&mut value, "namespace");
            crate::builtin::settle(&kind, &mut value);
            value
        };
        assert_eq!(typed(&object), typed(printed), "{}", text_of(&case, "command"));
    }
}

#[test]
fn other_bodies_are_refused() {
    let handled = |why: &str| format!("ConfigMap in version \"v1\" cannot be handled as a ConfigMap: {why}");
    let unrecognized = |why: &str| format!("the object provided is unrecognized (must be of type ConfigMap): {why}");
    let of_config_map = |raw: &[u8]| enveloped("v1", "ConfigMap", raw);
    let no_prefix = "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]";
    let table = [
        (Vec::new(), unrecognized("empty data (<empty>)")),
        (b"{\"apiVersion\":\"v1\"}".to_vec(), unrecognized(&format!("{no_prefix} ({{\"apiVersion\":\"v1\"}})"))),
        (b"x".repeat(31), unrecognized(&format!("{no_prefix} ({} ...)", "78".repeat(30)))),
        (PREFIX.to_vec(), unrecognized("empty body (6b387300)")),
        (b"k8s\0\x0a\x05a".to_vec(), unrecognized("proto: unexpected end (6b3873000a0561)")),
        (b"k8s\0\x0c".to_vec(), unrecognized("proto: end of a group without its beginning (6b3873000c)")),
        (of_config_map(b"\x0a\x05a"), handled("proto: unexpected end")),
        (of_config_map(b"\x08\x05"), handled("proto: wrong wire type")),
        (of_config_map(&field(1, b"\x08\x05")), handled("proto: wrong wire type")),
        (of_config_map(&field(1, b"\x00\x05")), handled("proto: illegal field number")),
    ];
    for (body, message) in table {
        let status = config_map(&body).unwrap_err();
        assert_eq!((status.code, status.message), (StatusCode::BAD_REQUEST, message));
    }
    let deletion = |body: &[u8]| object(body, &Expected::delete_options()).unwrap_err().message;
    assert_eq!(deletion(b"x"), no_prefix);
    assert_eq!(deletion(&enveloped("v1", "DeleteOptions", b"\x0a\x05a")), "proto: wrong wire type");
}

#[test]
fn the_type_is_that_of_the_envelope_or_the_expected_one() {
    let named = [field(1, field(1, "a")), field(99, "unknown")].concat();
    assert_eq!(config_map(&enveloped("", "", &named)).unwrap(), json!({ "metadata": { "name": "a" } }));
    let other = json!({ "apiVersion": "v1", "kind": "Secret" });
    assert_eq!(config_map(&enveloped("v1", "Secret", &named)).unwrap(), other);
    let dry = field(5, "All");
    for api_version in ["", "v1", "apps/v1", "example.com/v1"] {
        let options = object(&enveloped(api_version, "DeleteOptions", &dry), &Expected::delete_options()).unwrap();
        assert_eq!(options["dryRun"], json!(["All"]), "{api_version}");
    }
}

#[test]
fn fields_may_be_repeated_and_entries_incomplete() {
    let raw = [
        field(1, field(1, "a")),
        field(2, [field(1, "k"), field(2, "1")].concat()),
        field(1, field(3, "n")),
        field(2, [field(2, b"2\xff\xfe"), field(1, "k")].concat()),
        field(2, field(1, "empty")),
        field(3, field(1, "bytes")),
        field(1, field(1, "")),
    ];
    assert_eq!(
        config_map(&enveloped("", "", raw.concat())).unwrap(),
        json!({ "metadata": { "namespace": "n" }, "data": { "k": "2\u{fffd}\u{fffd}", "empty": "" }, "binaryData": { "bytes": "" } })
    );
    // supplementalGroups, packed and unpacked.
    let groups = [b"\x20\x01".to_vec(), field(4, b"\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")].concat();
    let pod = field(2, field(14, groups));
    let pod = object(&enveloped("", "", pod), &Expected::object(&kind("v1", "Pod"))).unwrap();
    assert_eq!(pod, json!({ "spec": { "securityContext": { "supplementalGroups": [1, 2, -1] } } }));
}

#[test]
fn schemas_that_are_nested_without_end_are_refused() {
    let nested = |depth| {
        // 28 is the number of the field `not`.
        let schema = (0..depth).fold(Vec::new(), |inner, _| field(28, inner));
        let version = field(4, field(1, schema));
        let crd = enveloped("", "", field(2, field(7, version)));
        object(&crd, &Expected::object(&kind("apiextensions.k8s.io/v1", "CustomResourceDefinition")))
    };
    let inner = nested(100).unwrap();
    assert!(inner.pointer(&format!("/spec/versions/0/schema/openAPIV3Schema{}", "/not".repeat(100))).is_some());
    let error = nested(10_000).unwrap_err();
    assert!(error.message.ends_with("proto: messages are nested too deeply"), "{}", error.message);
}

fn spoilt() -> impl Strategy<Value = (usize, Vec<u8>)> {
    (any::<prop::sample::Index>(), prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8)).prop_map(
        |(sample, changes)| {
            let sample = sample.index(SAMPLES.len());
            let mut bytes = bytes_of(&SAMPLES[sample]);
            for (place, byte) in changes {
                let place = place.index(bytes.len().max(1));
                bytes.splice(place..(place + 1).min(bytes.len()), [byte]);
            }
            (sample, bytes)
        },
    )
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes: Vec<u8>, raw: Vec<u8>) {
        for body in [bytes.clone(), [PREFIX, &bytes].concat(), enveloped("v1", "ConfigMap", &raw)] {
            if let Err(status) = config_map(&body) {
                prop_assert_eq!(status.code, StatusCode::BAD_REQUEST);
            }
        }
    }

    #[test]
    fn spoilt_messages_are_read_or_refused((sample, bytes) in spoilt()) {
        let sample = &SAMPLES[sample];
        let name = wire::message_of(text_of(sample, "apiVersion"), text_of(sample, "kind")).unwrap();
        let _ = message::read(name, &bytes, DEPTH, &mut Map::new());
    }
}
