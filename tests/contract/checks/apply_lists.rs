//! Server-side apply of lists (maps, sets, atomic ones) and custom resources.

use serde_json::{Value, json};

use crate::suite::objects::{any, deployment, pod, widget, widget_crd, widget_crd_with_status};
use crate::suite::probe::{MERGE_PATCH, Probe};
use crate::suite::registry::checks;

checks! { Api:
    containers_are_merged_by_name,
    a_container_that_is_no_longer_applied_is_removed,
    ports_are_keyed_by_port_and_protocol,
    a_port_without_protocol_is_keyed_with_the_default,
    duplicate_keys_of_a_list_map_are_refused,
    finalizers_are_a_set_that_appliers_share,
    duplicates_in_a_set_are_refused,
    owner_references_are_keyed_by_uid,
    an_atomic_list_has_one_owner,
    an_atomic_map_has_one_owner,
    items_of_two_appliers_keep_the_order_of_the_list,
    service_ports_of_two_appliers_are_merged,
    environment_variables_are_merged_within_containers,
    tolerations_are_replaced_whole,
    a_custom_resource_is_applied_by_its_schema,
    a_list_of_a_custom_resource_without_type_is_atomic,
    a_list_map_of_a_custom_resource_is_merged_by_its_keys,
    a_set_of_a_custom_resource_is_merged_by_value,
    an_atomic_struct_of_a_custom_resource_has_one_owner,
    fields_that_the_schema_does_not_know_are_merged_as_maps_and_atomic_lists,
    the_status_of_a_custom_resource_is_applied_on_its_own,
    apply_of_a_list_map_item_without_its_key_is_refused,
    a_defaulted_key_of_a_custom_list_map_need_not_be_applied,
    apply_through_another_version_of_a_custom_resource_moves_the_ownership,
    an_owner_of_a_nested_field_keeps_its_parents,
    applying_an_empty_map_owns_the_map_itself,
    two_appliers_of_one_list_map_item_share_it,
}

const D: &str = "apps/v1/deployments/a";
const W: &str = "{group}/v1/widgets/a";

fn containers(names: &[&str]) -> Value {
    let mut body = deployment("a");
    let containers: Vec<Value> = names.iter().map(|name| json!({"name": name, "image": "example.invalid/x:1"})).collect();
    body["spec"]["template"]["spec"]["containers"] = containers.into();
    body
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect()
}

async fn containers_are_merged_by_name(server: &Probe) {
    server.apply(D, "one", containers(&["a"])).expect(201).await;
    let answer = server.apply(D, "two", containers(&["b"])).expect(200).await;
    assert_eq!(names(answer.at("/spec/template/spec/containers")), ["a", "b"]);
    let key = "/f:spec/f:template/f:spec/f:containers/k:{\"name\":\"b\"}";
    assert!(answer.owned("two", "Apply").pointer(key).is_some());
}

async fn a_container_that_is_no_longer_applied_is_removed(server: &Probe) {
    server.apply(D, "one", containers(&["a", "b", "c"])).expect(201).await;
    let answer = server.apply(D, "one", containers(&["c", "a"])).expect(200).await;
    assert_eq!(names(answer.at("/spec/template/spec/containers")), ["c", "a"]);
}

fn ports(ports: Value) -> Value {
    let mut body = deployment("a");
    body["spec"]["template"]["spec"]["containers"][0]["ports"] = ports;
    body
}

const PORTS: &str = "/spec/template/spec/containers/0/ports";
const OWNED_PORTS: &str = "/f:spec/f:template/f:spec/f:containers/k:{\"name\":\"main\"}/f:ports";

async fn ports_are_keyed_by_port_and_protocol(server: &Probe) {
    server.apply(D, "one", ports(json!([{"containerPort": 53, "protocol": "TCP"}]))).expect(201).await;
    let answer = server.apply(D, "two", ports(json!([{"containerPort": 53, "protocol": "UDP"}]))).expect(200).await;
    assert_eq!(answer.at(PORTS).as_array().unwrap().len(), 2);
    let owned = answer.owned("two", "Apply").pointer(OWNED_PORTS).unwrap();
    assert!(owned.get("k:{\"containerPort\":53,\"protocol\":\"UDP\"}").is_some(), "{owned:#}");
    let answer = server.apply(D, "one", ports(json!([]))).expect(200).await;
    assert_eq!(answer.at(PORTS).as_array().unwrap().len(), 1);
}

async fn a_port_without_protocol_is_keyed_with_the_default(server: &Probe) {
    server.apply(D, "one", ports(json!([{"containerPort": 80, "name": "http"}]))).expect(201).await;
    let answer = server.apply(D, "two", ports(json!([{"containerPort": 80, "protocol": "TCP"}]))).expect(200).await;
    assert_eq!(answer.at(PORTS).as_array().unwrap().len(), 1);
    let owned = answer.owned("one", "Apply").pointer(OWNED_PORTS).unwrap();
    assert!(owned.get("k:{\"containerPort\":80,\"protocol\":\"TCP\"}").is_some(), "{owned:#}");
}

async fn duplicate_keys_of_a_list_map_are_refused(server: &Probe) {
    let answer = server.apply(D, "one", containers(&["a", "a"])).expect(500).await;
    assert!(answer.message().ends_with(".containers: duplicate entries for key [name=\"a\"]"), "{}", answer.message());
    server.apply(D, "one", ports(json!([{"containerPort": 1}, {"containerPort": 1}]))).expect(500).await;
}

fn with_finalizers(finalizers: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "finalizers": finalizers}})
}

async fn finalizers_are_a_set_that_appliers_share(server: &Probe) {
    let path = "v1/configmaps/a";
    server.apply(path, "one", with_finalizers(json!(["x.test/a", "x.test/b"]))).expect(201).await;
    let answer = server.apply(path, "two", with_finalizers(json!(["x.test/c", "x.test/b"]))).expect(200).await;
    assert_eq!(
        answer.owned("two", "Apply"),
        &json!({"f:metadata": {"f:finalizers": {"v:\"x.test/b\"": {}, "v:\"x.test/c\"": {}}}})
    );
    let answer = server.apply(path, "one", with_finalizers(json!([]))).expect(200).await;
    assert_eq!(answer["metadata"]["finalizers"].as_array().unwrap().len(), 2);
}

async fn duplicates_in_a_set_are_refused(server: &Probe) {
    server.apply("v1/configmaps/a", "one", with_finalizers(json!(["x.test/a", "x.test/a"]))).expect(500).await;
    server.get("v1/configmaps/a").expect(404).await;
}

async fn owner_references_are_keyed_by_uid(server: &Probe) {
    let with = |uid: &str| {
        let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": uid});
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "ownerReferences": [owner]}})
    };
    server.apply("v1/configmaps/a", "one", with("u-1")).expect(201).await;
    let answer = server.apply("v1/configmaps/a", "two", with("u-2")).expect(200).await;
    assert_eq!(answer["metadata"]["ownerReferences"].as_array().unwrap().len(), 2);
    assert!(answer.owned("two", "Apply").pointer("/f:metadata/f:ownerReferences/k:{\"uid\":\"u-2\"}").is_some());
}

async fn an_atomic_list_has_one_owner(server: &Probe) {
    let with = |args: Value| {
        let mut body = deployment("a");
        body["spec"]["template"]["spec"]["containers"][0]["args"] = args;
        body
    };
    server.apply(D, "one", with(json!(["a", "b"]))).expect(201).await;
    let answer = server.apply(D, "two", with(json!(["a", "c"]))).expect(409).await;
    assert!(answer.message().contains(".args"), "{}", answer.message());
    let answer = server.apply(D, "two", with(json!(["a", "c"]))).query("force=true").expect(200).await;
    assert_eq!(answer.at("/spec/template/spec/containers/0/args"), &json!(["a", "c"]));
}

async fn an_atomic_map_has_one_owner(server: &Probe) {
    let with = |selector: Value| {
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {
            "selector": selector, "ports": [{"port": 80}],
        }})
    };
    server.apply("v1/services/a", "one", with(json!({"x": "1"}))).expect(201).await;
    let answer = server.apply("v1/services/a", "two", with(json!({"y": "1"}))).expect(409).await;
    assert!(answer.message().contains(".spec.selector"), "{}", answer.message());
}

async fn items_of_two_appliers_keep_the_order_of_the_list(server: &Probe) {
    server.apply(D, "one", containers(&["b", "d"])).expect(201).await;
    server.apply(D, "two", containers(&["a", "b", "c"])).expect(200).await;
    let answer = server.apply(D, "three", containers(&["d", "e", "a"])).expect(200).await;
    assert_eq!(answer.at("/spec/template/spec/containers").as_array().unwrap().len(), 5);
}

async fn service_ports_of_two_appliers_are_merged(server: &Probe) {
    let with = |port: u16, name: &str| json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"ports": [{"port": port, "name": name}]}});
    server.apply("v1/services/a", "one", with(80, "http")).expect(201).await;
    let answer = server.apply("v1/services/a", "two", with(443, "https")).expect(200).await;
    assert_eq!(answer.at("/spec/ports").as_array().unwrap().len(), 2);
    let answer = server.apply("v1/services/a", "one", with(8080, "http")).expect(200).await;
    assert_eq!(answer.at("/spec/ports").as_array().unwrap().len(), 2);
}

async fn environment_variables_are_merged_within_containers(server: &Probe) {
    let with = |name: &str, value: &str| {
        let mut body = deployment("a");
        body["spec"]["template"]["spec"]["containers"][0]["env"] = json!([{"name": name, "value": value}]);
        body
    };
    server.apply(D, "one", with("A", "1")).expect(201).await;
    let answer = server.apply(D, "two", with("B", "2")).expect(200).await;
    assert_eq!(names(answer.at("/spec/template/spec/containers/0/env")), ["A", "B"]);
    let answer = server.apply(D, "two", with("A", "2")).expect(409).await;
    assert!(
        answer.message().contains(".spec.template.spec.containers[name=\"main\"].env[name=\"A\"].value"),
        "{}",
        answer.message()
    );
}

async fn tolerations_are_replaced_whole(server: &Probe) {
    let with = |key: &str| {
        let mut body = deployment("a");
        body["spec"]["template"]["spec"]["tolerations"] = json!([{"key": key, "operator": "Exists"}]);
        body
    };
    server.apply(D, "one", with("a")).expect(201).await;
    let answer = server.apply(D, "one", with("b")).expect(200).await;
    assert_eq!(answer.at("/spec/template/spec/tolerations").as_array().unwrap().len(), 1);
    server.apply(D, "two", with("c")).expect(409).await;
}

async fn a_custom_resource_is_applied_by_its_schema(server: &Probe) {
    let properties = json!({"type": "object", "properties": {"size": {"type": "integer"}, "colour": {"type": "string"}}});
    server.install(widget_crd(properties)).await;
    server.apply(W, "one", widget("a", json!({"size": 1}))).expect(201).await;
    let answer = server.apply(W, "two", widget("a", json!({"colour": "red"}))).expect(200).await;
    assert_eq!(answer["spec"], json!({"size": 1, "colour": "red"}));
    server.apply(W, "two", widget("a", json!({"size": 2}))).expect(409).await;
    let answer = server.apply(W, "two", widget("a", json!({}))).expect(200).await;
    assert_eq!(answer["spec"], json!({"size": 1}));
}

fn list_of(extra: Value) -> Value {
    let mut list = json!({"type": "array", "items": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "kind": {"type": "string", "default": "plain"}, "value": {"type": "integer"}},
    }});
    for (key, value) in extra.as_object().unwrap() {
        list[key] = value.clone();
    }
    json!({"type": "object", "properties": {"items": list}})
}

async fn a_list_of_a_custom_resource_without_type_is_atomic(server: &Probe) {
    server.install(widget_crd(list_of(json!({})))).await;
    server.apply(W, "one", widget("a", json!({"items": [{"name": "x"}]}))).expect(201).await;
    let answer = server.apply(W, "two", widget("a", json!({"items": [{"name": "y"}]}))).expect(409).await;
    assert!(answer.message().ends_with(": .spec.items"), "{}", answer.message());
}

async fn a_list_map_of_a_custom_resource_is_merged_by_its_keys(server: &Probe) {
    let map = json!({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]});
    let mut crd = widget_crd(list_of(map));
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["items"]["items"]["required"] =
        json!(["name"]);
    server.install(crd).await;
    server.apply(W, "one", widget("a", json!({"items": [{"name": "x", "value": 1}]}))).expect(201).await;
    let answer = server.apply(W, "two", widget("a", json!({"items": [{"name": "y", "value": 1}]}))).expect(200).await;
    assert_eq!(names(answer.at("/spec/items")), ["x", "y"]);
    let answer = server.apply(W, "two", widget("a", json!({"items": [{"name": "x", "value": 2}]}))).expect(409).await;
    assert!(answer.message().ends_with(".spec.items[name=\"x\"].value"), "{}", answer.message());
}

async fn a_set_of_a_custom_resource_is_merged_by_value(server: &Probe) {
    let set = json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}});
    server.install(widget_crd(json!({"type": "object", "properties": {"tags": set}}))).await;
    server.apply(W, "one", widget("a", json!({"tags": ["b", "a"]}))).expect(201).await;
    let answer = server.apply(W, "two", widget("a", json!({"tags": ["c", "a"]}))).expect(200).await;
    assert_eq!(answer.at("/spec/tags").as_array().unwrap().len(), 3);
    let answer = server.apply(W, "one", widget("a", json!({"tags": ["b"]}))).expect(200).await;
    assert_eq!(answer.at("/spec/tags").as_array().unwrap().len(), 3);
}

async fn an_atomic_struct_of_a_custom_resource_has_one_owner(server: &Probe) {
    let atom = json!({"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}});
    server.install(widget_crd(json!({"type": "object", "properties": {"point": atom}}))).await;
    server.apply(W, "one", widget("a", json!({"point": {"x": 1}}))).expect(201).await;
    let answer = server.apply(W, "two", widget("a", json!({"point": {"y": 1}}))).expect(409).await;
    assert!(answer.message().ends_with(": .spec.point"), "{}", answer.message());
    let answer = server.apply(W, "two", widget("a", json!({"point": {"y": 1}}))).query("force=true").expect(200).await;
    assert_eq!(answer.at("/spec/point"), &json!({"y": 1}));
}

async fn fields_that_the_schema_does_not_know_are_merged_as_maps_and_atomic_lists(server: &Probe) {
    server.install(widget_crd(any())).await;
    server.apply(W, "one", widget("a", json!({"m": {"x": 1}, "l": [1]}))).expect(201).await;
    let answer = server.apply(W, "two", widget("a", json!({"m": {"y": 1}}))).expect(200).await;
    assert_eq!(answer.at("/spec/m"), &json!({"x": 1, "y": 1}));
    server.apply(W, "two", widget("a", json!({"l": [2]}))).expect(409).await;
}

async fn the_status_of_a_custom_resource_is_applied_on_its_own(server: &Probe) {
    server.install(widget_crd_with_status(any())).await;
    let mut body = widget("a", json!({"x": 1}));
    body["status"] = json!({"ready": true});
    let answer = server.apply(W, "one", body.clone()).expect(201).await;
    assert_eq!(answer.at("/status"), &Value::Null);
    body["spec"] = json!({"x": 2});
    let answer = server.apply(&format!("{W}/status"), "one", body).expect(200).await;
    assert_eq!((answer.at("/spec/x"), answer.at("/status/ready")), (&json!(1), &json!(true)));
    let missing = json!({"apiVersion": "{group}/v1", "kind": "Widget", "metadata": {"name": "b"}, "status": {}});
    server.apply("{group}/v1/widgets/b/status", "one", missing).expect(404).await;
}

async fn apply_of_a_list_map_item_without_its_key_is_refused(server: &Probe) {
    let map = json!({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]});
    let mut crd = widget_crd(list_of(map));
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["items"]["items"]["required"] =
        json!(["name"]);
    server.install(crd).await;
    let answer = server.apply(W, "one", widget("a", json!({"items": [{"value": 1}]}))).expect(500).await;
    assert!(answer.message().contains("associative list with keys has an element that"), "{}", answer.message());
}

async fn a_defaulted_key_of_a_custom_list_map_need_not_be_applied(server: &Probe) {
    let map = json!({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "kind"]});
    let mut crd = widget_crd(list_of(map));
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["items"]["items"]["required"] =
        json!(["name"]);
    server.install(crd).await;
    server.apply(W, "one", widget("a", json!({"items": [{"name": "x", "value": 1}]}))).expect(201).await;
    let other = widget("a", json!({"items": [{"name": "x", "kind": "fancy", "value": 2}]}));
    let answer = server.apply(W, "two", other).expect(200).await;
    assert_eq!(answer.at("/spec/items/0/kind"), "plain");
    let owned = answer.owned("one", "Apply").pointer("/f:spec/f:items").unwrap();
    assert!(owned.get("k:{\"kind\":\"plain\",\"name\":\"x\"}").is_some(), "{owned:#}");
}

async fn apply_through_another_version_of_a_custom_resource_moves_the_ownership(server: &Probe) {
    let mut crd = widget_crd(any());
    let mut second = crd["spec"]["versions"][0].clone();
    second["name"] = "v2".into();
    second["storage"] = false.into();
    crd["spec"]["versions"].as_array_mut().unwrap().push(second);
    server.install(crd).await;
    server.apply(W, "one", widget("a", json!({"x": 1, "y": 1}))).expect(201).await;
    let mut body = widget("a", json!({"x": 2}));
    body["apiVersion"] = "{group}/v2".into();
    let answer = server.apply("{group}/v2/widgets/a", "one", body).expect(200).await;
    assert_eq!(answer["spec"], json!({"x": 2}));
    assert_eq!(answer["metadata"]["managedFields"].as_array().unwrap().len(), 1);
}

async fn an_owner_of_a_nested_field_keeps_its_parents(server: &Probe) {
    server.install(widget_crd(any())).await;
    server.apply(W, "one", widget("a", json!({"m": {"n": {"x": 1}}}))).expect(201).await;
    server.apply(W, "two", widget("a", json!({"m": {"n": {"y": 1}}}))).expect(200).await;
    let answer = server.apply(W, "one", widget("a", json!({}))).expect(200).await;
    assert_eq!(answer["spec"], json!({"m": {"n": {"y": 1}}}));
    // Removing the last field removes its parents, too, and leaves a null.
    let answer = server.apply(W, "two", widget("a", json!({}))).expect(422).await;
    assert!(answer.message().contains("spec in body must be of type object: \"null\""), "{}", answer.message());
}

async fn applying_an_empty_map_owns_the_map_itself(server: &Probe) {
    server.install(widget_crd(any())).await;
    let answer = server.apply(W, "one", widget("a", json!({"m": {}, "l": []}))).expect(201).await;
    assert_eq!(answer.owned("one", "Apply"), &json!({"f:spec": {"f:m": {}, "f:l": {}}}));
    let patch = json!({"spec": {"m": {"x": 1}}});
    server.patch(W, MERGE_PATCH, patch).query("fieldManager=patcher").expect(200).await;
    server.apply(W, "one", widget("a", json!({"l": []}))).expect(200).await;
}

async fn two_appliers_of_one_list_map_item_share_it(server: &Probe) {
    server.apply("v1/pods/a", "one", pod("a")).expect(201).await;
    let mut body = pod("a");
    body["spec"]["containers"][0]["resources"] = json!({});
    server.apply("v1/pods/a", "two", body).expect(200).await;
    let mut body = pod("a");
    body["spec"]["containers"][0]["image"] = "example.invalid/main:2".into();
    let answer = server.apply("v1/pods/a", "two", body).expect(409).await;
    assert!(answer.message().contains("conflict with \"one\": .spec.containers[name=\"main\"].image"), "{}", answer.message());
}
