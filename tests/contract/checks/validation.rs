use serde_json::{Value, json};

use crate::suite::objects::{any, config_map, deployment, job, pod, widget, widget_crd};
use crate::suite::probe::{Answer, JSON_PATCH, MERGE_PATCH, Probe};
use crate::suite::registry::checks;

checks! { Api:
    names_are_validated_by_kind,
    labels_and_annotations_are_validated_on_create,
    missing_required_fields_are_all_named,
    an_unknown_field_is_refused_when_strict,
    an_unknown_field_is_warned_of_by_default,
    an_unknown_field_is_dropped_silently_when_ignored,
    duplicate_fields_are_refused_when_strict_and_warned_of_by_default,
    an_unknown_field_validation_is_refused,
    an_unknown_field_of_a_custom_resource_follows_the_field_validation,
    a_value_of_the_wrong_type_is_refused,
    numbers_that_do_not_fit_are_refused,
    a_pod_is_validated,
    a_deployment_is_validated,
    a_job_is_validated,
    a_cron_job_is_validated,
    schedules_are_read_as_robfig_cron_reads_them,
    a_service_is_validated,
    an_ingress_is_validated,
    a_config_map_is_validated,
    roles_are_validated,
    quantities_are_validated,
    owner_references_are_validated,
    equal_owner_references_become_one,
    the_field_manager_of_a_create_is_validated,
    deprecated_or_risky_fields_are_warned_of,
}

async fn invalid(server: &Probe, path: &str, body: Value, expected: &str) {
    let answer = server.post(path).body(body).expect(422).await;
    assert!(answer.message().contains(expected), "{}", answer.message());
}

async fn names_are_validated_by_kind(server: &Probe) {
    let subdomain = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.'";
    for name in ["Upper", "a_b", "-a", "a-", ".a"] {
        invalid(server, "v1/configmaps", config_map(name, json!({})), subdomain).await;
    }
    invalid(server, "v1/configmaps", config_map(&"a".repeat(254), json!({})), "must be no more than 253").await;
    invalid(server, "v1/services", json!({"metadata": {"name": "1.a"}, "spec": {"ports": [{"port": 80}]}}), "metadata.name")
        .await;
    invalid(server, "/api/v1/namespaces", json!({"metadata": {"name": "a.b"}}), "must not contain dots").await;
    server.create("rbac.authorization.k8s.io/v1/roles", json!({"metadata": {"name": "system:Odd_Name"}})).await;
    invalid(server, "rbac.authorization.k8s.io/v1/roles", json!({"metadata": {"name": "a%b"}}), "may not contain '%'").await;
}

async fn labels_and_annotations_are_validated_on_create(server: &Probe) {
    let body = json!({"metadata": {"name": "a", "labels": {"a b": "c", "ok": "-"}, "annotations": {"x/y/z": "1"}}});
    let answer = server.post("v1/configmaps").body(body).expect(422).await;
    assert_eq!(answer["details"]["causes"].as_array().unwrap().len(), 3);
    let long = json!({"metadata": {"name": "a", "labels": {"k": "v".repeat(64)}}});
    invalid(server, "v1/configmaps", long, "must be no more than 63").await;
    let large = json!({"metadata": {"name": "a", "annotations": {"k": "v".repeat(257 * 1024)}}});
    let answer = server.post("v1/configmaps").body(large).expect(422).await;
    assert!(answer.message().contains("metadata.annotations: Too long"), "{}", answer.message());
}

async fn missing_required_fields_are_all_named(server: &Probe) {
    let answer = server.post("apps/v1/deployments").body(json!({"metadata": {"name": "a"}})).expect(422).await;
    let fields: Vec<&str> =
        answer["details"]["causes"].as_array().unwrap().iter().map(|c| c["field"].as_str().unwrap()).collect();
    assert!(fields.contains(&"spec.selector") && fields.contains(&"spec.template.spec.containers"), "{fields:?}");
    server.post("v1/pods").body(json!({"metadata": {"name": "a"}})).expect(422).await;
    server.post("batch/v1/jobs").body(json!({"metadata": {"name": "a"}, "spec": {}})).expect(422).await;
    server.post("v1/services").body(json!({"metadata": {"name": "a"}})).expect(422).await;
}

fn strange() -> Value {
    let mut body = deployment("a");
    body["spec"]["strange"] = 1.into();
    body["spec"]["template"]["spec"]["containers"][0]["odd"] = json!({"x": [1]});
    body
}

async fn an_unknown_field_is_refused_when_strict(server: &Probe) {
    let answer = server.post("apps/v1/deployments?fieldValidation=Strict").body(strange()).expect(400).await;
    let expected =
        "strict decoding error: unknown field \"spec.strange\", unknown field \"spec.template.spec.containers[0].odd\"";
    assert!(answer.message().ends_with(expected), "{}", answer.message());
    server.get("apps/v1/deployments/a").expect(404).await;
}

async fn an_unknown_field_is_warned_of_by_default(server: &Probe) {
    let answer = server.post("apps/v1/deployments").body(strange()).expect(201).await;
    let expected = [
        "299 - \"unknown field \\\"spec.strange\\\"\"",
        "299 - \"unknown field \\\"spec.template.spec.containers[0].odd\\\"\"",
    ];
    assert_eq!(answer.warnings(), expected);
    assert_eq!(answer.at("/spec/strange"), &Value::Null);
}

async fn an_unknown_field_is_dropped_silently_when_ignored(server: &Probe) {
    let answer = server.post("apps/v1/deployments?fieldValidation=Ignore").body(strange()).expect(201).await;
    assert!(answer.warnings().is_empty() && answer.at("/spec/strange").is_null());
}

async fn duplicate_fields_are_refused_when_strict_and_warned_of_by_default(server: &Probe) {
    let text = r#"{"metadata": {"name": "a", "labels": {"x": "1", "x": "2"}}, "data": {"k": "v"}, "data": {"k": "w"}}"#;
    let answer = server.post("v1/configmaps?fieldValidation=Strict").text(text).expect(400).await;
    assert!(answer.message().contains("duplicate field \"data\""), "{}", answer.message());
    let answer = server.post("v1/configmaps").text(text).expect(201).await;
    assert_eq!((answer.warnings().len(), &answer["data"]["k"]), (2, &json!("w")));
}

async fn an_unknown_field_validation_is_refused(server: &Probe) {
    let answer = server.post("v1/configmaps?fieldValidation=Maybe").body(config_map("a", json!({}))).expect(422).await;
    assert!(answer.message().contains("fieldValidation: Unsupported value: \"Maybe\""), "{}", answer.message());
}

async fn an_unknown_field_of_a_custom_resource_follows_the_field_validation(server: &Probe) {
    server.install(widget_crd(json!({"type": "object", "properties": {"x": {"type": "integer"}}}))).await;
    let body = |name: &str| {
        let mut body = widget(name, json!({"x": 1, "y": 2}));
        body["metadata"]["odd"] = 1.into();
        body
    };
    let answer = server.post("{group}/v1/widgets?fieldValidation=Strict").body(body("a")).expect(400).await;
    assert!(answer.message().contains("unknown field \"spec.y\""), "{}", answer.message());
    let answer = server.post("{group}/v1/widgets").body(body("b")).expect(201).await;
    assert!(!answer.warnings().is_empty() && answer.at("/spec/y").is_null());
    assert!(server.post("{group}/v1/widgets?fieldValidation=Ignore").body(body("c")).expect(201).await.warnings().is_empty());
}

async fn a_value_of_the_wrong_type_is_refused(server: &Probe) {
    for (path, body) in [
        ("v1/configmaps", json!({"metadata": {"name": "a"}, "data": {"k": 1}})),
        ("v1/configmaps", json!({"metadata": {"name": "a"}, "data": []})),
        ("v1/configmaps", json!({"metadata": {"name": 1}})),
        ("apps/v1/deployments", json!({"metadata": {"name": "a"}, "spec": {"replicas": "2"}})),
        ("apps/v1/deployments", json!({"metadata": {"name": "a"}, "spec": {"paused": "true"}})),
        ("v1/pods", json!({"metadata": {"name": "a"}, "spec": {"containers": {"name": "x"}}})),
        ("v1/configmaps", json!([])),
    ] {
        let answer = server.post(path).body(body).expect(400).await;
        assert_eq!(answer.reason(), "BadRequest");
    }
}

async fn numbers_that_do_not_fit_are_refused(server: &Probe) {
    for (replicas, status) in [(json!(3_000_000_000_u64), 400), (json!(1.5), 400), (json!(-1), 422)] {
        let mut body = deployment("a");
        body["spec"]["replicas"] = replicas;
        let answer = server.post("apps/v1/deployments").body(body).expect(status).await;
        assert!(["BadRequest", "Invalid"].contains(&answer.reason()), "{:#}", answer.body);
    }
}

async fn a_pod_is_validated(server: &Probe) {
    let with = |pointer: &str, value: Value| {
        let mut body = pod("a");
        body["spec"][pointer] = value;
        body
    };
    invalid(
        server,
        "v1/pods",
        with("restartPolicy", json!("Sometimes")),
        "spec.restartPolicy: Unsupported value: \"Sometimes\"",
    )
    .await;
    invalid(server, "v1/pods", with("dnsPolicy", json!("Odd")), "spec.dnsPolicy").await;
    invalid(server, "v1/pods", with("containers", json!([])), "spec.containers: Required value").await;
    invalid(
        server,
        "v1/pods",
        with("containers", json!([{"name": "A"}, {"name": "b", "image": ""}])),
        "spec.containers[0].name",
    )
    .await;
    let twice = json!([{"name": "a", "image": "i"}, {"name": "a", "image": "i"}]);
    invalid(server, "v1/pods", with("containers", twice), "spec.containers[1].name: Duplicate value: \"a\"").await;
    let mount = json!([{"name": "a", "image": "i", "volumeMounts": [{"name": "none", "mountPath": "/x"}]}]);
    invalid(server, "v1/pods", with("containers", mount), "spec.containers[0].volumeMounts[0].name: Not found: \"none\"").await;
    let ports =
        json!([{"name": "a", "image": "i", "ports": [{"containerPort": 0}, {"containerPort": 70000, "protocol": "X"}]}]);
    invalid(server, "v1/pods", with("containers", ports), "spec.containers[0].ports[0].containerPort: Required value").await;
    invalid(server, "v1/pods", with("activeDeadlineSeconds", json!(-5)), "spec.activeDeadlineSeconds: Invalid value: -5").await;
    let env = json!([{"name": "a", "image": "i", "env": [{"name": "a=b"}, {"name": ""}]}]);
    invalid(server, "v1/pods", with("containers", env), "spec.containers[0].env[0].name").await;
}

async fn a_deployment_is_validated(server: &Probe) {
    let path = "apps/v1/deployments";
    let mut body = deployment("a");
    body["spec"]["selector"]["matchLabels"] = json!({"app": "other"});
    invalid(server, path, body, "`selector` does not match template `labels`").await;
    let mut body = deployment("a");
    body["spec"]["selector"] = json!({});
    invalid(server, path, body, "spec.selector: Invalid value").await;
    let mut body = deployment("a");
    body["spec"]["strategy"] = json!({"type": "Recreate", "rollingUpdate": {"maxSurge": 1}});
    invalid(server, path, body, "may not be specified when strategy `type` is 'Recreate'").await;
    let mut body = deployment("a");
    body["spec"]["template"]["spec"]["restartPolicy"] = "Never".into();
    invalid(server, path, body, "spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: \"Always\"")
        .await;
    let mut body = deployment("a");
    body["spec"]["strategy"] = json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": "0%"}});
    invalid(server, path, body, "may not be 0 when `maxSurge` is 0").await;
}

async fn a_job_is_validated(server: &Probe) {
    let with = |field: &str, value: Value| {
        let mut body = job("a");
        body["spec"][field] = value;
        body
    };
    let path = "batch/v1/jobs";
    invalid(server, path, with("completions", json!(-1)), "spec.completions: Invalid value: -1").await;
    invalid(server, path, with("backoffLimit", json!(-1)), "spec.backoffLimit").await;
    let mut indexed = with("completionMode", json!("Indexed"));
    indexed["spec"]["parallelism"] = 2.into();
    invalid(server, path, indexed, "spec.completions: Required value").await;
    invalid(server, path, with("completionMode", json!("Odd")), "spec.completionMode").await;
    invalid(server, path, with("manualSelector", json!(true)), "spec.selector: Required value").await;
    let mut body = job("a");
    body["spec"]["template"]["spec"].as_object_mut().unwrap().remove("restartPolicy");
    invalid(server, path, body, "spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\"")
        .await;
    invalid(server, path, with("selector", json!({"matchLabels": {"x": "y"}})), "spec.selector").await;
}

async fn a_cron_job_is_validated(server: &Probe) {
    let body = |schedule: &str, zone: Value| json!({"metadata": {"name": "a"}, "spec": {"schedule": schedule, "timeZone": zone, "jobTemplate": {"spec": job("x")["spec"]}}});
    let path = "batch/v1/cronjobs";
    invalid(server, path, body("every day", Value::Null), "spec.schedule: Invalid value: \"every day\"").await;
    invalid(server, path, body("61 * * * *", Value::Null), "spec.schedule").await;
    invalid(server, path, body("", Value::Null), "spec.schedule: Required value").await;
    invalid(server, path, body("@daily", json!("Nowhere/City")), "spec.timeZone: Invalid value: \"Nowhere/City\"").await;
    let mut long = body("@daily", Value::Null);
    long["metadata"]["name"] = "a".repeat(53).into();
    invalid(server, path, long, "must be no more than 52 characters").await;
}

async fn schedules_are_read_as_robfig_cron_reads_them(server: &Probe) {
    let body = |schedule: &str, zone: Value| json!({"metadata": {"name": "a"}, "spec": {"schedule": schedule, "timeZone": zone, "jobTemplate": {"spec": job("x")["spec"]}}});
    let path = "batch/v1/cronjobs?dryRun=All";
    for schedule in [
        "*/5 0-6 1,15 jan-MAR ?",
        "@hourly",
        "@every 1h30m",
        "@every 1.5s",
        "@every 1us",
        "@every -1h",
        "@every 0",
        "0 0 * * SUN",
        "5/15 * * * *",
        "0 0 31 2 *",
        ",1 * * * *",
        "*-3 * * * *",
        "0 0 1-31/40 * *",
        "+5 * * * *",
    ] {
        server.post(path).body(body(schedule, Value::Null)).expect(201).await;
    }
    for schedule in [
        "* * * *",
        "* * * * * *",
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "* * 32 * *",
        "* * * 13 *",
        "* * * * 7",
        "5-3 * * * *",
        "*/0 * * * *",
        "*/-5 * * * *",
        "*/x * * * *",
        "1-2-3 * * * *",
        "1/2/3 * * * *",
        "x * * * *",
        "-5 * * * *",
        "1- * * * *",
        "99999999999999999999 * * * *",
        "* * * foo *",
        "* * * * monday",
        "@never",
        "@every",
        "@every x",
        "@every 5",
        "@every 5x",
        "@every 1h 2m",
        "@Hourly",
        "TZ=UTC 0 0 * * *",
        "CRON_TZ=UTC 0 0 * * *",
        "TZ=Nowhere/Land * * * * *",
        "TZ=0",
        "TZ=UTC",
        " ",
        "@",
        "\t",
    ] {
        server.post(path).body(body(schedule, Value::Null)).expect(422).await;
    }
    for zone in ["Europe/Berlin", "europe/berlin", "Local", "UTC", "utc", "", "+01:00", "TZ", "Nowhere/Land", " UTC"] {
        server.post(path).body(body("@daily", zone.into())).send().await;
    }
}

async fn a_service_is_validated(server: &Probe) {
    let with = |spec: Value| json!({"metadata": {"name": "a"}, "spec": spec});
    let path = "v1/services";
    invalid(server, path, with(json!({"ports": [{"port": 0}]})), "spec.ports[0].port").await;
    invalid(server, path, with(json!({"ports": [{"port": 80}, {"port": 81}]})), "spec.ports[0].name: Required value").await;
    invalid(server, path, with(json!({"type": "Odd", "ports": [{"port": 80}]})), "spec.type: Unsupported value").await;
    invalid(server, path, with(json!({"ports": [{"port": 80, "name": "a"}, {"port": 80, "name": "b"}]})), "Duplicate value")
        .await;
    invalid(server, path, with(json!({"type": "ExternalName"})), "spec.externalName: Required value").await;
}

async fn an_ingress_is_validated(server: &Probe) {
    let path = "networking.k8s.io/v1/ingresses";
    invalid(
        server,
        path,
        json!({"metadata": {"name": "a"}, "spec": {}}),
        "either `defaultBackend` or `rules` must be specified",
    )
    .await;
    let rule = json!({"http": {"paths": [{"path": "x", "pathType": "Exact", "backend": {"service": {"name": "s"}}}]}});
    invalid(server, path, json!({"metadata": {"name": "a"}, "spec": {"rules": [rule]}}), "must be an absolute path").await;
}

async fn a_config_map_is_validated(server: &Probe) {
    invalid(server, "v1/configmaps", config_map("a", json!({"a b": "c"})), "data[a b]: Invalid value").await;
    let mut body = config_map("a", json!({"k": "v"}));
    body["binaryData"] = json!({"k": "YQ=="});
    invalid(server, "v1/configmaps", body, "duplicate of key present in binaryData").await;
    let answer =
        server.post("v1/configmaps").body(config_map("a", json!({"k": "v".repeat(1024 * 1024 + 1)}))).expect(422).await;
    assert!(answer.message().contains("Too long: may not be more than 1048576 bytes"), "{}", answer.message());
}

async fn roles_are_validated(server: &Probe) {
    let path = "rbac.authorization.k8s.io/v1/roles";
    invalid(server, path, json!({"metadata": {"name": "a"}, "rules": [{}]}), "rules[0].verbs: Required value").await;
    let rule = json!({"verbs": ["get"], "nonResourceURLs": ["/x"]});
    invalid(server, path, json!({"metadata": {"name": "a"}, "rules": [rule]}), "rules[0].nonResourceURLs").await;
    let path = "rbac.authorization.k8s.io/v1/rolebindings";
    let body = json!({"metadata": {"name": "a"}, "roleRef": {"kind": "Odd", "name": "x"}, "subjects": [{"kind": "User"}]});
    invalid(server, path, body, "roleRef.kind: Unsupported value: \"Odd\"").await;
}

async fn quantities_are_validated(server: &Probe) {
    let with = |resources: Value| {
        let mut body = pod("a");
        body["spec"]["containers"][0]["resources"] = resources;
        body
    };
    let answer = server.post("v1/pods").body(with(json!({"requests": {"cpu": "lots"}}))).expect(400).await;
    assert!(answer.message().contains("quantities must match the regular expression"), "{}", answer.message());
    invalid(server, "v1/pods", with(json!({"requests": {"cpu": "-1"}})), "must be greater than or equal to 0").await;
    invalid(
        server,
        "v1/pods",
        with(json!({"requests": {"cpu": "2"}, "limits": {"cpu": "1"}})),
        "must be less than or equal to cpu limit",
    )
    .await;
}

async fn equal_owner_references_become_one(server: &Probe) {
    let owner = |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": format!("uid-of-{name}")});
    let (a, b) = (owner("a"), owner("b"));
    let body =
        |owners: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "ownerReferences": owners}});
    let count = |answer: &Answer| answer.at("/metadata/ownerReferences").as_array().unwrap().len();
    let warned = ".metadata.ownerReferences contains duplicate entries";
    let created = server.create("v1/configmaps", body(json!([a, a, b]))).await;
    assert_eq!((count(&created), created.warnings()[0].contains(warned)), (2, true), "{:?}", created.warnings());
    let put = server.put("v1/configmaps/a").body(body(json!([a, b, b, b]))).expect(200).await;
    assert_eq!((count(&put), put.warnings()[0].contains(warned)), (2, true), "{:?}", put.warnings());
    for (content_type, patch) in [
        (JSON_PATCH, json!([{"op": "add", "path": "/metadata/ownerReferences/-", "value": a}])),
        (MERGE_PATCH, json!({"metadata": {"ownerReferences": [a, b, a]}})),
    ] {
        let patched = server.patch("v1/configmaps/a", content_type, patch).expect(200).await;
        assert_eq!((count(&patched), patched.warnings()[0].contains(warned)), (2, true), "{:?}", patched.warnings());
    }
}

async fn owner_references_are_validated(server: &Probe) {
    let owner = |extra: Value| {
        let mut owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"});
        for (key, value) in extra.as_object().unwrap() {
            owner[key] = value.clone();
        }
        owner
    };
    let with = |owners: Value| json!({"metadata": {"name": "a", "ownerReferences": owners}});
    let path = "v1/configmaps";
    invalid(server, path, with(json!([owner(json!({"uid": ""}))])), "metadata.ownerReferences").await;
    for api_version in ["a/b/c", "a/", "/"] {
        let owners = json!([owner(json!({"apiVersion": api_version}))]);
        invalid(server, path, with(owners), "version must not be empty").await;
    }
    invalid(
        server,
        path,
        with(json!([owner(json!({"name": ""}))])),
        "metadata.ownerReferences.name: Invalid value: \"\": must not be empty",
    )
    .await;
    let two = json!([owner(json!({"controller": true})), owner(json!({"controller": true, "uid": "v", "name": "p"}))]);
    invalid(server, path, with(two), "Only one reference can have Controller set to true").await;
    invalid(server, path, with(json!([owner(json!({"kind": "Event"}))])), "is disallowed from being an owner").await;
}

async fn the_field_manager_of_a_create_is_validated(server: &Probe) {
    let query = format!("fieldManager={}", "m".repeat(129));
    server.post("v1/configmaps").query(&query).body(config_map("a", json!({}))).expect(422).await;
    server.get("v1/configmaps/a").expect(404).await;
}

async fn deprecated_or_risky_fields_are_warned_of(server: &Probe) {
    let mut body = pod("a");
    body["metadata"]["annotations"] = json!({"seccomp.security.alpha.kubernetes.io/pod": "runtime/default"});
    body["spec"]["containers"][0]["env"] = json!([{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]);
    let answer = server.create("v1/pods", body).await;
    assert!(!answer.warnings().is_empty());
    let risky = json!([{"name": ""}, {"name": "a"}, {"name": "a"}]);
    let mut body = pod("b");
    body["spec"]["imagePullSecrets"] = risky.clone();
    let variables = json!([{"name": "A", "value": "1"}, {"name": "A", "value": "$(A)2"}, {"name": "A", "value": "$(A)"}]);
    body["spec"]["containers"][0]["env"] = variables;
    assert_eq!(server.create("v1/pods", body).await.warnings().len(), 3);
    let mut body = deployment("a");
    body["spec"]["template"]["spec"]["imagePullSecrets"] = risky;
    assert_eq!(server.create("apps/v1/deployments", body).await.warnings().len(), 2);
    let scaled =
        server.patch("apps/v1/deployments/a", MERGE_PATCH, json!({"metadata": {"labels": {"a": "b"}}})).expect(200).await;
    assert!(scaled.warnings().is_empty(), "{:?}", scaled.warnings());
    server.install(widget_crd(any())).await;
    let mut body = widget("a", json!({}));
    body["metadata"]["finalizers"] = json!(["bare"]);
    let answer = server.create("{group}/v1/widgets", body).await;
    assert!(!answer.warnings().is_empty(), "a finalizer without a domain");
}
