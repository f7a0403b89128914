//! Answers of webhooks, of gateways, and of networks that lose them.

use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::faults::{Fault, FaultyLink};
use crate::harness::{Cluster, GYRE, Host, condition, guest};

fn wanting(namespace: &str, name: &str) -> Value {
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name }, "stringData": { "a": "b" } });
    guest("Verbatim", namespace, name, json!({ "children": [secret] }))
}

fn status(code: u16, reason: &str, message: &str) -> Fault {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code,
    });
    Fault::Answer(code, "application/json", status.to_string())
}

fn page(code: u16) -> Fault {
    Fault::Answer(code, "text/html", format!("<html><h1>{code}</h1>{}</html>", "x".repeat(100_000)))
}

fn host_over_link(cluster: &Cluster, namespace: &str) -> (FaultyLink, Host) {
    let (link, kubeconfig) = FaultyLink::of(cluster);
    let host = cluster.host_as(&kubeconfig, &[gyre_artifacts::probes::VERBATIM], &[namespace], &[]);
    (link, host)
}

/// The answer to a write that a webhook has changed: the stored object.
fn stored(code: u16, object: &Value) -> Fault {
    Fault::Answer(code, "application/json", object.to_string())
}

#[test]
fn each_answer_to_a_write_has_its_reason_and_its_retry() {
    const WEBHOOK: &str = "admission webhook \"w.example.com\" denied the request: no";
    let Some(cluster) = Cluster::for_test("answers", &["answers"]) else { return };
    let (link, host) = host_over_link(&cluster, "answers");
    let cases = [
        ("webhook-400", status(400, "BadRequest", WEBHOOK), "Rejected", "Stalled"),
        ("webhook-401", status(401, "Unauthorized", WEBHOOK), "Rejected", "Stalled"),
        ("webhook-403", status(403, "Forbidden", WEBHOOK), "Rejected", "Stalled"),
        ("webhook-404", status(404, "NotFound", WEBHOOK), "Rejected", "Stalled"),
        ("webhook-409", status(409, "AlreadyExists", WEBHOOK), "Rejected", "Stalled"),
        ("webhook-410", status(410, "Gone", WEBHOOK), "Rejected", "Stalled"),
        (
            "quota",
            status(
                403,
                "Forbidden",
                "secrets \"a\" is forbidden: exceeded quota: q, requested: secrets=1, used: secrets=1, limited: secrets=1",
            ),
            "Rejected",
            "Stalled",
        ),
        ("large", status(413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728"), "Rejected", "Stalled"),
        (
            "authorizer",
            status(
                403,
                "Forbidden",
                "secrets is forbidden: User \"u\" cannot create resource \"secrets\" in API group \"\" in the namespace \"answers\"",
            ),
            "Forbidden",
            "Reconciling",
        ),
        ("credentials", status(401, "Unauthorized", "Unauthorized"), "Unauthorized", "Reconciling"),
        (
            "stale",
            status(409, "Conflict", "Operation cannot be fulfilled on resourcequotas \"q\": the object has been modified"),
            "Stale",
            "Reconciling",
        ),
        ("later", status(429, "TooManyRequests", "storage is (re)initializing"), "TooManyRequests", "Reconciling"),
        ("page-403", page(403), "Unavailable", "Reconciling"),
        ("page-502", page(502), "Unavailable", "Reconciling"),
    ];
    for (name, fault, reason, kind) in cases {
        link.set(&[("POST /api/v1/namespaces/answers/secrets", fault)]);
        cluster.apply(&wanting("answers", name).to_string());
        let object = cluster.reason("answers", "verbatim", name, "Ready", reason);
        assert_eq!(condition(&object, kind).map(|condition| &condition["reason"]), Some(&json!(reason)), "{object}");
        cluster.eventually("the Event", || cluster.events("answers", name, reason).pop());
        cluster.eventually("the metric", || {
            (host.metric("gyre_plugin_problems_total", &["\"verbatim\"", &format!("\"{reason}\"")]) >= 1.0).then_some(())
        });
        link.set(&[]);
        cluster.touch("answers", "verbatim", name, "again");
        cluster.ready("answers", "verbatim", name);
    }
    assert!(!host.log().contains(&"x".repeat(1000)), "a page of a gateway is not repeated in full");
}

#[test]
fn a_host_whose_credentials_are_rejected_is_alive_and_not_ready() {
    let Some(cluster) = Cluster::for_test("credentials", &["credentials"]) else { return };
    let (link, host) = host_over_link(&cluster, "credentials");
    cluster.eventually("it to be ready", || host.http("/readyz").0.contains(" 200 ").then_some(()));
    let everything = |method: &'static str| (method, status(401, "Unauthorized", "Unauthorized"));
    link.set(&[everything("GET "), everything("POST "), everything("PUT "), everything("PATCH ")]);
    cluster.eventually("it to be not ready", || {
        assert!(host.http("/healthz").0.contains(" 200 "), "a restart would not bring other credentials");
        let (_, body) = host.http("/readyz?verbose");
        body.contains("[-]api-server failed: it rejects the credentials of this host: ").then_some(())
    });
    link.set(&[]);
    cluster.eventually("it to be ready again", || host.http("/readyz").0.contains(" 200 ").then_some(()));
}

#[test]
fn lost_cut_and_late_answers_to_a_creation_create_one_child() {
    let Some(cluster) = Cluster::for_test("lost", &["lost"]) else { return };
    let (link, _host) = host_over_link(&cluster, "lost");
    for (name, fault) in
        [("lost", Fault::LoseAnswer), ("cut", Fault::CutAnswer(100)), ("late", Fault::Delay(Duration::from_millis(300)))]
    {
        link.set(&[("POST /api/v1/namespaces/lost/secrets", fault)]);
        cluster.apply(&wanting("lost", name).to_string());
        cluster.ready("lost", "verbatim", name);
        let child = cluster.get("lost", "secret", name).unwrap();
        let parent = cluster.get("lost", "verbatim", name).unwrap();
        assert_eq!(child["metadata"]["ownerReferences"][0]["uid"], parent["metadata"]["uid"]);
    }
}

#[test]
fn the_status_of_an_answer_is_held_while_a_child_cannot_be_written() {
    let Some(cluster) = Cluster::for_test("held-status", &["held-status"]) else { return };
    let (link, kubeconfig) = FaultyLink::of(&cluster);
    let _host = cluster.host_as(&kubeconfig, &[gyre_artifacts::probes::LANDLORD], &["held-status"], &[]);
    for (name, fault, reason) in [
        ("gateway", page(502), "Unavailable"),
        ("later", status(429, "TooManyRequests", "storage is (re)initializing"), "TooManyRequests"),
        ("credentials", status(401, "Unauthorized", "Unauthorized"), "Unauthorized"),
    ] {
        link.set(&[("POST /api/v1/namespaces/held-status/configmaps", fault)]);
        let child = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } });
        let spec = json!({ "children": [child], "status": { "done": true } });
        cluster.apply(&guest("Landlord", "held-status", name, spec).to_string());
        let object = cluster.reason("held-status", "landlord", name, "Ready", reason);
        assert_eq!(object["status"].get("done"), None, "{object}");
        link.set(&[]);
        cluster.touch("held-status", "landlord", name, "again");
        assert_eq!(cluster.ready("held-status", "landlord", name)["status"]["done"], true);
    }
}

#[test]
fn a_proxy_in_the_environment_does_not_concern_an_api_server_on_this_machine() {
    let Some(cluster) = Cluster::for_test("proxy", &["proxy"]) else { return };
    let output = Command::new(GYRE)
        .args(["diff", gyre_artifacts::ECHO, "--namespace", "proxy", "--kubeconfig"])
        .arg(cluster.kubeconfig())
        // Nothing listens there.
        .env("HTTPS_PROXY", "http://127.0.0.1:1")
        .output()
        .expect("gyre runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_child_that_is_stored_without_any_mark_is_reported_and_gets_its_marks_once_they_stay() {
    let Some(cluster) = Cluster::for_test("bare-child", &["bare-child"]) else { return };
    let (link, host) = host_over_link(&cluster, "bare-child");
    let bare = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "it", "namespace": "bare-child" } });
    cluster.apply(&bare.to_string());
    let child = || cluster.get("bare-child", "secret", "it").unwrap();
    let before = child();
    link.set(&[("POST /api/v1/namespaces/bare-child/secrets", stored(201, &before))]);
    cluster.apply(&wanting("bare-child", "it").to_string());
    let object = cluster.reason("bare-child", "verbatim", "it", "Ready", "MarksRemoved");
    let message = condition(&object, "Ready").unwrap()["message"].as_str().unwrap().to_owned();
    for field in
        [r#"metadata.labels["gyre.dev/plugin"]"#, r#"metadata.labels["gyre.dev/owner-uid"]"#, "metadata.ownerReferences"]
    {
        assert!(message.contains(field), "{message}");
    }
    cluster.eventually("the Event", || cluster.events("bare-child", "it", "MarksRemoved").pop());
    cluster.settled(&host);
    assert_eq!(child(), before);

    link.set(&[]);
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "it" }, "stringData": { "a": "c" } });
    cluster.apply(&guest("Verbatim", "bare-child", "it", json!({ "children": [secret] })).to_string());
    let parent = cluster.ready("bare-child", "verbatim", "it");
    assert_eq!(child()["metadata"]["ownerReferences"][0]["uid"], parent["metadata"]["uid"]);
    assert_eq!(child()["metadata"]["uid"], before["metadata"]["uid"], "the object that the host stored is its child");
}

#[test]
fn a_parent_that_is_stored_without_its_finalizer_is_reported_and_gets_no_child() {
    let Some(cluster) = Cluster::for_test("bare-parent", &["bare-parent"]) else { return };
    let (link, kubeconfig) = FaultyLink::of(&cluster);
    cluster.apply(&guest("Finalizing", "bare-parent", "it", json!({ "finalize": "" })).to_string());
    let parent = || cluster.get("bare-parent", "finalizing", "it").unwrap();
    let path = "PATCH /apis/guests.gyre.dev/v1/namespaces/bare-parent/finalizings/it?";
    link.set(&[(path, stored(200, &parent()))]);
    let host = cluster.host_as(&kubeconfig, &[gyre_artifacts::probes::FINALIZING], &["bare-parent"], &[]);
    let object = cluster.reason("bare-parent", "finalizing", "it", "Ready", "MarksRemoved");
    let message = condition(&object, "Ready").unwrap()["message"].as_str().unwrap().to_owned();
    assert!(message.contains("the finalizer gyre.dev/finalizing is missing in the API server's answer"), "{message}");
    cluster.settled(&host);
    assert!(cluster.get("bare-parent", "configmap", "it-a").is_none(), "it could be left behind");

    link.set(&[]);
    cluster.touch("bare-parent", "finalizing", "it", "again");
    cluster.ready("bare-parent", "finalizing", "it");
    assert_eq!(parent()["metadata"]["finalizers"], json!(["gyre.dev/finalizing"]));
}
