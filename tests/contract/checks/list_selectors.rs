//! Selectors, and other parameters of lists.

use serde_json::{Value, json};

use crate::suite::objects::{any, config_map, job, labelled, pod, widget, widget_crd};
use crate::suite::probe::Probe;
use crate::suite::registry::checks;

checks! { Api:
    a_label_selector_takes_equality_and_inequality,
    a_label_selector_takes_sets,
    a_label_selector_takes_existence_and_absence,
    a_label_selector_compares_integers,
    several_requirements_of_a_label_selector_all_hold,
    a_malformed_label_selector_is_refused,
    a_label_selector_with_invalid_keys_or_values_is_refused,
    a_field_selector_takes_name_and_namespace,
    a_field_selector_takes_several_terms_and_inequality,
    a_field_selector_for_a_field_that_is_not_indexed_is_refused,
    a_malformed_field_selector_is_refused,
    pods_are_selected_by_node_phase_and_restart_policy,
    jobs_are_selected_by_successes,
    secrets_are_selected_by_type,
    namespaces_are_selected_by_phase_and_name_label,
    events_are_selected_by_involved_object,
    custom_resources_are_selected_by_name_only,
    custom_resources_are_selected_by_selectable_fields,
    a_list_as_partial_metadata_has_no_spec,
    an_object_as_partial_metadata_has_no_data,
    delete_collection_deletes_what_the_selector_matches,
    delete_collection_by_field_selector_deletes_one,
    delete_collection_answers_with_the_list_of_what_it_deleted,
    delete_collection_in_a_dry_run_deletes_nothing,
    delete_collection_without_selector_empties_the_namespace,
    delete_collection_of_custom_resources_keeps_those_with_finalizers,
}

const LIST: &str = "v1/configmaps";

async fn make(server: &Probe) {
    for (name, labels) in [
        ("a", json!({"x": "1", "tier": "front"})),
        ("b", json!({"x": "2", "tier": "back"})),
        ("c", json!({"x": "10"})),
        ("d", json!({"tier": ""})),
    ] {
        server.post(LIST).body(labelled(name, labels)).unrecorded().expect(201).await;
    }
}

async fn selected(server: &Probe, selector: &str, names: &[&str]) {
    let answer = server.get(LIST).query(&format!("labelSelector={selector}")).expect(200).await;
    assert_eq!(answer.names(), names, "{selector}");
}

async fn a_label_selector_takes_equality_and_inequality(server: &Probe) {
    make(server).await;
    selected(server, "x=1", &["a"]).await;
    selected(server, "x==1", &["a"]).await;
    selected(server, "x!=1", &["b", "c", "d"]).await;
    selected(server, "tier=", &["d"]).await;
}

async fn a_label_selector_takes_sets(server: &Probe) {
    make(server).await;
    selected(server, "x in (1, 10)", &["a", "c"]).await;
    selected(server, "x notin (1,2)", &["c", "d"]).await;
    selected(server, "tier in (front,)", &["a", "d"]).await;
    selected(server, "tier in (,,)", &["d"]).await;
    selected(server, "tier in (back,,front,)", &["a", "b", "d"]).await;
}

async fn a_label_selector_takes_existence_and_absence(server: &Probe) {
    make(server).await;
    selected(server, "x", &["a", "b", "c"]).await;
    selected(server, "!x", &["d"]).await;
}

async fn a_label_selector_compares_integers(server: &Probe) {
    make(server).await;
    selected(server, "x>1", &["b", "c"]).await;
    selected(server, "x<10", &["a", "b"]).await;
    server.get(LIST).query("labelSelector=x>one").expect(400).await;
}

async fn several_requirements_of_a_label_selector_all_hold(server: &Probe) {
    make(server).await;
    selected(server, "x,tier notin (back)", &["a", "c"]).await;
    selected(server, "x=1,x=2", &[]).await;
    selected(server, "", &["a", "b", "c", "d"]).await;
}

async fn a_malformed_label_selector_is_refused(server: &Probe) {
    for selector in ["x in", "x in (a", "=a", "x=a b", "x,,y", "x = (", "!x=1"] {
        let answer = server.get(LIST).query(&format!("labelSelector={selector}")).expect(400).await;
        assert_eq!(answer.reason(), "BadRequest", "{selector}");
    }
}

async fn a_label_selector_with_invalid_keys_or_values_is_refused(server: &Probe) {
    for selector in ["-x=1", "x=-1-", "a/b/c=1", "x in (a b)"] {
        let answer = server.get(LIST).query(&format!("labelSelector={selector}")).expect(400).await;
        assert_eq!(answer.reason(), "BadRequest", "{selector}");
    }
}

async fn a_field_selector_takes_name_and_namespace(server: &Probe) {
    make(server).await;
    let answer = server.get(LIST).query("fieldSelector=metadata.name==b").expect(200).await;
    assert_eq!(answer.names(), ["b"]);
    let answer = server.get(LIST).query("fieldSelector=metadata.namespace=elsewhere").expect(200).await;
    assert_eq!(answer["items"], json!([]));
    let answer = server.get("/api/v1/configmaps?fieldSelector=metadata.namespace={ns}").expect(200).await;
    assert_eq!(answer.names().len(), 4);
}

async fn a_field_selector_takes_several_terms_and_inequality(server: &Probe) {
    make(server).await;
    let answer = server.get(LIST).query("fieldSelector=metadata.name!=b,metadata.name!=c").expect(200).await;
    assert_eq!(answer.names(), ["a", "d"]);
    let answer = server.get(LIST).query("fieldSelector=metadata.name!=b&labelSelector=x").expect(200).await;
    assert_eq!(answer.names(), ["a", "c"]);
}

async fn a_field_selector_for_a_field_that_is_not_indexed_is_refused(server: &Probe) {
    let answer = server.get(LIST).query("fieldSelector=data.k=v").expect(400).await;
    assert!(
        answer.message().contains("\"data.k\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""),
        "{}",
        answer.message()
    );
    server.get("apps/v1/deployments?fieldSelector=spec.replicas=1").expect(400).await;
    server.get("v1/pods?fieldSelector=spec.containers=1").expect(400).await;
}

async fn a_malformed_field_selector_is_refused(server: &Probe) {
    let answer = server.get(LIST).query("fieldSelector=rubbish").expect(400).await;
    assert!(answer.message().contains("invalid selector: 'rubbish'"), "{}", answer.message());
    server.get(LIST).query("fieldSelector=metadata.name=a\\x").expect(400).await;
}

async fn pods_are_selected_by_node_phase_and_restart_policy(server: &Probe) {
    let mut second = pod("b");
    second["spec"]["nodeName"] = "node-1".into();
    second["spec"]["restartPolicy"] = "Never".into();
    for body in [pod("a"), second] {
        server.create("v1/pods", body).await;
    }
    for (selector, names) in [
        ("spec.nodeName=node-1", vec!["b"]),
        ("spec.nodeName=", vec!["a"]),
        ("status.phase=Pending", vec!["a", "b"]),
        ("status.phase!=Pending", vec![]),
        ("spec.restartPolicy=Never", vec!["b"]),
    ] {
        let answer = server.get("v1/pods").query(&format!("fieldSelector={selector}")).expect(200).await;
        assert_eq!(answer.names(), names, "{selector}");
    }
}

async fn jobs_are_selected_by_successes(server: &Probe) {
    server.create("batch/v1/jobs", job("a")).await;
    assert_eq!(server.get("batch/v1/jobs?fieldSelector=status.successful=0").expect(200).await.names(), ["a"]);
    assert_eq!(server.get("batch/v1/jobs?fieldSelector=status.successful=1").expect(200).await["items"], json!([]));
}

async fn secrets_are_selected_by_type(server: &Probe) {
    server.create("v1/secrets", json!({"metadata": {"name": "a"}})).await;
    server.create("v1/secrets", json!({"metadata": {"name": "b"}, "type": "example.test/b"})).await;
    assert_eq!(server.get("v1/secrets?fieldSelector=type=Opaque").expect(200).await.names(), ["a"]);
    assert_eq!(server.get("v1/secrets?fieldSelector=type=example.test/b").expect(200).await.names(), ["b"]);
}

async fn namespaces_are_selected_by_phase_and_name_label(server: &Probe) {
    let answer = server.get("/api/v1/namespaces?labelSelector=kubernetes.io/metadata.name={ns}").expect(200).await;
    assert_eq!(answer.names(), [server.namespace()]);
    let query = "fieldSelector=status.phase=Active,metadata.name={ns}";
    assert_eq!(server.get("/api/v1/namespaces").query(query).expect(200).await.names(), [server.namespace()]);
}

async fn events_are_selected_by_involved_object(server: &Probe) {
    for (name, object, kind) in [("a", "x", "Normal"), ("b", "y", "Warning")] {
        let body = json!({"metadata": {"name": name}, "type": kind, "reason": "R", "involvedObject": {
            "kind": "ConfigMap", "name": object, "namespace": "{ns}", "uid": "u", "apiVersion": "v1",
        }});
        server.create("v1/events", body).await;
    }
    for (selector, names) in [
        ("involvedObject.name=x", vec!["a"]),
        ("involvedObject.kind=ConfigMap,type=Warning", vec!["b"]),
        ("involvedObject.uid=u,reason=R", vec!["a", "b"]),
    ] {
        let answer = server.get("v1/events").query(&format!("fieldSelector={selector}")).expect(200).await;
        assert_eq!(answer.names(), names, "{selector}");
    }
    let answer = server.get("events.k8s.io/v1/events?fieldSelector=regarding.name=y").expect(200).await;
    assert_eq!(answer.names(), ["b"]);
}

async fn custom_resources_are_selected_by_name_only(server: &Probe) {
    server.install(widget_crd(any())).await;
    for name in ["a", "b"] {
        server.create("{group}/v1/widgets", widget(name, json!({"x": name}))).await;
    }
    assert_eq!(server.get("{group}/v1/widgets?fieldSelector=metadata.name=b").expect(200).await.names(), ["b"]);
    let answer = server.get("{group}/v1/widgets?fieldSelector=spec.x=a").expect(400).await;
    assert!(answer.message().contains("field label not supported: spec.x"), "{}", answer.message());
}

async fn custom_resources_are_selected_by_selectable_fields(server: &Probe) {
    let mut crd = widget_crd(json!({"type": "object", "properties": {
        "colour": {"type": "string"}, "size": {"type": "integer"}, "on": {"type": "boolean"},
    }}));
    crd["spec"]["versions"][0]["selectableFields"] =
        json!([{"jsonPath": ".spec.colour"}, {"jsonPath": ".spec.size"}, {"jsonPath": ".spec.on"}]);
    server.install(crd).await;
    server.create("{group}/v1/widgets", widget("a", json!({"colour": "red", "size": 1, "on": true}))).await;
    server.create("{group}/v1/widgets", widget("b", json!({"colour": "blue", "size": 2}))).await;
    for (selector, names) in [
        ("spec.colour=red", vec!["a"]),
        ("spec.size=2", vec!["b"]),
        ("spec.on=true", vec!["a"]),
        ("spec.colour!=red", vec!["b"]),
        ("spec.on=", vec!["b"]),
    ] {
        let answer = server.get("{group}/v1/widgets").query(&format!("fieldSelector={selector}")).expect(200).await;
        assert_eq!(answer.names(), names, "{selector}");
    }
}

const PARTIAL: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const PARTIAL_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

async fn a_list_as_partial_metadata_has_no_spec(server: &Probe) {
    server.create("v1/pods", pod("a")).await;
    let answer = server.get("v1/pods").accept(PARTIAL_LIST).expect(200).await;
    assert_eq!((answer["kind"].as_str(), answer.names()), (Some("PartialObjectMetadataList"), vec!["a"]));
    assert_eq!((answer.at("/items/0/kind"), answer.at("/items/0/spec")), (&json!("PartialObjectMetadata"), &Value::Null));
}

async fn an_object_as_partial_metadata_has_no_data(server: &Probe) {
    server.create(LIST, config_map("a", json!({"k": "v"}))).await;
    let answer = server.get("v1/configmaps/a").accept(PARTIAL).expect(200).await;
    assert_eq!((answer["kind"].as_str(), answer.at("/data")), (Some("PartialObjectMetadata"), &Value::Null));
    server.get("v1/configmaps/none").accept(PARTIAL).expect(404).await;
}

async fn delete_collection_deletes_what_the_selector_matches(server: &Probe) {
    make(server).await;
    server.delete(LIST).query("labelSelector=x in (1,2)").expect(200).await;
    assert_eq!(server.get(LIST).expect(200).await.names(), ["c", "d"]);
}

async fn delete_collection_by_field_selector_deletes_one(server: &Probe) {
    make(server).await;
    server.delete(LIST).query("fieldSelector=metadata.name=b").expect(200).await;
    assert_eq!(server.get(LIST).expect(200).await.names(), ["a", "c", "d"]);
}

async fn delete_collection_answers_with_the_list_of_what_it_deleted(server: &Probe) {
    make(server).await;
    let answer = server.delete(LIST).query("labelSelector=x=1").expect(200).await;
    assert_eq!((answer["kind"].as_str(), answer.names()), (Some("ConfigMapList"), vec!["a"]));
    let answer = server.delete(LIST).query("labelSelector=x=none").expect(200).await;
    assert_eq!((answer["kind"].as_str(), &answer["items"]), (Some("ConfigMapList"), &json!([])));
}

async fn delete_collection_in_a_dry_run_deletes_nothing(server: &Probe) {
    make(server).await;
    server.delete(LIST).query("dryRun=All").expect(200).await;
    assert_eq!(server.get(LIST).expect(200).await.names().len(), 4);
    server.delete(LIST).body(json!({"apiVersion": "v1", "kind": "DeleteOptions", "dryRun": ["All"]})).expect(200).await;
    assert_eq!(server.get(LIST).expect(200).await.names().len(), 4);
}

async fn delete_collection_without_selector_empties_the_namespace(server: &Probe) {
    make(server).await;
    server.delete(LIST).expect(200).await;
    assert_eq!(server.get(LIST).expect(200).await["items"], json!([]));
}

async fn delete_collection_of_custom_resources_keeps_those_with_finalizers(server: &Probe) {
    server.install(widget_crd(any())).await;
    let mut held = widget("b", json!({}));
    held["metadata"]["finalizers"] = json!(["x.test/hold"]);
    for body in [widget("a", json!({})), held] {
        server.create("{group}/v1/widgets", body).await;
    }
    server.delete("{group}/v1/widgets").expect(200).await;
    let answer = server.get("{group}/v1/widgets").expect(200).await;
    assert_eq!(answer.names(), ["b"]);
    assert!(answer.at("/items/0/metadata/deletionTimestamp").is_string());
}
