//! Watches that show objects as tables or metadata, and watches of several kinds.

use serde_json::{Value, json};

use crate::suite::objects::{any, config_map, deployment, pod, widget, widget_crd};
use crate::suite::probe::{MERGE_PATCH, Probe, summary};
use crate::suite::registry::checks;

checks! { Api:
    a_watch_as_table_has_column_definitions_in_its_first_event_only,
    a_watch_as_partial_metadata_has_no_data,
    a_watch_of_pods_sees_status_updates,
    a_watch_of_deployments_sees_the_scale_subresource,
    a_watch_of_namespaces_sees_one_by_name,
    a_watch_of_custom_resource_definitions_sees_them_established,
    a_watch_without_bookmarks_gets_none,
    a_watch_takes_the_value_one_for_true,
    a_watch_of_custom_resources_as_table_has_their_columns,
    a_pod_that_leaves_a_field_selector_is_deleted,
    a_watch_of_a_kind_that_is_not_served_is_not_found,
    a_watch_as_something_unknown_is_not_acceptable,
}

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
const PARTIAL: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";

async fn a_watch_as_table_has_column_definitions_in_its_first_event_only(server: &Probe) {
    for name in ["a", "b"] {
        server.create("v1/configmaps", config_map(name, json!({"k": "v"}))).await;
    }
    let mut watch = server.get("v1/configmaps?watch=true").accept(TABLE).watch().await;
    let events = watch.take(2).await;
    assert_eq!(events[0]["object"]["columnDefinitions"][0]["name"], "Name");
    assert_eq!(events[1]["object"]["columnDefinitions"], Value::Null);
    server.patch("v1/configmaps/a", MERGE_PATCH, json!({"data": {"l": "w"}})).expect(200).await;
    assert_eq!(watch.one().await["object"]["rows"][0]["cells"][1], json!(2));
}

async fn a_watch_as_partial_metadata_has_no_data(server: &Probe) {
    server.create("v1/configmaps", config_map("a", json!({"k": "v"}))).await;
    let mut watch = server.get("v1/configmaps?watch=true").accept(PARTIAL).watch().await;
    let event = watch.one().await;
    assert_eq!((event["object"]["kind"].as_str(), &event["object"]["data"]), (Some("PartialObjectMetadata"), &Value::Null));
}

async fn a_watch_of_pods_sees_status_updates(server: &Probe) {
    server.create("v1/pods", pod("a")).await;
    let mut watch = server.watch("v1/pods").await;
    server.patch("v1/pods/a/status", MERGE_PATCH, json!({"status": {"phase": "Running"}})).expect(200).await;
    let events = watch.take(2).await;
    assert_eq!(summary(&events), ["ADDED a", "MODIFIED a"]);
    assert_eq!(events[1]["object"]["status"]["phase"], "Running");
}

async fn a_watch_of_deployments_sees_the_scale_subresource(server: &Probe) {
    server.create("apps/v1/deployments", deployment("a")).await;
    let mut watch = server.watch("apps/v1/deployments").await;
    server.patch("apps/v1/deployments/a/scale", MERGE_PATCH, json!({"spec": {"replicas": 4}})).expect(200).await;
    assert_eq!(watch.take(2).await[1]["object"]["spec"]["replicas"], 4);
}

async fn a_watch_of_namespaces_sees_one_by_name(server: &Probe) {
    let mut watch = server.watch("/api/v1/namespaces?fieldSelector=metadata.name={ns}").await;
    assert_eq!(summary(&watch.take(1).await), [format!("ADDED {}", server.namespace())]);
    server.patch("/api/v1/namespaces/{ns}", MERGE_PATCH, json!({"metadata": {"labels": {"x": "y"}}})).expect(200).await;
    assert_eq!(summary(&watch.take(1).await), [format!("MODIFIED {}", server.namespace())]);
}

async fn a_watch_of_custom_resource_definitions_sees_them_established(server: &Probe) {
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    // The number of status updates of a definition varies.
    let mut watch = server.watch(&format!("{path}?fieldSelector=metadata.name=widgets.{{group}}&timeoutSeconds=20")).await;
    server.post(path).body(widget_crd(any())).unrecorded().expect(201).await;
    let name = format!("widgets.{}", server.group());
    assert_eq!(summary(&watch.take(1).await), [format!("ADDED {name}")]);
    let established = |event: &Value| {
        let conditions = event["object"]["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.iter().any(|condition| condition["type"] == "Established" && condition["status"] == "True")
    };
    while !established(&watch.one().await) {}
}

async fn a_watch_without_bookmarks_gets_none(server: &Probe) {
    let mut watch = server.watch("v1/configmaps?timeoutSeconds=2").await;
    server.create("v1/configmaps", config_map("a", json!({}))).await;
    assert_eq!(summary(&watch.rest().await), ["ADDED a"]);
}

async fn a_watch_takes_the_value_one_for_true(server: &Probe) {
    server.create("v1/configmaps", config_map("a", json!({}))).await;
    let mut watch = server.get("v1/configmaps?watch=1").watch().await;
    assert_eq!(summary(&watch.take(1).await), ["ADDED a"]);
    let answer = server.get("v1/configmaps?watch=0").expect(200).await;
    assert_eq!(answer["kind"], "ConfigMapList");
}

async fn a_watch_of_custom_resources_as_table_has_their_columns(server: &Probe) {
    let mut crd = widget_crd(any());
    crd["spec"]["versions"][0]["additionalPrinterColumns"] =
        json!([{"name": "Size", "type": "integer", "jsonPath": ".spec.size", "description": "How large."}]);
    server.install(crd).await;
    server.create("{group}/v1/widgets", widget("a", json!({"size": 3}))).await;
    let mut watch = server.get("{group}/v1/widgets?watch=true").accept(TABLE).watch().await;
    let event = watch.one().await;
    assert_eq!(event["object"]["columnDefinitions"][1]["name"], "Size");
    assert_eq!(event["object"]["rows"][0]["cells"], json!(["a", 3]));
}

async fn a_pod_that_leaves_a_field_selector_is_deleted(server: &Probe) {
    server.create("v1/pods", pod("a")).await;
    let mut watch = server.watch("v1/pods?fieldSelector=status.phase=Pending").await;
    server.patch("v1/pods/a/status", MERGE_PATCH, json!({"status": {"phase": "Succeeded"}})).expect(200).await;
    let events = watch.take(2).await;
    assert_eq!(summary(&events), ["ADDED a", "DELETED a"]);
    assert_eq!(events[1]["object"]["status"]["phase"], "Pending");
}

async fn a_watch_of_a_kind_that_is_not_served_is_not_found(server: &Probe) {
    server.get("v1/gadgets?watch=true").expect(404).await;
}

async fn a_watch_as_something_unknown_is_not_acceptable(server: &Probe) {
    server.get("v1/configmaps?watch=true").accept("application/json;as=Chart;v=v1;g=meta.k8s.io").expect(406).await;
}
