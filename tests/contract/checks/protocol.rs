//! HTTP: methods, paths, content types, bodies.

use serde_json::json;

use crate::suite::objects::{any, config_map, widget_crd};
use crate::suite::probe::Probe;
use crate::suite::registry::checks;

checks! { Api:
    an_unknown_path_is_not_found,
    an_unknown_resource_is_not_found,
    a_method_that_a_resource_does_not_have_is_not_allowed,
    a_body_that_is_no_json_is_refused,
    an_empty_body_is_refused,
    a_body_of_an_unknown_content_type_is_refused,
    a_body_that_is_too_large_is_refused,
    an_accept_header_that_cannot_be_served_is_refused,
    of_accept_headers_with_wildcards_only_the_full_one_is_served,
    a_missing_accept_header_is_served_as_json,
    a_pretty_answer_is_the_same_value,
    a_cluster_scoped_kind_is_not_found_in_a_namespace,
    a_namespaced_kind_cannot_be_created_without_namespace,
    unknown_query_parameters_are_ignored,
    deeply_nested_json_is_refused,
    a_not_found_object_has_a_status_with_details,
    a_head_request_is_not_allowed,
    a_trailing_slash_changes_nothing,
}

async fn an_unknown_path_is_not_found(server: &Probe) {
    let answer = server.get("/nothing").expect(404).await;
    assert_eq!(answer.body, json!("404 page not found\n"));
    server.get("/apis/apps/v1/namespaces/{ns}/deployments/a/b/c/d").expect(404).await;
}

async fn an_unknown_resource_is_not_found(server: &Probe) {
    let answer = server.get("v1/gadgets").expect(404).await;
    assert_eq!(answer.message(), "the server could not find the requested resource");
    server.post("apps/v1/gadgets").body(json!({})).expect(404).await;
    server.install(widget_crd(any())).await;
    server.get("{group}/v1/gadgets").expect(404).await;
}

async fn a_method_that_a_resource_does_not_have_is_not_allowed(server: &Probe) {
    server.create("v1/configmaps", config_map("a", json!({}))).await;
    for (method, path) in [
        ("PUT", "v1/configmaps"),
        ("PATCH", "v1/configmaps"),
        ("POST", "v1/configmaps/a"),
        ("DELETE", "/api/v1/namespaces"),
        ("DELETE", "v1/pods/a/status"),
    ] {
        let answer = server.request(method, path).body(json!({})).expect(405).await;
        assert_eq!(answer.reason(), "MethodNotAllowed", "{method} {path}");
    }
    server.install(widget_crd(any())).await;
    server.request("OPTIONS", "{group}/v1/widgets").expect(405).await;
    // Custom resources answer differently.
    server.put("{group}/v1/widgets").body(json!({})).expect(400).await;
}

async fn a_body_that_is_no_json_is_refused(server: &Probe) {
    for text in ["{", "nonsense", "{\"metadata\": }", "{} {}", "\u{1}"] {
        let answer = server.post("v1/configmaps").text(text).unrecorded().expect(400).await;
        server.record_value(text, &json!(answer.reason()));
    }
    let answer = server.post("v1/configmaps").text("{\"metadata\":").unrecorded().expect(400).await;
    assert_eq!(answer["status"], "Failure");
}

async fn an_empty_body_is_refused(server: &Probe) {
    let answer = server.post("v1/configmaps").text("").expect(400).await;
    assert!(answer.message().contains("json parse error: "), "{}", answer.message());
}

async fn a_body_of_an_unknown_content_type_is_refused(server: &Probe) {
    let answer = server.post("v1/configmaps").header("content-type", "text/plain").text("{}").expect(415).await;
    assert_eq!(answer.reason(), "UnsupportedMediaType");
    server.create("v1/configmaps", config_map("a", json!({}))).await;
    server.put("v1/configmaps/a").header("content-type", "application/xml").text("<a/>").expect(415).await;
}

async fn a_body_that_is_too_large_is_refused(server: &Probe) {
    let body = config_map("a", json!({"k": "v".repeat(4 * 1024 * 1024)}));
    let answer = server.post("v1/configmaps").body(body).unrecorded().expect(413).await;
    assert_eq!(answer.reason(), "RequestEntityTooLarge");
    server.record_value("answer", &answer.body);
}

async fn an_accept_header_that_cannot_be_served_is_refused(server: &Probe) {
    let answer = server.get("v1/configmaps").accept("text/html").expect(406).await;
    assert_eq!(answer.reason(), "NotAcceptable");
    server.get("v1/configmaps").accept("application/json;as=Table;v=v9;g=meta.k8s.io").expect(406).await;
}

async fn of_accept_headers_with_wildcards_only_the_full_one_is_served(server: &Probe) {
    for accept in ["*/*", "text/html, application/json;q=0.5", "application/yaml;q=0.1, */*"] {
        let answer = server.get("v1/configmaps").accept(accept).expect(200).await;
        assert_eq!(answer.headers["content-type"], ["application/json"], "{accept}");
    }
    server.get("v1/configmaps").accept("application/*").expect(406).await;
    server.get("v1/configmaps").accept("application/json;charset=utf-8").expect(200).await;
}

async fn a_missing_accept_header_is_served_as_json(server: &Probe) {
    let answer = server.get("v1/configmaps").accept("").expect(200).await;
    assert_eq!(answer.headers["content-type"], ["application/json"]);
}

async fn a_pretty_answer_is_the_same_value(server: &Probe) {
    server.create("v1/configmaps", config_map("a", json!({"k": "v"}))).await;
    let plain = server.get("v1/configmaps/a").expect(200).await;
    assert_eq!(server.get("v1/configmaps/a?pretty=true").expect(200).await.body, plain.body);
}

async fn a_cluster_scoped_kind_is_not_found_in_a_namespace(server: &Probe) {
    server.get("v1/namespaces").expect(404).await;
    server.get("rbac.authorization.k8s.io/v1/clusterroles").expect(404).await;
}

async fn a_namespaced_kind_cannot_be_created_without_namespace(server: &Probe) {
    server.post("/api/v1/configmaps").body(config_map("a", json!({}))).expect(405).await;
    server.get("/api/v1/configmaps/a").expect(404).await;
}

async fn unknown_query_parameters_are_ignored(server: &Probe) {
    server.get("v1/configmaps?strange=yes&timeout=5s").expect(200).await;
}

async fn deeply_nested_json_is_refused(server: &Probe) {
    let deep = format!("{}{}", "[".repeat(20_000), "]".repeat(20_000));
    let text = format!("{{\"metadata\": {{\"name\": \"a\"}}, \"data\": {deep}}}");
    let answer = server.post("v1/configmaps").text(&text).unrecorded().expect(400).await;
    server.record_value("reason", &json!(answer.reason()));
}

async fn a_not_found_object_has_a_status_with_details(server: &Probe) {
    let answer = server.get("apps/v1/deployments/a").expect(404).await;
    assert_eq!(answer["details"], json!({"name": "a", "group": "apps", "kind": "deployments"}));
}

async fn a_head_request_is_not_allowed(server: &Probe) {
    server.create("v1/configmaps", config_map("a", json!({}))).await;
    let answer = server.request("HEAD", "v1/configmaps/a").expect(405).await;
    assert!(answer.body.is_string(), "{:#}", answer.body);
}

async fn a_trailing_slash_changes_nothing(server: &Probe) {
    server.create("v1/configmaps", config_map("a", json!({}))).await;
    server.get("v1/configmaps/a/").expect(200).await;
    server.get("v1/configmaps/").expect(200).await;
}
