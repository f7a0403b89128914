use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::patch::tests::any_json;
use crate::schema::{RootSchema, Schema, SchemaId, Schemas};

/// Patches of a Deployment and the results of a real API server.
const RECORDED: &str = include_str!("tests.json");

fn recorded() -> Value {
    serde_json::from_str(RECORDED).unwrap()
}

fn schema(document: &Value) -> RootSchema {
    let mut schemas = Schemas::new();
    let root = add(&mut schemas, document);
    RootSchema::new(std::sync::Arc::new(schemas), root)
}

fn add(schemas: &mut Schemas, document: &Value) -> SchemaId {
    let text = |field: &str| document[field].as_str();
    let properties = document["properties"].as_object().into_iter().flatten();
    let schema = Schema {
        definition: text("definition").map(Into::into),
        kind: Type::named(text("type")),
        properties: properties.map(|(name, document)| (name.clone(), add(schemas, document))).collect(),
        additional_properties: document.get("additional").map(|document| add(schemas, document)),
        items: document.get("items").map(|document| add(schemas, document)),
        patch_strategy: text("strategy").into_iter().flat_map(|strategy| strategy.split(',')).map(Into::into).collect(),
        patch_merge_key: text("merge-key").map(Into::into),
        ..Schema::default()
    };
    schemas.add(schema)
}

#[test]
fn patches_do_what_they_do_on_the_real_server() {
    let recorded = recorded();
    let schema = schema(&recorded["schema"]);
    for case in recorded["cases"].as_array().unwrap() {
        let patched = apply(&recorded["object"], &case["patch"], schema.root());
        match case.get("result") {
            Some(expected) => {
                assert_eq!(without_defaults(patched.unwrap()), without_defaults(expected.clone()), "{}", case["patch"])
            }
            None => {
                let status = patched.unwrap_err();
                // Its other messages print Go values.
                if let Some(message) = case.get("message") {
                    assert_eq!(status.message, *message, "{case}");
                }
                assert_eq!((json!(status.code.as_u16()), json!(status.reason)), (case["code"].clone(), case["reason"].clone()));
            }
        }
    }
}

fn without_defaults(mut deployment: Value) -> Value {
    for (place, field, default) in
        [("/spec", "replicas", json!(1)), ("/metadata", "annotations", json!({})), ("/metadata", "labels", json!({}))]
    {
        let fields = deployment.pointer_mut(place).and_then(Value::as_object_mut).unwrap();
        if fields.get(field) == Some(&default) {
            fields.remove(field);
        }
    }
    deployment
}

#[test]
fn a_patch_must_be_an_object() {
    let schema = schema(&json!({}));
    let status = apply(&json!({}), &json!([]), schema.root()).unwrap_err();
    assert_eq!(status.message, "expected object, got array");
    assert_eq!(apply(&json!({ "a": 1 }), &Value::Null, schema.root()), Ok(json!({ "a": 1 })));
}

#[test]
fn merging_into_a_map_of_maps_is_an_error() {
    let schema = schema(&json!({ "properties": { "a": { "additional": {}, "type": "object" } }, "type": "object" }));
    let object = json!({ "a": { "b": { "c": 1 } } });
    let status = apply(&object, &json!({ "a": { "b": { "c": 2 } } }), schema.root()).unwrap_err();
    assert_eq!(status.message, "the schema has no field \"b\" to merge into");
}

proptest! {
    #[test]
    fn no_patch_makes_it_panic(patch in any_json(), object in any_json()) {
        let recorded = recorded();
        let schema = schema(&recorded["schema"]);
        for patch in [json!({ "spec": { "template": { "spec": { "containers": patch } } } }), json!({ "metadata": patch }), patch.clone()] {
            let _ = apply(&recorded["object"], &patch, schema.root());
            let _ = apply(&object, &patch, schema.root());
        }
    }
}
