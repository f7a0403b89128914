//! ScheduledEcho → CronJob.

use serde_json::{Value, json};

use crate::harness::{Cluster, condition};

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
    cluster.eventually("Ready for the new generation", || {
        let parent = cluster.get("cron", "scheduledecho", "hourly")?;
        (condition(&parent, "Ready")?["status"] == "True" && parent["status"]["observedGeneration"] == 2).then_some(())
    });
    cluster.settled(&host);
}

#[test]
fn a_hand_edit_to_a_field_that_we_set_is_put_back_and_one_to_another_is_left() {
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
fn a_field_that_another_applier_claims_is_a_conflict_that_names_it() {
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
    let parent = cluster.eventually("the condition", || {
        let parent = cluster.get("conflict", "scheduledecho", "hourly")?;
        (condition(&parent, "Ready")?["reason"] == "Conflict").then_some(parent)
    });
    let message = condition(&parent, "Ready").unwrap()["message"].as_str().unwrap();
    assert!(message.contains("rival") && message.contains(".spec.schedule"), "{message}");
    cluster.settled(&host);
    assert_eq!(cluster.get("conflict", "cronjob", "hourly").unwrap()["spec"]["schedule"], "1 1 * * *");
}
