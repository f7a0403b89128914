use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde_json::json;

use super::*;

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
        // The key of an element, or an element of a set, is reported as its container.
        prop_assert!(path.starts_with(&named), "{} is not at {}", named, path);
        prop_assert!(!equal(&value, &live));
    }

    #[test]
    fn a_live_secret_holds_the_data_and_the_texts_that_it_was_made_of(
        data in proptest::collection::btree_map("[a-c]", "[ -~]{0,4}", 0..3),
        texts in proptest::collection::btree_map("[a-c]", ".{0,4}", 0..3),
        others in proptest::collection::btree_map("[a-e]", "[ -~]{0,4}", 0..3),
        changed: prop::sample::Index,
    ) {
        let encoded = |texts: &BTreeMap<String, String>| -> BTreeMap<String, String> {
            texts.iter().map(|(key, text)| (key.clone(), STANDARD.encode(text))).collect()
        };
        let effective: BTreeMap<String, String> = data.clone().into_iter().chain(texts.clone()).collect();
        let desired = of_kind("v1", "Secret", json!({"data": encoded(&data), "stringData": texts}));
        let live: BTreeMap<String, String> = encoded(&others).into_iter().chain(encoded(&effective)).collect();
        let secret = |live: &BTreeMap<String, String>| of_kind("v1", "Secret", json!({"data": live}));
        prop_assert_eq!(first_difference(&desired, &secret(&live)), None);
        if !effective.is_empty() {
            let (key, text) = effective.iter().nth(changed.index(effective.len())).unwrap();
            let mut live = live;
            live.insert(key.clone(), STANDARD.encode(format!("{text}!")));
            let field = if texts.contains_key(key) { "stringData" } else { "data" };
            prop_assert_eq!(first_difference(&desired, &secret(&live)), Some(format!("{field}.{key}")));
        }
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
fn normalization_by_the_api_server_is_not_a_difference() {
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

fn of_kind(api_version: &str, kind: &str, fields: Value) -> Value {
    let mut object = fields;
    object["apiVersion"] = json!(api_version);
    object["kind"] = json!(kind);
    object
}

fn with_quantity(value: &Value) -> Vec<Value> {
    let resources = json!({"limits": {"cpu": value}, "requests": {"cpu": value}});
    let spec = json!({
        "containers": [{"name": "main", "resources": resources, "env": [
            {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": value}}},
        ]}],
        "initContainers": [{"resources": {"limits": {"cpu": value}}}],
        "resources": resources,
        "overhead": {"cpu": value},
        "volumes": [
            {"name": "scratch", "emptyDir": {"sizeLimit": value}},
            {"name": "claimed", "ephemeral": {"volumeClaimTemplate": {"spec": {"resources": {"requests": {"storage": value}}}}}},
        ],
    });
    let claim = json!({"spec": {"resources": {"requests": {"storage": value}}}});
    let target = |kind: &str| json!({"type": kind, "resource": {"name": "cpu", "target": {"type": kind, (kind): value}}});
    vec![
        of_kind("v1", "Pod", json!({"spec": spec})),
        of_kind("apps/v1", "Deployment", json!({"spec": {"template": {"spec": spec}}})),
        of_kind("batch/v1", "CronJob", json!({"spec": {"jobTemplate": {"spec": {"template": {"spec": spec}}}}})),
        of_kind("apps/v1", "StatefulSet", json!({"spec": {"volumeClaimTemplates": [claim]}})),
        of_kind("v1", "PersistentVolumeClaim", claim),
        of_kind("v1", "PersistentVolume", json!({"spec": {"capacity": {"storage": value}}})),
        of_kind("v1", "ResourceQuota", json!({"spec": {"hard": {"requests.cpu": value, "pods": value}}})),
        of_kind(
            "v1",
            "LimitRange",
            json!({"spec": {"limits": [{
                "max": {"cpu": value}, "min": {"cpu": value}, "default": {"cpu": value}, "defaultRequest": {"cpu": value},
                "maxLimitRequestRatio": {"cpu": value},
            }]}}),
        ),
        of_kind("node.k8s.io/v1", "RuntimeClass", json!({"overhead": {"podFixed": {"cpu": value}}})),
        of_kind("storage.k8s.io/v1", "CSIStorageCapacity", json!({"capacity": value, "maximumVolumeSize": value})),
        of_kind(
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            json!({"spec": {
                "metrics": [target("value"), target("averageValue")],
                "behavior": {"scaleUp": {"tolerance": value}, "scaleDown": {"tolerance": value}},
            }}),
        ),
    ]
}

fn is_held(desired: &Value, live: &Value) -> bool {
    let held = |(desired, live): (&Value, &Value)| first_difference(desired, live).is_none();
    let (desired, live) = (with_quantity(desired), with_quantity(live));
    let held: Vec<bool> = desired.iter().zip(&live).map(held).collect();
    assert!(held.iter().all(|one| *one == held[0]), "{held:?} for {} and {}", desired[0], live[0]);
    held[0]
}

#[test]
fn quantities_of_one_amount_are_the_same_wherever_there_are_quantities() {
    for (desired, live) in [
        (json!("1000m"), json!("1")),
        (json!("0.5"), json!("500m")),
        (json!(".5"), json!("500m")),
        (json!("1Gi"), json!("1024Mi")),
        (json!("1.5Gi"), json!("1536Mi")),
        (json!("1e3"), json!("1k")),
        (json!("1E3"), json!("1000")),
        (json!("1e-3"), json!("1m")),
        (json!("+1"), json!("1")),
        (json!("-1000m"), json!("-1")),
        (json!("0m"), json!("0")),
        (json!(1), json!("1")),
        (json!(1.5), json!("1500m")),
        (json!(1e21), json!("1000E")),
        (json!("9007199254740993"), json!("9007199254740993000m")),
        (json!("9999999999999999999999"), json!("9999999999999999999999000m")),
    ] {
        assert!(is_held(&desired, &live) && is_held(&live, &desired), "{desired} {live}");
    }
    for (desired, live) in [
        (json!("1000m"), json!("1001m")),
        (json!("1G"), json!("1Gi")),
        (json!("1"), json!("-1")),
        (json!("1m"), json!("1M")),
        (json!(1), json!("2")),
        (json!("9007199254740993"), json!("9007199254740992")),
        (json!("9007199254740993"), json!(9_007_199_254_740_992_u64)),
        (json!("1e-3"), json!("1e3")),
        (json!("a lot"), json!("1")),
        (json!(""), json!("0")),
        (json!(true), json!("1")),
        (json!({}), json!("0")),
    ] {
        assert!(!is_held(&desired, &live) && !is_held(&live, &desired), "{desired} {live}");
    }
}

#[test]
fn resources_are_rounded_up_to_thousandths_and_other_quantities_to_billionths() {
    let container =
        |cpu: &str| of_kind("v1", "Pod", json!({"spec": {"containers": [{"resources": {"limits": {"cpu": cpu}}}]}}));
    let volume = |size: &str| of_kind("v1", "Pod", json!({"spec": {"volumes": [{"emptyDir": {"sizeLimit": size}}]}}));
    check(container("0.1m"), container("1m"), None);
    check(container("1000001u"), container("1001m"), None);
    check(volume("0.1n"), volume("1n"), None);
    check(volume("0.1m"), volume("1m"), Some("spec.volumes[0].emptyDir.sizeLimit"));
}

#[test]
fn values_like_quantities_in_other_fields_are_text() {
    let env = |value: &str| json!({"spec": {"containers": [{"name": "main", "env": [{"name": "CPU", "value": value}]}]}});
    let limits = |value: &str| json!({"spec": {"containers": [{"name": "main", "resources": {"limits": {"cpu": value}}}]}});
    for (api_version, kind, make, path) in [
        ("v1", "Pod", &env as &dyn Fn(&str) -> Value, "spec.containers[0].env[0].value"),
        ("v1", "ConfigMap", &|value: &str| json!({"data": {"capacity": value}}), "data.capacity"),
        ("v1", "ConfigMap", &|value: &str| json!({"metadata": {"labels": {"sizeLimit": value}}}), "metadata.labels.sizeLimit"),
        // The API server keeps the values of custom kinds as they are.
        ("example.com/v1", "Pod", &limits, "spec.containers[0].resources.limits.cpu"),
        ("autoscaling.k8s.io/v1", "Pod", &limits, "spec.containers[0].resources.limits.cpu"),
    ] {
        check(of_kind(api_version, kind, make("1000m")), of_kind(api_version, kind, make("1")), Some(path));
    }
    check(limits("1000m"), limits("1"), Some("spec.containers[0].resources.limits.cpu"));
}

#[test]
fn zero_values_may_be_absent_where_the_api_server_omits_them() {
    let pod = |spec: Value| of_kind("v1", "Pod", json!({"spec": spec}));
    let container = |fields: Value| json!({"containers": [fields]});
    for desired in [
        json!({"hostNetwork": false, "hostname": ""}),
        container(json!({"tty": false, "env": [{"value": ""}], "livenessProbe": {"initialDelaySeconds": 0}})),
        container(json!({"volumeMounts": [{"readOnly": false, "subPath": ""}]})),
    ] {
        let live = container(json!({"env": [{}], "livenessProbe": {}, "volumeMounts": [{}]}));
        check(pod(desired), pod(live), None);
    }
    for (desired, path) in [
        (json!({"hostNetwork": true}), "spec.hostNetwork"),
        (json!({"automountServiceAccountToken": false}), "spec.automountServiceAccountToken"),
        (container(json!({"env": [{"value": "x"}]})), "spec.containers[0].env[0].value"),
    ] {
        check(pod(desired), pod(container(json!({"env": [{}]}))), Some(path));
    }
    let config = |data: Value| of_kind("v1", "ConfigMap", json!({"data": data}));
    check(config(json!({"hostname": ""})), config(json!({})), Some("data.hostname"));
    let custom = |spec: Value| of_kind("example.com/v1", "Pod", json!({"spec": spec}));
    check(custom(json!({"hostNetwork": false})), custom(json!({})), Some("spec.hostNetwork"));
}

#[test]
fn bytes_in_base64_are_the_same_whatever_their_lines() {
    let secret = |text: &str| of_kind("v1", "Secret", json!({"data": {"key": text}}));
    check(secret("Zm9v\nYmFy\r\n"), secret("Zm9vYmFy"), None);
    check(secret("Zm9vYmFy"), secret("Zm9vYmFz"), Some("data.key"));
    check(secret("Zm9v YmFy"), secret("Zm9vYmFy"), Some("data.key"));
    let config = |field: &str, text: &str| of_kind("v1", "ConfigMap", json!({(field): {"key": text}}));
    check(config("binaryData", "Zm9v\n"), config("binaryData", "Zm9v"), None);
    check(config("data", "Zm9v\n"), config("data", "Zm9v"), Some("data.key"));
}

#[test]
fn the_string_data_of_a_secret_is_in_its_data() {
    let secret = |fields: Value| of_kind("v1", "Secret", fields);
    let live = json!({"data": {"a": "QQ==", "b": "Qg==", "empty": ""}, "type": "Opaque"});
    for desired in [
        json!({"stringData": {"a": "A", "b": "B"}}),
        json!({"stringData": {"empty": ""}}),
        json!({"stringData": {}}),
        json!({"stringData": {"b": "B"}, "data": {"a": "QQ=="}}),
        json!({"stringData": {"b": "B"}, "data": {"a": "QQ==", "b": "QQ=="}}),
    ] {
        check(secret(desired), secret(live.clone()), None);
    }
    for (desired, path) in [
        (json!({"stringData": {"a": "B"}}), "stringData.a"),
        (json!({"stringData": {"a": "QQ=="}}), "stringData.a"),
        (json!({"stringData": {"c": "C"}}), "stringData.c"),
        (json!({"stringData": {"a": 1}}), "stringData.a"),
        (json!({"stringData": {"a": "A"}, "data": {"b": "QQ=="}}), "data.b"),
        (json!({"stringData": {"a": "B"}, "data": {"a": "QQ=="}}), "stringData.a"),
        (json!({"stringData": "A"}), "stringData"),
    ] {
        check(secret(desired), secret(live.clone()), Some(path));
    }
    let desired = json!({"stringData": {"a": "A"}});
    check(secret(desired.clone()), secret(json!({})), Some("stringData.a"));
    check(of_kind("v1", "ConfigMap", desired.clone()), of_kind("v1", "ConfigMap", live.clone()), Some("stringData"));
    check(of_kind("example.com/v1", "Secret", desired), of_kind("example.com/v1", "Secret", live), Some("stringData"));
}
