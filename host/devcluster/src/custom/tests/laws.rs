//! Laws of pruning, defaulting and validation.

use proptest::prelude::*;

use super::*;
use crate::kinds::Strategy as _;

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-5_i64..5).prop_map(Value::from),
        (-2.0_f64..2.0).prop_map(Value::from),
        "[a-c]{0,3}".prop_map(Value::from),
    ]
}

fn object() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[a-d]|metadata|kind|k", inner, 0..4).prop_map(|fields| json!(fields)),
        ]
    })
}

/// A realistic schema, structural in most cases.
fn schema() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(json!({ "type": "string" })),
        Just(json!({ "type": "string", "default": "a", "maxLength": 2 })),
        Just(json!({ "type": "string", "nullable": true, "pattern": "^a" })),
        Just(json!({ "type": "integer", "minimum": 0, "default": 1 })),
        Just(json!({ "type": "number" })),
        Just(json!({ "type": "boolean", "default": true })),
        Just(json!({ "x-kubernetes-int-or-string": true })),
        Just(json!({ "x-kubernetes-preserve-unknown-fields": true })),
        Just(json!({ "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true })),
        Just(json!({ "type": "integer", "x-kubernetes-validations": [{ "rule": "self > 0" }] })),
    ];
    scalar.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(|items| json!({ "type": "array", "items": items })),
            inner.clone().prop_map(|items| json!({ "type": "array", "items": items, "x-kubernetes-list-type": "set" })),
            inner.clone().prop_map(|each| json!({ "type": "object", "additionalProperties": each })),
            (prop::collection::btree_map("[a-d]", inner, 0..4), any::<bool>(), prop::option::of("[a-d]")).prop_map(
                |(properties, defaulted, required)| {
                    let mut schema = json!({ "type": "object", "properties": properties });
                    if defaulted {
                        schema["default"] = json!({});
                    }
                    if let Some(required) = required {
                        schema["required"] = json!([required]);
                    }
                    schema
                }
            ),
        ]
    })
}

proptest! {
    #[test]
    fn a_settled_object_is_read_as_it_is_stored(spec in object(), schema in schema()) {
        let version = version_of(&schema);
        let stored = json!({ "apiVersion": "x.io/v1", "kind": "Foo", "metadata": { "name": "a" }, "spec": spec });
        let mut read = stored.clone();
        prune::prune(&mut read, &version.schema, prune::Level::Resource);
        prune::drop_nulls(&mut read, Some(&version.schema));
        prune::default(&mut read, &version.schema);
        if prune::is_settled(&stored, &version.schema) {
            prop_assert_eq!(&stored, &read);
        }
        prop_assert_eq!(version.as_read(&stored).unwrap_or(stored), read.clone());
        // A second read changes nothing.
        prop_assert_eq!(version.as_read(&read), None);
    }
}

fn definition(schema: &Value) -> Value {
    json!({
        "metadata": { "name": "foos.x.io" },
        "spec": {
            "group": "x.io", "scope": "Namespaced", "names": { "plural": "foos", "kind": "Foo" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "subresources": { "status": {} }, "schema": { "openAPIV3Schema":
                { "type": "object", "properties": { "spec": schema } } } }],
        },
    })
}

/// The version, even if its definition would be rejected.
fn version_of(schema: &Value) -> Version {
    let version = &definition(schema)["spec"]["versions"][0];
    Version::parse(version, &version["schema"]["openAPIV3Schema"], "x.io/v1", &"Foo".into())
}

fn kind_of(schema: &Value) -> Kind {
    let mut definition = definition(schema);
    definition::default(&mut definition);
    definition::prepare_for_create(&mut definition);
    definition["status"] = settle(&definition, std::iter::empty(), Timestamp::UNIX_EPOCH).unwrap();
    kinds(&definition).into_iter().next().unwrap()
}

fn foo(spec: &Value) -> Value {
    json!({ "apiVersion": "x.io/v1", "kind": "Foo", "metadata": { "name": "foo" }, "spec": spec })
}

proptest! {
    #[test]
    fn decoding_twice_is_decoding_once(schema in schema(), spec in object()) {
        let kind = kind_of(&schema);
        let mut once = foo(&spec);
        if kind.decode(&mut once, FieldValidation::Warn).is_ok() {
            let mut twice = once.clone();
            prop_assert_eq!(kind.decode(&mut twice, FieldValidation::Strict).unwrap(), Vec::<String>::new());
            prop_assert_eq!(once, twice);
        }
    }

    #[test]
    fn defaulting_twice_is_defaulting_once(schema in schema(), spec in object()) {
        let kind = kind_of(&schema);
        let mut once = foo(&spec);
        kind.default(&mut once);
        let mut twice = once.clone();
        kind.default(&mut twice);
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn an_object_that_was_accepted_is_accepted_again(schema in schema(), spec in object()) {
        let kind = kind_of(&schema);
        let mut first = foo(&spec);
        if kind.decode(&mut first, FieldValidation::Warn).is_ok() {
            kind.default(&mut first);
            kind.prepare_for_create(&mut first);
            if kind.validate(&first).is_empty() {
                let mut again = first.clone();
                kind.decode(&mut again, FieldValidation::Strict).unwrap();
                kind.default(&mut again);
                kind.prepare_for_update(None, &mut again, &first);
                prop_assert_eq!(&again, &first);
                prop_assert_eq!(kind.validate_update(None, &again, &first), Vec::new());
            }
        }
    }

    #[test]
    fn an_update_is_not_rejected_for_unchanged_values(schema in schema(), spec in object()) {
        // As in Kubernetes, a value with fields that are not in its schema counts as changed.
        prop_assume!(!schema.to_string().contains("x-kubernetes-preserve-unknown-fields"));
        let kind = kind_of(&schema);
        let mut old = foo(&spec);
        if kind.decode(&mut old, FieldValidation::Warn).is_ok() {
            let changed = kind.validate_update(None, &old, &old);
            // Rules that cannot be evaluated fail on every write.
            let unevaluated = |error: &FieldError| error.detail.contains("evaluating rule") || error.detail.contains("no such overload");
            prop_assert!(changed.iter().all(unevaluated), "{:?}", changed);
        }
    }

    #[test]
    fn no_schema_or_object_causes_a_panic(schema in object(), spec in object(), old in object(), path in ".{0,12}") {
        let schema = json!({ "type": schema, "properties": { "a": schema, "b": { "items": schema } }, "anyOf": [schema], "enum": schema,
            "x-kubernetes-validations": [{ "rule": path, "fieldPath": path }], "pattern": path, "required": schema });
        let mut definition = definition(&schema);
        definition["spec"]["versions"][0]["selectableFields"] = json!([{ "jsonPath": path }]);
        definition::default(&mut definition);
        definition::prepare_for_create(&mut definition);
        let _ = definition::validate(&definition);
        let kind = kind_of(&schema);
        let mut object = foo(&spec);
        let _ = kind.decode(&mut object, FieldValidation::Warn);
        kind.default(&mut object);
        let _ = (kind.validate(&object), kind.validate_update(None, &object, &foo(&old)), kind.validate_update(Some(Subresource::Status), &object, &foo(&old)));
        let _ = kind.validate(&spec);
    }
}

/// A test thread has a stack of 2 MiB.
#[test]
fn depth_is_bounded() {
    let deep = |levels: usize, wrap: fn(Value) -> Value, start: Value| (0..levels).fold(start, |inner, _| wrap(inner));
    let value = deep(500, |inner| json!({ "a": [inner] }), json!(1));
    for wrap in [
        |inner| json!({ "type": "object", "properties": { "a": { "type": "array", "items": inner } } }),
        |inner| json!({ "type": "object", "anyOf": [inner] }),
    ] {
        let schema = deep(300, wrap, json!({ "type": "integer" }));
        let mut definition = definition(&schema);
        definition::default(&mut definition);
        definition::prepare_for_create(&mut definition);
        assert!(!definition::validate(&definition).is_empty());
        let kind = kind_of(&schema);
        let mut object = foo(&value);
        let _ = kind.decode(&mut object, FieldValidation::Warn);
        kind.default(&mut object);
        let _ = kind.validate_update(None, &object, &object);
    }
}

#[test]
fn rules_that_would_run_for_ever_are_stopped() {
    let rule = "self.all(a, self.all(b, self.all(c, self.all(d, self.all(e, a + b + c + d + e >= 0)))))";
    let schema = json!({ "type": "array", "items": { "type": "integer" }, "x-kubernetes-validations": [{ "rule": rule }] });
    let kind = kind_of(&schema);
    let errors = kind.validate(&foo(&json!(vec![1; 100])));
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let expected = format!(
        "spec: Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call \
         cost exceeds limit for rule: {rule}"
    );
    assert_eq!(texts, [expected]);
}

#[test]
fn rules_that_nest_too_deep_do_not_compile() {
    for rule in [
        "(".repeat(2000) + "true" + &")".repeat(2000),
        "!(".repeat(2000) + "true" + &")".repeat(2000),
        "self".to_owned() + &".a".repeat(20_000),
        "[".repeat(90) + &"]".repeat(90),
    ] {
        let schema = json!({ "type": "object", "properties": { "a": { "type": "integer" } }, "x-kubernetes-validations": [{ "rule": rule }] });
        let mut definition = definition(&schema);
        definition::default(&mut definition);
        definition::prepare_for_create(&mut definition);
        assert_eq!(definition::validate(&definition).len(), 1);
    }
}
