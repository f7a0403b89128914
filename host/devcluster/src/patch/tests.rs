use proptest::prelude::*;
use serde_json::{Value, json};

use super::{json as json_patch, merge};
use crate::status::Status;

pub(super) fn any_json() -> impl Strategy<Value = Value> {
    let name = prop_oneof![
        Just("a"),
        Just("name"),
        Just("finalizers"),
        Just("env"),
        Just("$patch"),
        Just("$retainKeys"),
        Just("$setElementOrder/finalizers"),
        Just("$setElementOrder/env"),
        Just("$deleteFromPrimitiveList/finalizers"),
    ]
    .prop_map(str::to_owned);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-c]|delete|replace".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name.clone(), inner, 0..4).prop_map(|fields| fields.into_iter().collect()),
        ]
    })
}

fn outcome(patched: Result<Value, Status>) -> Value {
    patched.unwrap_or_else(|status| status.code.as_u16().into())
}

/// The examples of RFC 6902, appendix A, and the API server's extensions.
#[test]
fn json_patches() {
    for (object, patch, expected) in [
        (json!({ "a": 1 }), json!([{ "op": "add", "path": "/b", "value": 2 }]), json!({ "a": 1, "b": 2 })),
        (json!({ "a": [1, 3] }), json!([{ "op": "add", "path": "/a/1", "value": 2 }]), json!({ "a": [1, 2, 3] })),
        (json!({ "a": 1, "b": 2 }), json!([{ "op": "remove", "path": "/b" }]), json!({ "a": 1 })),
        (json!({ "a": [1, 2, 3] }), json!([{ "op": "remove", "path": "/a/1" }]), json!({ "a": [1, 3] })),
        (json!({ "a": 1 }), json!([{ "op": "replace", "path": "/a", "value": 2 }]), json!({ "a": 2 })),
        (
            json!({ "a": { "b": 1 }, "c": {} }),
            json!([{ "op": "move", "from": "/a/b", "path": "/c/d" }]),
            json!({ "a": {}, "c": { "d": 1 } }),
        ),
        (json!({ "a": [1, 2, 3] }), json!([{ "op": "move", "from": "/a/0", "path": "/a/2" }]), json!({ "a": [2, 3, 1] })),
        (json!({ "a": [1] }), json!([{ "op": "test", "path": "/a/0", "value": 1 }]), json!({ "a": [1] })),
        (json!({ "a": 1 }), json!([{ "op": "test", "path": "/a", "value": "1" }]), json!(422)),
        (json!({ "a": 1 }), json!([{ "op": "add", "path": "/b/c", "value": 1 }]), json!(422)),
        (json!({ "a": [1] }), json!([{ "op": "add", "path": "/a/-", "value": 2 }]), json!({ "a": [1, 2] })),
        (json!({ "/": 9, "~1": 10 }), json!([{ "op": "test", "path": "/~01", "value": 10 }]), json!({ "/": 9, "~1": 10 })),
        (json!({ "a": 1 }), json!([{ "op": "add", "path": "/a~1b", "value": 2 }]), json!({ "a": 1, "a/b": 2 })),
        (json!({ "a": 1 }), json!([{ "op": "replace", "path": "/b", "value": 2 }]), json!({ "a": 1, "b": 2 })),
        (json!({ "a": 1 }), json!([{ "op": "remove", "path": "/b" }]), json!(422)),
        (
            json!({ "a": 1 }),
            json!([{ "op": "test", "path": "/b", "value": null }, { "op": "test", "path": "/b" }]),
            json!({ "a": 1 }),
        ),
        (json!({ "a": 1 }), json!([{ "op": "copy", "from": "/b", "path": "/c" }]), json!({ "a": 1, "c": null })),
        (json!({ "a": [1, 2] }), json!([{ "op": "add", "path": "/a/-1", "value": 3 }]), json!({ "a": [1, 2, 3] })),
        (json!({ "a": [1, 2] }), json!([{ "op": "remove", "path": "/a/-1" }]), json!({ "a": [1] })),
        (json!({ "a": [1, 2] }), json!([{ "op": "remove", "path": "/a/2" }]), json!(422)),
        (json!({ "a": 1 }), json!([{ "op": "replace", "path": "", "value": { "b": 1 } }]), json!({ "b": 1 })),
        (json!({ "a": 1 }), json!([{ "op": "replace", "path": "", "value": 1 }]), json!(422)),
        (json!({ "a": 1 }), json!([{ "op": "remove", "path": "" }]), json!(422)),
        (json!({ "a": 1 }), json!([{ "op": "shrug", "path": "/a" }]), json!(422)),
        (json!({ "a": 1 }), json!([null]), json!(422)),
        (json!({ "a": 1 }), json!(null), json!({ "a": 1 })),
        (json!({ "a": 1 }), json!({}), json!(400)),
        (json!({ "a": 1 }), json!([1]), json!(400)),
    ] {
        assert_eq!(outcome(json_patch::apply(&object, &patch)), expected, "{patch}");
    }
}

#[test]
fn bad_patches_are_refused() {
    let bad = |patch: Value| json_patch::apply(&json!({}), &patch).unwrap_err().message;
    assert_eq!(bad(json!({})), "error decoding patch: expected array, got object");
    assert_eq!(bad(json!(["x"])), "error decoding patch: expected object, got string");
    assert_eq!(bad(json!([{ "op": 1 }])), "error decoding patch: op: expected string, got number");
    assert_eq!(bad(json!([{ "op": "x" }])), "the server rejected our request due to an error in our request");
    let many = vec![json!({ "op": "test", "path": "/a" }); 10_001];
    assert_eq!(
        bad(Value::Array(many)),
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
    );
    let unknown = json!([{ "op": "add", "path": "/a", "foo": 1 }]);
    assert_eq!(json_patch::unknown_fields(&unknown), [r#"json patch unknown field "[0].foo""#]);

    let bad = |patch: Value| merge::apply(&json!({}), &patch).unwrap_err().message;
    assert_eq!(bad(json!([])), "error decoding patch: expected object, got array");
    assert_eq!(bad(json!(null)), "Invalid JSON Patch");
}

#[test]
fn copies_cannot_make_an_object_grow_without_bound() {
    let doubling = vec![json!({ "op": "copy", "from": "/a", "path": "/a/-" }); 200];
    assert_eq!(outcome(json_patch::apply(&json!({ "a": ["x".repeat(1000)] }), &Value::Array(doubling))), json!(422));
    let deepening: Vec<Value> = (1..200).map(|depth| json!({ "op": "add", "path": "/a".repeat(depth), "value": {} })).collect();
    assert_eq!(outcome(json_patch::apply(&json!({}), &Value::Array(deepening))), json!(422));
}

/// The examples of RFC 7386, appendix A, with objects.
#[test]
fn merge_patches() {
    for (object, patch, expected) in [
        (json!({ "a": "b" }), json!({ "a": "c" }), json!({ "a": "c" })),
        (json!({ "a": "b" }), json!({ "b": "c" }), json!({ "a": "b", "b": "c" })),
        (json!({ "a": "b" }), json!({ "a": null }), json!({})),
        (json!({ "a": "b", "b": "c" }), json!({ "a": null }), json!({ "b": "c" })),
        (json!({ "a": ["b"] }), json!({ "a": "c" }), json!({ "a": "c" })),
        (json!({ "a": "c" }), json!({ "a": ["b"] }), json!({ "a": ["b"] })),
        (json!({ "a": { "b": "c" } }), json!({ "a": { "b": "d", "c": null } }), json!({ "a": { "b": "d" } })),
        (json!({ "a": [{ "b": "c" }] }), json!({ "a": [1] }), json!({ "a": [1] })),
        (json!({ "e": null }), json!({ "a": 1 }), json!({ "e": null, "a": 1 })),
        (json!({}), json!({ "a": { "bb": { "ccc": null } } }), json!({ "a": { "bb": {} } })),
        (json!({ "a": 1 }), json!({ "a": [null, { "b": null }] }), json!({ "a": [null, {}] })),
        (json!({ "a": null }), json!({ "a": { "b": null } }), json!({ "a": {} })),
    ] {
        assert_eq!(outcome(merge::apply(&object, &patch)), expected, "{patch}");
    }
}

fn any_operation() -> impl Strategy<Value = Value> {
    let operation = "add|remove|replace|move|copy|test|x";
    let path = "(/(a|name|env|-1|0|1|-|~0|~1)){0,4}";
    (operation, path, path, any_json())
        .prop_map(|(op, path, from, value)| json!({ "op": op, "path": path, "from": from, "value": value }))
}

proptest! {
    #[test]
    fn no_json_patch_makes_it_panic(object in any_json(), patch in prop::collection::vec(any_operation(), 0..20), rubbish in any_json()) {
        let _ = json_patch::apply(&object, &Value::Array(patch));
        let _ = json_patch::apply(&object, &rubbish);
        json_patch::unknown_fields(&rubbish);
    }

    #[test]
    fn an_added_value_can_be_tested_and_removed(object in any_json(), value in any_json()) {
        let object = json!({ "kept": object });
        let added = json!([{ "op": "add", "path": "/new", "value": value }, { "op": "test", "path": "/new", "value": value }]);
        let patched = json_patch::apply(&object, &added).unwrap();
        prop_assert_eq!(&patched["new"], &value);
        prop_assert_eq!(json_patch::apply(&patched, &json!([{ "op": "remove", "path": "/new" }])).unwrap(), object);
    }

    #[test]
    fn merging_a_third_time_changes_nothing(object in any_json(), patch in any_json()) {
        let (object, patch) = (json!({ "a": object }), json!({ "a": patch }));
        let merged = |object: &Value| merge::apply(object, &patch).unwrap();
        // The first merge leaves nulls in a list that replaces an object, as on the server.
        let twice = merged(&merged(&object));
        prop_assert_eq!(merged(&twice), twice);
    }
}
