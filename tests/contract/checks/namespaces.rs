//! Namespaces, with the controllers that empty and furnish them.

use serde_json::{Value, json};

use crate::suite::objects::{config_map, pod};
use crate::suite::probe::{Answer, MERGE_PATCH, Probe};
use crate::suite::registry::checks;

checks! { Controllers:
    a_namespace_gets_a_default_service_account,
    a_deleted_default_service_account_comes_back,
    a_deleted_namespace_is_emptied_and_goes,
    a_namespace_with_held_content_says_what_remains,
    a_terminating_namespace_lets_deletes_and_updates_through,
    the_default_namespaces_exist,
    a_pod_is_given_the_default_service_account_and_its_token,
}

async fn a_namespace_gets_a_default_service_account(server: &Probe) {
    server.until("v1/serviceaccounts/default", |answer| answer.status == 200).await;
    let answer = server.get("v1/serviceaccounts").expect(200).await;
    assert_eq!(answer.names(), ["default"]);
}

async fn a_deleted_default_service_account_comes_back(server: &Probe) {
    let first = server.until("v1/serviceaccounts/default", |answer| answer.status == 200).await.uid().to_owned();
    server.delete("v1/serviceaccounts/default").unrecorded().expect(200).await;
    server.until("v1/serviceaccounts/default", |answer| answer.status == 200 && answer.uid() != first).await;
    server.get("v1/serviceaccounts/default").expect(200).await;
}

async fn a_deleted_namespace_is_emptied_and_goes(server: &Probe) {
    server.create("v1/configmaps", config_map("a", json!({}))).await;
    server.create("coordination.k8s.io/v1/leases", json!({"metadata": {"name": "a"}})).await;
    let mut watch = server.watch("v1/configmaps?fieldSelector=metadata.name=a").await;
    assert_eq!(watch.one().await["type"], "ADDED");
    let answer = server.delete("/api/v1/namespaces/{ns}").expect(200).await;
    assert_eq!(answer.str("/status/phase"), "Terminating");
    assert_eq!(watch.one().await["type"], "DELETED");
    server.until("/api/v1/namespaces/{ns}", |answer| answer.status == 404).await;
    server.get("v1/configmaps/a").expect(404).await;
}

fn condition<'a>(answer: &'a Answer, kind: &str) -> &'a Value {
    let mut conditions = answer.at("/status/conditions").as_array().into_iter().flatten();
    conditions.find(|condition| condition["type"] == kind).unwrap_or(&Value::Null)
}

async fn a_namespace_with_held_content_says_what_remains(server: &Probe) {
    let mut held = config_map("a", json!({}));
    held["metadata"]["finalizers"] = json!(["x.test/hold"]);
    server.create("v1/configmaps", held).await;
    server.delete("/api/v1/namespaces/{ns}").expect(200).await;
    let remaining = |answer: &Answer| condition(answer, "NamespaceFinalizersRemaining")["status"] == "True";
    let answer = server.until("/api/v1/namespaces/{ns}", remaining).await;
    let conditions = answer.at("/status/conditions").as_array().unwrap();
    let mut kinds: Vec<String> =
        conditions.iter().map(|c| format!("{} {} {} {}", c["type"], c["status"], c["reason"], c["message"])).collect();
    kinds.sort();
    server.record_value("conditions", &json!(kinds));
}

async fn a_terminating_namespace_lets_deletes_and_updates_through(server: &Probe) {
    for name in ["a", "b"] {
        let mut held = config_map(name, json!({}));
        held["metadata"]["finalizers"] = json!(["x.test/hold"]);
        server.create("v1/configmaps", held).await;
    }
    server.delete("/api/v1/namespaces/{ns}").expect(200).await;
    let answer = server.patch("v1/configmaps/a", MERGE_PATCH, json!({"data": {"k": "v"}})).unrecorded().expect(200).await;
    assert_eq!(answer["data"]["k"], "v");
    let request = || server.post("v1/configmaps?dryRun=All").body(config_map("c", json!({})));
    server.until_request(request, |answer| answer.status == 403).await;
    server.post("v1/configmaps").body(config_map("c", json!({}))).expect(403).await;
    server.delete("v1/configmaps/b").unrecorded().expect(200).await;
    server.patch("v1/configmaps/b", MERGE_PATCH, json!({"metadata": {"finalizers": null}})).unrecorded().expect(200).await;
    server.get("v1/configmaps/b").expect(404).await;
}

async fn the_default_namespaces_exist(server: &Probe) {
    for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
        let answer = server.get(&format!("/api/v1/namespaces/{name}")).expect(200).await;
        assert_eq!(answer.str("/status/phase"), "Active");
    }
}

async fn a_pod_is_given_the_default_service_account_and_its_token(server: &Probe) {
    server.until("v1/serviceaccounts/default", |answer| answer.status == 200).await;
    let request = || server.post("v1/pods?dryRun=All").body(pod("a"));
    server.until_request(request, |answer| answer.status == 201).await;
    let answer = server.post("v1/pods").body(pod("a")).unrecorded().expect(201).await;
    assert_eq!((answer.str("/spec/serviceAccountName"), answer.str("/spec/serviceAccount")), ("default", "default"));
    let mut volume = answer.at("/spec/volumes/0").clone();
    assert!(volume["name"].as_str().unwrap().starts_with("kube-api-access-"));
    volume["name"] = "kube-api-access-(suffix)".into();
    server.record_value("volume", &volume);
    server.record_value("mount path", &answer.at("/spec/containers/0/volumeMounts/0")["mountPath"]);
}
