use gyre_controlplane::AuditEvent;
use serde_json::{Value, json};

use crate::harness::{Cluster, condition, config_map, guest};

fn requests_for(requests: &[AuditEvent], resources: &[&str]) -> Vec<String> {
    let is_asked_about = |event: &&AuditEvent| resources.contains(&event.resource.as_str()) && event.verb != "list";
    let describe = |event: &AuditEvent| format!("{} {} {}", event.verb, event.resource, event.code);
    requests.iter().filter(is_asked_about).map(describe).collect()
}

/// Returns the managers of an object's fields, as `manager operation`, without those of its status.
fn managers(cluster: &Cluster, namespace: &str, kind: &str, name: &str) -> Vec<String> {
    let output = cluster.kubectl(&["get", "-n", namespace, kind, name, "--show-managed-fields", "-o", "json"]);
    let object: Value = serde_json::from_str(&output).unwrap();
    let entries = object["metadata"]["managedFields"].as_array().unwrap();
    let entries = entries.iter().filter(|entry| entry.get("subresource").is_none());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut managers: Vec<String> =
        entries.map(|entry| format!("{} {}", text(&entry["manager"]), text(&entry["operation"]))).collect();
    managers.sort();
    managers
}

fn ready_message(object: &Value) -> String {
    condition(object, "Ready").unwrap()["message"].as_str().unwrap().to_owned()
}

#[test]
fn a_child_takes_one_request_to_create_and_is_prepared_for_applies_at_its_first_change() {
    let Some(cluster) = Cluster::for_test("posted", &["posted"]) else { return };
    let plugins = [gyre_artifacts::probes::STRATEGIES];
    let host = cluster.host(&plugins, &["posted"]);
    let children = ["configmaps", "jobs", "secrets"];
    let parent = |text: &str| cluster.apply(&guest("Strategies", "posted", "it", json!({ "text": text })).to_string());
    let Some(mark) = cluster.audit_mark() else { return };
    parent("first");
    cluster.ready("posted", "strategies", "it");
    cluster.settled(&host);
    let mut requests = requests_for(&cluster.requests(mark), &children);
    requests.sort();
    assert_eq!(requests, ["create configmaps 201", "create jobs 201", "create secrets 201"]);
    assert_eq!(managers(&cluster, "posted", "configmap", "it"), ["gyre/strategies Update"]);

    let mark = cluster.audit_mark().unwrap();
    parent("second");
    cluster.ready("posted", "strategies", "it");
    cluster.settled(&host);
    let map = cluster.get("posted", "configmap", "it").unwrap();
    assert_eq!(map["data"]["text"], "second");
    assert_eq!(managers(&cluster, "posted", "configmap", "it"), ["gyre/strategies Apply"]);
    let first_change = ["get configmaps 200", "patch configmaps 200", "patch configmaps 200"];
    assert_eq!(
        requests_for(&cluster.requests(mark), &children),
        first_change,
        "the managedFields are read, turned, and then it is applied"
    );

    let mark = cluster.audit_mark().unwrap();
    parent("third");
    cluster.ready("posted", "strategies", "it");
    cluster.settled(&host);
    assert_eq!(requests_for(&cluster.requests(mark), &children), ["patch configmaps 200"], "from then on it is applied");

    drop(host);
    let mark = cluster.audit_mark().unwrap();
    let host = cluster.host(&plugins, &["posted"]);
    parent("fourth");
    cluster.ready("posted", "strategies", "it");
    cluster.settled(&host);
    assert_eq!(requests_for(&cluster.requests(mark), &children), ["patch configmaps 200"]);
}

pub(crate) fn deployment(name: &str, more: Value) -> Value {
    let mut deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": name },
        "spec": {
            "selector": { "matchLabels": { "app": name } },
            "template": {
                "metadata": { "labels": { "app": name } },
                "spec": { "containers": [{ "name": "main", "image": "busybox:1" }] },
            },
        },
    });
    merge(&mut deployment, more);
    deployment
}

fn merge(into: &mut Value, more: Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            more.into_iter().for_each(|(field, value)| merge(into.entry(field).or_insert(Value::Null), value));
        }
        (into, more) => *into = more,
    }
}

#[test]
fn the_first_change_removes_undesired_fields_and_keeps_fields_of_others() {
    let Some(cluster) = Cluster::for_test("unwanted", &["unwanted"]) else { return };
    let host = cluster.host(&[gyre_artifacts::probes::VERBATIM], &["unwanted"]);
    let parent =
        |children: Value| cluster.apply(&guest("Verbatim", "unwanted", "it", json!({ "children": children })).to_string());
    let wide = deployment(
        "it",
        json!({
            "metadata": { "labels": { "mine": "yes" }, "annotations": { "note": "mine" } },
            "spec": {
                "minReadySeconds": 5,
                "strategy": { "type": "RollingUpdate" },
                "template": {
                    "metadata": { "annotations": { "only": "one" } },
                    "spec": {
                        "nodeSelector": { "disk": "fast" },
                        "containers": [
                            { "name": "main", "image": "busybox:1", "resources": { "limits": { "cpu": "1000m" } } },
                            { "name": "beside", "image": "busybox:1" },
                        ],
                    },
                },
            },
        }),
    );
    let secret =
        json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "it" }, "data": { "a": "YQ==", "b": "Yg==" } });
    parent(json!([wide, secret]));
    cluster.ready("unwanted", "verbatim", "it");
    cluster.settled(&host);
    let patch = |kind: &str, patch: Value| {
        cluster.kubectl(&["patch", "-n", "unwanted", kind, "it", "--type=merge", "-p", &patch.to_string()]);
    };
    patch(
        "deployment",
        json!({ "metadata": { "labels": { "theirs": "yes" } }, "spec": { "paused": true, "revisionHistoryLimit": 3 } }),
    );
    cluster.kubectl(&["scale", "-n", "unwanted", "deployment", "it", "--replicas=0"]);
    patch("secret", json!({ "data": { "theirs": "eA==" } }));

    let narrow = deployment("it", json!({ "spec": { "strategy": { "type": "Recreate" } } }));
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "it" }, "data": { "b": "Yg==" } });
    parent(json!([narrow, secret]));
    cluster.ready("unwanted", "verbatim", "it");
    let now = cluster.get("unwanted", "deployment", "it").unwrap();
    assert_eq!(now["metadata"]["labels"]["mine"], Value::Null);
    assert_eq!(now["metadata"]["annotations"]["note"], Value::Null);
    assert_eq!(now["spec"]["minReadySeconds"], Value::Null);
    assert_eq!(
        now["spec"]["strategy"],
        json!({ "type": "Recreate" }),
        "nor is there what the API server had filled in beside it"
    );
    let template = &now["spec"]["template"];
    assert_eq!(template["metadata"]["annotations"]["only"], Value::Null);
    assert_eq!(template["metadata"]["labels"], json!({ "app": "it" }));
    assert_eq!(template["spec"].get("nodeSelector"), None);
    let containers = template["spec"]["containers"].as_array().unwrap();
    assert_eq!(containers.len(), 1);
    assert_eq!(containers[0]["resources"], json!({}));
    assert_eq!(containers[0]["terminationMessagePath"], "/dev/termination-log");
    assert_eq!(template["spec"]["restartPolicy"], "Always");
    assert_eq!(now["metadata"]["labels"]["theirs"], "yes");
    assert_eq!((&now["spec"]["paused"], &now["spec"]["revisionHistoryLimit"]), (&json!(true), &json!(3)));
    assert_eq!(now["spec"]["replicas"], 0, "it was scaled");
    assert_eq!(now["spec"]["progressDeadlineSeconds"], 600);
    let secret = cluster.get("unwanted", "secret", "it").unwrap();
    assert_eq!(secret["data"], json!({ "b": "Yg==", "theirs": "eA==" }));
}

#[test]
fn an_interrupted_first_apply_is_completed_by_the_next_host() {
    let Some(cluster) = Cluster::for_test("halfway", &["halfway"]) else { return };
    let plugins = [gyre_artifacts::probes::VERBATIM];
    let secret = |data: Value| json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "it" }, "data": data });
    let parent = |data: Value| guest("Verbatim", "halfway", "it", json!({ "children": [secret(data)] })).to_string();
    let host = cluster.host(&plugins, &["halfway"]);
    cluster.apply(&parent(json!({ "a": "YQ==", "b": "Yg==" })));
    cluster.ready("halfway", "verbatim", "it");
    cluster.settled(&host);
    drop(host);
    // The host converts the managed fields, and ends before it applies.
    let output = cluster.kubectl(&["get", "-n", "halfway", "secret", "it", "--show-managed-fields", "-o", "json"]);
    let live: Value = serde_json::from_str(&output).unwrap();
    let entries = live["metadata"]["managedFields"].as_array().unwrap();
    let entries = gyre_core::managed_fields::as_applied(entries, "gyre/verbatim").expect("it was created by POST");
    let metadata = json!({
        "uid": live["metadata"]["uid"], "resourceVersion": live["metadata"]["resourceVersion"], "managedFields": entries,
    });
    let patch = json!({ "metadata": metadata }).to_string();
    cluster.kubectl(&["patch", "-n", "halfway", "secret", "it", "--type=merge", "-p", &patch]);
    assert_eq!(managers(&cluster, "halfway", "secret", "it"), ["gyre/verbatim Apply"]);

    cluster.apply(&parent(json!({ "b": "Yw==" })));
    let Some(mark) = cluster.audit_mark() else { return };
    let host = cluster.host(&plugins, &["halfway"]);
    cluster.ready("halfway", "verbatim", "it");
    cluster.settled(&host);
    let now = cluster.get("halfway", "secret", "it").unwrap();
    assert_eq!((&now["data"], &now["metadata"]["uid"]), (&json!({ "b": "Yw==" }), &live["metadata"]["uid"]));
    assert_eq!(requests_for(&cluster.requests(mark), &["secrets"]), ["patch secrets 200"]);
}

#[test]
fn a_child_that_an_earlier_version_applied_is_applied_as_before() {
    let Some(cluster) = Cluster::for_test("earlier", &["earlier"]) else { return };
    let secret = |data: Value| json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "it" }, "data": data });
    let parent = |data: Value| guest("Verbatim", "earlier", "it", json!({ "children": [secret(data)] }));
    cluster.apply(&parent(json!({ "a": "YQ==", "b": "Yg==" })).to_string());
    let owner = cluster.get("earlier", "verbatim", "it").unwrap();
    let mut applied = secret(json!({ "a": "YQ==", "b": "Yg==" }));
    merge(
        &mut applied,
        json!({ "metadata": {
            "namespace": "earlier",
            "labels": { "gyre.dev/plugin": "verbatim", "gyre.dev/owner-uid": owner["metadata"]["uid"] },
            "annotations": { "gyre.dev/desired-digest": "of an earlier version" },
            "ownerReferences": [{
                "apiVersion": "guests.gyre.dev/v1", "kind": "Verbatim", "name": "it", "uid": owner["metadata"]["uid"],
                "controller": true, "blockOwnerDeletion": true,
            }],
        } }),
    );
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), applied.to_string()).unwrap();
    let path = file.path().display().to_string();
    cluster.kubectl(&["apply", "--server-side", "--field-manager=gyre/verbatim", "-f", &path]);
    cluster.apply(&parent(json!({ "b": "Yw==" })).to_string());
    let Some(mark) = cluster.audit_mark() else { return };
    let host = cluster.host(&[gyre_artifacts::probes::VERBATIM], &["earlier"]);
    cluster.ready("earlier", "verbatim", "it");
    cluster.settled(&host);
    assert_eq!(cluster.get("earlier", "secret", "it").unwrap()["data"], json!({ "b": "Yw==" }));
    assert_eq!(requests_for(&cluster.requests(mark), &["secrets"]), ["patch secrets 200"]);
}

#[test]
fn a_misspelt_field_is_refused_by_name() {
    let Some(cluster) = Cluster::for_test("misspelt", &["misspelt"]) else { return };
    let _host = cluster.host(&[gyre_artifacts::probes::VERBATIM], &["misspelt"]);
    let parent = |child: Value| cluster.apply(&guest("Verbatim", "misspelt", "it", json!({ "children": [child] })).to_string());
    parent(deployment("it", json!({ "spec": { "replcas": 2 } })));
    let refused = cluster.reason("misspelt", "verbatim", "it", "Ready", "Rejected");
    let message = ready_message(&refused);
    assert!(
        message.contains("Deployment.v1.apps misspelt/it") && message.contains("spec.replcas: field not declared"),
        "{message}"
    );
    assert!(cluster.get("misspelt", "deployment", "it").is_none(), "without the field it is not what is wanted");
    parent(deployment("it", json!({ "spec": { "replicas": "two" } })));
    let message = cluster.eventually("the other field to be refused", || {
        Some(ready_message(&cluster.get("misspelt", "verbatim", "it")?)).filter(|message| message.contains("replicas"))
    });
    assert!(message.contains("does not match the schema of its kind"), "{message}");
    parent(deployment("it", json!({ "spec": { "replicas": 0 } })));
    cluster.ready("misspelt", "verbatim", "it");
}

#[test]
fn a_child_that_is_replaced_and_not_changed_is_replaced_when_somebody_edits_it_and_not_when_it_is_spelt_otherwise() {
    let Some(cluster) = Cluster::for_test("replaced", &["replaced"]) else { return };
    let plugins = [gyre_artifacts::probes::VERBATIM];
    // The API server drops the empty list, which the host does not know.
    let container = json!({ "name": "main", "image": "busybox:1", "resources": { "limits": { "cpu": "1000m" } }, "env": [] });
    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": "it" },
        "spec": {
            "parallelism": 1, "suspend": true,
            "template": { "spec": { "restartPolicy": "Never", "containers": [container] } },
        },
    });
    let host = cluster.host(&plugins, &["replaced"]);
    cluster.apply(&guest("Verbatim", "replaced", "it", json!({ "children": [job] })).to_string());
    cluster.ready("replaced", "verbatim", "it");
    cluster.settled(&host);
    let uid = || cluster.get("replaced", "job", "it").map(|job| job["metadata"]["uid"].clone());
    let first = uid();
    drop(host);
    let host = cluster.host(&plugins, &["replaced"]);
    cluster.eventually("it to be looked at again", || {
        (host.metric("controller_runtime_reconcile_total", &["\"verbatim\"", "success"]) >= 1.0).then_some(())
    });
    cluster.settled(&host);
    assert_eq!(uid(), first);

    cluster.kubectl(&["patch", "-n", "replaced", "job", "it", "--type=merge", "-p", r#"{"spec":{"parallelism":2}}"#]);
    let another = cluster.eventually("another Job", || uid().filter(|uid| Some(uid) != first.as_ref()));
    assert_eq!(cluster.get("replaced", "job", "it").unwrap()["spec"]["parallelism"], 1);

    let claim = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": "it", "namespace": "replaced" }, "spec": { "parallelism": 3 },
    });
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), claim.to_string()).unwrap();
    let path = file.path().display().to_string();
    cluster.kubectl(&["apply", "--server-side", "--force-conflicts", "--field-manager=somebody", "-f", &path]);
    let refused = cluster.reason("replaced", "verbatim", "it", "Ready", "Conflict");
    assert!(ready_message(&refused).contains("somebody"), "{refused}");
    assert_eq!(uid(), Some(another));
}

#[test]
fn the_host_reads_an_object_only_after_its_name_was_taken() {
    let Some(cluster) = Cluster::for_test("taken", &["taken"]) else { return };
    cluster.create(&config_map("taken", "it", json!({ "mine": "stays" })).to_string());
    let before = cluster.get("taken", "configmap", "it").unwrap();
    let Some(mark) = cluster.audit_mark() else { return };
    let host = cluster.host(&[gyre_artifacts::probes::STRATEGIES], &["taken"]);
    cluster.apply(&guest("Strategies", "taken", "it", json!({ "text": "ours" })).to_string());
    let parent = cluster.reason("taken", "strategies", "it", "Ready", "ForeignObject");
    assert!(ready_message(&parent).contains("ConfigMap.v1 taken/it"), "{parent}");
    cluster.settled(&host);
    let requests = requests_for(&cluster.requests(mark), &["configmaps"]);
    let (looks, others): (Vec<&[String]>, Vec<&[String]>) =
        requests.chunks(2).partition(|pair| *pair == ["create configmaps 409", "get configmaps 200"]);
    assert!(!looks.is_empty() && others.is_empty(), "{requests:?}");
    assert_eq!(cluster.get("taken", "configmap", "it").unwrap(), before);

    cluster.kubectl(&["delete", "-n", "taken", "configmap", "it"]);
    cluster.touch("taken", "strategies", "it", "again");
    cluster.ready("taken", "strategies", "it");
    assert_eq!(cluster.get("taken", "configmap", "it").unwrap()["data"], json!({ "text": "ours" }));
}
