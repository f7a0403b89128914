//! Deleting objects.

use serde_json::{Value, json};

use crate::suite::objects::{A, any, config_map, deployment, job, pod, widget, widget_crd};
use crate::suite::probe::{MERGE_PATCH, Probe};
use crate::suite::registry::checks;

checks! { Api:
    a_delete_answers_with_a_status_that_names_the_object,
    a_delete_of_what_is_not_there_is_not_found,
    a_delete_with_finalizers_answers_with_the_object_and_waits,
    removing_the_last_finalizer_deletes,
    finalizers_may_not_be_added_while_deleting,
    a_second_delete_of_a_waiting_object_changes_nothing,
    a_delete_with_the_right_preconditions_succeeds,
    a_delete_with_a_wrong_uid_conflicts,
    a_delete_with_a_stale_resource_version_conflicts,
    a_foreground_delete_waits_with_a_finalizer,
    an_orphaning_delete_waits_with_a_finalizer,
    a_background_delete_is_done_at_once,
    an_unknown_propagation_policy_is_refused,
    orphan_dependents_and_a_policy_exclude_each_other,
    delete_options_are_taken_from_the_query_too,
    delete_options_of_another_kind_are_refused,
    a_job_deleted_without_policy_orphans_its_pods_and_warns,
    a_bound_pod_is_deleted_gracefully,
    a_pod_without_node_is_deleted_at_once,
    a_pod_is_deleted_at_once_with_grace_zero,
    a_negative_grace_period_is_taken_as_one_second,
    a_dry_run_of_a_delete_deletes_nothing,
    a_custom_resource_is_deleted_with_a_status,
    a_default_namespace_may_not_be_deleted,
    a_namespace_terminates_until_it_is_finalized,
    a_deleted_name_can_be_used_again,
    the_response_of_a_pods_delete_is_the_pod,
    a_delete_with_a_malformed_body_is_refused,
}

async fn make(server: &Probe) -> String {
    server.create("v1/configmaps", config_map("a", json!({"k": "v"}))).await.uid().to_owned()
}

async fn hold(server: &Probe) {
    let mut body = config_map("a", json!({"k": "v"}));
    body["metadata"]["finalizers"] = json!(["x.test/one", "x.test/two"]);
    server.create("v1/configmaps", body).await;
}

fn options(fields: Value) -> Value {
    let mut options = json!({"apiVersion": "v1", "kind": "DeleteOptions"});
    for (key, value) in fields.as_object().unwrap() {
        options[key] = value.clone();
    }
    options
}

async fn a_delete_answers_with_a_status_that_names_the_object(server: &Probe) {
    let uid = make(server).await;
    let answer = server.delete(A).expect(200).await;
    assert_eq!(
        (&answer["kind"], &answer["status"], answer.str("/details/uid")),
        (&json!("Status"), &json!("Success"), uid.as_str())
    );
    server.get(A).expect(404).await;
}

async fn a_delete_of_what_is_not_there_is_not_found(server: &Probe) {
    let answer = server.delete(A).expect(404).await;
    assert_eq!(answer.message(), "configmaps \"a\" not found");
    server.delete("apps/v1/deployments/a").expect(404).await;
}

async fn a_delete_with_finalizers_answers_with_the_object_and_waits(server: &Probe) {
    hold(server).await;
    let answer = server.delete(A).expect(200).await;
    assert_eq!((&answer["kind"], answer.at("/metadata/deletionGracePeriodSeconds")), (&json!("ConfigMap"), &json!(0)));
    assert!(server.get(A).expect(200).await.at("/metadata/deletionTimestamp").is_string());
}

async fn removing_the_last_finalizer_deletes(server: &Probe) {
    hold(server).await;
    server.delete(A).expect(200).await;
    server.patch(A, MERGE_PATCH, json!({"metadata": {"finalizers": ["x.test/two"]}})).expect(200).await;
    let answer = server.patch(A, MERGE_PATCH, json!({"metadata": {"finalizers": []}})).expect(200).await;
    assert_eq!(answer.at("/metadata/finalizers"), &Value::Null);
    server.get(A).expect(404).await;
}

async fn finalizers_may_not_be_added_while_deleting(server: &Probe) {
    hold(server).await;
    server.delete(A).expect(200).await;
    let patch = json!({"metadata": {"finalizers": ["x.test/one", "x.test/two", "x.test/three"]}});
    let answer = server.patch(A, MERGE_PATCH, patch).expect(422).await;
    let expected = "no new finalizers can be added if the object is being deleted";
    assert!(answer.message().contains(expected), "{}", answer.message());
}

async fn a_second_delete_of_a_waiting_object_changes_nothing(server: &Probe) {
    hold(server).await;
    let first = server.delete(A).expect(200).await;
    let second = server.delete(A).expect(200).await;
    assert_eq!(first.version(), second.version());
}

async fn a_delete_with_the_right_preconditions_succeeds(server: &Probe) {
    let made = server.create("v1/configmaps", config_map("a", json!({}))).await;
    let body = options(json!({"preconditions": {"uid": made.uid(), "resourceVersion": made.version()}}));
    server.delete(A).body(body).expect(200).await;
    server.get(A).expect(404).await;
}

async fn a_delete_with_a_wrong_uid_conflicts(server: &Probe) {
    make(server).await;
    let body = options(json!({"preconditions": {"uid": "0f3b1c1e-0000-4000-8000-000000000001"}}));
    let answer = server.delete(A).body(body).expect(409).await;
    assert!(
        answer
            .message()
            .contains("the UID in the precondition (0f3b1c1e-0000-4000-8000-000000000001) does not match the UID in record"),
        "{}",
        answer.message()
    );
}

async fn a_delete_with_a_stale_resource_version_conflicts(server: &Probe) {
    let made = server.create("v1/configmaps", config_map("a", json!({}))).await;
    server.patch(A, MERGE_PATCH, json!({"data": {"k": "v"}})).expect(200).await;
    let body = options(json!({"preconditions": {"resourceVersion": made.version()}}));
    // The message has both resource versions.
    let answer = server.delete(A).body(body).unrecorded().expect(409).await;
    assert!(answer.message().contains("the ResourceVersion in the precondition"), "{}", answer.message());
    server.record_value("reason", &answer["reason"]);
}

async fn a_foreground_delete_waits_with_a_finalizer(server: &Probe) {
    make(server).await;
    let answer = server.delete(A).body(options(json!({"propagationPolicy": "Foreground"}))).expect(200).await;
    assert_eq!(answer["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    server.patch(A, MERGE_PATCH, json!({"metadata": {"finalizers": null}})).expect(200).await;
    server.get(A).expect(404).await;
}

async fn an_orphaning_delete_waits_with_a_finalizer(server: &Probe) {
    make(server).await;
    let answer = server.delete(A).body(options(json!({"propagationPolicy": "Orphan"}))).expect(200).await;
    assert_eq!(answer["metadata"]["finalizers"], json!(["orphan"]));
    // A later policy replaces the finalizer of an earlier one.
    let answer = server.delete(A).body(options(json!({"propagationPolicy": "Foreground"}))).expect(200).await;
    server.record_value("finalizers", &answer["metadata"]["finalizers"]);
}

async fn a_background_delete_is_done_at_once(server: &Probe) {
    server.create("apps/v1/deployments", deployment("a")).await;
    let answer =
        server.delete("apps/v1/deployments/a").body(options(json!({"propagationPolicy": "Background"}))).expect(200).await;
    assert_eq!(answer["kind"], "Status");
    server.get("apps/v1/deployments/a").expect(404).await;
}

async fn an_unknown_propagation_policy_is_refused(server: &Probe) {
    make(server).await;
    let answer = server.delete(A).query("propagationPolicy=Sideways").expect(422).await;
    assert!(answer.message().contains("propagationPolicy: Unsupported value: \"Sideways\""), "{}", answer.message());
}

async fn orphan_dependents_and_a_policy_exclude_each_other(server: &Probe) {
    make(server).await;
    let body = options(json!({"orphanDependents": true, "propagationPolicy": "Orphan"}));
    server.delete(A).body(body).expect(422).await;
    let answer = server.delete(A).body(options(json!({"orphanDependents": true}))).expect(200).await;
    assert_eq!(answer["metadata"]["finalizers"], json!(["orphan"]));
}

async fn delete_options_are_taken_from_the_query_too(server: &Probe) {
    make(server).await;
    let answer = server.delete(A).query("propagationPolicy=Foreground").expect(200).await;
    assert_eq!(answer["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    server.delete(A).query("gracePeriodSeconds=x").expect(400).await;
}

async fn delete_options_of_another_kind_are_refused(server: &Probe) {
    make(server).await;
    server.delete(A).body(json!({"apiVersion": "v1", "kind": "ConfigMap"})).expect(400).await;
    server.get(A).expect(200).await;
    server.delete(A).body(json!({"propagationPolicy": "Background"})).expect(200).await;
}

async fn a_job_deleted_without_policy_orphans_its_pods_and_warns(server: &Probe) {
    server.create("batch/v1/jobs", job("a")).await;
    let answer = server.delete("batch/v1/jobs/a").expect(200).await;
    assert_eq!(answer["metadata"]["finalizers"], json!(["orphan"]));
    assert!(
        answer.warnings()[0].contains("child pods are preserved by default when jobs are deleted"),
        "{:?}",
        answer.warnings()
    );
}

async fn bound_pod(server: &Probe) {
    let mut body = pod("a");
    body["spec"]["nodeName"] = "node-1".into();
    server.create("v1/pods", body).await;
}

async fn a_bound_pod_is_deleted_gracefully(server: &Probe) {
    bound_pod(server).await;
    let answer = server.delete("v1/pods/a").expect(200).await;
    assert_eq!(answer.at("/metadata/deletionGracePeriodSeconds"), 30);
    assert!(server.get("v1/pods/a").expect(200).await.at("/metadata/deletionTimestamp").is_string());
    let answer = server.delete("v1/pods/a").query("gracePeriodSeconds=5").expect(200).await;
    assert_eq!(answer.at("/metadata/deletionGracePeriodSeconds"), 5);
    server.delete("v1/pods/a").query("gracePeriodSeconds=0").expect(200).await;
    server.get("v1/pods/a").expect(404).await;
}

async fn a_pod_without_node_is_deleted_at_once(server: &Probe) {
    server.create("v1/pods", pod("a")).await;
    server.delete("v1/pods/a").expect(200).await;
    server.get("v1/pods/a").expect(404).await;
}

async fn a_pod_is_deleted_at_once_with_grace_zero(server: &Probe) {
    bound_pod(server).await;
    server.delete("v1/pods/a").body(options(json!({"gracePeriodSeconds": 0}))).expect(200).await;
    server.get("v1/pods/a").expect(404).await;
}

async fn a_negative_grace_period_is_taken_as_one_second(server: &Probe) {
    bound_pod(server).await;
    let answer = server.delete("v1/pods/a").query("gracePeriodSeconds=-1").expect(200).await;
    assert_eq!(answer.at("/metadata/deletionGracePeriodSeconds"), 1);
}

async fn a_dry_run_of_a_delete_deletes_nothing(server: &Probe) {
    make(server).await;
    let before = server.get(A).expect(200).await;
    server.delete(A).query("dryRun=All").expect(200).await;
    server.delete(A).body(options(json!({"dryRun": ["All"], "propagationPolicy": "Foreground"}))).expect(200).await;
    assert_eq!(server.get(A).expect(200).await.body, before.body);
}

async fn a_custom_resource_is_deleted_with_a_status(server: &Probe) {
    server.install(widget_crd(any())).await;
    server.create("{group}/v1/widgets", widget("a", json!({}))).await;
    let answer = server.delete("{group}/v1/widgets/a").expect(200).await;
    assert_eq!((&answer["kind"], answer.str("/details/group")), (&json!("Status"), server.group().as_str()));
    server.delete("{group}/v1/widgets/a").expect(404).await;
}

async fn a_default_namespace_may_not_be_deleted(server: &Probe) {
    for name in ["default", "kube-system", "kube-public"] {
        let answer = server.delete(&format!("/api/v1/namespaces/{name}")).expect(403).await;
        assert_eq!(answer.message(), format!("namespaces \"{name}\" is forbidden: this namespace may not be deleted"));
    }
}

async fn a_namespace_terminates_until_it_is_finalized(server: &Probe) {
    let answer = server.delete("/api/v1/namespaces/{ns}").expect(200).await;
    assert_eq!((answer.str("/status/phase"), answer.at("/spec/finalizers")), ("Terminating", &json!(["kubernetes"])));
    server.get("/api/v1/namespaces/{ns}").expect(200).await;
    server.delete("/api/v1/namespaces/{ns}").expect(200).await;
}

async fn a_deleted_name_can_be_used_again(server: &Probe) {
    let first = make(server).await;
    server.delete(A).expect(200).await;
    assert_ne!(first, make(server).await);
}

async fn the_response_of_a_pods_delete_is_the_pod(server: &Probe) {
    server.create("v1/pods", pod("a")).await;
    assert_eq!(server.delete("v1/pods/a").expect(200).await["kind"], "Pod");
    server.create("v1/services", json!({"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}})).await;
    assert_eq!(server.delete("v1/services/a").expect(200).await["kind"], "Service");
    server.create("v1/serviceaccounts", json!({"metadata": {"name": "a"}})).await;
    assert_eq!(server.delete("v1/serviceaccounts/a").expect(200).await["kind"], "ServiceAccount");
    server.create("v1/secrets", json!({"metadata": {"name": "a"}})).await;
    assert_eq!(server.delete("v1/secrets/a").expect(200).await["kind"], "Status");
}

async fn a_delete_with_a_malformed_body_is_refused(server: &Probe) {
    make(server).await;
    server.delete(A).text("{").expect(400).await;
    server.get(A).expect(200).await;
}
