//! Children in spellings that the API server normalizes, and children that it rejects.

use serde_json::{Value, json};

use crate::harness::{Cluster, condition, guest};

/// Returns children in spellings that people use.
fn spelled_by_people() -> Value {
    let resources = json!({
        "limits": { "cpu": "1000m", "memory": "1024Mi" },
        "requests": { "cpu": 0.5, "memory": "0.5Gi" },
    });
    let pod = json!({
        "containers": [{ "name": "main", "image": "busybox:1", "resources": resources, "env": [
            { "name": "CPU", "valueFrom": { "resourceFieldRef": { "resource": "limits.cpu", "divisor": "1000u" } } },
            { "name": "EMPTY", "value": "" },
        ], "tty": false }],
        "hostNetwork": false,
        "volumes": [{ "name": "scratch", "emptyDir": { "sizeLimit": "1024Ki" } }],
        "restartPolicy": "Always",
    });
    let mut job = pod.clone();
    job["restartPolicy"] = json!("Never");
    let labels = json!({ "app": "it" });
    let target = json!({ "type": "AverageValue", "averageValue": "0.5" });
    json!([
        {
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "it" },
            "spec": {
                "replicas": 0, "selector": { "matchLabels": labels },
                "template": { "metadata": { "labels": labels }, "spec": pod },
            },
        },
        {
            "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": "it" },
            "spec": { "suspend": true, "template": { "spec": job } },
        },
        {
            "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": { "name": "it" },
            "spec": {
                "maxReplicas": 2, "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "it" },
                "metrics": [{ "type": "Resource", "resource": { "name": "cpu", "target": target } }],
            },
        },
        {
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "it" },
            "data": { "both": "b2xk", "old": "b2xk\n" }, "stringData": { "both": "new", "new": "new" },
        },
    ])
}

#[test]
fn a_value_that_the_api_server_normalizes_is_not_written_again_when_a_host_starts() {
    let Some(cluster) = Cluster::for_test("spelling", &["spelling"]) else { return };
    let plugins = [gyre_artifacts::probes::VERBATIM];
    let host = cluster.host(&plugins, &["spelling"]);
    cluster.apply(&guest("Verbatim", "spelling", "it", json!({ "children": spelled_by_people() })).to_string());
    cluster.ready("spelling", "verbatim", "it");
    let child = |kind: &str| cluster.get("spelling", kind, "it").unwrap();
    let of = |object: &Value, pointer: &str| object.pointer(pointer).cloned();
    let limits = "/spec/template/spec/containers/0/resources/limits";
    assert_eq!(of(&child("deployment"), limits), Some(json!({ "cpu": "1", "memory": "1Gi" })));
    assert_eq!(of(&child("secret"), "/data"), Some(json!({ "both": "bmV3", "new": "bmV3", "old": "b2xk" })));
    cluster.settled(&host);
    drop(host);

    let Some(restart) = cluster.audit_mark() else { return };
    let host = cluster.host(&plugins, &["spelling"]);
    cluster.eventually("it to be looked at again", || {
        (host.metric("controller_runtime_reconcile_total", &["\"verbatim\"", "success"]) >= 1.0).then_some(())
    });
    cluster.settled(&host);
    let writes: Vec<String> = cluster
        .requests(restart)
        .iter()
        .filter(|event| event.is_write() && event.resource != "leases")
        .map(|event| format!("{} {} {} -> {}", event.verb, event.resource, event.name, event.code))
        .collect();
    assert!(writes.is_empty(), "{writes:?}");

    let edit = json!({ "spec": { "template": { "spec": { "containers": [
        { "name": "main", "resources": { "limits": { "cpu": "1001m" } } },
    ] } } } });
    cluster.kubectl(&["patch", "-n", "spelling", "deployment", "it", "-p", &edit.to_string()]);
    cluster.kubectl(&["patch", "-n", "spelling", "secret", "it", "-p", r#"{"stringData":{"new":"edited"}}"#]);
    cluster.eventually("both to be put back", || {
        let is_back = of(&child("deployment"), limits)? == json!({ "cpu": "1", "memory": "1Gi" });
        (is_back && of(&child("secret"), "/data/new")? == "bmV3").then_some(())
    });
}

#[test]
fn a_child_that_does_not_fit_its_schema_is_rejected_by_the_field_and_the_others_are_made() {
    let Some(cluster) = Cluster::for_test("mistyped", &["mistyped"]) else { return };
    let Some(start) = cluster.audit_mark() else { return };
    let host = cluster.host(&[gyre_artifacts::probes::VERBATIM], &["mistyped"]);
    let parent = |mistyped: &[&str]| {
        let mut children = spelled_by_people();
        for field in mistyped {
            children[0]["spec"][*field] = json!([]);
        }
        cluster.apply(&guest("Verbatim", "mistyped", "it", json!({ "children": children })).to_string());
    };
    let refused_by = |words: &[&str]| {
        cluster.eventually(&format!("a refusal that says {words:?}"), || {
            let parent = cluster.get("mistyped", "verbatim", "it")?;
            let ready = condition(&parent, "Ready").filter(|ready| ready["reason"] == "Rejected")?;
            let message = ready["message"].as_str()?;
            let (_, violations) =
                message.split_once("Deployment.v1.apps mistyped/it, because it does not match the schema of its kind: ")?;
            let without_value = |violation: &str| violation.split(", got ").next().map(str::to_owned);
            let mut violations: Vec<String> = violations.split("; ").filter_map(without_value).collect();
            violations.sort_unstable();
            // The servers have different words for the type.
            let says = |(violation, words): (&String, &&str)| violation.starts_with(words);
            (violations.len() == words.len() && violations.iter().zip(words).all(says)).then_some(())
        });
    };
    parent(&["templat"]);
    refused_by(&["spec.templat: field not declared in schema"]);
    let event = cluster.eventually("the event", || cluster.events("mistyped", "it", "Rejected").pop());
    assert!(event["message"].as_str().is_some_and(|message| message.contains("spec.templat")), "{event}");
    assert!(cluster.get("mistyped", "secret", "it").is_some(), "what can be made is made");
    // The status is written before the retry.
    cluster.settled(&host);
    let tries = |verb: &str| {
        let requests = cluster.requests(start);
        requests.iter().filter(|event| event.resource == "deployments" && event.verb == verb).count()
    };
    assert!((1..=2).contains(&tries("create")), "{} tries", tries("create"));
    parent(&["paused", "replicas"]);
    // A create reports only the first error.
    refused_by(&["spec.paused: expected bool"]);
    parent(&[]);
    cluster.ready("mistyped", "verbatim", "it");
}

#[test]
fn a_key_that_a_plugin_withdraws_from_the_string_data_of_a_secret_is_gone() {
    let Some(cluster) = Cluster::for_test("withdrawn", &["withdrawn"]) else { return };
    let _host = cluster.host(&[gyre_artifacts::probes::VERBATIM], &["withdrawn"]);
    // The first one is created, the others are applied.
    for (texts, data) in [
        (json!({"a": "1", "b": "1"}), json!({"a": "MQ==", "b": "MQ=="})),
        (json!({"a": "2", "b": "1"}), json!({"a": "Mg==", "b": "MQ=="})),
        (json!({"a": "2"}), json!({"a": "Mg=="})),
        (json!({"a": "3"}), json!({"a": "Mw=="})),
    ] {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "it"}, "stringData": texts});
        cluster.apply(&guest("Verbatim", "withdrawn", "it", json!({ "children": [secret] })).to_string());
        cluster.eventually(&format!("exactly {data}"), || {
            (cluster.get("withdrawn", "secret", "it")?["data"] == data).then_some(())
        });
    }
}

#[test]
fn an_object_that_could_be_created_and_never_applied_is_refused_before_it_is_created() {
    let Some(cluster) = Cluster::for_test("twice", &["twice"]) else { return };
    let host = cluster.host(&[gyre_artifacts::probes::VERBATIM], &["twice"]);
    let parent = |name: &str| {
        let mut children = spelled_by_people();
        children[0]["spec"]["template"]["spec"]["containers"][0]["env"] =
            json!([{"name": "A", "value": "1"}, {"name": name, "value": "2"}]);
        cluster.apply(&guest("Verbatim", "twice", "it", json!({ "children": children })).to_string());
    };
    parent("A");
    let refused = cluster.reason("twice", "verbatim", "it", "Ready", "InvalidChild");
    let message = condition(&refused, "Ready").unwrap()["message"].as_str().unwrap().to_owned();
    let said = "spec.template.spec.containers[0].env[1] has name \"A\", and so has element 0: remove one";
    assert!(message.contains(said), "{message}");
    cluster.settled(&host);
    assert!(cluster.get("twice", "deployment", "it").is_none());
    parent("B");
    cluster.ready("twice", "verbatim", "it");
}
