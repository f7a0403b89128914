//! The answers of the plugin, state by state.

use gyre_sdk::{Child, ConditionStatus, Event, Failure, testing};
use serde_json::{Value, json};

use super::*;

const UID: &str = "5d3f0b5e-0000-4000-8000-000000000001";

fn echo(generation: i64, message: &str, finished: Value) -> Value {
    json!({
        "apiVersion": "mmontes.io/v1alpha1",
        "kind": "Echo",
        "metadata": {"name": "hello", "namespace": "default", "uid": UID, "generation": generation},
        "spec": {"message": message},
        "status": {"job": "hello", "finished": finished, "conditions": [], "observedGeneration": 1},
    })
}

/// Returns a Job as the API server completes it, with these conditions.
fn job(message: &str, conditions: Value) -> Value {
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "hello",
            "namespace": "default",
            "uid": "5d3f0b5e-0000-4000-8000-000000000002",
            "labels": {"gyre.dev/plugin": "echo", "gyre.dev/owner-uid": UID},
            "ownerReferences": [{"kind": "Echo", "name": "hello", "uid": UID}],
        },
        "spec": {"backoffLimit": 6, "template": {"spec": {"containers": [
            {"name": "injected-proxy", "command": ["proxy"]},
            {"name": "hello", "image": "busybox:1.33.1", "command": ["echo", message]},
        ]}}},
        "status": {"active": 1, "conditions": conditions},
    })
}

fn is_true(kind: &str) -> Value {
    json!([{"type": kind, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}])
}

fn finished(generation: i64, result: &str) -> Value {
    json!({"uid": UID, "generation": generation, "result": result})
}

fn reconcile(echo: Value, job: Option<Value>) -> Plan {
    let cluster = job.into_iter().fold(testing::Cluster::new(), testing::Cluster::with);
    testing::reconcile::<EchoReconciler>(echo, json!({}), &cluster).unwrap()
}

/// The expected child: apply the Job, or keep it.
enum Wish {
    Run,
    Rest,
}

/// The expected plan. Only `check` inspects plans.
struct Expected {
    wish: Wish,
    finished: Value,
    ready: ConditionStatus,
    severity: Severity,
    reason: &'static str,
    message: &'static str,
}

#[track_caller]
fn check(echo: Value, job: Option<Value>, expected: Expected) {
    let plan = reconcile(echo, job);
    match expected.wish {
        Wish::Run => assert!(plan.applied(Job::KIND, "hello").is_some(), "{plan:?}"),
        Wish::Rest => assert!(plan.keeps(&Job::KIND.named("hello")), "{plan:?}"),
    }
    assert_eq!(plan.children.iter().flatten().count(), 1);
    let status = match expected.finished {
        Value::Null => json!({"job": "hello"}),
        finished => json!({"job": "hello", "finished": finished}),
    };
    assert_eq!(plan.status_json(), status);
    let Expected { ready: status, severity, reason, message, .. } = expected;
    let (reason, message) = (reason.to_owned(), message.to_owned());
    let condition = |kind: &str, status, reason: &str| Condition {
        kind: kind.to_owned(),
        status,
        reason: reason.to_owned(),
        message: message.clone(),
    };
    let complete = match reason.as_str() {
        "JobComplete" => condition("Complete", ConditionStatus::True, "JobComplete"),
        "JobCreated" | "JobMayBeDeleted" => condition("Complete", ConditionStatus::False, "JobNotFinished"),
        reason => condition("Complete", ConditionStatus::False, reason),
    };
    assert_eq!(plan.conditions, [condition("Ready", status, &reason), complete]);
    assert_eq!(plan.events, [Event { severity, reason, message }]);
}

fn created(finished: Value) -> Expected {
    let (reason, message) = ("JobCreated", "Job hello runs the message");
    Expected { wish: Wish::Run, finished, ready: ConditionStatus::True, severity: Severity::Normal, reason, message }
}

fn complete(finished: Value) -> Expected {
    let (reason, message) = ("JobComplete", "Job hello ran the message");
    Expected { wish: Wish::Rest, finished, ready: ConditionStatus::True, severity: Severity::Normal, reason, message }
}

fn failed(finished: Value) -> Expected {
    let (reason, message) = ("JobFailed", "Job hello failed");
    Expected { wish: Wish::Rest, finished, ready: ConditionStatus::False, severity: Severity::Warning, reason, message }
}

fn outdated(finished: Value) -> Expected {
    let (reason, message) = ("JobOutdated", "Job hello is for an earlier message; delete it to run the present one");
    Expected { wish: Wish::Rest, finished, ready: ConditionStatus::False, severity: Severity::Normal, reason, message }
}

#[test]
fn a_new_echo_gets_the_job_of_echoperator() {
    let mut new = echo(1, "Good day.", Value::Null);
    new.as_object_mut().unwrap().remove("status");
    let pod: Value = serde_json::from_str(include_str!("../../echo-pod/pod.json")).unwrap();
    let job = json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "hello"},
        "spec": {"template": {"spec": pod}},
    });
    assert_eq!(reconcile(new.clone(), None).all_applied(), [job]);
    check(new, None, created(Value::Null));
}

#[test]
fn the_answer_is_the_same_until_the_job_finishes() {
    let before = reconcile(echo(1, "Good day.", Value::Null), None);
    for conditions in [json!([]), is_true("Suspended"), is_true("SuccessCriteriaMet"), is_true("FailureTarget")] {
        let after = reconcile(echo(1, "Good day.", Value::Null), Some(job("Good day.", conditions)));
        assert_eq!(after, before);
    }
    let not_yet = json!([{"type": "Complete", "status": "False"}, {"type": "Failed", "status": "Unknown"}]);
    assert_eq!(reconcile(echo(1, "Good day.", Value::Null), Some(job("Good day.", not_yet))), before);
}

#[test]
fn a_job_that_the_cron_job_controller_may_delete_is_reported_until_it_finishes() {
    let controlled = |conditions: Value| {
        let mut job = job("Good day.", conditions);
        job["metadata"]["ownerReferences"][0]["controller"] = json!(true);
        Some(job)
    };
    let message = "Job hello is running; if there is a CronJob hello, Kubernetes takes the Job for one of its Jobs and may delete it before its result is recorded: remove `controller: true` from the Job's owner reference";
    let severity = Severity::Warning;
    let expected = Expected {
        wish: Wish::Run,
        finished: Value::Null,
        ready: ConditionStatus::True,
        severity,
        reason: "JobMayBeDeleted",
        message,
    };
    check(echo(1, "Good day.", Value::Null), controlled(json!([])), expected);
    check(echo(1, "Good day.", Value::Null), controlled(is_true("Complete")), complete(finished(1, "Complete")));
}

#[test]
fn a_job_without_a_status_is_not_finished() {
    let mut new = job("Good day.", json!([]));
    new.as_object_mut().unwrap().remove("status");
    check(echo(1, "Good day.", Value::Null), Some(new), created(Value::Null));
}

#[test]
fn a_finished_job_is_recorded_and_kept() {
    let echo = || echo(3, "Good day.", Value::Null);
    let done = finished(3, "Complete");
    check(echo(), Some(job("Good day.", is_true("Complete"))), complete(done));
    let gave_up = finished(3, "Failed");
    check(echo(), Some(job("Good day.", is_true("Failed"))), failed(gave_up));
}

#[test]
fn a_job_that_was_deleted_before_it_finished_is_created_again() {
    check(echo(1, "Good day.", Value::Null), None, created(Value::Null));
}

#[test]
fn a_job_that_was_deleted_after_it_finished_is_not_run_again() {
    check(echo(1, "Good day.", finished(1, "Complete")), None, complete(finished(1, "Complete")));
    check(echo(1, "Good day.", finished(1, "Failed")), None, failed(finished(1, "Failed")));
}

#[test]
fn a_status_that_was_copied_from_another_object_is_ignored() {
    let foreign = json!({"uid": "another", "generation": 1, "result": "Complete"});
    check(echo(1, "Good day.", foreign), None, created(Value::Null));
}

#[test]
fn a_change_of_the_message_leaves_the_job_alone() {
    // While it runs.
    check(echo(2, "Good night.", Value::Null), Some(job("Good day.", json!([]))), outdated(Value::Null));
    // After it has finished, whether or not that was recorded.
    let done = || Some(job("Good day.", is_true("Complete")));
    check(echo(2, "Good night.", Value::Null), done(), outdated(Value::Null));
    check(echo(2, "Good night.", finished(1, "Complete")), done(), outdated(finished(1, "Complete")));
    assert_eq!(EchoReconciler::manifest().children[0].strategy, Strategy::CreateOnly);
}

#[test]
fn a_run_that_is_recorded_counts_whatever_job_exists() {
    let recorded = || echo(2, "Good day.", finished(2, "Complete"));
    for conditions in [json!([]), is_true("Failed")] {
        check(recorded(), Some(job("Good day.", conditions.clone())), complete(finished(2, "Complete")));
        check(recorded(), Some(job("Good night.", conditions)), complete(finished(2, "Complete")));
    }
}

#[test]
fn deleting_the_job_of_an_earlier_message_runs_the_present_one() {
    let changed = || echo(2, "Good night.", finished(1, "Complete"));
    check(changed(), None, created(finished(1, "Complete")));
    let command = "/spec/template/spec/containers/0/command/1";
    let job_of_now = reconcile(changed(), None).applied(Job::KIND, "hello").unwrap();
    assert_eq!(job_of_now.pointer(command), Some(&json!("Good night.")));
    let done = Some(job("Good night.", is_true("Complete")));
    check(changed(), done, complete(finished(2, "Complete")));
}

#[test]
fn a_message_that_was_changed_back_was_run() {
    let changed_back = echo(3, "Good day.", finished(1, "Complete"));
    check(changed_back, Some(job("Good day.", is_true("Complete"))), complete(finished(3, "Complete")));
}

#[test]
fn jobs_of_others_do_not_count() {
    let mut foreign = job("Good day.", is_true("Complete"));
    foreign["metadata"]["ownerReferences"][0]["uid"] = json!("another");
    foreign["metadata"]["ownerReferences"][0]["controller"] = json!(true);
    check(echo(1, "Good day.", Value::Null), Some(foreign), created(Value::Null));
}

#[test]
fn long_and_dotted_names_are_shortened_alike_for_job_and_container() {
    for name in ["hello.world".to_owned(), "long".repeat(60)] {
        let mut parent = echo(1, "Good day.", Value::Null);
        parent["metadata"]["name"] = json!(name);
        let job = reconcile(parent, None).all_applied().remove(0);
        let job_name = job["metadata"]["name"].as_str().unwrap();
        assert!(job_name.len() <= 63 && !job_name.contains('.'), "{job_name}");
        assert_eq!(job["spec"]["template"]["spec"]["containers"][0]["name"], job_name);
    }
}

#[test]
fn settings_reach_the_pod() {
    let settings = json!({"restricted": true});
    let cluster = testing::Cluster::new();
    let plan = testing::reconcile::<EchoReconciler>(echo(1, "Good day.", Value::Null), settings, &cluster).unwrap();
    let job = plan.applied(Job::KIND, "hello").unwrap();
    assert_eq!(job.pointer("/spec/template/spec/securityContext/runAsNonRoot"), Some(&json!(true)));
}

#[test]
fn unknown_settings_are_refused() {
    assert_eq!(testing::validate_settings::<EchoReconciler>(json!({"restricted": false})), Ok(()));
    let error = testing::validate_settings::<EchoReconciler>(json!({"restrictd": true})).unwrap_err();
    assert!(error.starts_with("unknown field `restrictd`"), "{error}");
}

#[test]
fn an_echo_without_a_message_is_a_terminal_failure() {
    let parent = json!({"metadata": {"name": "hello", "uid": UID}, "spec": {}});
    let failure = testing::reconcile::<EchoReconciler>(parent, json!({}), &testing::Cluster::new()).unwrap_err();
    let Failure::Terminal(message) = failure else { panic!("{failure:?}") };
    assert!(message.contains("missing field `message`"), "{message}");
}

#[test]
fn the_crd_is_of_the_parent_and_admits_what_is_written() {
    let manifest = EchoReconciler::manifest();
    let [crd] = manifest.crds.as_slice() else { panic!("one CRD") };
    let crd: Value = serde_json::from_slice(crd).unwrap();
    assert_eq!(crd["metadata"]["name"], "echos.mmontes.io");
    assert_eq!(crd["spec"]["names"]["kind"], EchoSpec::KIND.kind);
    assert_eq!(crd["spec"]["names"]["shortNames"], json!(["ec"]));
    let version = &crd["spec"]["versions"][0];
    assert_eq!(
        format!("{}/{}", crd["spec"]["group"].as_str().unwrap(), version["name"].as_str().unwrap()),
        EchoSpec::KIND.api_version
    );
    let columns = version["additionalPrinterColumns"].as_array().unwrap();
    let columns: Vec<&Value> = columns.iter().map(|column| &column["name"]).collect();
    assert_eq!(columns, ["Message", "Ready", "Complete", "Job", "Age"]);

    let known = &version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"];
    let done = reconcile(echo(1, "Good day.", Value::Null), Some(job("Good day.", is_true("Complete"))));
    for (field, value) in done.status_json().as_object().unwrap() {
        assert!(known.get(field).is_some(), "{field} would be pruned");
        for inner in value.as_object().into_iter().flat_map(|inner| inner.keys()) {
            assert!(known[field]["properties"].get(inner).is_some(), "{field}.{inner} would be pruned");
        }
    }
    assert!(matches!(done.children.as_deref(), Some([Child::Keep(_)])));
}

#[test]
fn crd_json_is_derived_from_the_type() {
    testing::assert_crd_file::<EchoSpec>("crd.json");
}
