//! Jobs and CronJobs, as far as they go without nodes: the status of Pods is set by the checks.

use serde_json::{Value, json};

use crate::suite::objects::job;
use crate::suite::probe::{Answer, MERGE_PATCH, Probe};
use crate::suite::registry::checks;

checks! { Controllers:
    a_job_gets_a_pod_that_it_owns,
    a_job_counts_its_active_pods,
    a_job_completes_when_its_pod_succeeds,
    a_job_fails_when_its_pod_fails_and_no_retry_is_left,
    a_failed_pod_is_replaced_while_retries_are_left,
    a_job_runs_as_many_pods_at_once_as_it_may,
    a_job_with_several_completions_runs_until_all_are_done,
    an_indexed_job_gives_each_pod_its_index,
    a_suspended_job_has_no_pods_until_it_is_resumed,
    suspending_a_job_deletes_its_pods,
    a_finished_job_is_deleted_after_its_time_to_live,
    deleting_a_job_in_the_background_deletes_its_pods,
    deleting_a_job_in_the_foreground_waits_for_its_pods,
    orphaning_a_job_leaves_its_pods,
    a_suspended_cron_job_makes_no_jobs,
}

const JOBS: &str = "batch/v1/jobs";
const A: &str = "batch/v1/jobs/a";

/// A Job with these fields in its spec. Pods may be created when the namespace has its service account.
async fn start(server: &Probe, fields: Value) -> Answer {
    server.until("v1/serviceaccounts/default", |answer| answer.status == 200).await;
    let mut body = job("a");
    for (key, value) in fields.as_object().unwrap() {
        body["spec"][key] = value.clone();
    }
    server.create(JOBS, body).await
}

fn items(answer: &Answer) -> &[Value] {
    answer["items"].as_array().map_or(&[], Vec::as_slice)
}

/// The Pods that are neither finished nor being deleted, once there are so many.
async fn active(server: &Probe, count: usize) -> Vec<Value> {
    let is_active = |pod: &&Value| {
        pod["metadata"]["deletionTimestamp"].is_null()
            && !["Succeeded", "Failed"].contains(&pod["status"]["phase"].as_str().unwrap_or_default())
    };
    let answer = server.until("v1/pods", |answer| items(answer).iter().filter(is_active).count() == count).await;
    items(&answer).iter().filter(is_active).cloned().collect()
}

/// Ends a Pod as its node would.
async fn finish(server: &Probe, pod: &Value, phase: &str) {
    let path = format!("v1/pods/{}/status", pod["metadata"]["name"].as_str().unwrap());
    let code = i32::from(phase == "Failed");
    let status = json!({"status": {"phase": phase, "startTime": "2001-01-01T00:00:00Z", "containerStatuses": [{
        "name": "main", "image": "i", "imageID": "i", "ready": false, "restartCount": 0,
        "state": {"terminated": {"exitCode": code, "startedAt": "2001-01-01T00:00:00Z", "finishedAt": "2001-01-01T00:00:01Z"}},
    }]}});
    server.patch(&path, MERGE_PATCH, status).unrecorded().expect(200).await;
}

fn condition<'a>(answer: &'a Answer, kind: &str) -> &'a Value {
    let mut conditions = answer.at("/status/conditions").as_array().into_iter().flatten();
    conditions.find(|condition| condition["type"] == kind && condition["status"] == "True").unwrap_or(&Value::Null)
}

/// Returns the stable parts of a finished Job's status: the counts, and the conditions in order.
async fn finished(server: &Probe, kind: &str) -> Answer {
    let answer = server.until(A, |answer| !condition(answer, kind).is_null()).await;
    server.record_value("status", answer.at("/status"));
    answer
}

async fn a_job_gets_a_pod_that_it_owns(server: &Probe) {
    let made = start(server, json!({})).await;
    let pod = active(server, 1).await.remove(0);
    let metadata = &pod["metadata"];
    assert_eq!(metadata["ownerReferences"][0]["uid"], made.uid());
    let suffix = metadata["name"].as_str().unwrap().strip_prefix("a-").unwrap();
    assert_eq!(suffix.len(), 5);
    let mut shown = metadata.clone();
    shown.as_object_mut().unwrap().remove("managedFields");
    server.record_value("metadata of the Pod", &shown);
    server.record_value("restart policy", &pod["spec"]["restartPolicy"]);
}

async fn a_job_counts_its_active_pods(server: &Probe) {
    start(server, json!({})).await;
    let answer = server.until(A, |answer| answer.at("/status/active") == 1).await;
    server.record_value("status", answer.at("/status"));
    assert!(answer.at("/status/startTime").is_string());
}

async fn a_job_completes_when_its_pod_succeeds(server: &Probe) {
    start(server, json!({})).await;
    let pod = active(server, 1).await.remove(0);
    finish(server, &pod, "Succeeded").await;
    let answer = finished(server, "Complete").await;
    assert_eq!((answer.at("/status/succeeded"), answer.at("/status/completionTime").is_string()), (&json!(1), true));
    // The Pod stays, without the finalizer by which it was counted.
    let path = format!("v1/pods/{}", pod["metadata"]["name"].as_str().unwrap());
    server.until(&path, |answer| answer.at("/metadata/finalizers").is_null()).await;
}

async fn a_job_fails_when_its_pod_fails_and_no_retry_is_left(server: &Probe) {
    start(server, json!({"backoffLimit": 0})).await;
    let pod = active(server, 1).await.remove(0);
    finish(server, &pod, "Failed").await;
    let answer = finished(server, "Failed").await;
    assert_eq!(condition(&answer, "Failed")["reason"], "BackoffLimitExceeded");
    assert_eq!(answer.at("/status/failed"), 1);
}

async fn a_failed_pod_is_replaced_while_retries_are_left(server: &Probe) {
    start(server, json!({"backoffLimit": 1})).await;
    let first = active(server, 1).await.remove(0);
    finish(server, &first, "Failed").await;
    server.until(A, |answer| answer.at("/status/failed") == 1).await;
    let second = active(server, 1).await.remove(0);
    assert_ne!(first["metadata"]["uid"], second["metadata"]["uid"]);
    finish(server, &second, "Succeeded").await;
    let answer = finished(server, "Complete").await;
    assert_eq!((answer.at("/status/failed"), answer.at("/status/succeeded")), (&json!(1), &json!(1)));
}

async fn a_job_runs_as_many_pods_at_once_as_it_may(server: &Probe) {
    start(server, json!({"parallelism": 2, "completions": 5})).await;
    server.until(A, |answer| answer.at("/status/active") == 2).await;
    assert_eq!(active(server, 2).await.len(), 2);
    server.patch(A, MERGE_PATCH, json!({"spec": {"parallelism": 3}})).unrecorded().expect(200).await;
    assert_eq!(active(server, 3).await.len(), 3);
}

async fn a_job_with_several_completions_runs_until_all_are_done(server: &Probe) {
    start(server, json!({"completions": 2})).await;
    for done in 1..=2 {
        let pod = active(server, 1).await.remove(0);
        finish(server, &pod, "Succeeded").await;
        server.until(A, |answer| answer.at("/status/succeeded") == done).await;
    }
    finished(server, "Complete").await;
}

async fn an_indexed_job_gives_each_pod_its_index(server: &Probe) {
    start(server, json!({"completions": 2, "parallelism": 2, "completionMode": "Indexed"})).await;
    let mut pods = active(server, 2).await;
    pods.sort_by_key(|pod| pod["metadata"]["name"].to_string());
    for (index, pod) in pods.iter().enumerate() {
        let label = "batch.kubernetes.io/job-completion-index";
        assert_eq!(pod["metadata"]["annotations"][label], index.to_string());
        assert!(pod["metadata"]["name"].as_str().unwrap().starts_with(&format!("a-{index}-")));
        server.record_value("labels", &pod["metadata"]["labels"]);
        server.record_value("hostname", &pod["spec"]["hostname"]);
        finish(server, pod, "Succeeded").await;
    }
    let answer = finished(server, "Complete").await;
    assert_eq!(answer.at("/status/completedIndexes"), "0,1");
}

async fn a_suspended_job_has_no_pods_until_it_is_resumed(server: &Probe) {
    start(server, json!({"suspend": true})).await;
    let answer = server.until(A, |answer| !condition(answer, "Suspended").is_null()).await;
    server.record_value("status", answer.at("/status"));
    assert!(answer.at("/status/startTime").is_null());
    assert_eq!(server.get("v1/pods").expect(200).await["items"], json!([]));
    server.patch(A, MERGE_PATCH, json!({"spec": {"suspend": false}})).unrecorded().expect(200).await;
    active(server, 1).await;
    let answer = server.until(A, |answer| answer.at("/status/active") == 1).await;
    assert!(condition(&answer, "Suspended").is_null());
}

async fn suspending_a_job_deletes_its_pods(server: &Probe) {
    start(server, json!({})).await;
    active(server, 1).await;
    server.until(A, |answer| answer.at("/status/active") == 1).await;
    server.patch(A, MERGE_PATCH, json!({"spec": {"suspend": true}})).unrecorded().expect(200).await;
    server.until("v1/pods", |answer| items(answer).is_empty()).await;
    let answer = server.until(A, |answer| !condition(answer, "Suspended").is_null()).await;
    assert_eq!(condition(&answer, "Suspended")["reason"], "JobSuspended");
}

async fn a_finished_job_is_deleted_after_its_time_to_live(server: &Probe) {
    start(server, json!({"ttlSecondsAfterFinished": 0})).await;
    let pod = active(server, 1).await.remove(0);
    finish(server, &pod, "Succeeded").await;
    server.until(A, |answer| answer.status == 404).await;
    server.until("v1/pods", |answer| items(answer).is_empty()).await;
}

async fn deleting_a_job_in_the_background_deletes_its_pods(server: &Probe) {
    start(server, json!({})).await;
    active(server, 1).await;
    server.delete(A).query("propagationPolicy=Background").unrecorded().expect(200).await;
    server.until("v1/pods", |answer| items(answer).is_empty()).await;
    server.get(A).expect(404).await;
}

async fn deleting_a_job_in_the_foreground_waits_for_its_pods(server: &Probe) {
    start(server, json!({})).await;
    active(server, 1).await;
    let answer = server.delete(A).query("propagationPolicy=Foreground").unrecorded().expect(200).await;
    assert_eq!(answer["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    server.until(A, |answer| answer.status == 404).await;
    assert_eq!(server.get("v1/pods").expect(200).await["items"], json!([]));
}

async fn orphaning_a_job_leaves_its_pods(server: &Probe) {
    start(server, json!({})).await;
    active(server, 1).await;
    server.delete(A).query("propagationPolicy=Orphan").unrecorded().expect(200).await;
    server.until(A, |answer| answer.status == 404).await;
    let pods = active(server, 1).await;
    server.record_value("owners", &pods[0]["metadata"]["ownerReferences"]);
    assert!(pods[0]["metadata"]["ownerReferences"].is_null());
}

async fn a_suspended_cron_job_makes_no_jobs(server: &Probe) {
    let spec = json!({"schedule": "* * * * *", "suspend": true, "jobTemplate": {"spec": job("x")["spec"]}});
    server.create("batch/v1/cronjobs", json!({"metadata": {"name": "a"}, "spec": spec})).await;
    // A Job that is made later than the CronJob has its Pod: the controllers are awake.
    start(server, json!({})).await;
    active(server, 1).await;
    assert_eq!(server.get(JOBS).unrecorded().expect(200).await.names(), ["a"]);
    assert_eq!(server.get("batch/v1/cronjobs/a").expect(200).await.at("/status"), &json!({}));
}
