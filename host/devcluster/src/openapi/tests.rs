use serde_json::{Value, json};

use super::*;
use crate::kinds::{Scope, Subresource};
use crate::test_kinds;

/// Two definitions, and their document from a real API server.
const RECORDED: &[u8] = include_bytes!("tests.json.gz");

#[test]
fn custom_document_is_that_of_the_real_server() {
    let recorded: Value = serde_json::from_slice(&decompressed(RECORDED).unwrap()).unwrap();
    let kinds: Vec<(Kind, Value)> = recorded["kinds"]
        .as_array()
        .unwrap()
        .iter()
        .map(|kind| {
            let text = |field: &str| kind[field].as_str().unwrap();
            let scope = if kind["scope"] == "Namespaced" { Scope::Namespaced } else { Scope::Cluster };
            let mut made = test_kinds::builtin("example.com", "v1", text("plural"), text("kind"), scope);
            if kind["scale"] == true {
                made.subresources = [Subresource::Status, Subresource::Scale].into();
            }
            (made, kind["schema"].clone())
        })
        .collect();
    let kinds: Vec<(&Kind, &Value)> = kinds.iter().map(|(kind, schema)| (kind, schema)).collect();
    let (ours, theirs) = (custom_document(&kinds), &recorded["document"]);
    for part in ["components/schemas", "paths"] {
        let part = |document: &Value| document.pointer(&format!("/{part}")).unwrap().as_object().unwrap().clone();
        let (ours, theirs) = (part(&ours), part(theirs));
        assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>());
        for (name, theirs) in theirs {
            assert_eq!(ours[&name], theirs, "{name}");
        }
    }
    assert_eq!(ours, *theirs);
}

#[test]
fn the_document_of_a_kind_without_scale_does_not_describe_it() {
    let kind = test_kinds::builtin("example.com", "v1", "echos", "Echo", Scope::Namespaced);
    let document = custom_document(&[(&kind, &json!({ "type": "object" }))]);
    let schemas = document["components"]["schemas"].as_object().unwrap();
    assert!(!schemas.keys().any(|name| name.contains("autoscaling")));
    assert!(schemas.contains_key("com.example.v1.EchoList"));
}

#[test]
fn index_says_where_documents_are() {
    let hash = hash(b"abc");
    assert!(hash.starts_with("DDAF35A193617ABACC417349AE204131"), "{hash}");
    assert_eq!(
        index([("api/v1", hash.as_str())]),
        json!({ "paths": { "api/v1": { "serverRelativeURL": format!("/openapi/v3/api/v1?hash={hash}") } } })
    );
}

#[test]
fn a_document_that_is_not_gzip_is_none() {
    assert_eq!(decompressed(b"rubbish"), None);
}
