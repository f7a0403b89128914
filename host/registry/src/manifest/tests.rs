use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn digest() -> Digest {
    Digest::of(b"component")
}

fn manifest() -> Value {
    json!({
        "schemaVersion": 2,
        "mediaType": media_type::MANIFEST,
        "config": {"mediaType": media_type::WASM_CONFIG, "digest": digest(), "size": 2},
        "layers": [{"mediaType": media_type::WASM, "digest": digest(), "size": 9, "annotations": null}],
        "annotations": {"org.opencontainers.image.version": "1.4"},
    })
}

fn with(pointer: &str, value: Value) -> Value {
    let mut manifest = manifest();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match manifest.pointer_mut(parent).unwrap() {
        Value::Object(fields) => drop(fields.insert(key.to_owned(), value)),
        other => panic!("{other} has no fields"),
    }
    manifest
}

fn read(manifest: &Value) -> Result<Manifest, Error> {
    Manifest::parse(manifest.to_string().as_bytes())
}

#[test]
fn a_manifest_describes_one_component() {
    let manifest = read(&manifest()).unwrap();
    let layer = manifest.component().unwrap();
    assert_eq!((layer.digest, layer.size), (digest(), 9));
    assert_eq!(manifest.annotations["org.opencontainers.image.version"], "1.4");
    let read_again = Manifest::parse(&manifest.to_bytes().unwrap()).unwrap();
    assert_eq!(read_again, manifest);
}

#[test]
fn what_is_not_required_may_be_absent_and_more_may_be_there() {
    let mut short = manifest();
    for key in ["mediaType", "annotations"] {
        short.as_object_mut().unwrap().remove(key);
    }
    assert!(read(&short).unwrap().component().is_ok());
    assert!(read(&with("/annotations", Value::Null)).is_ok());
    assert!(read(&with("/config/mediaType", json!(media_type::EMPTY))).unwrap().component().is_ok());
    assert!(read(&with("/other", json!({"a": [1]}))).is_ok());
}

/// Expects the manifest to be refused, when it is read or as a component.
fn check(manifest: &Value, expected: &str) {
    let error = read(manifest).and_then(|manifest| manifest.component().cloned()).unwrap_err();
    assert!(error.to_string().contains(expected), "{manifest}: {error}");
    assert!(!error.remedy().is_empty());
}

#[test]
fn each_other_manifest_has_its_own_error() {
    let layer = manifest()["layers"][0].clone();
    let image = json!([{"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "digest": digest(), "size": 9}]);
    let index = json!({"schemaVersion": 2, "manifests": [layer.clone()]});
    let large = json!([{"mediaType": media_type::WASM, "digest": digest(), "size": bounds::COMPONENT + 1}]);
    let empty = json!([{"mediaType": media_type::WASM, "digest": digest(), "size": 0}]);
    let negative = json!([{"mediaType": media_type::WASM, "digest": digest(), "size": -1}]);
    let other = json!([{"mediaType": media_type::WASM, "digest": format!("sha512:{}", "0".repeat(128)), "size": 1}]);
    let many = Value::Array(vec![layer.clone(); bounds::LAYERS + 1]);
    for (manifest, expected) in [
        (json!({}), "cannot be read as JSON"),
        (json!([]), "cannot be read as JSON"),
        (json!({"schemaVersion": 2}), "it has no \"config\""),
        (with("/layers", Value::Null), "it has no \"layers\""),
        (with("/schemaVersion", json!(1)), "its schemaVersion is 1, not 2"),
        (with("/mediaType", json!(media_type::INDEX)), "its media type is"),
        (with("/manifests", json!([])), "a manifest and an index at once"),
        (index, "an index of several manifests"),
        (with("/layers", json!([layer.clone(), layer])), "it has 2 layers, and a component has one"),
        (with("/layers", json!([])), "it has 0 layers"),
        (with("/layers", image), "it is a container image"),
        (with("/layers", large), "its component has 268435457 bytes"),
        (with("/layers", empty), "its component has 0 bytes"),
        (with("/layers", negative), "cannot be read as JSON"),
        (with("/layers", other), "cannot be read as JSON"),
        (with("/layers", many), "it has 101 layers, which is more than 100"),
        (with("/config/mediaType", json!("application/vnd.cncf.helm.config.v1+json")), "it is not a component"),
    ] {
        check(&manifest, expected);
    }
    // Errors quote only a bounded part of it.
    let letters = "a".repeat(1 << 20);
    let image = json!([{"mediaType": format!("application/vnd.oci.image.layer.{letters}"), "digest": digest(), "size": 9}]);
    for long in [with("/mediaType", json!(letters)), with("/schemaVersion", json!(letters)), with("/layers", image)] {
        let error = read(&long).and_then(|manifest| manifest.component().cloned()).unwrap_err();
        assert!(gyre_core::text::error_chain(&error).len() < 300, "{}", error.remedy());
    }
    let long = vec![b' '; bounds::MANIFEST as usize + 1];
    assert!(matches!(Manifest::parse(&long), Err(Error::Size { .. })));
}

#[test]
fn an_index_lists_manifests() {
    let descriptor = Descriptor::of(b"{}", media_type::MANIFEST);
    let index = Index::new(vec![descriptor.clone()]);
    assert_eq!(Index::parse(&index.to_bytes().unwrap()).unwrap(), index);
    assert!(matches!(Index::parse(manifest().to_string().as_bytes()), Err(Error::MediaType { .. })));
    assert!(matches!(Index::parse(br#"{"schemaVersion":2}"#), Err(Error::Missing("manifests"))));
    assert!(matches!(Manifest::parse(&index.to_bytes().unwrap()), Err(Error::Index)));
}

#[test]
fn a_config_is_the_one_that_other_tools_read() {
    let interface = Interface { exports: vec!["a:b/c".to_owned()], imports: Vec::new() };
    let config = WasmConfig::new(digest(), None, interface, Vec::new());
    let written: Value = serde_json::from_slice(&config.to_bytes().unwrap()).unwrap();
    let expected = json!({
        "created": "1970-01-01T00:00:00Z",
        "architecture": "wasm",
        "os": "wasip2",
        "layerDigests": [digest()],
        "component": {"exports": ["a:b/c"], "imports": []},
    });
    assert_eq!(written, expected);
    assert_eq!(WasmConfig::parse(&config.to_bytes().unwrap()).unwrap(), config);
    config.check_layer(&digest()).unwrap();
    assert!(matches!(config.check_layer(&Digest::of(b"other")), Err(Error::OtherComponent { .. })));
}

/// The bytes of a document with one byte changed, or any bytes.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let text = manifest().to_string().into_bytes();
    let changed = (0..text.len(), any::<u8>()).prop_map(move |(at, byte)| {
        let mut text = text.clone();
        text[at] = byte;
        text
    });
    prop_oneof![proptest::collection::vec(any::<u8>(), 0..200), changed]
}

proptest! {
    #[test]
    fn any_bytes_are_refused_or_read(bytes in bytes()) {
        if let Ok(manifest) = Manifest::parse(&bytes) {
            let written = manifest.to_bytes().unwrap();
            prop_assert_eq!(Manifest::parse(&written).unwrap(), manifest.clone());
            if let Ok(layer) = manifest.component() {
                prop_assert!(layer.size > 0 && layer.size <= bounds::COMPONENT);
            }
        }
        let _ = Index::parse(&bytes);
        let _ = WasmConfig::parse(&bytes);
    }
}
