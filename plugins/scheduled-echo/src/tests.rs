//! The answers of the plugin, state by state.

use gyre_sdk::{Condition, ConditionStatus, Event, testing};
use serde_json::{Value, json};

use super::*;

const UID: &str = "5d3f0b5e-0000-4000-8000-000000000003";

fn echo(status: Value) -> Value {
    json!({
        "apiVersion": "mmontes.io/v1alpha1",
        "kind": "ScheduledEcho",
        "metadata": {"name": "hello", "namespace": "default", "uid": UID, "generation": 1},
        "spec": {"message": "Good day.", "schedule": "*/5 * * * *"},
        "status": status,
    })
}

fn cron_job(status: Value) -> Value {
    json!({
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "hello", "namespace": "default", "ownerReferences": [{"uid": UID, "controller": true}]},
        "spec": {"schedule": "*/5 * * * *", "concurrencyPolicy": "Forbid"},
        "status": status,
    })
}

fn reconcile(echo: Value, cron_job: Option<Value>) -> Plan {
    let cluster = cron_job.into_iter().fold(testing::Cluster::new(), testing::Cluster::with);
    testing::reconcile::<ScheduledEchoReconciler>(echo, json!({}), &cluster).unwrap()
}

#[test]
fn a_scheduled_echo_gets_the_cron_job_of_echoperator() {
    let plan = reconcile(echo(Value::Null), None);
    let pod: Value = serde_json::from_str(include_str!("../../echo-pod/pod.json")).unwrap();
    let cron_job = json!({
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "hello"},
        "spec": {
            "schedule": "*/5 * * * *",
            "concurrencyPolicy": "Forbid",
            "jobTemplate": {"spec": {"template": {"spec": pod}}},
        },
    });
    assert_eq!(plan.all_applied(), [cron_job]);
    assert_eq!(plan.status_json(), json!({"cronJob": "hello"}));
    let message = "CronJob hello runs the message";
    assert_eq!(plan.conditions, [Condition::new("Ready", ConditionStatus::True, "CronJobCreated", message)]);
    assert_eq!(plan.events, [Event::normal("CronJobCreated", message)]);
}

#[test]
fn a_change_reaches_the_cron_job() {
    let mut changed = echo(Value::Null);
    changed["spec"] = json!({"message": "Good night.", "schedule": "0 22 * * *"});
    let cron_job = reconcile(changed, Some(cron_job(json!({})))).applied(CronJob::KIND, "hello").unwrap();
    assert_eq!(cron_job["spec"]["schedule"], "0 22 * * *");
    let command = cron_job.pointer("/spec/jobTemplate/spec/template/spec/containers/0/command");
    assert_eq!(command, Some(&json!(["echo", "Good night."])));
    assert_eq!(ScheduledEchoReconciler::manifest().children[0].strategy, Strategy::Apply);
}

#[test]
fn the_last_run_is_that_of_the_cron_job_or_the_one_recorded() {
    let (earlier, later) = ("2026-01-01T00:00:00Z", "2026-01-01T00:05:00Z");
    let ran_at = |time: &str| Some(cron_job(json!({"lastScheduleTime": time})));
    let not_yet_run = || Some(cron_job(json!({})));
    let recorded = |time: &str| echo(json!({"cronJob": "hello", "lastRun": time}));
    for (echo, cron_job, expected) in [
        (echo(Value::Null), None, Value::Null),
        (echo(Value::Null), not_yet_run(), Value::Null),
        (echo(Value::Null), ran_at(earlier), json!(earlier)),
        (recorded(earlier), ran_at(later), json!(later)),
        (recorded(earlier), not_yet_run(), json!(earlier)),
        (recorded(earlier), None, json!(earlier)),
    ] {
        assert_eq!(reconcile(echo.clone(), cron_job).status_json()["lastRun"], expected, "{echo}");
    }
}

#[test]
fn names_leave_room_for_what_the_cron_job_controller_appends() {
    for (name, kept) in [("a".repeat(52), true), ("a".repeat(53), false), ("hello.world".to_owned(), false)] {
        let mut parent = echo(Value::Null);
        parent["metadata"]["name"] = json!(name);
        let cron_job = reconcile(parent, None).all_applied().remove(0);
        let cron_job_name = cron_job["metadata"]["name"].as_str().unwrap();
        assert_eq!(cron_job_name == name, kept, "{cron_job_name}");
        assert!(cron_job_name.len() <= 52 && !cron_job_name.contains('.'), "{cron_job_name}");
    }
}

#[test]
fn settings_reach_the_pod() {
    let settings = json!({"image": "registry.example.com/busybox:1"});
    let cluster = testing::Cluster::new();
    let plan = testing::reconcile::<ScheduledEchoReconciler>(echo(Value::Null), settings, &cluster).unwrap();
    let cron_job = plan.applied(CronJob::KIND, "hello").unwrap();
    let image = cron_job.pointer("/spec/jobTemplate/spec/template/spec/containers/0/image");
    assert_eq!(image, Some(&json!("registry.example.com/busybox:1")));
}

#[test]
fn the_crd_is_of_the_parent_and_admits_what_is_written() {
    let manifest = ScheduledEchoReconciler::manifest();
    let [crd] = manifest.crds.as_slice() else { panic!("one CRD") };
    let crd: Value = serde_json::from_slice(crd).unwrap();
    assert_eq!(crd["metadata"]["name"], "scheduledechos.mmontes.io");
    assert_eq!(crd["spec"]["names"]["kind"], ScheduledEchoSpec::KIND.kind);
    assert_eq!(crd["spec"]["names"]["shortNames"], json!(["sec"]));
    let version = &crd["spec"]["versions"][0];
    let columns = version["additionalPrinterColumns"].as_array().unwrap();
    let columns: Vec<&Value> = columns.iter().map(|column| &column["name"]).collect();
    assert_eq!(columns, ["Schedule", "Message", "Last Run", "Ready", "Age"]);
    let known = &version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"];
    let ran = reconcile(echo(Value::Null), Some(cron_job(json!({"lastScheduleTime": "2026-01-01T00:00:00Z"}))));
    for field in ran.status_json().as_object().unwrap().keys() {
        assert!(known.get(field).is_some(), "{field} would be pruned");
    }
}

#[test]
fn crd_json_is_derived_from_the_type() {
    testing::assert_crd_file::<ScheduledEchoSpec>("crd.json");
}
