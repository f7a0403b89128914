//! Jobs and CronJobs.

use serde_json::Value;

use crate::schedule::{self, Schedule};
use crate::status::{Fault, FieldError};
use crate::validation::field::{Errors, Field};
use crate::validation::{selector, syntax};

use super::pod;

/// `maxManagedByLength`, in bytes.
const MANAGED_BY_LIMIT: usize = 63;
/// `maxParallelismForIndexedJob`.
const INDEXED_PARALLELISM_LIMIT: i64 = 100_000;

pub(super) fn job(job: &Field<'_>, errors: &mut Errors) {
    let spec = job.get("spec");
    generated_selector(job, errors);
    spec_with_selector(&spec, errors);
    let completions = spec.get("completions").integer().unwrap_or_default();
    if spec.get("completionMode").text() == "Indexed" && completions > 0 {
        let name = job.path_to(&["metadata", "name"]);
        let hostname = format!("{}-{}", name.text(), completions - 1);
        if !syntax::dns_label(&hostname).is_empty() {
            name.invalid(errors, format!("will not able to create pod with invalid DNS label: {hostname}"));
        }
    }
}

fn generated_selector(job: &Field<'_>, errors: &mut Errors) {
    let spec = job.get("spec");
    if spec.get("manualSelector").is_true() || !spec.get("selector").is_set() {
        return;
    }
    let (uid, name) = (job.path_to(&["metadata", "uid"]), job.path_to(&["metadata", "name"]));
    uid.required_text(errors);
    let labels = spec.path_to(&["template", "metadata", "labels"]);
    let expected = [
        ("controller-uid", uid.text()),
        ("job-name", name.text()),
        ("batch.kubernetes.io/controller-uid", uid.text()),
        ("batch.kubernetes.io/job-name", name.text()),
    ];
    for (key, value) in expected {
        let path = format!("{}[{key}]", labels.path());
        match labels.object().and_then(|labels| labels.get(key)).and_then(Value::as_str) {
            None => errors.push(FieldError::required(path, format!("must be '{value}'"))),
            Some(actual) if actual != value => {
                errors.push(FieldError::invalid(path, labels.shown(), format!("must be '{value}'")))
            }
            Some(_) => {}
        }
    }
    let generated = expected.into_iter().map(|(key, value)| (key.to_owned(), Value::from(value))).collect();
    if selector::selects(&spec.get("selector"), Some(&generated)) == Some(false) {
        spec.get("selector").invalid(errors, "`selector` not auto-generated");
    }
}

fn spec_with_selector(spec: &Field<'_>, errors: &mut Errors) {
    validate_spec(spec, errors);
    let selected = spec.get("selector");
    if selected.is_set() {
        selector::validate(&selected, errors);
    } else {
        selected.required(errors, "");
    }
    let labels = spec.path_to(&["template", "metadata", "labels"]);
    if selector::selects(&selected, labels.object()) == Some(false) {
        labels.invalid(errors, "`selector` does not match template `labels`");
    }
}

/// `validateJobSpec`: the checks for both Jobs and the templates in CronJobs.
fn validate_spec(spec: &Field<'_>, errors: &mut Errors) {
    let numbers = [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ];
    for name in numbers {
        spec.get(name).nonnegative(errors);
    }
    if spec.get("maxFailedIndexes").is_set() && !spec.get("backoffLimitPerIndex").is_set() {
        spec.get("backoffLimitPerIndex").required(errors, "when maxFailedIndexes is specified");
    }
    managed_by(&spec.get("managedBy"), errors);
    completion_mode(spec, errors);
    if spec.get("successPolicy").is_set() && spec.get("completionMode").text() != "Indexed" {
        spec.get("successPolicy").invalid(errors, "requires indexed completion mode");
    }
    let has_failure_policy = spec.get("podFailurePolicy").is_set();
    let replacement = spec.get("podReplacementPolicy");
    replacement.one_of_if_set(errors, if has_failure_policy { &["Failed"] } else { &["Failed", "TerminatingOrFailed"] });
    pod::template(&spec.get("template"), errors);
    let restart_policy = spec.path_to(&["template", "spec", "restartPolicy"]);
    match restart_policy.text() {
        "" | "Always" => restart_policy.required(errors, "valid values: \"OnFailure\", \"Never\""),
        "OnFailure" if has_failure_policy => {
            restart_policy.invalid(errors, "only \"Never\" is supported when podFailurePolicy is specified");
        }
        "OnFailure" | "Never" => {}
        _ => restart_policy.unsupported(errors, &["OnFailure", "Never"]),
    }
}

fn managed_by(manager: &Field<'_>, errors: &mut Errors) {
    if !manager.is_set() {
        return;
    }
    match manager.text().split_once('/') {
        _ if manager.text().is_empty() => manager.required(errors, ""),
        Some((host, path)) if !host.is_empty() && !path.is_empty() => {
            errors.extend(
                syntax::dns_subdomain(host).into_iter().map(|message| FieldError::invalid(manager.path(), host, message)),
            );
            errors
                .extend(syntax::http_path(path).into_iter().map(|message| FieldError::invalid(manager.path(), path, message)));
        }
        _ => manager.invalid(errors, "must be a domain-prefixed path (such as \"acme.io/foo\")"),
    }
    if manager.text().len() > MANAGED_BY_LIMIT {
        manager.too_long(errors, MANAGED_BY_LIMIT);
    }
}

fn completion_mode(spec: &Field<'_>, errors: &mut Errors) {
    let mode = spec.get("completionMode");
    mode.one_of_if_set(errors, &["NonIndexed", "Indexed"]);
    let failed = spec.get("maxFailedIndexes");
    if mode.text() == "Indexed" {
        let completions = spec.get("completions");
        if !completions.is_set() {
            completions.required(errors, "when completion mode is Indexed");
        }
        let parallelism = spec.get("parallelism");
        if parallelism.integer().is_some_and(|number| number > INDEXED_PARALLELISM_LIMIT) {
            let detail = format!("must be less than or equal to {INDEXED_PARALLELISM_LIMIT} when completion mode is Indexed");
            parallelism.invalid(errors, detail);
        }
        if let (Some(failed_number), Some(completions)) = (failed.integer(), completions.integer())
            && failed_number > completions
        {
            failed.invalid(errors, "must be less than or equal to completions");
        }
    } else if matches!(mode.text(), "" | "NonIndexed") {
        for field in [spec.get("backoffLimitPerIndex"), failed].into_iter().filter(Field::is_set) {
            field.invalid(errors, "requires indexed completion mode");
        }
    }
}

/// `ValidateJob`, then `ValidateJobUpdate`, like the strategy.
pub(super) fn job_update(new: &Field<'_>, old: &Field<'_>, errors: &mut Errors) {
    job(new, errors);
    let (spec, before) = (new.get("spec"), old.get("spec"));
    spec_with_selector(&spec, errors);
    let completions = spec.get("completions");
    let elastic = spec.get("completionMode").text() == "Indexed"
        && completions.value() == spec.get("parallelism").value()
        && before.get("completions").value() != completions.value();
    if !elastic {
        completions.immutable(errors, &before.get("completions"));
    }
    spec.get("selector").immutable(errors, &before.get("selector"));
    if template_allowed(&spec, old) != before.get("template").shown() {
        spec.get("template").invalid(errors, "field is immutable");
    }
    for name in ["completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"] {
        spec.get(name).immutable(errors, &before.get(name));
    }
}

/// Returns the new template with the mutable fields of a suspended Job taken from the old one.
fn template_allowed(spec: &Field<'_>, old: &Field<'_>) -> Value {
    let mut template = spec.get("template").shown();
    let before = old.path_to(&["spec", "template"]);
    let conditions = old.path_to(&["status", "conditions"]);
    let is_suspended =
        conditions.items().any(|each| each.get("type").text() == "Suspended" && each.get("status").text() == "True");
    let not_started = !old.path_to(&["status", "startTime"]).is_set() || is_suspended;
    let active = old.path_to(&["status", "active"]).integer().unwrap_or_default();
    if !old.path_to(&["spec", "suspend"]).is_true() || !not_started || active != 0 {
        return template;
    }
    for (outer, names) in [
        ("spec", ["nodeSelector", "tolerations", "schedulingGates", "affinity"].as_slice()),
        ("metadata", &["labels", "annotations"]),
    ] {
        let old_outer = before.get(outer);
        let Some(part) = template.get_mut(outer).and_then(Value::as_object_mut) else { continue };
        for name in names {
            match old_outer.get(name).value() {
                Some(value) => drop(part.insert((*name).to_owned(), value.clone())),
                None => drop(part.remove(*name)),
            }
        }
    }
    for list in ["containers", "initContainers"] {
        let old_list = before.path_to(&["spec", list]);
        let containers = template.get_mut("spec").and_then(|spec| spec.get_mut(list)).and_then(Value::as_array_mut);
        for (container, old) in containers.into_iter().flatten().zip(old_list.items()) {
            let Some(container) = container.as_object_mut().filter(|new| new.get("name") == old.get("name").value()) else {
                continue;
            };
            match old.get("resources").value() {
                Some(resources) => drop(container.insert("resources".to_owned(), resources.clone())),
                None => drop(container.remove("resources")),
            }
        }
    }
    template
}

fn has_condition(job: &Field<'_>, kind: &str) -> bool {
    let mut conditions = job.path_to(&["status", "conditions"]).items();
    conditions.any(|condition| condition.get("type").text() == kind && condition.get("status").text() == "True")
}

pub(super) fn job_status(job: &Field<'_>, old: &Field<'_>, errors: &mut Errors) {
    let status = job.get("status");
    for name in ["active", "succeeded", "failed", "ready", "terminating"] {
        status.get(name).nonnegative(errors);
    }
    let conditions = status.child_path("conditions");
    let refuse = |errors: &mut Errors, detail: &str| {
        errors.push(FieldError::new(
            Fault::Worded { reason: "FieldValueInvalid", text: "Invalid value".to_owned() },
            conditions.clone(),
            detail,
        ));
    };
    let (complete, failed) = (has_condition(job, "Complete"), has_condition(job, "Failed"));
    let before = (has_condition(old, "Complete"), has_condition(old, "Failed"));
    let newly = |name: &str| has_condition(job, name) && !has_condition(old, name);
    if complete && failed && before != (true, true) {
        refuse(errors, "cannot set Complete=True and Failed=true conditions");
    }
    let completion = status.get("completionTime");
    if complete && !completion.is_set() {
        completion.required(errors, "completionTime is required for Complete jobs");
    }
    if !complete && completion.is_set() {
        completion.invalid(errors, "completionTime can only be set for Complete jobs");
    }
    if newly("Failed") && !has_condition(job, "FailureTarget") {
        refuse(errors, "cannot set Failed=True condition without the FailureTarget=true condition");
    }
    if newly("Complete") && !has_condition(job, "SuccessCriteriaMet") {
        refuse(errors, "cannot set Complete=True condition without the SuccessCriteriaMet=true condition");
    }
    let finished = complete || failed;
    if finished && status.get("active").integer().unwrap_or_default() > 0 {
        status.get("active").invalid(errors, "active>0 is invalid for finished job");
    }
    if finished && !status.get("startTime").is_set() {
        status.get("startTime").required(errors, "startTime is required for finished job");
    }
    let (ready, active) = (status.get("ready"), status.get("active"));
    if ready.is_set() && ready.integer().unwrap_or_default() > active.integer().unwrap_or_default() {
        ready.invalid(errors, "cannot set more ready pods than active");
    }
    for condition in ["Failed", "Complete", "FailureTarget"] {
        if has_condition(old, condition) && !has_condition(job, condition) {
            refuse(errors, &format!("cannot disable the terminal {condition}=True condition"));
        }
    }
    for name in ["failed", "succeeded"] {
        let (new, before) = (status.get(name), old.path_to(&["status", name]));
        if new.integer().unwrap_or_default() < before.integer().unwrap_or_default() {
            let shown = new.integer().unwrap_or_default();
            errors.push(FieldError::invalid(new.path(), shown, format!("cannot decrease the {name} counter")));
        }
    }
    let (start, started) = (status.get("startTime"), old.path_to(&["status", "startTime"]));
    if started.is_set() && start.value() != started.value() && !job.path_to(&["spec", "suspend"]).is_true() {
        start.invalid(errors, "field is immutable for unsuspended job once set");
    }
}

pub(super) fn cron_job(cron_job: &Field<'_>, errors: &mut Errors) {
    cron_job_spec(cron_job, None, errors);
    let name = cron_job.path_to(&["metadata", "name"]);
    if name.text().len() > 52 {
        name.invalid(errors, "must be no more than 52 characters");
    }
}

pub(super) fn cron_job_update(new: &Field<'_>, old: &Field<'_>, errors: &mut Errors) {
    cron_job_spec(new, Some(old), errors);
}

fn cron_job_spec(cron_job: &Field<'_>, old: Option<&Field<'_>>, errors: &mut Errors) {
    let spec = cron_job.get("spec");
    let (schedule, zone) = (spec.get("schedule"), spec.get("timeZone"));
    if schedule.required_text(errors) {
        if let Err(error) = Schedule::parse(schedule.text()) {
            schedule.invalid(errors, error);
        }
        let had_zone = old.is_some_and(|old| old.path_to(&["spec", "schedule"]).text().contains("TZ"));
        match (schedule.text().contains("TZ"), had_zone) {
            (true, true) if zone.is_set() => {
                schedule.invalid(errors, "cannot use both timeZone field and TZ or CRON_TZ in schedule")
            }
            (true, false) => schedule.invalid(errors, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"),
            _ => {}
        }
    }
    spec.get("startingDeadlineSeconds").nonnegative(errors);
    if zone.is_set() && old.is_none_or(|old| old.path_to(&["spec", "timeZone"]).value() != zone.value()) {
        time_zone(&zone, errors);
    }
    spec.get("concurrencyPolicy").one_of(errors, &["Allow", "Forbid", "Replace"]);
    let template = spec.path_to(&["jobTemplate", "spec"]);
    validate_spec(&template, errors);
    if template.get("selector").is_set() {
        template.get("selector").invalid(errors, "`selector` will be auto-generated");
    }
    if template.get("manualSelector").is_true() {
        template.get("manualSelector").unsupported(errors, &["nil", "false"]);
    }
    spec.get("successfulJobsHistoryLimit").nonnegative(errors);
    spec.get("failedJobsHistoryLimit").nonnegative(errors);
}

fn time_zone(zone: &Field<'_>, errors: &mut Errors) {
    let text = zone.text();
    if text.is_empty() {
        return zone.invalid(errors, "timeZone must be nil or non-empty string");
    }
    let letters =
        |part: &str| part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'+'));
    let is_good = |part: &str| letters(part) && !matches!(part, "" | "." | "..") && part.len() <= 14 && !part.starts_with('-');
    if !text.split('/').all(is_good) {
        return zone.invalid(errors, format!("unknown time zone {text}"));
    }
    if text.eq_ignore_ascii_case("local") {
        zone.invalid(errors, "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones");
    } else if schedule::time_zone(text).is_err() {
        zone.invalid(errors, format!("unknown time zone {text}"));
    }
}
