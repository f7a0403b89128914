use jiff::Timestamp;
use proptest::collection::{btree_map, btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::openapi;
use crate::fields::element::{Literal, PathElement};
use crate::fields::set::{FieldNode, FieldSet};
use crate::fields::shape::Shape;
use crate::fields::typed::field_set;
use crate::fields::{Error, Force, Manager, apply, record_update, same_but_for_times};
use crate::object;
use crate::schema::{SchemaId, Schemas};

const EARLY: Timestamp = Timestamp::UNIX_EPOCH;

fn later() -> Timestamp {
    Timestamp::from_second(3600).unwrap()
}

fn manager(name: &str) -> Manager<'_> {
    Manager { name, api_version: "apps/v1", subresource: "" }
}

/// A schema with an example of each way of ownership.
fn schema() -> (Schemas, SchemaId) {
    let text = json!({ "type": "string" });
    let map = json!({ "type": "object", "additionalProperties": text });
    let set = json!({ "type": "array", "items": text, "x-kubernetes-list-type": "set" });
    let port = json!({
        "type": "object",
        "properties": { "port": { "type": "integer" }, "protocol": { "type": "string", "default": "TCP" }, "name": text },
    });
    let ports = json!({
        "type": "array", "items": port,
        "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"],
    });
    let item = json!({
        "type": "object",
        "properties": { "name": text, "image": text, "labels": map, "ports": ports, "args": { "type": "array", "items": text } },
    });
    let spec = json!({
        "type": "object",
        "properties": {
            "replicas": { "type": "integer" }, "labels": map, "set": set,
            "selector": { "type": "object", "additionalProperties": text, "x-kubernetes-map-type": "atomic" },
            "items": {
                "type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            },
            "free": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
        },
    });
    let metadata = json!({ "type": "object", "properties": { "name": text, "uid": text, "annotations": map } });
    openapi::load(&json!({
        "type": "object", "properties": { "apiVersion": text, "kind": text, "metadata": metadata, "spec": spec },
    }))
}

fn short() -> impl Strategy<Value = String> {
    select(vec!["a", "b", "c"]).prop_map(str::to_owned)
}

fn present(fields: Vec<(&str, Option<Value>)>) -> Value {
    fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

fn texts() -> impl Strategy<Value = Value> {
    btree_map(short(), short(), 1..3).prop_map(|texts| json!(texts))
}

fn ports() -> impl Strategy<Value = Value> {
    btree_map((1..4, select(vec![None, Some("TCP"), Some("UDP")])), option::of(short()), 1..4).prop_map(|ports| {
        // The default protocol is TCP.
        let has_default = |port| ports.contains_key(&(port, None));
        let port = |((port, protocol), name): (&(i32, Option<&str>), &Option<String>)| {
            let double = *protocol == Some("TCP") && has_default(*port);
            let fields = vec![
                ("port", Some(json!(port))),
                ("protocol", protocol.map(Value::from)),
                ("name", name.clone().map(Value::from)),
            ];
            (!double).then(|| present(fields))
        };
        ports.iter().filter_map(port).collect()
    })
}

fn items() -> impl Strategy<Value = Value> {
    let item = (option::of(short()), option::of(texts()), option::of(ports()), option::of(vec(short(), 1..3)));
    let items = btree_map(short(), item, 1..4).prop_map(|items| items.into_iter().collect::<Vec<_>>());
    items.prop_shuffle().prop_map(|items| {
        let item = |(name, (image, labels, ports, args)): (String, (Option<String>, _, _, Option<Vec<String>>))| {
            present(vec![
                ("name", Some(Value::from(name))),
                ("image", image.map(Value::from)),
                ("labels", labels),
                ("ports", ports),
                ("args", args.map(Value::from)),
            ])
        };
        items.into_iter().map(item).collect()
    })
}

fn things() -> impl Strategy<Value = Value> {
    let set = btree_set(short(), 1..4).prop_map(|set| json!(set));
    let free = btree_map(short(), prop_oneof![texts(), short().prop_map(Value::from)], 1..3).prop_map(|free| json!(free));
    let spec = (
        option::of(0..3),
        option::of(texts()),
        option::of(set),
        option::of(texts()),
        option::of(items()),
        option::weighted(0.3, free),
    );
    spec.prop_map(|(replicas, labels, set, selector, items, free)| {
        let spec = present(vec![
            ("replicas", replicas.map(Value::from)),
            ("labels", labels),
            ("set", set),
            ("selector", selector),
            ("items", items),
            ("free", free),
        ]);
        let spec = Some(spec).filter(|spec| spec.as_object().is_some_and(|fields| !fields.is_empty()));
        let metadata = json!({ "name": "n" });
        present(vec![
            ("apiVersion", Some("apps/v1".into())),
            ("kind", Some("Thing".into())),
            ("metadata", Some(metadata)),
            ("spec", spec),
        ])
    })
}

fn rubbish() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        select(vec!["a", "", "name", "f:a", "k:{\"name\":\"a\"}", "v:1", "i:1", "."]).prop_map(Value::from),
        "\\PC{0,3}".prop_map(Value::from),
    ];
    let names = prop_oneof![
        select(vec![
            "a",
            "name",
            "spec",
            "metadata",
            "managedFields",
            "f:a",
            "k:{\"name\":1}",
            "k:[]",
            "v:\"a\"",
            "v:",
            "i:x",
            ".",
            "x:y",
            "é:",
        ])
        .prop_map(str::to_owned),
        "\\PC{0,3}",
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(names.clone(), inner, 0..4).prop_map(|fields| json!(fields)),
        ]
    })
}

fn schemas() -> impl Strategy<Value = Value> {
    let kinds = select(vec![json!("string"), json!("integer"), json!("boolean"), json!("object"), json!("array"), Value::Null]);
    let lists = select(vec![Value::Null, json!("set"), json!("map"), json!("atomic")]);
    let maps = select(vec![Value::Null, json!("atomic")]);
    let node = (kinds, lists, maps, any::<bool>(), vec(select(vec!["name", "a"]), 0..3));
    let leaf = node.clone().prop_map(|(kind, list, map, open, keys)| {
        json!({
            "type": kind, "x-kubernetes-list-type": list, "x-kubernetes-map-type": map,
            "x-kubernetes-preserve-unknown-fields": open, "x-kubernetes-list-map-keys": keys,
        })
    });
    leaf.prop_recursive(4, 16, 3, move |inner| {
        let names = select(vec!["a", "name", "spec", "metadata"]);
        let node = node.clone();
        (node, btree_map(names, inner.clone(), 0..3), option::of(inner.clone()), option::of(inner)).prop_map(
            |((kind, list, map, open, keys), properties, values, items)| {
                let mut schema = json!({
                    "type": kind, "x-kubernetes-list-type": list, "x-kubernetes-map-type": map, "properties": properties,
                    "x-kubernetes-preserve-unknown-fields": open, "x-kubernetes-list-map-keys": keys, "default": "a",
                });
                if let Some(values) = values {
                    schema["additionalProperties"] = values;
                }
                if let Some(items) = items {
                    schema["items"] = items;
                }
                schema
            },
        )
    })
}

fn elements() -> impl Strategy<Value = PathElement> {
    let values = prop_oneof![
        short().prop_map(Value::from),
        (-3_i64..20).prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        select(vec![0.5, 1e30, -1e-9]).prop_map(Value::from),
        Just(Value::from("<&>")),
    ];
    prop_oneof![
        short().prop_map(PathElement::Field),
        "\\PC{0,4}".prop_map(PathElement::Field),
        values.clone().prop_map(|value| PathElement::Value(Literal(value))),
        (0_i64..20).prop_map(PathElement::Index),
        btree_map(short(), values, 1..3)
            .prop_map(|key| PathElement::Key(key.into_iter().map(|(name, value)| (name, Literal(value))).collect())),
    ]
}

fn sets() -> impl Strategy<Value = FieldSet> {
    vec(vec(elements(), 1..4), 0..8).prop_map(|paths| {
        let mut set = FieldSet::default();
        for mut path in paths {
            let mut node = FieldNode::leaf();
            let first = path.remove(0);
            for element in path.into_iter().rev() {
                let mut children = FieldSet::default();
                children.add(element, node);
                node = FieldNode { member: false, children };
            }
            set.add(first, node);
        }
        set
    })
}

fn contains(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            part.iter().all(|(name, part)| whole.get(name).is_some_and(|whole| contains(whole, part)))
        }
        (Value::Array(whole), Value::Array(part)) => part.iter().all(|part| whole.iter().any(|whole| contains(whole, part))),
        _ => whole == part,
    }
}

/// Returns the fields that an apply of the object owns, without the unowned ones.
fn owned(object: &Value, schemas: &Schemas, root: SchemaId) -> FieldSet {
    field_set(&present(vec![("spec", object.get("spec").cloned())]), Shape::root(schemas.at(root)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_set_survives_its_json(set in sets()) {
        prop_assert_eq!(FieldSet::from_json(&set.to_json()), Ok(set));
    }

    #[test]
    fn set_operations_agree_with_membership(left in sets(), right in sets()) {
        let (both, only) = (left.intersection(&right), left.difference(&right));
        prop_assert_eq!(&only.clone().union(&both), &left);
        prop_assert!(only.intersection(&right).is_empty());
        prop_assert_eq!(left.clone().union(&right).difference(&right), only);
        for path in left.paths() {
            prop_assert!(left.has(&path.0));
            prop_assert_eq!(both.has(&path.0), right.has(&path.0));
            let above_is_in = (1..=path.0.len()).any(|length| right.has(&path.0[..length]));
            prop_assert_eq!(left.recursive_difference(&right).has(&path.0), !above_is_in);
        }
    }

    #[test]
    fn an_apply_sets_all_its_fields_and_a_second_apply_changes_nothing(live in things(), applied in things()) {
        let (schemas, root) = schema();
        let schema = schemas.at(root);
        let mut live = live;
        record_update(None, &mut live, schema, &manager("other"), &[], EARLY);
        let merged = apply(Some(&live), &applied, schema, &manager("one"), Force::Yes, &[], EARLY).unwrap();
        prop_assert!(contains(&merged, &applied), "{merged}");
        let again = apply(Some(&merged), &applied, schema, &manager("one"), Force::No, &[], later()).unwrap();
        prop_assert_eq!(again, merged);
    }

    #[test]
    fn fields_that_nobody_applies_any_more_are_removed(first in things(), other in things(), second in things()) {
        let (schemas, root) = schema();
        let schema = schemas.at(root);
        let live = apply(None, &first, schema, &manager("one"), Force::No, &[], EARLY).unwrap();
        let live = apply(Some(&live), &other, schema, &manager("two"), Force::Yes, &[], EARLY).unwrap();
        let live = apply(Some(&live), &second, schema, &manager("one"), Force::Yes, &[], EARLY).unwrap();
        prop_assert!(contains(&live, &second));
        let mut left = owned(&second, &schemas, root).union(&owned(&other, &schemas, root));
        // A free field may change between map and text; then it or its children are gone.
        let there = owned(&live, &schemas, root);
        let free = FieldSet::of_fields([["spec", "free"].as_slice()]);
        left = left.recursive_difference(&free);
        prop_assert_eq!(there.recursive_difference(&free), left);
    }

    #[test]
    fn an_apply_without_force_changes_no_field_of_others(live in things(), applied in things()) {
        let (schemas, root) = schema();
        let schema = schemas.at(root);
        let live = apply(None, &live, schema, &manager("two"), Force::No, &[], EARLY).unwrap();
        match apply(Some(&live), &applied, schema, &manager("one"), Force::No, &[], EARLY) {
            Ok(merged) => prop_assert!(contains(&merged, &config(&live)), "{merged}"),
            Err(Error::Conflicts(conflicts)) => prop_assert!(!conflicts.is_empty()),
            Err(other) => prop_assert!(false, "{other}"),
        }
    }

    #[test]
    fn an_update_that_changes_nothing_records_nothing(object in things(), uid in option::of(short())) {
        let (schemas, root) = schema();
        let schema = schemas.at(root);
        let mut live = object;
        if let Some(uid) = uid {
            object::set_metadata(&mut live, "uid", Value::from(uid));
        }
        record_update(None, &mut live, schema, &manager("one"), &[], EARLY);
        let mut new = live.clone();
        record_update(Some(&live), &mut new, schema, &manager("two"), &[], later());
        prop_assert_eq!(&new, &live);
        prop_assert!(same_but_for_times(&new, &live));
    }

    #[test]
    fn a_second_apply_conflicts_only_with_managers_that_changed_a_field(live in things(), new in things()) {
        let (schemas, root) = schema();
        let schema = schemas.at(root);
        let live = apply(None, &live, schema, &manager("one"), Force::No, &[], EARLY).unwrap();
        let mut new = new;
        record_update(Some(&live), &mut new, schema, &manager("two"), &[], EARLY);
        if let Err(Error::Conflicts(conflicts)) = apply(Some(&new), &config(&live), schema, &manager("one"), Force::No, &[], EARLY) {
            for conflict in conflicts {
                prop_assert_eq!(&conflict.owner.name, "two");
            }
        }
    }

    #[test]
    fn nothing_panics(
        schema in schemas(), live in rubbish(), new in rubbish(), entries in rubbish(), force in any::<bool>(), sub in any::<bool>(),
    ) {
        let (schemas, root) = openapi::load(&schema);
        let schema = schemas.at(root);
        let subresource = if sub { "status" } else { "" };
        for api_version in ["", "a"] {
            let manager = Manager { name: "kubectl", api_version, subresource };
            let force = if force { Force::Yes } else { Force::No };
            let mut live = live.clone();
            object::set_metadata(&mut live, "managedFields", entries.clone());
            let mut sent = new.clone();
            record_update(Some(&live), &mut sent, schema, &manager, &[vec!["spec"]], EARLY);
            record_update(None, &mut sent, schema, &manager, &[vec![]], EARLY);
            for live in [None, Some(&live), Some(&sent)] {
                match apply(live, &new, schema, &manager, force, &[vec!["a", "name"]], EARLY) {
                    Ok(merged) => drop(apply(Some(&merged), &sent, schema, &manager, force, &[], EARLY)),
                    Err(error) => {
                        prop_assert!(force == Force::No || !matches!(error, Error::Conflicts(_)));
                        prop_assert!(!error.into_status().message.is_empty());
                    }
                }
            }
        }
    }
}

fn config(live: &Value) -> Value {
    let mut config = live.clone();
    object::remove_metadata(&mut config, "managedFields");
    config
}

#[test]
fn versions_and_times_of_owners_are_ignored_and_nothing_else() {
    let object = |version: &str, time: &str, owner: &str, label: &str| {
        let entry = json!({"manager": owner, "time": time, "fieldsV1": {"f:spec": {}}});
        let metadata = json!({"name": "a", "resourceVersion": version, "managedFields": [entry], "labels": {"a": label}});
        json!({"kind": "Pod", "metadata": metadata, "spec": {"time": "0"}})
    };
    let one = object("1", "t", "gyre", "b");
    let same = |other: &Value| same_but_for_times(&one, other) && same_but_for_times(other, &one);
    assert!(same(&one) && same(&object("2", "u", "gyre", "b")));
    for other in [object("1", "t", "kubectl", "b"), object("1", "t", "gyre", "c")] {
        assert!(!same(&other), "{other}");
    }
    let mut changed = one.clone();
    for (pointer, value) in
        [("/spec", json!({"time": "1"})), ("/metadata/managedFields", json!([])), ("/metadata", json!(null))]
    {
        if let Some(field) = changed.pointer_mut(pointer) {
            *field = value;
        }
        assert!(!same(&changed), "{changed}");
        changed = one.clone();
    }
    let mut more = one.clone();
    more.as_object_mut().unwrap().insert(String::new(), json!(1));
    assert!(!same(&more));
}
