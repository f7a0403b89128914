use serde_json::{Value, json};

use crate::harness::{Cluster, condition, finish_pod_of};

fn scheduled_echo(namespace: &str, schedule: &str, message: &str) -> String {
    json!({
        "apiVersion": "mmontes.io/v1alpha1",
        "kind": "ScheduledEcho",
        "metadata": { "name": "hourly", "namespace": namespace },
        "spec": { "schedule": schedule, "message": message },
    })
    .to_string()
}

fn command(cron_job: &Value) -> &Value {
    &cron_job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]["command"]
}

#[test]
fn a_scheduled_echo_gets_its_cron_job_and_its_changes_reach_it() {
    let Some(cluster) = Cluster::for_test("cron", &["cron"]) else { return };
    let host = cluster.host(&[gyre_artifacts::SCHEDULED_ECHO], &["cron"]);
    cluster.apply(&scheduled_echo("cron", "0 * * * *", "on the hour"));
    let cron_job = cluster.eventually("the CronJob", || cluster.get("cron", "cronjob", "hourly"));
    assert_eq!(cron_job["spec"]["schedule"], "0 * * * *");
    assert_eq!(cron_job["spec"]["concurrencyPolicy"], "Forbid");
    assert_eq!(command(&cron_job), &json!(["echo", "on the hour"]));
    let container = &cron_job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0];
    assert_eq!((&container["name"], &container["image"]), (&json!("hourly"), &json!("busybox:1.33.1")));

    cluster.apply(&scheduled_echo("cron", "30 * * * *", "on the half hour"));
    let changed = cluster.eventually("the new schedule", || {
        let cron_job = cluster.get("cron", "cronjob", "hourly")?;
        (cron_job["spec"]["schedule"] == "30 * * * *").then_some(cron_job)
    });
    assert_eq!(command(&changed), &json!(["echo", "on the half hour"]));
    assert_eq!(changed["metadata"]["uid"], cron_job["metadata"]["uid"], "changed in place");
    assert_eq!(cluster.ready("cron", "scheduledecho", "hourly")["status"]["observedGeneration"], 2);
    cluster.settled(&host);
}

#[test]
fn an_edit_of_a_field_of_the_host_is_reverted_and_of_another_is_kept() {
    let Some(cluster) = Cluster::for_test("edit", &["edit"]) else { return };
    let host = cluster.host(&[gyre_artifacts::SCHEDULED_ECHO], &["edit"]);
    cluster.apply(&scheduled_echo("edit", "0 * * * *", "kept"));
    cluster.eventually("the CronJob", || cluster.get("edit", "cronjob", "hourly"));
    cluster.kubectl(&["patch", "-n", "edit", "cronjob", "hourly", "--type=merge", "-p", r#"{"spec":{"suspend":true}}"#]);
    cluster.settled(&host);
    assert_eq!(cluster.get("edit", "cronjob", "hourly").unwrap()["spec"]["suspend"], true, "a field of others is theirs");
    cluster.kubectl(&[
        "patch",
        "-n",
        "edit",
        "cronjob",
        "hourly",
        "--type=merge",
        "-p",
        r#"{"spec":{"schedule":"5 5 * * *"}}"#,
    ]);
    cluster.eventually("the schedule to be put back", || {
        (cluster.get("edit", "cronjob", "hourly")?["spec"]["schedule"] == "0 * * * *").then_some(())
    });
    assert_eq!(cluster.get("edit", "cronjob", "hourly").unwrap()["spec"]["suspend"], true);
}

#[test]
fn a_field_of_another_manager_is_a_conflict_that_names_it() {
    let Some(cluster) = Cluster::for_test("conflict", &["conflict"]) else { return };
    let host = cluster.host(&[gyre_artifacts::SCHEDULED_ECHO], &["conflict"]);
    cluster.apply(&scheduled_echo("conflict", "0 * * * *", "contested"));
    let cron_job = cluster.eventually("the CronJob", || cluster.get("conflict", "cronjob", "hourly"));
    let claim = json!({
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": { "name": "hourly", "namespace": "conflict" },
        "spec": { "schedule": "1 1 * * *", "jobTemplate": cron_job["spec"]["jobTemplate"] },
    });
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), claim.to_string()).unwrap();
    let path = file.path().display().to_string();
    cluster.kubectl(&["apply", "--server-side", "--force-conflicts", "--field-manager=rival", "-f", &path]);
    let parent = cluster.reason("conflict", "scheduledecho", "hourly", "Ready", "Conflict");
    let message = condition(&parent, "Ready").unwrap()["message"].as_str().unwrap();
    assert!(message.contains("rival") && message.contains(".spec.schedule"), "{message}");
    cluster.settled(&host);
    assert_eq!(cluster.get("conflict", "cronjob", "hourly").unwrap()["spec"]["schedule"], "1 1 * * *");
}

/// Kubernetes' CronJob controller takes a Job for its own if the name of the Job's controller is
/// the CronJob's, even if that is another kind.
#[test]
fn the_cron_job_controller_ignores_the_job_of_an_echo_with_the_name_of_a_cron_job() {
    let Some(cluster) = Cluster::for_test("twins", &["twins"]) else { return };
    let plugins = [gyre_artifacts::ECHO, gyre_artifacts::SCHEDULED_ECHO];
    let host = cluster.host(&plugins, &["twins"]);
    let twin = |kind: &str, spec: Value| {
        json!({
            "apiVersion": "mmontes.io/v1alpha1", "kind": kind, "metadata": { "name": "twin", "namespace": "twins" }, "spec": spec,
        })
    };
    let scheduled = twin("ScheduledEcho", json!({ "schedule": "0 0 1 1 *", "message": "each year" }));
    cluster.apply_all(&[twin("Echo", json!({ "message": "once" })), scheduled]);
    let echo = cluster.ready("twins", "echo", "twin");
    cluster.ready("twins", "scheduledecho", "twin");
    let job = cluster.get("twins", "job", "twin").unwrap();
    drop(host);

    // As with echoperator, the Echo is the controller of this Job.
    let keep_none = json!({ "spec": { "successfulJobsHistoryLimit": 0 } }).to_string();
    cluster.kubectl(&["patch", "-n", "twins", "cronjob", "twin", "--type=merge", "-p", &keep_none]);
    let controlled = json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": { "name": "controlled", "namespace": "twins", "ownerReferences": [{
            "apiVersion": echo["apiVersion"], "kind": "Echo", "name": "twin", "uid": echo["metadata"]["uid"], "controller": true,
        }] },
        "spec": { "template": { "spec": { "containers": [{ "name": "it", "image": "busybox:1" }], "restartPolicy": "Never" } } },
    });
    cluster.create(&controlled.to_string());
    let controlled = cluster.get("twins", "job", "controlled").unwrap();
    for job in [&job, &controlled] {
        finish_pod_of(&cluster, "twins", job);
        let name = job["metadata"]["name"].as_str().unwrap();
        cluster.eventually("the Job to end", || match cluster.get("twins", "job", name) {
            Some(job) => condition(&job, "Complete").is_some_and(|complete| complete["status"] == "True").then_some(()),
            None => Some(()),
        });
    }
    cluster.touch("twins", "cronjob", "twin", "look");
    cluster.gone("twins", "job", &["controlled"]);
    let left = cluster.get("twins", "job", "twin").expect("the Job of the Echo is none of the CronJob's");
    assert_eq!(left["metadata"]["uid"], job["metadata"]["uid"]);

    let host = cluster.host(&plugins, &["twins"]);
    cluster.reason("twins", "echo", "twin", "Ready", "JobComplete");
    cluster.settled(&host);
    let jobs = cluster.list("twins", "jobs");
    let uids: Vec<&Value> = jobs.iter().map(|job| &job["metadata"]["uid"]).collect();
    assert_eq!(uids, [&job["metadata"]["uid"]], "the message was written once");
}
