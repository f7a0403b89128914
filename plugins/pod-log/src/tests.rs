//! The logs and answers of the plugin.

use gyre_sdk::testing::{self, LogLine};
use serde_json::{Value, json};

use super::*;

fn pod(deletion: Value) -> Value {
    let mut pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "hello", "namespace": "default", "uid": "1", "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "hello", "image": "busybox"}]},
        "status": {"phase": "Running"},
    });
    pod["metadata"].as_object_mut().unwrap().extend(deletion.as_object().unwrap().clone());
    pod
}

#[track_caller]
fn check_log(expected: &str) {
    let fields = vec![("namespace".to_owned(), "default".to_owned())];
    assert_eq!(testing::take_log(), [LogLine { level: log::Level::Info, message: expected.to_owned(), fields }]);
}

#[test]
fn a_pod_that_lives_is_logged_and_left_alone() {
    let plan = testing::reconcile::<PodLogger>(pod(json!({})), json!({}), &testing::Cluster::new()).unwrap();
    assert_eq!(plan, Plan::keep_children());
    check_log("Sync/Add/Update for Pod hello");
}

#[track_caller]
fn check_end(deletion: Value, expected_plan: &Plan, expected: &str) {
    let plan = testing::finalize::<PodLogger>(pod(deletion), json!({}), &testing::Cluster::new()).unwrap();
    assert_eq!(plan, *expected_plan);
    check_log(expected);
}

#[test]
fn a_pod_does_not_exist_anymore_when_its_containers_have_ended() {
    let at = "2026-01-01T00:00:30Z";
    let (stays, goes) = (Plan::keep_children(), Plan::keep_children().release_parent());
    let terminating = json!({"deletionTimestamp": at, "deletionGracePeriodSeconds": 30});
    check_end(terminating, &stays, "Sync/Add/Update for Pod hello");
    let ended = json!({"deletionTimestamp": at, "deletionGracePeriodSeconds": 0});
    check_end(ended, &goes, "Pod hello does not exist anymore");
    check_end(json!({"deletionTimestamp": at}), &goes, "Pod hello does not exist anymore");
}

#[test]
fn the_manifest_asks_only_for_a_finalizer() {
    let plain = Manifest::new("pod-log", env!("CARGO_PKG_VERSION"), POD).description(env!("CARGO_PKG_DESCRIPTION"));
    assert_eq!(PodLogger::manifest(), plain.finalizes());
}
