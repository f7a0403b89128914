//! The rows of what makes pods.

use gyre_core::selector::{Error, Selector};
use jiff::Timestamp;
use serde_json::Value;

use super::age;
use super::read::{condition, count, labels, list, none_if_empty, number, optional_flag, shown, text, text_or};
use crate::object;

pub(super) fn containers(template: Option<&Value>) -> [Value; 2] {
    let containers = template.map(|template| list(template, "/spec/containers")).unwrap_or_default();
    let joined = |field| containers.iter().map(|container| text(container, field)).collect::<Vec<_>>().join(",").into();
    [joined("/name"), joined("/image")]
}

pub(super) fn selector(selector: Option<&Value>) -> String {
    selector_text(selector).map_or_else(|_| "<error>".to_owned(), none_if_empty)
}

fn selector_text(selector: Option<&Value>) -> Result<String, Error> {
    selector.map_or_else(|| Ok(String::new()), |selector| Selector::from_object(selector).map(|selector| selector.to_string()))
}

pub(super) fn job(job: &Value, age: Value, now: Timestamp) -> Vec<Value> {
    let is = |kind: &str| condition(job, kind) == Some("True");
    let status = match () {
        () if is("Complete") => "Complete",
        () if is("Failed") => "Failed",
        () if object::is_deleting(job) => "Terminating",
        () if is("Suspended") => "Suspended",
        () if is("FailureTarget") => "FailureTarget",
        () if is("SuccessCriteriaMet") => "SuccessCriteriaMet",
        () => "Running",
    };
    let succeeded = number(job, "/status/succeeded");
    let completions = match (shown(job, "/spec/completions"), number(job, "/spec/parallelism")) {
        (Some(completions), _) => format!("{succeeded}/{completions}"),
        (None, parallelism) if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
        (None, _) => format!("{succeeded}/1"),
    };
    let start = age::parse(text(job, "/status/startTime"));
    let end = age::parse(text(job, "/status/completionTime")).unwrap_or(now);
    let duration = start.map(|start| age::human(end.duration_since(start))).unwrap_or_default();
    let [names, images] = containers(job.pointer("/spec/template"));
    let selector = selector(job.pointer("/spec/selector"));
    vec![object::name(job).into(), status.into(), completions.into(), duration.into(), age, names, images, selector.into()]
}

pub(super) fn cron_job(job: &Value, age: Value, now: Timestamp) -> Vec<Value> {
    let last = match job.pointer("/status/lastScheduleTime").and_then(Value::as_str) {
        Some(time) => age::since(Some(time), now),
        None => "<none>".to_owned(),
    };
    let [names, images] = containers(job.pointer("/spec/jobTemplate/spec/template"));
    vec![
        object::name(job).into(),
        text(job, "/spec/schedule").into(),
        text_or(job, "/spec/timeZone", "<none>").into(),
        optional_flag(job, "/spec/suspend").into(),
        count(job, "/status/active").into(),
        last.into(),
        age,
        names,
        images,
        selector(job.pointer("/spec/jobTemplate/spec/selector")).into(),
    ]
}

pub(super) fn deployment(deployment: &Value, age: Value) -> Vec<Value> {
    let [names, images] = containers(deployment.pointer("/spec/template"));
    let selector = selector_text(deployment.pointer("/spec/selector")).unwrap_or_else(|_| "<invalid>".to_owned());
    vec![
        object::name(deployment).into(),
        ready_of_desired(deployment),
        number(deployment, "/status/updatedReplicas").into(),
        number(deployment, "/status/availableReplicas").into(),
        age,
        names,
        images,
        selector.into(),
    ]
}

pub(super) fn stateful_set(set: &Value, age: Value) -> Vec<Value> {
    let [names, images] = containers(set.pointer("/spec/template"));
    vec![object::name(set).into(), ready_of_desired(set), age, names, images]
}

fn ready_of_desired(workload: &Value) -> Value {
    format!("{}/{}", number(workload, "/status/readyReplicas"), number(workload, "/spec/replicas")).into()
}

/// Returns the row of a ReplicaSet or ReplicationController, whose selectors differ.
pub(super) fn replica_set(set: &Value, age: Value, selector: String) -> Vec<Value> {
    let [names, images] = containers(set.pointer("/spec/template"));
    vec![
        object::name(set).into(),
        number(set, "/spec/replicas").into(),
        number(set, "/status/replicas").into(),
        number(set, "/status/readyReplicas").into(),
        age,
        names,
        images,
        selector.into(),
    ]
}

pub(super) fn daemon_set(set: &Value, age: Value) -> Vec<Value> {
    let [names, images] = containers(set.pointer("/spec/template"));
    let mut cells = vec![object::name(set).into()];
    for field in
        ["desiredNumberScheduled", "currentNumberScheduled", "numberReady", "updatedNumberScheduled", "numberAvailable"]
    {
        cells.push(number(set, &format!("/status/{field}")).into());
    }
    let nodes = labels(set.pointer("/spec/template/spec/nodeSelector"));
    cells.extend([nodes.into(), age, names, images, selector(set.pointer("/spec/selector")).into()]);
    cells
}

pub(super) fn controller_revision(revision: &Value, age: Value) -> Vec<Value> {
    let controller = object::owner_references(revision)
        .find(|owner| owner.get("controller").and_then(Value::as_bool) == Some(true))
        .map(|owner| {
            let kind = text(owner, "/kind");
            let kind = match text(owner, "/apiVersion").split_once('/') {
                Some((group, _)) => format!("{kind}.{group}"),
                None => kind.to_owned(),
            };
            format!("{}/{}", kind.to_lowercase(), text(owner, "/name"))
        });
    let controller = controller.unwrap_or_else(|| "<none>".to_owned());
    vec![object::name(revision).into(), controller.into(), number(revision, "/revision").into(), age]
}

pub(super) fn pod_template(template: &Value) -> Vec<Value> {
    let [names, images] = containers(template.pointer("/template"));
    vec![object::name(template).into(), names, images, labels(template.pointer("/template/metadata/labels")).into()]
}

pub(super) fn pod_disruption_budget(budget: &Value, age: Value) -> Vec<Value> {
    let bound = |path| shown(budget, path).unwrap_or_else(|| "N/A".to_owned()).into();
    vec![
        object::name(budget).into(),
        bound("/spec/minAvailable"),
        bound("/spec/maxUnavailable"),
        number(budget, "/status/disruptionsAllowed").into(),
        age,
    ]
}
