//! Subresources of objects, e.g. status and scale.

use serde_json::{Value, json};

use crate::suite::objects::{any, deployment, job, pod, widget, widget_crd, widget_crd_with_status};
use crate::suite::probe::{MERGE_PATCH, Probe, STRATEGIC_PATCH};
use crate::suite::registry::checks;

checks! { Api:
    the_status_of_a_deployment_is_written_through_its_subresource_only,
    the_status_of_a_pod_is_merged_by_condition_type,
    the_status_of_a_job_is_validated,
    an_update_of_the_status_does_not_touch_the_spec_or_labels,
    a_status_without_change_keeps_the_resource_version,
    the_status_of_a_custom_resource_is_dropped_on_create,
    the_status_of_a_custom_resource_is_validated_by_its_schema,
    the_status_of_a_namespace_can_be_read,
    a_deployment_is_scaled,
    a_scale_is_validated,
    a_scale_with_a_stale_resource_version_conflicts,
    a_custom_resource_is_scaled_at_the_paths_of_its_definition,
    a_custom_resource_without_scale_has_none,
    a_scale_of_an_absent_object_is_not_found,
    an_unknown_subresource_is_not_found,
    a_kind_without_status_has_no_such_subresource,
    a_pod_is_bound_to_a_node,
    a_pod_is_evicted,
    a_namespace_is_finalized,
}

const D: &str = "apps/v1/deployments/a";
const W: &str = "{group}/v1/widgets/a";

async fn the_status_of_a_deployment_is_written_through_its_subresource_only(server: &Probe) {
    let mut body = deployment("a");
    body["status"] = json!({"replicas": 3});
    let answer = server.create("apps/v1/deployments", body.clone()).await;
    assert_eq!(answer.at("/status"), &json!({}));
    server.patch(D, MERGE_PATCH, json!({"status": {"replicas": 3}})).expect(200).await;
    body["spec"]["replicas"] = 9.into();
    let answer = server.put(&format!("{D}/status")).body(body).expect(200).await;
    assert_eq!((answer.at("/status/replicas"), answer.at("/spec/replicas")), (&json!(3), &json!(1)));
    assert_eq!(answer.at("/metadata/generation"), 1);
    server.get(&format!("{D}/status")).expect(200).await;
}

async fn the_status_of_a_pod_is_merged_by_condition_type(server: &Probe) {
    server.create("v1/pods", pod("a")).await;
    for (kind, status) in [("Ready", "False"), ("Initialized", "True"), ("Ready", "True")] {
        let patch = json!({"status": {"conditions": [{"type": kind, "status": status}]}});
        server.patch("v1/pods/a/status", STRATEGIC_PATCH, patch).expect(200).await;
    }
    let answer = server.get("v1/pods/a").expect(200).await;
    assert_eq!(answer.at("/status/conditions").as_array().unwrap().len(), 2);
}

async fn the_status_of_a_job_is_validated(server: &Probe) {
    server.create("batch/v1/jobs", job("a")).await;
    let patch = json!({"status": {"active": -1}});
    server.patch("batch/v1/jobs/a/status", MERGE_PATCH, patch).expect(422).await;
    let patch = json!({"status": {"conditions": [{"type": "Complete", "status": "True"}]}});
    server.patch("batch/v1/jobs/a/status", MERGE_PATCH, patch).expect(422).await;
    let patch = json!({"status": {"active": 1, "ready": 0}});
    let answer = server.patch("batch/v1/jobs/a/status", MERGE_PATCH, patch).expect(200).await;
    assert_eq!(answer.at("/status/active"), 1);
}

async fn an_update_of_the_status_does_not_touch_the_spec_or_labels(server: &Probe) {
    server.create("apps/v1/deployments", deployment("a")).await;
    let patch = json!({"metadata": {"labels": {"x": "y"}, "annotations": {"x": "y"}}, "spec": {"paused": true}, "status": {"replicas": 1}});
    let answer = server.patch(&format!("{D}/status"), MERGE_PATCH, patch).expect(200).await;
    assert_eq!((answer.at("/spec/paused"), answer.at("/status/replicas")), (&Value::Null, &json!(1)));
    assert_eq!(answer.at("/metadata/labels"), &Value::Null);
}

async fn a_status_without_change_keeps_the_resource_version(server: &Probe) {
    server.create("apps/v1/deployments", deployment("a")).await;
    let patch = json!({"status": {"replicas": 1}});
    let first = server.patch(&format!("{D}/status"), MERGE_PATCH, patch.clone()).expect(200).await;
    let second = server.patch(&format!("{D}/status"), MERGE_PATCH, patch).expect(200).await;
    assert_eq!(first.body, second.body);
}

async fn the_status_of_a_custom_resource_is_dropped_on_create(server: &Probe) {
    server.install(widget_crd_with_status(any())).await;
    let mut body = widget("a", json!({"x": 1}));
    body["status"] = json!({"y": 1});
    assert_eq!(server.create("{group}/v1/widgets", body).await.at("/status"), &Value::Null);
    let mut body = server.get(&format!("{W}/status")).expect(200).await.body;
    body["status"] = json!({"y": 1});
    body["spec"]["x"] = 2.into();
    body["metadata"]["labels"] = json!({"a": "b"});
    let answer = server.put(&format!("{W}/status")).body(body).expect(200).await;
    assert_eq!((answer.at("/spec/x"), answer.at("/status/y")), (&json!(1), &json!(1)));
    assert_eq!(answer.at("/metadata/labels"), &Value::Null);
}

async fn the_status_of_a_custom_resource_is_validated_by_its_schema(server: &Probe) {
    let mut crd = widget_crd_with_status(any());
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"] =
        json!({"type": "object", "properties": {"phase": {"type": "string", "enum": ["Up", "Down"]}}});
    server.install(crd).await;
    server.create("{group}/v1/widgets", widget("a", json!({}))).await;
    let answer = server.patch(&format!("{W}/status"), MERGE_PATCH, json!({"status": {"phase": "Odd"}})).expect(422).await;
    assert!(answer.message().contains("status.phase: Unsupported value: \"Odd\""), "{}", answer.message());
    server.patch(&format!("{W}/status"), MERGE_PATCH, json!({"status": {"phase": "Up", "pruned": 1}})).expect(200).await;
}

async fn the_status_of_a_namespace_can_be_read(server: &Probe) {
    let answer = server.get("/api/v1/namespaces/{ns}/status").expect(200).await;
    assert_eq!(answer.str("/status/phase"), "Active");
}

async fn a_deployment_is_scaled(server: &Probe) {
    server.create("apps/v1/deployments", deployment("a")).await;
    let mut scale = server.get(&format!("{D}/scale")).expect(200).await.body;
    assert_eq!(
        (&scale["kind"], &scale["spec"]["replicas"], &scale["status"]["selector"]),
        (&json!("Scale"), &json!(1), &json!("app=a"))
    );
    scale["spec"]["replicas"] = 3.into();
    server.put(&format!("{D}/scale")).body(scale).expect(200).await;
    server.patch(&format!("{D}/scale"), MERGE_PATCH, json!({"spec": {"replicas": 5}})).expect(200).await;
    let answer = server.get(D).expect(200).await;
    assert_eq!((answer.at("/spec/replicas"), answer.at("/metadata/generation")), (&json!(5), &json!(3)));
}

async fn a_scale_is_validated(server: &Probe) {
    server.create("apps/v1/deployments", deployment("a")).await;
    let answer = server.patch(&format!("{D}/scale"), MERGE_PATCH, json!({"spec": {"replicas": -1}})).expect(422).await;
    assert!(answer.message().contains("spec.replicas: Invalid value: -1"), "{}", answer.message());
}

async fn a_scale_with_a_stale_resource_version_conflicts(server: &Probe) {
    server.create("apps/v1/deployments", deployment("a")).await;
    let mut scale = server.get(&format!("{D}/scale")).expect(200).await.body;
    server.patch(D, MERGE_PATCH, json!({"metadata": {"labels": {"x": "y"}}})).expect(200).await;
    scale["spec"]["replicas"] = 3.into();
    server.put(&format!("{D}/scale")).body(scale).expect(409).await;
}

async fn a_custom_resource_is_scaled_at_the_paths_of_its_definition(server: &Probe) {
    let mut crd = widget_crd_with_status(json!({"type": "object", "properties": {"size": {"type": "integer", "minimum": 0}}}));
    crd["spec"]["versions"][0]["subresources"]["scale"] = json!({"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size", "labelSelectorPath": ".status.selector"});
    server.install(crd).await;
    server.create("{group}/v1/widgets", widget("a", json!({"size": 2}))).await;
    server.patch(&format!("{W}/status"), MERGE_PATCH, json!({"status": {"size": 1, "selector": "a=b"}})).expect(200).await;
    let answer = server.get(&format!("{W}/scale")).expect(200).await;
    assert_eq!((&answer["spec"], &answer["status"]), (&json!({"replicas": 2}), &json!({"replicas": 1, "selector": "a=b"})));
    server.patch(&format!("{W}/scale"), MERGE_PATCH, json!({"spec": {"replicas": 4}})).expect(200).await;
    assert_eq!(server.get(W).expect(200).await.at("/spec/size"), 4);
    server.create("{group}/v1/widgets", widget("b", json!({}))).await;
    let answer = server.get("{group}/v1/widgets/b/scale").expect(500).await;
    assert!(answer.message().ends_with("the spec replicas field \".spec.size\" does not exist"), "{}", answer.message());
}

async fn a_custom_resource_without_scale_has_none(server: &Probe) {
    server.install(widget_crd(any())).await;
    server.create("{group}/v1/widgets", widget("a", json!({}))).await;
    server.get(&format!("{W}/scale")).expect(404).await;
    server.get(&format!("{W}/status")).expect(404).await;
    server.patch(&format!("{W}/status"), MERGE_PATCH, json!({"status": {}})).expect(404).await;
}

async fn a_scale_of_an_absent_object_is_not_found(server: &Probe) {
    let answer = server.get(&format!("{D}/scale")).expect(404).await;
    assert_eq!(answer.message(), "deployments.apps \"a\" not found");
    server.patch(&format!("{D}/scale"), MERGE_PATCH, json!({"spec": {"replicas": 1}})).expect(404).await;
}

async fn an_unknown_subresource_is_not_found(server: &Probe) {
    server.create("apps/v1/deployments", deployment("a")).await;
    server.get(&format!("{D}/strange")).expect(404).await;
}

async fn a_kind_without_status_has_no_such_subresource(server: &Probe) {
    server.create("v1/configmaps", json!({"metadata": {"name": "a"}})).await;
    server.get("v1/configmaps/a/status").expect(404).await;
    server.get("v1/configmaps/a/scale").expect(404).await;
}

async fn a_pod_is_bound_to_a_node(server: &Probe) {
    server.create("v1/pods", pod("a")).await;
    let binding = json!({"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "node-1"}});
    server.post("v1/pods/a/binding").body(binding.clone()).expect(201).await;
    let answer = server.get("v1/pods/a").expect(200).await;
    assert_eq!((answer.str("/spec/nodeName"), answer.str("/status/conditions/0/type")), ("node-1", "PodScheduled"));
    server.post("v1/pods/a/binding").body(binding).expect(409).await;
}

async fn a_pod_is_evicted(server: &Probe) {
    server.create("v1/pods", pod("a")).await;
    let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}});
    server.post("v1/pods/a/eviction").body(eviction.clone()).expect(201).await;
    server.get("v1/pods/a").expect(404).await;
    server.post("v1/pods/a/eviction").body(eviction).expect(404).await;
}

async fn a_namespace_is_finalized(server: &Probe) {
    let mut body = server.delete("/api/v1/namespaces/{ns}").expect(200).await.body;
    body["spec"]["finalizers"] = json!([]);
    server.put("/api/v1/namespaces/{ns}/finalize").body(body).expect(200).await;
    server.get("/api/v1/namespaces/{ns}").expect(404).await;
}
