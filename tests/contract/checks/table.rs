//! Tables, as kubectl asks for them.

use serde_json::{Value, json};

use crate::suite::objects::{any, config_map, deployment, job, pod, widget, widget_crd};
use crate::suite::probe::{Answer, MERGE_PATCH, Probe};
use crate::suite::registry::checks;

checks! { Api:
    pods_as_table,
    jobs_as_table,
    cron_jobs_as_table,
    deployments_as_table,
    services_as_table,
    config_maps_and_secrets_as_table,
    namespaces_as_table,
    events_as_table,
    custom_resource_definitions_as_table,
    other_kinds_as_table,
    custom_resources_as_table_have_their_columns,
    custom_resources_without_columns_have_name_and_age,
    a_table_of_one_object,
    an_empty_table_has_columns_and_no_rows,
    a_table_may_include_objects_or_nothing,
    a_table_is_one_of_several_things_accepted,
    a_status_is_never_a_table,
}

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

async fn table(server: &Probe, path: &str) -> Answer {
    let answer = server.get(path).accept(TABLE).expect(200).await;
    assert_eq!(answer["kind"], "Table");
    answer
}

fn columns(answer: &Answer) -> Vec<&str> {
    answer["columnDefinitions"].as_array().unwrap().iter().map(|column| column["name"].as_str().unwrap()).collect()
}

async fn pods_as_table(server: &Probe) {
    server.create("v1/pods", pod("a")).await;
    let status = json!({"status": {"phase": "Running", "podIP": "1.2.3.4", "containerStatuses": [
        {"name": "main", "ready": true, "restartCount": 2, "image": "i", "imageID": "i", "state": {"running": {}}},
    ]}});
    server.patch("v1/pods/a/status", MERGE_PATCH, status).expect(200).await;
    server.create("v1/pods", pod("b")).await;
    let waiting = json!({"status": {"containerStatuses": [
        {"name": "main", "ready": false, "restartCount": 0, "image": "i", "imageID": "i", "state": {"waiting": {"reason": "ErrImagePull"}}},
    ]}});
    server.patch("v1/pods/b/status", MERGE_PATCH, waiting).expect(200).await;
    server.create("v1/pods", pod("c")).await;
    let answer = table(server, "v1/pods").await;
    assert_eq!(columns(&answer)[..4], ["Name", "Ready", "Status", "Restarts"]);
    assert_eq!(answer.at("/rows/0/cells/1"), "1/1");
    assert_eq!(answer.at("/rows/1/cells/2"), "ErrImagePull");
}

async fn jobs_as_table(server: &Probe) {
    server.create("batch/v1/jobs", job("a")).await;
    let mut suspended = job("b");
    suspended["spec"]["suspend"] = true.into();
    server.create("batch/v1/jobs", suspended).await;
    let answer = table(server, "batch/v1/jobs").await;
    assert_eq!(columns(&answer)[..3], ["Name", "Status", "Completions"]);
}

async fn cron_jobs_as_table(server: &Probe) {
    let body = json!({"metadata": {"name": "a"}, "spec": {"schedule": "@daily", "jobTemplate": {"spec": job("x")["spec"]}}});
    server.create("batch/v1/cronjobs", body).await;
    assert_eq!(table(server, "batch/v1/cronjobs").await.at("/rows/0/cells/1"), "@daily");
}

async fn deployments_as_table(server: &Probe) {
    server.create("apps/v1/deployments", deployment("a")).await;
    assert_eq!(table(server, "apps/v1/deployments").await.at("/rows/0/cells/1"), "0/1");
}

async fn services_as_table(server: &Probe) {
    let body = json!({"metadata": {"name": "a"}, "spec": {"selector": {"x": "y"}, "ports": [{"port": 80, "name": "a"}, {"port": 53, "protocol": "UDP", "name": "b"}]}});
    server.create("v1/services", body).await;
    server
        .create("v1/services", json!({"metadata": {"name": "b"}, "spec": {"type": "ExternalName", "externalName": "e.test"}}))
        .await;
    assert_eq!(table(server, "v1/services").await.at("/rows/0/cells/4"), "80/TCP,53/UDP");
}

async fn config_maps_and_secrets_as_table(server: &Probe) {
    server.create("v1/configmaps", config_map("a", json!({"k": "v", "l": "w"}))).await;
    server.create("v1/secrets", json!({"metadata": {"name": "a"}, "stringData": {"k": "v"}})).await;
    assert_eq!(table(server, "v1/configmaps").await.at("/rows/0/cells/1"), 2);
    assert_eq!(table(server, "v1/secrets").await.at("/rows/0/cells/1"), "Opaque");
}

async fn namespaces_as_table(server: &Probe) {
    let answer = table(server, "/api/v1/namespaces?fieldSelector=metadata.name={ns}").await;
    assert_eq!(answer.at("/rows/0/cells/1"), "Active");
}

async fn events_as_table(server: &Probe) {
    let body = json!({"metadata": {"name": "a"}, "type": "Normal", "reason": "R", "message": "m", "count": 3, "source": {"component": "c"},
        "firstTimestamp": "2001-01-01T00:00:00Z", "lastTimestamp": "2001-01-01T00:00:00Z",
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "{ns}"}});
    server.create("v1/events", body).await;
    assert_eq!(table(server, "v1/events").await.at("/rows/0/cells/3"), "pod/p");
    table(server, "events.k8s.io/v1/events").await;
}

async fn custom_resource_definitions_as_table(server: &Probe) {
    server.install(widget_crd(any())).await;
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?fieldSelector=metadata.name=widgets.{group}";
    let answer = server.get(path).accept(TABLE).unrecorded().expect(200).await;
    assert_eq!(columns(&answer), ["Name", "Created At"]);
    server.record_value("columns", &answer["columnDefinitions"]);
    server.record_value("cells", &answer["rows"][0]["cells"]);
}

async fn other_kinds_as_table(server: &Probe) {
    server.create("v1/serviceaccounts", json!({"metadata": {"name": "a"}})).await;
    server.create("coordination.k8s.io/v1/leases", json!({"metadata": {"name": "a"}, "spec": {"holderIdentity": "h"}})).await;
    let rule = json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]});
    server.create("rbac.authorization.k8s.io/v1/roles", json!({"metadata": {"name": "a"}, "rules": [rule]})).await;
    server.create("policy/v1/poddisruptionbudgets", json!({"metadata": {"name": "a"}, "spec": {"minAvailable": 1}})).await;
    let mut set = deployment("a");
    set["kind"] = "ReplicaSet".into();
    server.create("apps/v1/replicasets", set.clone()).await;
    set["kind"] = "DaemonSet".into();
    server.create("apps/v1/daemonsets", set.clone()).await;
    set["kind"] = "StatefulSet".into();
    set["spec"]["serviceName"] = "s".into();
    server.create("apps/v1/statefulsets", set).await;
    server
        .create(
            "networking.k8s.io/v1/networkpolicies",
            json!({"metadata": {"name": "a"}, "spec": {"podSelector": {"matchLabels": {"x": "y"}}}}),
        )
        .await;
    for path in [
        "v1/serviceaccounts",
        "coordination.k8s.io/v1/leases",
        "rbac.authorization.k8s.io/v1/roles",
        "policy/v1/poddisruptionbudgets",
        "apps/v1/replicasets",
        "apps/v1/daemonsets",
        "apps/v1/statefulsets",
        "networking.k8s.io/v1/networkpolicies",
    ] {
        assert_eq!(table(server, path).await.at("/rows/0/cells/0"), "a");
    }
}

async fn custom_resources_as_table_have_their_columns(server: &Probe) {
    let mut crd = widget_crd(any());
    crd["spec"]["versions"][0]["additionalPrinterColumns"] = json!([
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "priority": 1, "description": "d"},
        {"name": "Colour", "type": "string", "jsonPath": ".spec.colour", "format": "password"},
        {"name": "On", "type": "boolean", "jsonPath": ".spec.on"},
        {"name": "Part", "type": "string", "jsonPath": ".spec.parts[?(@.name==\"x\")].value"},
        {"name": "Since", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        {"name": "Ratio", "type": "number", "jsonPath": ".spec.ratio"},
    ]);
    server.install(crd).await;
    let parts = json!([{"name": "w", "value": "1"}, {"name": "x", "value": "2"}]);
    server
        .create(
            "{group}/v1/widgets",
            widget("a", json!({"size": 3, "colour": "red", "on": true, "parts": parts, "ratio": 0.5})),
        )
        .await;
    server.create("{group}/v1/widgets", widget("b", json!({"size": "three"}))).await;
    let answer = server.get("{group}/v1/widgets").accept(TABLE).unrecorded().expect(200).await;
    server.record_value("columns", &answer["columnDefinitions"]);
    // The age of an object is a matter of seconds.
    let mut rows: Vec<Value> = answer["rows"].as_array().unwrap().iter().map(|row| row["cells"].clone()).collect();
    for row in &mut rows {
        row[5] = json!("(age)");
    }
    server.record_value("cells", &rows.clone().into());
    assert_eq!(rows[0], json!(["a", 3, "red", true, "2", "(age)", 0.5]));
}

async fn custom_resources_without_columns_have_name_and_age(server: &Probe) {
    server.install(widget_crd(any())).await;
    server.create("{group}/v1/widgets", widget("a", json!({}))).await;
    assert_eq!(columns(&table(server, "{group}/v1/widgets").await), ["Name", "Age"]);
}

async fn a_table_of_one_object(server: &Probe) {
    server.create("v1/configmaps", config_map("a", json!({}))).await;
    let answer = table(server, "v1/configmaps/a").await;
    assert_eq!(answer["rows"].as_array().unwrap().len(), 1);
}

async fn an_empty_table_has_columns_and_no_rows(server: &Probe) {
    let answer = table(server, "v1/pods").await;
    assert_eq!((&answer["rows"], columns(&answer)[0]), (&json!([]), "Name"));
}

async fn a_table_may_include_objects_or_nothing(server: &Probe) {
    server.create("v1/configmaps", config_map("a", json!({"k": "v"}))).await;
    let answer = table(server, "v1/configmaps?includeObject=Object").await;
    assert_eq!(answer.at("/rows/0/object/data/k"), "v");
    let answer = table(server, "v1/configmaps?includeObject=None").await;
    assert_eq!(answer.at("/rows/0/object"), &Value::Null);
    let answer = table(server, "v1/configmaps?includeObject=Metadata").await;
    assert_eq!(answer.at("/rows/0/object/kind"), "PartialObjectMetadata");
    server.get("v1/configmaps?includeObject=Odd").accept(TABLE).expect(400).await;
}

async fn a_table_is_one_of_several_things_accepted(server: &Probe) {
    server.create("v1/configmaps", config_map("a", json!({}))).await;
    let kubectl =
        "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
    assert_eq!(server.get("v1/configmaps").accept(kubectl).expect(200).await["kind"], "Table");
    let odd = "application/json;as=Chart;v=v1;g=meta.k8s.io,application/json";
    assert_eq!(server.get("v1/configmaps").accept(odd).expect(200).await["kind"], "ConfigMapList");
}

async fn a_status_is_never_a_table(server: &Probe) {
    let answer = server.get("v1/configmaps/a").accept(TABLE).expect(404).await;
    assert_eq!(answer["kind"], "Status");
}
