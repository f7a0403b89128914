//! The admission of new objects.

use serde_json::{Value, json};

use crate::suite::objects::{config_map, pod};
use crate::suite::probe::Probe;
use crate::suite::registry::checks;

checks! { Controllers:
    a_pod_has_the_priority_of_its_class,
    a_pod_with_a_priority_of_its_own_is_refused,
    a_pod_of_an_absent_service_account_is_refused,
    a_quota_limits_the_number_of_objects,
}

const PODS: &str = "v1/pods?dryRun=All";

fn with(fields: Value) -> Value {
    let mut pod = pod("a");
    for (field, value) in fields.as_object().unwrap() {
        pod["spec"][field] = value.clone();
    }
    pod
}

/// Waits until Pods are admitted, which need the default service account.
async fn ready(server: &Probe) {
    server.until_request(|| server.post(PODS).body(pod("a")), |answer| answer.status == 201).await;
}

async fn refused(server: &Probe, fields: Value, expected: &str) {
    let answer = server.post(PODS).body(with(fields)).expect(403).await;
    assert_eq!((answer.reason(), answer.message().contains(expected)), ("Forbidden", true), "{}", answer.message());
}

async fn a_pod_has_the_priority_of_its_class(server: &Probe) {
    ready(server).await;
    let system = json!({"priorityClassName": "system-node-critical"});
    let classes = [("high", "Never", 1000), ("low", "PreemptLowerPriority", -5)];
    for (name, policy, value) in classes {
        let name = format!("{name}.{{ns}}");
        let class = json!({"metadata": {"name": name}, "value": value, "preemptionPolicy": policy});
        server.post("/apis/scheduling.k8s.io/v1/priorityclasses").body(class).unrecorded().expect(201).await;
    }
    for (fields, priority, policy) in [
        (json!({}), 0, "PreemptLowerPriority"),
        (system, 2_000_001_000, "PreemptLowerPriority"),
        (json!({"priorityClassName": "high.{ns}"}), 1000, "Never"),
        (json!({"priorityClassName": "low.{ns}", "priority": -5}), -5, "PreemptLowerPriority"),
    ] {
        let answer = server.until_request(|| server.post(PODS).body(with(fields.clone())), |answer| answer.status == 201).await;
        let found = (answer.at("/spec/priority").as_i64(), answer.str("/spec/preemptionPolicy"));
        assert_eq!(found, (Some(priority), policy), "{fields}");
        server.record_value("priority", &json!([found.0, found.1, answer.at("/spec/priorityClassName")]));
    }
    refused(server, json!({"priorityClassName": "absent"}), "no PriorityClass with name absent was found").await;
    let mut generated = with(json!({"priorityClassName": "absent"}));
    generated["metadata"] = json!({"generateName": "a-"});
    let answer = server.post(PODS).body(generated).expect(403).await;
    assert!(answer.message().starts_with("pods \"a-\" is forbidden: "), "{}", answer.message());
}

async fn a_pod_with_a_priority_of_its_own_is_refused(server: &Probe) {
    ready(server).await;
    refused(server, json!({"priority": 7}), "the integer value of priority (7) must not be provided in pod spec").await;
    let expected = "the string value of PreemptionPolicy (Never) must not be provided in pod spec";
    refused(server, json!({"preemptionPolicy": "Never"}), expected).await;
    server.post(PODS).body(with(json!({"priority": 0}))).unrecorded().expect(201).await;
}

async fn a_pod_of_an_absent_service_account_is_refused(server: &Probe) {
    ready(server).await;
    refused(server, json!({"serviceAccountName": "absent"}), "serviceaccount \"absent\" not found").await;
}

async fn a_quota_limits_the_number_of_objects(server: &Probe) {
    ready(server).await;
    let hard = json!({"pods": "0", "count/leases.coordination.k8s.io": "1", "count/widgets.example.com": "0"});
    server
        .post("v1/resourcequotas")
        .body(json!({"metadata": {"name": "q"}, "spec": {"hard": hard}}))
        .unrecorded()
        .expect(201)
        .await;
    server.until_request(|| server.post(PODS).body(pod("a")), |answer| answer.status == 403).await;
    refused(server, json!({}), "exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0").await;
    let lease = |name: &str| json!({"metadata": {"name": name}});
    let leases = "coordination.k8s.io/v1/leases";
    server.post(leases).body(lease("a")).unrecorded().expect(201).await;
    let answer = server.post(leases).body(lease("b")).expect(403).await;
    let counted = "count/leases.coordination.k8s.io=1";
    let expected = format!("exceeded quota: q, requested: {counted}, used: {counted}, limited: {counted}");
    assert!(answer.message().ends_with(&expected), "{}", answer.message());
    server.post("v1/configmaps").body(config_map("a", json!({}))).unrecorded().expect(201).await;
}
