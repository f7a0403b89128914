//! The admission of new objects.

use serde_json::{Value, json};

use crate::suite::objects::{config_map, pod};
use crate::suite::probe::{Answer, MERGE_PATCH, Probe};
use crate::suite::registry::checks;

checks! { Controllers:
    a_pod_has_the_priority_of_its_class,
    a_pod_with_a_priority_of_its_own_is_refused,
    a_pod_of_an_absent_service_account_is_refused,
    a_quota_limits_the_number_of_objects,
    a_quota_limits_what_containers_request,
    the_status_of_a_quota_says_what_is_used,
    a_quota_with_scopes_counts_the_pods_in_them,
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

const QUOTAS: &str = "v1/resourcequotas";

async fn make(server: &Probe, path: &str, body: Value) {
    server.until_request(|| server.post(path).body(body.clone()), |answer| answer.status == 201).await;
}

async fn quota(server: &Probe, name: &str, spec: Value) {
    make(server, QUOTAS, json!({"metadata": {"name": name}, "spec": spec})).await;
}

/// Waits until the admission of the real server has noticed a quota. Until then, it does not count
/// new objects.
async fn limited(server: &Probe, path: &str, body: Value) {
    server.until_request(|| server.post(path).body(body.clone()), |answer| answer.status == 403).await;
}

/// Waits until the status of a quota has these amounts, and records it.
async fn used(server: &Probe, name: &str, expected: Value) {
    let amounts = |answer: &Answer| {
        let expected = expected.as_object().unwrap().iter();
        expected.clone().all(|(resource, amount)| answer.at("/status/used").get(resource) == Some(amount))
    };
    let answer = server.until(&format!("{QUOTAS}/{name}"), amounts).await;
    server.record_value(name, answer.at("/status"));
}

fn sized(name: &str, class: Option<&str>, requests: Value, limits: Value) -> Value {
    let mut pod = pod(name);
    pod["spec"]["containers"][0]["resources"] = json!({"requests": requests, "limits": limits});
    if let Some(class) = class {
        pod["spec"]["priorityClassName"] = class.into();
    }
    pod
}

async fn a_quota_limits_what_containers_request(server: &Probe) {
    ready(server).await;
    quota(server, "q", json!({"hard": {"requests.cpu": "1", "limits.memory": "1Gi", "pods": "2"}})).await;
    used(server, "q", json!({"pods": "0", "requests.cpu": "0"})).await;
    limited(server, PODS, pod("a")).await;
    refused(server, json!({}), "failed quota: q: must specify limits.memory for: main; requests.cpu for: main").await;
    let post = |requests: Value, limits: Value| server.post(PODS).body(sized("a", None, requests, limits));
    let answer = post(json!({"cpu": "600m"}), json!({"memory": "2Gi", "cpu": "2"})).expect(403).await;
    let expected = "exceeded quota: q, requested: limits.memory=2Gi, used: limits.memory=0, limited: limits.memory=1Gi";
    assert!(answer.message().ends_with(expected), "{}", answer.message());
    make(server, "v1/pods", sized("first", None, json!({"cpu": "600m"}), json!({"memory": "512Mi"}))).await;
    let answer = post(json!({"cpu": "0.5"}), json!({"memory": "768Mi"})).expect(403).await;
    let expected = "requested: limits.memory=768Mi,requests.cpu=500m, used: limits.memory=512Mi,requests.cpu=600m, \
                    limited: limits.memory=1Gi,requests.cpu=1";
    assert!(answer.message().ends_with(expected), "{}", answer.message());
    used(server, "q", json!({"pods": "1", "requests.cpu": "600m", "limits.memory": "512Mi"})).await;
}

async fn the_status_of_a_quota_says_what_is_used(server: &Probe) {
    ready(server).await;
    let mut initialized = sized("a", None, json!({"cpu": "100m", "memory": "64Mi"}), json!({"memory": "100M"}));
    initialized["spec"]["initContainers"] = json!([
        {"name": "sidecar", "image": "b", "restartPolicy": "Always", "resources": {"requests": {"cpu": "50m"}}},
        {"name": "init", "image": "b", "resources": {"requests": {"cpu": "1"}, "limits": {"memory": "64Mi"}}},
    ]);
    make(server, "v1/pods", initialized).await;
    make(server, "v1/pods", sized("b", None, json!({"cpu": "1"}), json!({"memory": "1Ki"}))).await;
    server.patch("v1/pods/b/status", MERGE_PATCH, json!({"status": {"phase": "Succeeded"}})).unrecorded().expect(200).await;
    let ports = json!([{"name": "a", "port": 80}, {"name": "b", "port": 81}]);
    for kind in ["NodePort", "LoadBalancer"] {
        let spec = json!({"type": kind, "ports": ports});
        make(server, "v1/services", json!({"metadata": {"name": kind.to_lowercase()}, "spec": spec})).await;
    }
    let claim =
        json!({"storageClassName": "gold", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
    make(server, "v1/persistentvolumeclaims", json!({"metadata": {"name": "a"}, "spec": claim})).await;
    make(server, "coordination.k8s.io/v1/leases", json!({"metadata": {"name": "a"}})).await;
    let hard = json!({
        "pods": "10", "count/pods": "10", "cpu": "4", "requests.cpu": "4000m", "requests.memory": "1Gi", "limits.memory": "1G",
        "requests.ephemeral-storage": "1Gi", "requests.example.com/gpu": "1",
        "services": "10", "services.nodeports": "10", "services.loadbalancers": "10",
        "persistentvolumeclaims": "10", "requests.storage": "10Gi", "gold.storageclass.storage.k8s.io/requests.storage": "10Gi",
        "silver.storageclass.storage.k8s.io/persistentvolumeclaims": "10",
        "count/leases.coordination.k8s.io": "10", "count/widgets.example.com": "10", "resourcequotas": "10", "secrets": "10",
        "count/roles.rbac.authorization.k8s.io": "0", "count/events": "10",
    });
    quota(server, "q", json!({"hard": hard})).await;
    used(server, "q", json!({"pods": "1", "count/pods": "2", "requests.cpu": "1050m", "services.nodeports": "4"})).await;
    limited(server, "rbac.authorization.k8s.io/v1/roles?dryRun=All", json!({"metadata": {"name": "a"}})).await;
    make(server, "v1/secrets", json!({"metadata": {"name": "a"}})).await;
    used(server, "q", json!({"secrets": "1"})).await;
    server.delete("v1/pods/a").query("gracePeriodSeconds=0").unrecorded().expect(200).await;
    used(server, "q", json!({"pods": "0", "count/pods": "1", "requests.cpu": "0"})).await;
    server
        .patch(&format!("{QUOTAS}/q"), MERGE_PATCH, json!({"spec": {"hard": {"pods": "5", "secrets": null}}}))
        .unrecorded()
        .expect(200)
        .await;
    let answer = server.until(&format!("{QUOTAS}/q"), |answer| answer.str("/status/hard/pods") == "5").await;
    server.record_value("changed", answer.at("/status"));
}

async fn a_quota_with_scopes_counts_the_pods_in_them(server: &Probe) {
    ready(server).await;
    let critical = Some("system-node-critical");
    make(server, "v1/pods", sized("a", critical, json!({"cpu": "1"}), json!({}))).await;
    make(server, "v1/pods", pod("b")).await;
    let mut ending = pod("c");
    ending["spec"]["activeDeadlineSeconds"] = 60.into();
    make(server, "v1/pods", ending).await;
    let of_class = |operator: &str, values: Value| {
        let expression = json!({"scopeName": "PriorityClass", "operator": operator, "values": values});
        json!({"matchExpressions": [expression]})
    };
    let limit = json!({"pods": "1"});
    for (name, spec, pods) in [
        ("terminating", json!({"hard": {"pods": "7"}, "scopes": ["Terminating"]}), "1"),
        ("not-terminating", json!({"hard": {"pods": "7"}, "scopes": ["NotTerminating"]}), "2"),
        ("best-effort", json!({"hard": {"pods": "7"}, "scopes": ["BestEffort", "NotTerminating"]}), "1"),
        ("in", json!({"hard": limit, "scopeSelector": of_class("In", json!(["system-node-critical"]))}), "1"),
        ("not-in", json!({"hard": {"pods": "7"}, "scopeSelector": of_class("NotIn", json!(["system-node-critical"]))}), "2"),
        ("exists", json!({"hard": {"pods": "7"}, "scopeSelector": of_class("Exists", json!([]))}), "1"),
        ("absent", json!({"hard": {"pods": "7"}, "scopeSelector": of_class("DoesNotExist", json!([]))}), "2"),
    ] {
        quota(server, name, spec).await;
        used(server, name, json!({"pods": pods})).await;
    }
    limited(server, PODS, sized("d", critical, json!({}), json!({}))).await;
    let answer = server.post(PODS).body(sized("d", critical, json!({}), json!({}))).expect(403).await;
    assert!(
        answer.message().ends_with("exceeded quota: in, requested: pods=1, used: pods=1, limited: pods=1"),
        "{}",
        answer.message()
    );
    server.post(PODS).body(pod("d")).unrecorded().expect(201).await;
}
