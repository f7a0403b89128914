//! Tables of inputs and outputs, and laws.

mod spelling;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::kinds::{FieldValidation, Kinds};
use crate::validation;

fn kind(api_version: &str, name: &str) -> Kind {
    Kind::clone(Kinds::builtin().by_kind(api_version, name).unwrap_or_else(|| panic!("no kind {api_version} {name}")))
}

fn kind_of(object: &Value) -> Kind {
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    kind(text("apiVersion"), text("kind"))
}

fn created(mut object: Value) -> Value {
    let kind = kind_of(&object);
    kind.decode(&mut object, FieldValidation::Strict).unwrap();
    kind.default(&mut object);
    kind.prepare_for_create(&mut object);
    settle(&kind, &mut object);
    object
}

fn errors(object: Value) -> Vec<String> {
    let kind = kind_of(&object);
    let object = created(object);
    let metadata = validation::validate_metadata(&kind, &object);
    metadata.into_iter().chain(kind.validate(&object)).map(|error| error.to_string()).collect()
}

fn decode_error(mut object: Value) -> String {
    kind_of(&object).decode(&mut object, FieldValidation::Strict).unwrap_err().message
}

#[test]
fn every_kind_of_the_dump_has_a_schema() {
    let kinds = kinds();
    assert!(kinds.len() > 40);
    for kind in kinds {
        let root = kind.schema.root();
        assert!(root.definition.as_deref().is_some_and(|name| name.ends_with(&format!(".{}", kind.kind))), "{}", kind.kind);
        assert!(root.property("metadata").is_some(), "{}", kind.kind);
    }
    assert!(scale_schema().root().property("spec").is_some_and(|spec| spec.property("replicas").is_some()));
    assert!(openapi_json("apps", "v1").is_some_and(|json| json.starts_with(b"{")));
}

#[test]
fn decode_errors_are_worded_like_those_of_the_server() {
    let job = |spec: Value| json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": "a" }, "spec": spec });
    let containers = |containers: Value| job(json!({ "template": { "spec": { "containers": containers } } }));
    let table = [
        (
            job(json!({ "foo": 1, "template": { "spec": { "containers": [{ "zz": null }], "x": 1 } } })),
            "strict decoding error: unknown field \"spec.foo\", unknown field \"spec.template.spec.containers[0].zz\", unknown field \
             \"spec.template.spec.x\"",
        ),
        (job(json!({ "parallelism": "x" })), "spec.parallelism: expected int32, got string"),
        (containers(json!([{ "image": 5 }])), "spec.template.spec.containers[0].image: expected string, got number 5"),
        (
            containers(json!([{ "resources": { "limits": { "cpu": "x" } } }])),
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (containers(json!({})), "spec.template.spec.containers: expected array, got object"),
    ];
    for (object, expected) in table {
        assert_eq!(decode_error(object), format!("Job in version \"v1\" cannot be handled as a Job: {expected}"));
    }
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "data": { "a": "!!!" } });
    let expected = "Secret in version \"v1\" cannot be handled as a Secret: data[a]: illegal base64 data";
    assert_eq!(decode_error(secret), expected);
}

#[test]
fn unknown_fields_are_dropped_with_a_warning() {
    let mut object =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "foo": 1, "metadata": { "name": "a", "labels": {} }, "data": null });
    let warnings = kind("v1", "ConfigMap").decode(&mut object, FieldValidation::Warn).unwrap();
    assert_eq!(warnings, ["unknown field \"foo\""]);
    assert_eq!(object, json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } }));
}

#[test]
fn a_job_gets_its_defaults_and_its_selector() {
    let job = created(json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": "hello", "namespace": "default", "uid": "u-1" },
        "spec": { "template": { "spec": { "restartPolicy": "Never", "containers": [{ "name": "main", "image": "busybox" }] } } },
    }));
    let labels = json!({
        "batch.kubernetes.io/controller-uid": "u-1", "batch.kubernetes.io/job-name": "hello", "controller-uid": "u-1", "job-name": "hello",
    });
    assert_eq!(
        job,
        json!({
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": { "name": "hello", "namespace": "default", "uid": "u-1", "generation": 1, "labels": labels },
            "spec": {
                "parallelism": 1, "completions": 1, "backoffLimit": 6, "completionMode": "NonIndexed", "suspend": false,
                "manualSelector": false, "podReplacementPolicy": "TerminatingOrFailed",
                "selector": { "matchLabels": { "batch.kubernetes.io/controller-uid": "u-1" } },
                "template": {
                    "metadata": { "labels": labels },
                    "spec": {
                        "containers": [{
                            "name": "main", "image": "busybox", "imagePullPolicy": "Always", "resources": {},
                            "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
                        }],
                        "restartPolicy": "Never", "dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler",
                        "securityContext": {}, "terminationGracePeriodSeconds": 30,
                    },
                },
            },
            "status": {},
        })
    );
}

#[test]
fn validation_errors_are_worded_like_those_of_the_server() {
    let job = |spec: Value| {
        let metadata = json!({ "name": "a", "namespace": "default", "uid": "u" });
        json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": { "template": { "spec": spec } } })
    };
    let table: [(Value, &[&str]); 5] = [
        (
            job(json!({ "containers": [{ "name": "a", "image": "b" }] })),
            &["spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\""],
        ),
        (job(json!({ "restartPolicy": "Never" })), &["spec.template.spec.containers: Required value"]),
        (
            job(json!({ "restartPolicy": "Never", "containers": [{ "name": "a" }, { "name": "a", "image": "b" }] })),
            &[
                "spec.template.spec.containers[0].image: Required value",
                "spec.template.spec.containers[1].name: Duplicate value: \"a\"",
            ],
        ),
        (
            json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "a", "namespace": "b" }, "spec": { "ports": [{ "port": 0 }] } }),
            &[
                "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
                "spec.ports[0].targetPort: Invalid value: 0: must be between 1 and 65535, inclusive",
            ],
        ),
        (
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "b" }, "data": { "a/b": "" } }),
            &[
                "data[a/b]: Invalid value: \"a/b\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. \
               'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
            ],
        ),
    ];
    for (object, expected) in table {
        assert_eq!(errors(object), expected);
    }
}

#[test]
fn an_event_survives_the_conversion_to_the_other_group_and_back() {
    let (core, events) = (kind("v1", "Event"), kind("events.k8s.io/v1", "Event"));
    let event = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": { "name": "a", "namespace": "b" }, "message": "m", "count": 2, "type": "Normal",
        "involvedObject": { "kind": "Pod", "name": "p" }, "source": { "component": "c" }, "firstTimestamp": "2024-01-01T00:00:00Z",
    });
    let mut settled = event.clone();
    core.decode(&mut settled, FieldValidation::Strict).unwrap();
    let converted = convert(&settled, &core, &events);
    assert_eq!(converted.get("note"), Some(&json!("m")));
    assert_eq!(convert(&converted, &events, &core), settled);
}

fn json_value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z0-9./:-]{0,12}".prop_map(Value::from),
    ];
    let name = prop_oneof![
        Just("metadata".to_owned()),
        Just("spec".to_owned()),
        Just("template".to_owned()),
        Just("containers".to_owned()),
        Just("name".to_owned()),
        Just("labels".to_owned()),
        Just("ports".to_owned()),
        Just("selector".to_owned()),
        Just("data".to_owned()),
        Just("status".to_owned()),
        Just("resources".to_owned()),
        Just("limits".to_owned()),
        Just("matchLabels".to_owned()),
        Just("schedule".to_owned()),
        Just("volumes".to_owned()),
        Just("annotations".to_owned()),
        "[a-z]{1,3}",
    ];
    scalar.prop_recursive(6, 48, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name.clone(), inner, 0..6).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_json_causes_a_panic(mut object in json_value(), old in json_value()) {
        for kind in kinds() {
            let _ = validation::validate_metadata(&kind, &object);
            let _ = validation::validate_metadata_update(&object, &old);
            let _ = kind.validate(&object);
            let _ = kind.validate_update(None, &object, &old);
            let _ = kind.validate_update(Some(crate::kinds::Subresource::Status), &object, &old);
            let _ = kind.selectable_field(&object, "status.podIP");
            let mut other = object.clone();
            kind.prepare_for_update(None, &mut other, &old);
            let mut other = object.clone();
            kind.prepare_for_update(Some(crate::kinds::Subresource::Status), &mut other, &old);
            let mut other = object.clone();
            kind.default(&mut other);
            kind.prepare_for_create(&mut other);
            let _ = kind.decode(&mut other, FieldValidation::Warn);
        }
        let _ = kind("v1", "Pod").decode(&mut object, FieldValidation::Ignore);
    }

    #[test]
    fn decoding_and_defaulting_are_idempotent(object in json_value()) {
        for kind in kinds() {
            let mut once = object.clone();
            if kind.decode(&mut once, FieldValidation::Ignore).is_err() {
                continue;
            }
            let mut twice = once.clone();
            prop_assert!(kind.decode(&mut twice, FieldValidation::Ignore).is_ok());
            prop_assert_eq!(&once, &twice, "{}", kind.kind);
            kind.default(&mut once);
            let mut twice = once.clone();
            kind.default(&mut twice);
            prop_assert_eq!(&once, &twice, "{}", kind.kind);
        }
    }
}
