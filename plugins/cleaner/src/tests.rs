//! When a Job is deleted.

use gyre_sdk::testing::{self, Cluster as Given};
use serde_json::{Value, json};

use super::*;

const END: &str = "2026-01-01T12:00:00Z";

fn job(condition: &str, metadata: Value) -> Value {
    let mut job = json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "migration", "namespace": "default", "uid": "1"},
        "spec": {},
        "status": {"conditions": [{"type": condition, "status": "True", "lastTransitionTime": END}]},
    });
    job["metadata"].as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
    job
}

/// Returns the time after which the Job is deleted, if it is, at this time after its end.
#[track_caller]
fn deletion(job: Value, after_end: u64) -> Option<u64> {
    let now = END.parse::<Time>().unwrap() + Duration::from_secs(after_end);
    let settings = json!({"succeededSeconds": 100, "failedSeconds": 1_000});
    let plan = testing::reconcile::<Cleaner>(job, settings, &Given::new().at(now)).unwrap();
    assert_eq!((plan.children.is_none(), plan.status.is_none(), plan.conditions.len()), (true, true, 0), "it writes nothing");
    plan.delete_parent.map(|deletion| deletion.after.as_secs())
}

fn annotated(text: &str) -> Value {
    json!({"annotations": {TTL: text}})
}

#[test]
fn a_finished_job_is_deleted_after_its_time_to_live() {
    assert_eq!(deletion(job("Complete", json!({})), 0), Some(100));
    assert_eq!(deletion(job("Complete", json!({})), 99), Some(1));
    assert_eq!(deletion(job("Complete", json!({})), 100), Some(0));
    assert_eq!(deletion(job("Complete", json!({})), 5_000), Some(0));
    assert_eq!(deletion(job("Failed", json!({})), 100), Some(900));
    assert_eq!(deletion(job("Failed", json!({})), 1_000), Some(0));
}

#[test]
fn an_annotation_of_the_job_comes_first() {
    assert_eq!(deletion(job("Failed", annotated("7")), 0), Some(7));
    assert_eq!(deletion(job("Complete", annotated("0")), 0), Some(0));
    assert_eq!(deletion(job("Complete", annotated("keep")), 5_000), None);
    let plan = testing::reconcile::<Cleaner>(job("Complete", annotated("1h")), json!({}), &Given::new()).unwrap();
    assert_eq!((plan.delete_parent, plan.events[0].reason.as_str()), (None, "InvalidTtl"));
    assert!(plan.events[0].message.contains("\"1h\": give a number of seconds"), "{}", plan.events[0].message);
}

#[test]
fn what_runs_or_is_left_to_others_stays() {
    assert_eq!(deletion(job("Suspended", json!({})), 5_000), None);
    assert_eq!(deletion(job("SuccessCriteriaMet", json!({})), 5_000), None);
    let owners = json!([{"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly", "uid": "2", "controller": true}]);
    assert_eq!(deletion(job("Complete", json!({"ownerReferences": owners})), 5_000), None);
    let mut own = job("Complete", json!({}));
    own["spec"]["ttlSecondsAfterFinished"] = json!(10_000);
    assert_eq!(deletion(own, 5_000), None);
}
