use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Values with the field names that the heuristics look at among others.
fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-5i64..5).prop_map(Value::from),
        (-5i64..5).prop_map(|number| json!(number as f64)),
        "[a-c]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 48, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(fields(), inner, 0..5).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn fields() -> impl Strategy<Value = String> {
    proptest::sample::select(vec![
        "spec",
        "containers",
        "ports",
        "env",
        "name",
        "port",
        "protocol",
        "metadata",
        "finalizers",
        "labels",
        "a",
        "b",
        "gyre.dev/x",
    ])
    .prop_map(str::to_owned)
}

/// Adds fields everywhere, as defaulting does; with `elements`, nowhere that could clash with what is there.
fn with_more_fields(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let more = fields.iter().map(|(field, value)| (field.clone(), with_more_fields(value)));
            Value::Object(more.chain([("defaulted".to_owned(), json!({ "by": "the server" }))]).collect())
        }
        Value::Array(elements) => elements.iter().map(with_more_fields).collect(),
        leaf => leaf.clone(),
    }
}

/// The paths of all scalars that are not null.
fn leaves(value: &Value, path: String, found: &mut Vec<(String, String)>, pointer: String) {
    match value {
        Value::Object(fields) => {
            for (field, value) in fields {
                let shown = match (is_plain(field), path.is_empty()) {
                    (false, _) => format!("{path}[{field:?}]"),
                    (true, true) => field.clone(),
                    (true, false) => format!("{path}.{field}"),
                };
                let escaped = field.replace('~', "~0").replace('/', "~1");
                leaves(value, shown, found, format!("{pointer}/{escaped}"));
            }
        }
        Value::Array(elements) => {
            for (index, value) in elements.iter().enumerate() {
                leaves(value, format!("{path}[{index}]"), found, format!("{pointer}/{index}"));
            }
        }
        Value::Null => {}
        _ => found.push((path, pointer)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_value_contains_itself(value in values()) {
        prop_assert_eq!(first_difference(&value, &value), None);
        prop_assert!(equal(&value, &value));
    }

    #[test]
    fn fields_that_others_add_make_no_difference(value in values()) {
        let in_a_set = |path: &str| path.contains("finalizers");
        let mut found = Vec::new();
        leaves(&value, String::new(), &mut found, String::new());
        prop_assume!(!found.iter().any(|(path, _)| in_a_set(path)) && !value.to_string().contains("finalizers"));
        prop_assert_eq!(first_difference(&value, &with_more_fields(&value)), None);
    }

    #[test]
    fn a_changed_leaf_is_a_difference_and_the_path_names_it(value in values(), choice: prop::sample::Index) {
        let mut found = Vec::new();
        leaves(&value, String::new(), &mut found, String::new());
        prop_assume!(!found.is_empty());
        let (path, pointer) = choice.get(&found);
        let mut live = value.clone();
        *live.pointer_mut(pointer).expect("the pointer was made from this value") = json!("something else");
        let named = first_difference(&value, &live).expect("there is a difference");
        // The key of an element, or an element of a set, is named by what it is a part of.
        prop_assert!(path.starts_with(&named), "{} is not at {}", named, path);
        prop_assert!(!equal(&value, &live));
    }

    #[test]
    fn equal_is_symmetrical(left in values(), right in values()) {
        prop_assert_eq!(equal(&left, &right), equal(&right, &left));
    }
}

fn check(desired: Value, live: Value, expected: Option<&str>) {
    assert_eq!(first_difference(&desired, &live).as_deref(), expected, "desired {desired}, live {live}");
}

#[test]
fn what_the_api_server_does_to_an_object_is_no_difference() {
    for (desired, live) in [
        (json!({"a": 1}), json!({"a": 1.0})),
        (json!({"a": null}), json!({})),
        (json!({"args": []}), json!({})),
        (json!({"metadata": {"labels": {}}}), json!({"metadata": {}})),
        (json!({"metadata": {"finalizers": ["b"]}}), json!({"metadata": {"finalizers": ["a", "b"]}})),
        (
            json!({"spec": {"containers": [{"name": "main", "ports": [{"containerPort": 80}]}]}}),
            json!({"spec": {"containers": [
                {"name": "injected"},
                {"name": "main", "ports": [{"containerPort": 9, "protocol": "TCP"}, {"containerPort": 80, "protocol": "TCP"}]},
            ]}}),
        ),
        (
            json!({"spec": {"containers": [{"name": "main", "env": [{"name": "B", "value": "2"}]}]}}),
            json!({"spec": {"containers": [{"name": "main", "env": [{"name": "A"}, {"name": "B", "value": "2"}]}]}}),
        ),
        (
            json!({"metadata": {"ownerReferences": [{"uid": "1"}]}}),
            json!({"metadata": {"ownerReferences": [{"uid": "0"}, {"uid": "1", "kind": "Echo"}]}}),
        ),
        (json!({"spec": {"rules": [{"host": "a"}]}}), json!({"spec": {"rules": [{"host": "a", "pathType": "Prefix"}]}})),
    ] {
        check(desired, live, None);
    }
}

#[test]
fn drift_is_a_difference() {
    for (desired, live, path) in [
        (json!({"a": 1}), json!({"a": "1"}), "a"),
        (json!({"a": null}), json!({"a": 1}), "a"),
        (json!({"a": false}), json!({}), "a"),
        (json!({"a": 9007199254740993_i64}), json!({"a": 9007199254740992_i64}), "a"),
        (json!({"args": []}), json!({"args": ["x"]}), "args"),
        (json!({"metadata": {"labels": {"gyre.dev/x": "1"}}}), json!({"metadata": {}}), "metadata.labels"),
        (
            json!({"metadata": {"labels": {"gyre.dev/x": "1"}}}),
            json!({"metadata": {"labels": {}}}),
            "metadata.labels[\"gyre.dev/x\"]",
        ),
        // The volume is another one now.
        (
            json!({"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}}),
            json!({"spec": {"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}}),
            "spec.volumes[0].emptyDir",
        ),
        // Named elements, but the list is one value: nobody else may add to it.
        (
            json!({"subjects": [{"kind": "User", "name": "a"}]}),
            json!({"subjects": [{"kind": "User", "name": "a"}, {"kind": "User", "name": "mallory"}]}),
            "subjects",
        ),
        (
            json!({"spec": {"ingress": [{"ports": [{"port": 80}]}]}}),
            json!({"spec": {"ingress": [{"ports": [{"port": 80}, {"port": 22}]}]}}),
            "spec.ingress[0].ports",
        ),
        (
            json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "a"}]}}}}),
            json!({"spec": {"template": {"spec": {"containers": [{"name": "x"}, {"name": "main", "image": "b"}]}}}}),
            "spec.template.spec.containers[0].image",
        ),
        (
            json!({"spec": {"containers": [{"name": "main"}]}}),
            json!({"spec": {"containers": [{"name": "other"}]}}),
            "spec.containers[0]",
        ),
        (
            json!({"spec": {"ports": [{"port": 53}]}}),
            json!({"spec": {"ports": [{"port": 53, "protocol": "UDP"}]}}),
            "spec.ports[0]",
        ),
        // Names that do not tell the elements apart.
        (
            json!({"spec": {"containers": [{"name": "a"}, {"name": "a"}]}}),
            json!({"spec": {"containers": [{"name": "a"}, {"name": "a"}, {"name": "b"}]}}),
            "spec.containers",
        ),
        (json!({"metadata": {"finalizers": ["a"]}}), json!({"metadata": {"finalizers": ["b"]}}), "metadata.finalizers"),
        (json!([1, 2]), json!([2, 1]), "[0]"),
        (json!(1), json!(2), ""),
    ] {
        check(desired, live, Some(path));
    }
}

#[test]
fn a_value_that_is_too_deep_is_different_and_no_stack_overflows() {
    let nested = |depth: usize| (0..depth).fold(json!(1), |inner, _| Value::Array(vec![inner]));
    assert_eq!(first_difference(&nested(DEPTH_LIMIT), &nested(DEPTH_LIMIT)), None);
    assert!(first_difference(&nested(1_000), &nested(1_000)).is_some());
    assert!(!equal(&nested(1_000), &nested(1_000)));
}
