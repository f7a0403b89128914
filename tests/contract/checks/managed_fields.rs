//! Objects that are created by POST and applied later: managed fields before and after the
//! migration.

use serde_json::{Value, json};

use crate::suite::objects::{A, data};
use crate::suite::probe::{Answer, JSON_PATCH, MERGE_PATCH, Probe};
use crate::suite::registry::checks;

checks! { Api:
    defaults_are_owned_by_the_creator,
    fields_that_a_create_strips_or_generates_have_no_owner,
    the_update_of_a_create_keeps_what_its_manager_no_longer_applies,
    an_update_that_is_turned_into_an_apply_is_applied_over,
    defaults_that_are_no_longer_applied_are_filled_in_again,
    a_map_that_loses_its_last_applied_entry_keeps_those_of_nobody,
    managed_fields_are_turned_only_over_the_version_that_was_read,
    managed_fields_are_not_turned_of_another_object,
    a_json_patch_turns_managed_fields_as_a_merge_patch_does,
    turning_managed_fields_makes_no_entry_for_who_does_it,
}

fn deployment(spec: Value) -> Value {
    let mut deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "a" },
        "spec": {
            "selector": { "matchLabels": { "app": "a" } },
            "template": {
                "metadata": { "labels": { "app": "a" } },
                "spec": { "containers": [{ "name": "c", "image": "i" }] },
            },
        },
    });
    for (field, value) in spec.as_object().into_iter().flatten() {
        deployment["spec"][field] = value.clone();
    }
    deployment
}

/// Returns a patch that turns each update entry into an apply entry.
fn turned(live: &Answer) -> Value {
    let mut entries = live["metadata"]["managedFields"].clone();
    for entry in entries.as_array_mut().unwrap() {
        entry["operation"] = json!("Apply");
    }
    json!({ "metadata": { "uid": live.uid(), "resourceVersion": live.version(), "managedFields": entries } })
}

async fn defaults_are_owned_by_the_creator(server: &Probe) {
    let answer = server.post("apps/v1/deployments?fieldManager=me").body(deployment(json!({}))).expect(201).await;
    let owned = answer.owned("me", "Update");
    for field in ["f:replicas", "f:progressDeadlineSeconds", "f:revisionHistoryLimit"] {
        assert_eq!(owned["f:spec"][field], json!({}), "{field}: {owned}");
    }
}

async fn fields_that_a_create_strips_or_generates_have_no_owner(server: &Probe) {
    let template = json!({ "spec": { "restartPolicy": "Never", "containers": [{ "name": "c", "image": "i" }] } });
    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": "a" },
        "spec": { "template": template }, "status": { "active": 3 },
    });
    let answer = server.post("batch/v1/jobs?fieldManager=me").body(job).expect(201).await;
    let owned = answer.owned("me", "Update");
    assert_eq!((&owned["f:status"], &owned["f:spec"]["f:selector"]), (&Value::Null, &Value::Null), "{owned}");
    assert_eq!(owned["f:spec"]["f:template"]["f:metadata"], Value::Null, "{owned}");
}

async fn the_update_of_a_create_keeps_what_its_manager_no_longer_applies(server: &Probe) {
    server.post("v1/configmaps?fieldManager=me").body(data(json!({"k": "v", "l": "w"}))).expect(201).await;
    let answer = server.apply(A, "me", data(json!({"k": "v"}))).expect(200).await;
    assert_eq!(answer["data"], json!({"k": "v", "l": "w"}));
}

async fn an_update_that_is_turned_into_an_apply_is_applied_over(server: &Probe) {
    let live = server.post("v1/configmaps?fieldManager=me").body(data(json!({"k": "v", "l": "w"}))).expect(201).await;
    let answer = server.patch(A, MERGE_PATCH, turned(&live)).query("fieldManager=other").expect(200).await;
    assert_ne!(answer.version(), live.version());
    assert_eq!(answer.owned("me", "Update"), &Value::Null);
    assert_eq!(answer.owned("me", "Apply"), live.owned("me", "Update"));
    let answer = server.apply(A, "me", data(json!({"k": "x"}))).expect(200).await;
    assert_eq!(answer["data"], json!({"k": "x"}));
    assert_eq!(answer.owned("me", "Apply"), &json!({ "f:data": { "f:k": {} } }));
}

async fn defaults_that_are_no_longer_applied_are_filled_in_again(server: &Probe) {
    const PATH: &str = "apps/v1/deployments/a";
    let wide = deployment(json!({ "minReadySeconds": 5, "strategy": { "type": "RollingUpdate" } }));
    let live = server.post("apps/v1/deployments?fieldManager=me").body(wide).expect(201).await;
    let live = server.patch(PATH, MERGE_PATCH, turned(&live)).expect(200).await;
    let before = live["spec"].clone();
    let answer = server.apply(PATH, "me", deployment(json!({}))).expect(200).await;
    let mut expected = before;
    expected.as_object_mut().unwrap().remove("minReadySeconds");
    assert_eq!(answer["spec"], expected);
    // `rollingUpdate` stays, and contradicts the new type.
    let answer = server.apply(PATH, "me", deployment(json!({ "strategy": { "type": "Recreate" } }))).expect(422).await;
    assert!(answer.message().contains("may not be specified when strategy `type` is 'Recreate'"), "{}", answer.message());
}

async fn a_map_that_loses_its_last_applied_entry_keeps_those_of_nobody(server: &Probe) {
    let template = |labels: Value| json!({ "metadata": { "labels": labels }, "spec": { "restartPolicy": "Never", "containers": [{ "name": "c", "image": "i" }] } });
    let job = |labels: Value, parallelism: i32| {
        json!({
            "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": "a", "labels": { "own": "yes" } },
            "spec": { "suspend": true, "parallelism": parallelism, "template": template(labels) },
        })
    };
    let live = server.post("batch/v1/jobs?fieldManager=me").body(job(json!({ "mine": "yes" }), 1)).expect(201).await;
    server.patch("batch/v1/jobs/a", MERGE_PATCH, turned(&live)).expect(200).await;
    // The generated labels are kept; otherwise this would change the immutable template.
    let answer = server.apply("batch/v1/jobs/a", "me", job(json!({ "mine": "yes" }), 2)).expect(200).await;
    assert_eq!(answer["spec"]["template"]["metadata"]["labels"]["batch.kubernetes.io/job-name"], "a");
    let answer = server.apply("batch/v1/jobs/a", "me", job(json!({}), 2)).expect(200).await;
    let labels = &answer["spec"]["template"]["metadata"]["labels"];
    assert_eq!((&labels["mine"], &labels["batch.kubernetes.io/job-name"]), (&Value::Null, &json!("a")));
}

async fn managed_fields_are_turned_only_over_the_version_that_was_read(server: &Probe) {
    let live = server.post("v1/configmaps?fieldManager=me").body(data(json!({"k": "v"}))).expect(201).await;
    server.patch(A, MERGE_PATCH, json!({"data": {"l": "w"}})).query("fieldManager=other").expect(200).await;
    let answer = server.patch(A, MERGE_PATCH, turned(&live)).expect(409).await;
    assert_eq!(answer.reason(), "Conflict");
}

async fn managed_fields_are_not_turned_of_another_object(server: &Probe) {
    let live = server.post("v1/configmaps?fieldManager=me").body(data(json!({"k": "v"}))).expect(201).await;
    server.delete(A).expect(200).await;
    server.post("v1/configmaps?fieldManager=me").body(data(json!({"k": "v"}))).expect(201).await;
    let answer = server.patch(A, MERGE_PATCH, turned(&live)).expect(409).await;
    assert_eq!(answer.reason(), "Conflict");
    server.delete(A).expect(200).await;
    server.patch(A, MERGE_PATCH, turned(&live)).expect(404).await;
}

async fn a_json_patch_turns_managed_fields_as_a_merge_patch_does(server: &Probe) {
    let live = server.post("v1/configmaps?fieldManager=me").body(data(json!({"k": "v", "l": "w"}))).expect(201).await;
    let merge = turned(&live);
    let patch = json!([
        { "op": "replace", "path": "/metadata/managedFields", "value": merge["metadata"]["managedFields"] },
        { "op": "replace", "path": "/metadata/resourceVersion", "value": live.version() },
    ]);
    server.patch(A, JSON_PATCH, patch.clone()).expect(200).await;
    let answer = server.apply(A, "me", data(json!({"l": "w"}))).expect(200).await;
    assert_eq!(answer["data"], json!({"l": "w"}));
    server.patch(A, JSON_PATCH, patch).expect(409).await;
}

async fn turning_managed_fields_makes_no_entry_for_who_does_it(server: &Probe) {
    let live = server.post("v1/configmaps?fieldManager=me").body(data(json!({"k": "v"}))).expect(201).await;
    let answer = server.patch(A, MERGE_PATCH, turned(&live)).query("fieldManager=other").expect(200).await;
    assert_eq!(answer["metadata"]["managedFields"].as_array().unwrap().len(), 1);
}
