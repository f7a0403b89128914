//! Patches: JSON, merge and strategic merge.

use serde_json::{Value, json};

use crate::suite::objects::{A, any, config_map, deployment, widget, widget_crd};
use crate::suite::probe::{JSON_PATCH, MERGE_PATCH, Probe, STRATEGIC_PATCH};
use crate::suite::registry::checks;

checks! { Api:
    a_json_patch_adds_replaces_and_removes,
    a_json_patch_moves_and_copies,
    a_json_patch_appends_to_lists,
    a_json_patch_whose_test_fails_is_refused,
    a_json_patch_removes_nothing_that_is_missing_but_replaces_it,
    a_json_patch_escapes_slashes_in_keys,
    a_malformed_json_patch_is_refused,
    a_merge_patch_removes_with_null_and_replaces_lists,
    a_malformed_merge_patch_is_refused,
    a_patch_of_an_absent_object_is_not_found,
    a_patch_without_effect_does_not_bump_the_resource_version,
    a_patch_with_a_stale_resource_version_conflicts,
    a_patch_with_a_wrong_uid_is_refused_since_a_uid_is_immutable,
    a_patch_may_not_change_the_name,
    a_patch_of_an_unknown_content_type_is_unsupported,
    a_strategic_merge_patch_merges_containers_by_name,
    a_strategic_merge_patch_deletes_items_with_a_directive,
    a_strategic_merge_patch_replaces_a_list_with_a_directive,
    a_strategic_merge_patch_replaces_a_map_with_a_directive,
    a_strategic_merge_patch_deletes_a_map_with_a_directive,
    a_strategic_merge_patch_orders_elements,
    a_strategic_merge_patch_deletes_from_primitive_lists,
    a_strategic_merge_patch_retains_only_the_keys_named,
    a_strategic_merge_patch_replaces_lists_without_merge_key,
    a_strategic_merge_patch_merges_ports_by_number,
    a_strategic_merge_patch_with_an_unknown_directive_is_refused,
    a_strategic_merge_patch_item_without_merge_key_is_refused,
    a_strategic_merge_patch_that_does_not_fit_the_types_is_refused,
    a_strategic_merge_patch_of_a_custom_resource_is_unsupported,
    a_dry_run_of_a_patch_stores_nothing,
    a_patch_with_an_unknown_field_follows_the_field_validation,
    a_patch_to_an_invalid_object_is_invalid,
}

const D: &str = "apps/v1/deployments/a";

async fn make(server: &Probe) {
    let mut body = config_map("a", json!({"k": "v", "l": "w"}));
    body["metadata"]["labels"] = json!({"x": "1"});
    server.post("v1/configmaps").body(body).unrecorded().expect(201).await;
}

async fn deploy(server: &Probe) {
    let mut body = deployment("a");
    body["metadata"]["finalizers"] = json!(["x.test/a", "x.test/b"]);
    body["spec"]["template"]["spec"]["containers"] = json!([
        {"name": "one", "image": "i:1", "args": ["a", "b"], "ports": [{"containerPort": 1}, {"containerPort": 2}]},
        {"name": "two", "image": "i:2", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
    ]);
    body["spec"]["template"]["spec"]["volumes"] = json!([{"name": "v", "emptyDir": {}}]);
    server.post("apps/v1/deployments").body(body).unrecorded().expect(201).await;
}

fn spec(pod: Value) -> Value {
    json!({"spec": {"template": {"spec": pod}}})
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().map(|item| item["name"].as_str().unwrap()).collect()
}

const CONTAINERS: &str = "/spec/template/spec/containers";

async fn a_json_patch_adds_replaces_and_removes(server: &Probe) {
    make(server).await;
    let patch = json!([
        {"op": "add", "path": "/data/m", "value": "new"},
        {"op": "replace", "path": "/data/k", "value": "changed"},
        {"op": "remove", "path": "/data/l"},
    ]);
    let answer = server.patch(A, JSON_PATCH, patch).expect(200).await;
    assert_eq!(answer["data"], json!({"k": "changed", "m": "new"}));
}

async fn a_json_patch_moves_and_copies(server: &Probe) {
    make(server).await;
    let patch = json!([
        {"op": "move", "from": "/data/k", "path": "/data/n"},
        {"op": "copy", "from": "/data/l", "path": "/data/o"},
        {"op": "test", "path": "/data/o", "value": "w"},
    ]);
    let answer = server.patch(A, JSON_PATCH, patch).expect(200).await;
    assert_eq!(answer["data"], json!({"l": "w", "n": "v", "o": "w"}));
}

async fn a_json_patch_appends_to_lists(server: &Probe) {
    deploy(server).await;
    let patch = json!([
        {"op": "add", "path": "/metadata/finalizers/-", "value": "x.test/c"},
        {"op": "add", "path": "/metadata/finalizers/0", "value": "x.test/0"},
    ]);
    let answer = server.patch(D, JSON_PATCH, patch).expect(200).await;
    assert_eq!(answer["metadata"]["finalizers"], json!(["x.test/0", "x.test/a", "x.test/b", "x.test/c"]));
}

async fn a_json_patch_whose_test_fails_is_refused(server: &Probe) {
    make(server).await;
    let patch = json!([{"op": "test", "path": "/data/k", "value": "other"}, {"op": "remove", "path": "/data/k"}]);
    let answer = server.patch(A, JSON_PATCH, patch).expect(422).await;
    assert!(
        answer.message().contains("the server rejected our request due to an error in our request"),
        "{}",
        answer.message()
    );
}

async fn a_json_patch_removes_nothing_that_is_missing_but_replaces_it(server: &Probe) {
    make(server).await;
    server.patch(A, JSON_PATCH, json!([{"op": "remove", "path": "/data/none"}])).expect(422).await;
    server.patch(A, JSON_PATCH, json!([{"op": "replace", "path": "/data/none", "value": "x"}])).expect(200).await;
    server.patch(A, JSON_PATCH, json!([{"op": "add", "path": "/spec/deep/er", "value": "x"}])).expect(422).await;
}

async fn a_json_patch_escapes_slashes_in_keys(server: &Probe) {
    make(server).await;
    let patch = json!([
        {"op": "add", "path": "/metadata/annotations", "value": {}},
        {"op": "add", "path": "/metadata/annotations/x.test~1a", "value": "b"},
    ]);
    let answer = server.patch(A, JSON_PATCH, patch).expect(200).await;
    assert_eq!(answer["metadata"]["annotations"], json!({"x.test/a": "b"}));
}

async fn a_malformed_json_patch_is_refused(server: &Probe) {
    make(server).await;
    for text in ["{}", "[", "[{\"op\": \"guess\", \"path\": \"/data/k\"}]"] {
        let request = server.request("PATCH", A).header("content-type", JSON_PATCH).text(text);
        let answer = request.send().await;
        assert!((400..500).contains(&answer.status), "{text}: {:#}", answer.body);
    }
}

async fn a_merge_patch_removes_with_null_and_replaces_lists(server: &Probe) {
    deploy(server).await;
    let patch =
        json!({"metadata": {"finalizers": ["x.test/z"], "labels": {"a": "b"}, "annotations": null}, "spec": {"replicas": 3}});
    let answer = server.patch(D, MERGE_PATCH, patch).expect(200).await;
    assert_eq!((&answer["metadata"]["finalizers"], answer.at("/spec/replicas")), (&json!(["x.test/z"]), &json!(3)));
    let answer = server.patch(D, MERGE_PATCH, json!({"spec": {"replicas": null}})).expect(200).await;
    assert_eq!(answer.at("/spec/replicas"), &json!(1), "the default comes back");
}

async fn a_malformed_merge_patch_is_refused(server: &Probe) {
    make(server).await;
    for text in ["[]", "{", "\"text\"", ""] {
        let request = server.request("PATCH", A).header("content-type", MERGE_PATCH).text(text);
        let answer = request.send().await;
        assert_eq!(answer.status, 400, "{text}");
    }
}

async fn a_patch_of_an_absent_object_is_not_found(server: &Probe) {
    for content_type in [JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH] {
        let body = if content_type == JSON_PATCH { json!([]) } else { json!({}) };
        let answer = server.patch(A, content_type, body).expect(404).await;
        assert_eq!(answer.message(), "configmaps \"a\" not found");
    }
}

async fn a_patch_without_effect_does_not_bump_the_resource_version(server: &Probe) {
    make(server).await;
    let before = server.get(A).expect(200).await;
    for (content_type, body) in [
        (JSON_PATCH, json!([{"op": "replace", "path": "/data/k", "value": "v"}])),
        (MERGE_PATCH, json!({"data": {"k": "v"}})),
        (STRATEGIC_PATCH, json!({})),
    ] {
        assert_eq!(server.patch(A, content_type, body).expect(200).await.body, before.body);
    }
}

async fn a_patch_with_a_stale_resource_version_conflicts(server: &Probe) {
    make(server).await;
    let before = server.get(A).expect(200).await;
    server.patch(A, MERGE_PATCH, json!({"data": {"k": "1"}})).expect(200).await;
    let patch = json!({"metadata": {"resourceVersion": before.version()}, "data": {"k": "2"}});
    let answer = server.patch(A, MERGE_PATCH, patch).expect(409).await;
    assert!(answer.message().contains("Operation cannot be fulfilled on configmaps \"a\": the object has been modified"));
}

async fn a_patch_with_a_wrong_uid_is_refused_since_a_uid_is_immutable(server: &Probe) {
    make(server).await;
    let patch = json!({"metadata": {"uid": "0f3b1c1e-0000-4000-8000-000000000001"}});
    let answer = server.patch(A, MERGE_PATCH, patch).expect(422).await;
    assert!(answer.message().contains("metadata.uid: Invalid value"), "{}", answer.message());
}

async fn a_patch_may_not_change_the_name(server: &Probe) {
    make(server).await;
    let answer = server.patch(A, MERGE_PATCH, json!({"metadata": {"name": "b"}})).expect(400).await;
    assert!(
        answer.message().contains("the name of the object (b) does not match the name on the URL (a)"),
        "{}",
        answer.message()
    );
    server.patch(A, MERGE_PATCH, json!({"metadata": {"namespace": "default"}})).expect(400).await;
}

async fn a_patch_of_an_unknown_content_type_is_unsupported(server: &Probe) {
    make(server).await;
    for content_type in ["application/json", "text/plain", "application/yaml"] {
        let answer = server.patch(A, content_type, json!({})).expect(415).await;
        assert_eq!(answer.reason(), "UnsupportedMediaType");
    }
}

async fn a_strategic_merge_patch_merges_containers_by_name(server: &Probe) {
    deploy(server).await;
    let patch = spec(json!({"containers": [{"name": "two", "image": "i:3"}, {"name": "three", "image": "i:3"}]}));
    let answer = server.patch(D, STRATEGIC_PATCH, patch).expect(200).await;
    let mut found = names(answer.at(CONTAINERS));
    found.sort_unstable();
    assert_eq!(found, ["one", "three", "two"]);
}

async fn a_strategic_merge_patch_deletes_items_with_a_directive(server: &Probe) {
    deploy(server).await;
    let patch = spec(json!({"containers": [
        {"name": "one", "$patch": "delete"},
        {"name": "two", "env": [{"name": "A", "$patch": "delete"}, {"name": "C", "value": "3"}]},
    ]}));
    let answer = server.patch(D, STRATEGIC_PATCH, patch).expect(200).await;
    assert_eq!(names(answer.at(CONTAINERS)), ["two"]);
    assert!(!names(answer.at("/spec/template/spec/containers/0/env")).contains(&"A"));
}

async fn a_strategic_merge_patch_replaces_a_list_with_a_directive(server: &Probe) {
    deploy(server).await;
    let patch = spec(json!({"containers": [{"$patch": "replace"}, {"name": "only", "image": "i:9"}]}));
    let answer = server.patch(D, STRATEGIC_PATCH, patch).expect(200).await;
    assert_eq!(names(answer.at(CONTAINERS)), ["only"]);
}

async fn a_strategic_merge_patch_replaces_a_map_with_a_directive(server: &Probe) {
    make(server).await;
    let patch = json!({"data": {"$patch": "replace", "only": "this"}});
    let answer = server.patch(A, STRATEGIC_PATCH, patch).expect(200).await;
    assert_eq!(answer["data"], json!({"only": "this"}));
}

async fn a_strategic_merge_patch_deletes_a_map_with_a_directive(server: &Probe) {
    make(server).await;
    let answer = server.patch(A, STRATEGIC_PATCH, json!({"data": {"$patch": "delete"}})).expect(200).await;
    assert_eq!(answer.at("/data/k"), &Value::Null);
}

async fn a_strategic_merge_patch_orders_elements(server: &Probe) {
    deploy(server).await;
    let patch = spec(json!({
        "$setElementOrder/containers": [{"name": "three"}, {"name": "two"}, {"name": "one"}],
        "containers": [{"name": "three", "image": "i:3"}],
    }));
    let answer = server.patch(D, STRATEGIC_PATCH, patch).expect(200).await;
    assert_eq!(names(answer.at(CONTAINERS)), ["three", "two", "one"]);
}

async fn a_strategic_merge_patch_deletes_from_primitive_lists(server: &Probe) {
    deploy(server).await;
    let patch = json!({"metadata": {
        "$deleteFromPrimitiveList/finalizers": ["x.test/a"],
        "$setElementOrder/finalizers": ["x.test/c", "x.test/b"],
        "finalizers": ["x.test/c"],
    }});
    let answer = server.patch(D, STRATEGIC_PATCH, patch).expect(200).await;
    assert_eq!(answer["metadata"]["finalizers"], json!(["x.test/c", "x.test/b"]));
}

async fn a_strategic_merge_patch_retains_only_the_keys_named(server: &Probe) {
    deploy(server).await;
    let patch = spec(json!({"volumes": [{"name": "v", "$retainKeys": ["name", "configMap"], "configMap": {"name": "c"}}]}));
    let answer = server.patch(D, STRATEGIC_PATCH, patch).expect(200).await;
    let volume = answer.at("/spec/template/spec/volumes/0");
    assert_eq!((&volume["emptyDir"], &volume["configMap"]["name"]), (&Value::Null, &json!("c")));
    let patch = json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}});
    let answer = server.patch(D, STRATEGIC_PATCH, patch).expect(200).await;
    assert_eq!(answer.at("/spec/strategy"), &json!({"type": "Recreate"}));
}

async fn a_strategic_merge_patch_replaces_lists_without_merge_key(server: &Probe) {
    deploy(server).await;
    let answer =
        server.patch(D, STRATEGIC_PATCH, spec(json!({"containers": [{"name": "one", "args": ["z"]}]}))).expect(200).await;
    assert_eq!(answer.at("/spec/template/spec/containers/0/args"), &json!(["z"]));
}

async fn a_strategic_merge_patch_merges_ports_by_number(server: &Probe) {
    deploy(server).await;
    let ports = json!([{"containerPort": 2, "name": "named"}, {"containerPort": 3}]);
    let patch = spec(json!({"containers": [{"name": "one", "ports": ports}]}));
    let answer = server.patch(D, STRATEGIC_PATCH, patch).expect(200).await;
    assert_eq!(answer.at("/spec/template/spec/containers/0/ports").as_array().unwrap().len(), 3);
}

async fn a_strategic_merge_patch_with_an_unknown_directive_is_refused(server: &Probe) {
    deploy(server).await;
    let patch = spec(json!({"containers": [{"name": "one", "$patch": "explode"}]}));
    server.patch(D, STRATEGIC_PATCH, patch).expect(500).await;
}

async fn a_strategic_merge_patch_item_without_merge_key_is_refused(server: &Probe) {
    deploy(server).await;
    let patch = spec(json!({"containers": [{"image": "i:1"}]}));
    let answer = server.patch(D, STRATEGIC_PATCH, patch).expect(500).await;
    assert!(answer.message().contains("merge key"), "{}", answer.message());
}

async fn a_strategic_merge_patch_that_does_not_fit_the_types_is_refused(server: &Probe) {
    deploy(server).await;
    for patch in [
        json!({"containers": ["x"]}),
        json!({"containers": [{"name": "main"}, 1]}),
        json!({"$setElementOrder/containers": "main"}),
        json!({"$setElementOrder/containers": [{"name": "main"}], "containers": ["x"]}),
        json!({"$setElementOrder/containers": [{"name": "main"}], "containers": [{"name": "other", "image": "i:1"}]}),
        json!({"$setElementOrder/nope": []}),
    ] {
        server.patch(D, STRATEGIC_PATCH, spec(patch)).expect(500).await;
    }
}

async fn a_strategic_merge_patch_of_a_custom_resource_is_unsupported(server: &Probe) {
    server.install(widget_crd(any())).await;
    server.create("{group}/v1/widgets", widget("a", json!({"x": 1}))).await;
    server.patch("{group}/v1/widgets/a", STRATEGIC_PATCH, json!({"spec": {"x": 2}})).expect(415).await;
    server.patch("{group}/v1/widgets/a", MERGE_PATCH, json!({"spec": {"x": 2}})).expect(200).await;
    server.patch("{group}/v1/widgets/a", JSON_PATCH, json!([{"op": "add", "path": "/spec/y", "value": [1]}])).expect(200).await;
}

async fn a_dry_run_of_a_patch_stores_nothing(server: &Probe) {
    make(server).await;
    let before = server.get(A).expect(200).await;
    let answer = server.patch(A, MERGE_PATCH, json!({"data": {"k": "dry"}})).query("dryRun=All").expect(200).await;
    assert_eq!(answer["data"]["k"], "dry");
    assert_eq!(server.get(A).expect(200).await.body, before.body);
    server.patch(A, MERGE_PATCH, json!({})).query("dryRun=Some").expect(422).await;
}

async fn a_patch_with_an_unknown_field_follows_the_field_validation(server: &Probe) {
    deploy(server).await;
    let patch = json!({"spec": {"strange": 1, "replicas": 2}});
    let answer = server.patch(D, MERGE_PATCH, patch.clone()).query("fieldValidation=Strict").expect(422).await;
    assert!(answer.message().contains("unknown field \"spec.strange\""), "{}", answer.message());
    let answer = server.patch(D, MERGE_PATCH, patch.clone()).query("fieldValidation=Warn").expect(200).await;
    assert_eq!(answer.warnings(), ["299 - \"unknown field \\\"spec.strange\\\"\""]);
    let answer = server.patch(D, MERGE_PATCH, patch.clone()).query("fieldValidation=Ignore").expect(200).await;
    assert!(answer.warnings().is_empty());
    server
        .patch(D, JSON_PATCH, json!([{"op": "add", "path": "/spec/odd", "value": 1}]))
        .query("fieldValidation=Strict")
        .expect(422)
        .await;
    server.patch(D, STRATEGIC_PATCH, patch).query("fieldValidation=Strict").expect(422).await;
}

async fn a_patch_to_an_invalid_object_is_invalid(server: &Probe) {
    deploy(server).await;
    let answer = server.patch(D, MERGE_PATCH, json!({"spec": {"replicas": -1}})).expect(422).await;
    assert!(
        answer.message().contains("spec.replicas: Invalid value: -1: must be greater than or equal to 0"),
        "{}",
        answer.message()
    );
    let answer = server.patch(D, MERGE_PATCH, json!({"spec": {"replicas": "two"}})).expect(422).await;
    assert_eq!(answer.str("/details/causes/0/field"), "patch");
}
