//! The effects of changed or deleted definitions on the objects, watches and documents of the kind.

use serde_json::{Value, json};

use crate::suite::objects::{any, widget, widget_crd};
use crate::suite::probe::{MERGE_PATCH, Probe, summary};
use crate::suite::registry::checks;

checks! { Api:
    fields_removed_from_a_schema_are_pruned_on_read,
    an_object_with_a_removed_field_can_be_applied_and_updated,
    an_update_without_changes_stores_the_pruning_and_defaults_of_the_read,
    a_watch_ends_when_its_definition_is_deleted,
    a_watch_ends_when_its_definition_changes,
    a_watch_does_not_end_when_only_metadata_of_its_definition_changes,
    a_definition_that_is_created_again_has_no_history,
    a_changed_schema_is_shown_in_the_openapi_document,
    a_deleted_definition_leaves_discovery,
}

const WIDGETS: &str = "{group}/v1/widgets";
const A: &str = "{group}/v1/widgets/a";
const CRD: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.{group}";

fn integers(names: &[&str]) -> Value {
    let fields = names.iter().map(|name| ((*name).to_owned(), json!({"type": "integer"})));
    json!({"type": "object", "properties": fields.collect::<serde_json::Map<_, _>>()})
}

/// Changes the kind's schema of `spec` without recording it.
async fn change_schema(server: &Probe, spec: Value) {
    let versions = widget_crd(spec)["spec"]["versions"].clone();
    server.patch(CRD, MERGE_PATCH, json!({"spec": {"versions": versions}})).unrecorded().expect(200).await;
}

async fn remove_definition(server: &Probe) {
    server.delete(CRD).unrecorded().expect(200).await;
    server.until(CRD, |answer| answer.status == 404).await;
    server.until(WIDGETS, |answer| answer.body.is_string()).await;
}

/// Creates a widget with the fields `x` and `y`, whose schema then loses `y`.
async fn widget_that_lost_a_field(server: &Probe) {
    server.install(widget_crd(integers(&["x", "y"]))).await;
    server.post(WIDGETS).query("fieldManager=before").body(widget("a", json!({"x": 1, "y": 2}))).expect(201).await;
    change_schema(server, integers(&["x"])).await;
    server.until(A, |answer| answer.at("/spec/y").is_null()).await;
}

async fn fields_removed_from_a_schema_are_pruned_on_read(server: &Probe) {
    widget_that_lost_a_field(server).await;
    assert_eq!(server.get(A).expect(200).await["spec"], json!({"x": 1}));
    assert_eq!(server.get(WIDGETS).expect(200).await.at("/items/0/spec"), &json!({"x": 1}));
    let mut watch = server.watch(WIDGETS).await;
    assert_eq!(watch.one().await["object"]["spec"], json!({"x": 1}));
    server.delete(A).expect(200).await;
    assert_eq!(watch.one().await["object"]["spec"], json!({"x": 1}));
}

async fn an_object_with_a_removed_field_can_be_applied_and_updated(server: &Probe) {
    widget_that_lost_a_field(server).await;
    let answer = server.apply(A, "applier", widget("a", json!({"x": 1}))).expect(200).await;
    assert_eq!(answer["spec"], json!({"x": 1}));
    let mut body = server.get(A).expect(200).await.body;
    body["spec"]["x"] = 3.into();
    let answer = server.put(A).query("fieldManager=updater").body(body).expect(200).await;
    assert_eq!(answer["spec"], json!({"x": 3}));
    let answer = server.apply(A, "applier", widget("a", json!({"x": 4}))).query("force=true").expect(200).await;
    assert_eq!(answer["spec"], json!({"x": 4}));
    server.patch(A, MERGE_PATCH, json!({"spec": {"x": 5}})).expect(200).await;
}

async fn an_update_without_changes_stores_the_pruning_and_defaults_of_the_read(server: &Probe) {
    widget_that_lost_a_field(server).await;
    let seen = server.get(A).expect(200).await;
    let pruned = server.put(A).body(seen.body.clone()).expect(200).await;
    assert_ne!(pruned.version(), seen.version());
    let mut spec = integers(&["x", "z"]);
    spec["properties"]["z"]["default"] = 7.into();
    change_schema(server, spec).await;
    let seen = server.until(A, |answer| answer.at("/spec/z") == &json!(7)).await;
    let defaulted = server.put(A).body(seen.body.clone()).expect(200).await;
    assert_ne!(defaulted.version(), seen.version());
    // It is stored in this form now.
    let same = server.put(A).body(defaulted.body.clone()).expect(200).await;
    assert_eq!(same.version(), defaulted.version());
}

async fn a_watch_ends_when_its_definition_is_deleted(server: &Probe) {
    server.install(widget_crd(any())).await;
    server.create(WIDGETS, widget("a", json!({}))).await;
    let mut watch = server.watch(WIDGETS).await;
    assert_eq!(summary(&watch.take(1).await), ["ADDED a"]);
    remove_definition(server).await;
    assert_eq!(summary(&watch.rest().await), ["DELETED a"]);
}

async fn a_watch_ends_when_its_definition_changes(server: &Probe) {
    server.install(widget_crd(integers(&["x"]))).await;
    server.create(WIDGETS, widget("a", json!({"x": 1}))).await;
    let mut watch = server.watch(WIDGETS).await;
    assert_eq!(summary(&watch.take(1).await), ["ADDED a"]);
    change_schema(server, integers(&["x", "y"])).await;
    assert_eq!(summary(&watch.rest().await), Vec::<String>::new());
    server.create(WIDGETS, widget("b", json!({"y": 1}))).await;
}

async fn a_watch_does_not_end_when_only_metadata_of_its_definition_changes(server: &Probe) {
    server.install(widget_crd(any())).await;
    let mut watch = server.watch(WIDGETS).await;
    server.patch(CRD, MERGE_PATCH, json!({"metadata": {"labels": {"x": "y"}}})).unrecorded().expect(200).await;
    server.create(WIDGETS, widget("a", json!({}))).await;
    assert_eq!(summary(&watch.take(1).await), ["ADDED a"]);
}

async fn a_definition_that_is_created_again_has_no_history(server: &Probe) {
    server.install(widget_crd(any())).await;
    let before = server.create(WIDGETS, widget("a", json!({}))).await.version().to_owned();
    remove_definition(server).await;
    server.install(widget_crd(any())).await;
    // A busy server may answer the first list from the cache of the old definition.
    server.until(WIDGETS, |answer| answer["items"] == json!([])).await;
    assert_eq!(server.get(WIDGETS).expect(200).await["items"], json!([]));
    let mut watch = server.watch(&format!("{WIDGETS}?resourceVersion={before}")).await;
    let event = watch.one().await;
    assert_eq!((event["type"].as_str(), &event["object"]["code"]), (Some("ERROR"), &json!(410)));
    assert_eq!(watch.rest().await.len(), 0);
}

async fn a_changed_schema_is_shown_in_the_openapi_document(server: &Probe) {
    let document = "/openapi/v3/apis/{group}/v1";
    server.install(widget_crd(integers(&["x"]))).await;
    let properties = |answer: &crate::suite::probe::Answer| -> Vec<String> {
        let schemas = answer.at("/components/schemas").as_object().into_iter().flatten();
        let widget = schemas.into_iter().find(|(name, _)| name.ends_with(".Widget")).map(|(_, schema)| schema);
        let fields = widget.and_then(|schema| schema.pointer("/properties/spec/properties")?.as_object());
        fields.into_iter().flatten().map(|(name, _)| name.clone()).collect()
    };
    server.until(document, |answer| properties(answer) == ["x"]).await;
    change_schema(server, integers(&["x", "y"])).await;
    server.until(document, |answer| properties(answer) == ["x", "y"]).await;
    server.delete(CRD).unrecorded().expect(200).await;
    // The body of this answer depends on the progress of kube-apiserver.
    server.until(document, |answer| answer.status == 404).await;
}

async fn a_deleted_definition_leaves_discovery(server: &Probe) {
    const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let group = server.group();
    let has_group = |answer: &crate::suite::probe::Answer| {
        let groups = answer["items"].as_array().into_iter().flatten();
        groups.into_iter().any(|item| item["metadata"]["name"] == group)
    };
    for _ in 0..2 {
        server.install(widget_crd(any())).await;
        server.until_request(|| server.get("/apis").accept(AGGREGATED), &has_group).await;
        server.until("/apis/{group}/v1", |answer| answer.status == 200).await;
        remove_definition(server).await;
        server.until_request(|| server.get("/apis").accept(AGGREGATED), |answer| !has_group(answer)).await;
        server.until("/apis/{group}", |answer| answer.status == 404).await;
        server.get("/apis/{group}/v1").expect(404).await;
    }
}
