//! CronJobs, which start Jobs on a schedule.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::event::{Event, Severity};
use super::json::{integer, is_true, later, list, seconds, text, time, with};
use super::{CRON_JOBS, Intent, JOBS, Propagation, Step, Then, Write, controller_of, controller_reference, job};
use crate::object;
use crate::schedule::{Schedule, time_zone};
use crate::store::{Key, Store};

const COMPONENT: &str = "cronjob-controller";

/// More missed times cause an event, because the clock or the schedule must be wrong.
const MANY_MISSED: i64 = 100;

pub(super) fn sync(store: &Store, key: &Key, now: Timestamp) -> Step {
    let Some(stored) = store.get(&CRON_JOBS, key) else { return Step::default() };
    let cron_job = &stored.value;
    let jobs = store.list(&JOBS, Some(&key.namespace)).map(|(_, job)| &job.value);
    let jobs: Vec<&Value> = jobs.filter(|job| has_controller_named(job, &key.name)).collect();
    let old = too_old(cron_job, &jobs);
    if !old.is_empty() {
        return Step::of(old.into_iter().map(|job| delete(cron_job, job)).collect());
    }
    let mut sync = Sync { cron_job, jobs, status: Status::of(cron_job), events: Vec::new() };
    let plan = sync.plan(store, now);
    sync.follow_jobs(store, &plan);
    sync.carry_out(store, plan)
}

/// The real controller ignores the kind and the UID of the Job's controller.
fn has_controller_named(job: &Value, name: &str) -> bool {
    controller_of(job).is_some_and(|owner| object::text(owner, "name") == name)
}

fn is_controlled_by(job: &Value, uid: &str) -> bool {
    controller_of(job).is_some_and(|owner| object::text(owner, "uid") == uid)
}

/// Returns the oldest finished Jobs beyond the limits of the history.
fn too_old<'a>(cron_job: &Value, jobs: &[&'a Value]) -> Vec<&'a Value> {
    let mut old = Vec::new();
    for (condition, limit) in [("Complete", "successfulJobsHistoryLimit"), ("Failed", "failedJobsHistoryLimit")] {
        let Some(limit) = integer(cron_job, &format!("/spec/{limit}")).and_then(|limit| usize::try_from(limit).ok()) else {
            continue;
        };
        let mut finished: Vec<&Value> = jobs.iter().copied().filter(|job| job::finish(job) == Some(condition)).collect();
        finished.sort_by_key(|job| {
            let start = time(job, "/status/startTime");
            (start.is_none(), start, object::name(job))
        });
        let excess = finished.len().saturating_sub(limit);
        old.extend(finished.into_iter().take(excess).filter(|job| !object::is_deleting(job)));
    }
    old
}

fn delete(cron_job: &Value, job: &Value) -> Intent {
    let deleted = event(cron_job, Severity::Normal, "SuccessfulDelete", format!("Deleted job {}", object::name(job)));
    let failed = event(cron_job, Severity::Warning, "FailedDelete", "Deleted job: ");
    Intent::delete(&JOBS, job, Some(Propagation::Background)).then(Then::Event(deleted)).then(Then::FailureEvent(failed))
}

fn event(cron_job: &Value, severity: Severity, reason: &str, message: impl Into<String>) -> Event {
    Event::new(COMPONENT, cron_job, severity, reason, message)
}

#[derive(Clone, PartialEq)]
struct Status {
    active: Vec<Value>,
    last_schedule: Option<Timestamp>,
    last_success: Option<Timestamp>,
}

impl Status {
    fn of(cron_job: &Value) -> Self {
        Self {
            active: list(cron_job, "/status/active").to_vec(),
            last_schedule: time(cron_job, "/status/lastScheduleTime"),
            last_success: time(cron_job, "/status/lastSuccessfulTime"),
        }
    }

    fn is_active(&self, job: &Value) -> bool {
        self.active.iter().any(|reference| reference.get("uid").and_then(Value::as_str) == object::uid(job))
    }

    fn to_json(&self) -> Value {
        let mut status = serde_json::Map::new();
        if !self.active.is_empty() {
            status.insert("active".to_owned(), Value::Array(self.active.clone()));
        }
        for (field, time) in [("lastScheduleTime", self.last_schedule), ("lastSuccessfulTime", self.last_success)] {
            if let Some(time) = time {
                status.insert(field.to_owned(), Value::from(seconds(time)));
            }
        }
        Value::Object(status)
    }
}

enum Plan {
    Wait { again: Option<Timestamp> },
    Start { scheduled: Timestamp, again: Option<Timestamp> },
}

struct Sync<'a> {
    cron_job: &'a Value,
    jobs: Vec<&'a Value>,
    status: Status,
    events: Vec<Event>,
}

impl Sync<'_> {
    fn record_event(&mut self, severity: Severity, reason: &str, message: impl Into<String>) {
        self.events.push(event(self.cron_job, severity, reason, message));
    }

    fn plan(&mut self, store: &Store, now: Timestamp) -> Plan {
        let never = Plan::Wait { again: None };
        if object::is_deleting(self.cron_job) {
            return never;
        }
        let zone = match time_zone(text(self.cron_job, "/spec/timeZone")) {
            Ok(zone) => zone,
            Err(error) => {
                let name = text(self.cron_job, "/spec/timeZone");
                self.record_event(Severity::Warning, "UnknownTimeZone", format!("invalid timeZone: {name:?}: {error}"));
                return never;
            }
        };
        if is_true(self.cron_job, "/spec/suspend") {
            return never;
        }
        let schedule = match self.schedule(zone) {
            Ok(schedule) => schedule,
            Err(error) => {
                let text = text(self.cron_job, "/spec/schedule");
                self.record_event(
                    Severity::Warning,
                    "UnparseableSchedule",
                    format!("unparseable schedule: {text:?} : {error}"),
                );
                return never;
            }
        };
        let again = self.next_time(&schedule, now);
        let found = match self.most_recent(&schedule, now, Deadline::Counts) {
            Ok(found) => found,
            Err(error) => {
                let text = text(self.cron_job, "/spec/schedule");
                self.record_event(Severity::Warning, "InvalidSchedule", format!("invalid schedule: {text} : {error}"));
                return never;
            }
        };
        let Some(scheduled) = found.time else { return Plan::Wait { again } };
        if found.missed > MANY_MISSED {
            let message = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew";
            self.record_event(Severity::Warning, "TooManyMissedTimes", message);
        }
        let deadline = integer(self.cron_job, "/spec/startingDeadlineSeconds");
        if deadline.is_some_and(|deadline| later(scheduled, deadline) < now) {
            let shown = scheduled.strftime("%a, %d %b %Y %H:%M:%S +0000");
            self.record_event(Severity::Warning, "MissSchedule", format!("Missed scheduled time to start a job: {shown}"));
            return Plan::Wait { again };
        }
        let name = self.job_name(scheduled);
        let is_listed = self.status.active.iter().any(|reference| text(reference, "/name") == name);
        if is_listed || self.status.last_schedule == Some(scheduled) {
            return Plan::Wait { again };
        }
        let is_running = self.status.active.iter().any(|reference| {
            let name = object::text(reference, "name");
            let stored = store.get(&JOBS, &Key::new(object::namespace(self.cron_job), name));
            stored.is_some_and(|job| job::finish(&job.value).is_none())
        });
        if text(self.cron_job, "/spec/concurrencyPolicy") == "Forbid" && is_running {
            let message = "Not starting job because prior execution is running and concurrency policy is Forbid";
            self.record_event(Severity::Normal, "JobAlreadyActive", message);
            return Plan::Wait { again };
        }
        Plan::Start { scheduled, again }
    }

    fn schedule(&mut self, zone: TimeZone) -> Result<Schedule, String> {
        let schedule = text(self.cron_job, "/spec/schedule");
        if schedule.contains("TZ") {
            let message = format!(
                "CRON_TZ or TZ used in schedule {schedule:?} is not officially supported, see \
                 https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
            );
            self.record_event(Severity::Warning, "UnsupportedSchedule", message);
        }
        Schedule::parse_in(schedule, zone)
    }

    fn job_name(&self, scheduled: Timestamp) -> String {
        format!("{}-{}", object::name(self.cron_job), scheduled.as_second().div_euclid(60))
    }

    /// Updates the active Jobs in the status, and records events about the others.
    fn follow_jobs(&mut self, store: &Store, plan: &Plan) {
        let own = match plan {
            Plan::Start { scheduled, .. } => Some(self.job_name(*scheduled)),
            Plan::Wait { .. } => None,
        };
        for job in self.jobs.clone() {
            let is_active = self.status.is_active(job);
            let name = object::name(job);
            match job::finish(job) {
                // The Job that was just created is not listed yet.
                None if !is_active && own.as_deref() != Some(name) => {
                    let message = format!("Saw a job that the controller did not create or forgot: {name}");
                    self.record_event(Severity::Warning, "UnexpectedJob", message);
                }
                None => {}
                Some(condition) => {
                    if is_active {
                        self.status.active.retain(|reference| reference.get("uid").and_then(Value::as_str) != object::uid(job));
                        let message = format!("Saw completed job: {name}, condition: {condition}");
                        self.record_event(Severity::Normal, "SawCompletedJob", message);
                    }
                    let completed = time(job, "/status/completionTime").filter(|_| condition == "Complete");
                    self.status.last_success = self.status.last_success.max(completed);
                }
            }
        }
        let namespace = object::namespace(self.cron_job).to_owned();
        let is_there = |reference: &Value| {
            let stored = store.get(&JOBS, &Key::new(&namespace, object::text(reference, "name")));
            stored.is_some_and(|job| object::uid(&job.value) == reference.get("uid").and_then(Value::as_str))
        };
        let (there, missing): (Vec<Value>, Vec<Value>) = self.status.active.drain(..).partition(is_there);
        self.status.active = there;
        for reference in missing {
            let message = format!("Active job went missing: {}", object::text(&reference, "name"));
            self.record_event(Severity::Normal, "MissingJob", message);
        }
    }

    fn carry_out(mut self, store: &Store, plan: Plan) -> Step {
        let (scheduled, again) = match plan {
            Plan::Wait { again } => {
                let intents = self.status_update().into_iter().collect();
                return Step { intents, events: self.events, again };
            }
            Plan::Start { scheduled, again } => (scheduled, again),
        };
        let name = self.job_name(scheduled);
        if let Some(existing) = store.get(&JOBS, &Key::new(object::namespace(self.cron_job), &name)) {
            if is_controlled_by(&existing.value, object::uid(self.cron_job).unwrap_or_default()) {
                self.status.active.push(reference_to(&existing.value));
                self.status.last_schedule = Some(scheduled);
            }
            let intents = self.status_update().into_iter().collect();
            return Step { intents, events: self.events, again };
        }
        let mut intents = Vec::new();
        if text(self.cron_job, "/spec/concurrencyPolicy") == "Replace" {
            let replaced: Vec<&Value> = self.jobs.iter().copied().filter(|job| self.status.is_active(job)).collect();
            intents.extend(replaced.into_iter().filter(|job| !object::is_deleting(job)).map(|job| delete(self.cron_job, job)));
            self.status.active.clear();
        }
        intents.extend(self.status_update());
        if intents.is_empty() {
            intents.push(self.create(&name, scheduled));
        }
        Step { intents, events: self.events, again }
    }

    fn status_update(&self) -> Option<Intent> {
        let status = Some(self.status.to_json()).filter(|_| self.status != Status::of(self.cron_job))?;
        Some(Intent::update_status(&CRON_JOBS, with(self.cron_job, "status", status)))
    }

    fn create(&self, name: &str, scheduled: Timestamp) -> Intent {
        let template = self.cron_job.pointer("/spec/jobTemplate").cloned().unwrap_or_default();
        let zone = time_zone(text(self.cron_job, "/spec/timeZone")).unwrap_or(TimeZone::UTC);
        let local = scheduled.to_zoned(zone);
        let shown = match local.offset().is_zero() {
            true => seconds(scheduled),
            false => local.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
        };
        let mut annotations = template.pointer("/metadata/annotations").and_then(Value::as_object).cloned().unwrap_or_default();
        annotations.insert("batch.kubernetes.io/cronjob-scheduled-timestamp".to_owned(), Value::from(shown));
        let mut job = json!({
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": {
                "name": name, "namespace": object::namespace(self.cron_job), "annotations": annotations,
                "ownerReferences": [controller_reference(self.cron_job)],
            },
            "spec": template.get("spec").cloned().unwrap_or_default(),
        });
        if let Some(labels) = template.pointer("/metadata/labels") {
            object::set_metadata(&mut job, "labels", labels.clone());
        }
        let created = event(self.cron_job, Severity::Normal, "SuccessfulCreate", "Created job ");
        let failed = event(self.cron_job, Severity::Warning, "FailedCreate", "Error creating job: ");
        Intent::new(Write::Create { resource: JOBS.clone(), object: job })
            .then(Then::NamedEvent(created))
            .then(Then::FailureEvent(failed))
    }

    fn most_recent(&self, schedule: &Schedule, now: Timestamp, deadline: Deadline) -> Result<Recent, &'static str> {
        let invalid = "time difference between two schedules is less than 1 second";
        let earliest = self.earliest(now, deadline);
        let first = schedule.next(earliest).ok_or(invalid)?;
        if now < first {
            return Ok(Recent { time: None, missed: 0 });
        }
        let second = schedule.next(first).ok_or(invalid)?;
        if now < second {
            return Ok(Recent { time: Some(first), missed: 0 });
        }
        let between = second.duration_since(first).as_secs();
        if between < 1 {
            return Err(invalid);
        }
        let missed = now.duration_since(first).as_secs() / between + 1;
        let skipped = (missed - 2).checked_mul(between).map(SignedDuration::from_secs);
        let start = skipped.and_then(|skipped| first.checked_add(skipped).ok()).unwrap_or(first);
        let mut time = None;
        let mut candidate = schedule.next(start);
        while let Some(found) = candidate.filter(|found| *found <= now) {
            time = Some(found);
            candidate = schedule.next(found);
        }
        Ok(Recent { time, missed })
    }

    fn earliest(&self, now: Timestamp, deadline: Deadline) -> Timestamp {
        let created = time(self.cron_job, "/metadata/creationTimestamp").unwrap_or(now);
        let earliest = self.status.last_schedule.unwrap_or(created);
        match (deadline, integer(self.cron_job, "/spec/startingDeadlineSeconds")) {
            (Deadline::Counts, Some(deadline)) => earliest.max(later(now, deadline.saturating_neg())),
            _ => earliest,
        }
    }

    fn next_time(&self, schedule: &Schedule, now: Timestamp) -> Option<Timestamp> {
        let base = match self.most_recent(schedule, now, Deadline::Ignored) {
            Ok(Recent { time: Some(time), .. }) => time,
            Ok(Recent { time: None, missed: 0 }) => self.earliest(now, Deadline::Ignored),
            Ok(_) | Err(_) => now,
        };
        schedule.next(base)
    }
}

/// Says if `startingDeadlineSeconds` limits how old a missed time may be.
#[derive(Clone, Copy)]
enum Deadline {
    Counts,
    Ignored,
}

struct Recent {
    time: Option<Timestamp>,
    missed: i64,
}

fn reference_to(job: &Value) -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "name": object::name(job), "namespace": object::namespace(job),
        "uid": object::uid(job), "resourceVersion": object::metadata(job, "resourceVersion"),
    })
}
