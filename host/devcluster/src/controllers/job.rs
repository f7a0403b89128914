//! Jobs: the Pods that each needs, and the count of finished ones.
//!
//! A Pod has a finalizer until the Job's status counts it: its UID enters
//! `status.uncountedTerminatedPods`, the finalizer is removed, then the counter replaces the UID.
//! Each is a separate sync.

mod backoff;
mod indexes;
mod pods;
mod track;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::event::{Event, Severity};
use super::json::{condition, has_condition, integer, is_true, later, list, seconds, text, time};
use super::{Intent, JOBS, PODS, Step, controller_of};
use crate::object;
use crate::store::{Key, Store};

pub(super) use backoff::Backoff;
use indexes::Indexes;
use pods::Managed;

/// The finalizer of Pods that are not counted yet.
pub(super) const TRACKING: &str = "batch.kubernetes.io/job-tracking";

const COMPLETION_INDEX: &str = "batch.kubernetes.io/job-completion-index";

const COMPONENT: &str = "job-controller";

/// Says if Pods may be created; after a failed attempt they must wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Creation {
    Allowed,
    Held,
}

pub(super) fn finish(job: &Value) -> Option<&'static str> {
    ["Complete", "Failed"].into_iter().find(|kind| has_condition(job, kind))
}

pub(super) fn is_finished(job: &Value) -> bool {
    finish(job).is_some()
}

pub(super) fn is_managed_elsewhere(job: &Value) -> bool {
    !matches!(text(job, "/spec/managedBy"), "" | "kubernetes.io/job-controller")
}

pub(super) fn sync(
    store: &Store,
    key: &Key,
    now: Timestamp,
    backoffs: &BTreeMap<Arc<str>, Backoff>,
    creation: Creation,
) -> Step {
    let Some(stored) = store.get(&JOBS, key) else { return Step::default() };
    let job = &stored.value;
    if is_finished(job) || is_managed_elsewhere(job) {
        return Step::default();
    }
    let uid = object::uid(job).unwrap_or_default();
    let pods = store.owned_by(uid).filter(|(resource, place)| *resource == *PODS && place.namespace == key.namespace);
    let pods = pods.filter_map(|(resource, key)| Some(&store.get(resource, key)?.value));
    let pods = pods.filter(|pod| controller_of(pod).is_some_and(|owner| object::text(owner, "uid") == uid)).collect();
    Sync::new(job, pods, now, backoffs.get(uid), creation).decide()
}

struct Sync<'a> {
    job: &'a Value,
    pods: Vec<&'a Value>,
    now: Timestamp,
    creation: Creation,
    uncounted_succeeded: BTreeSet<&'a str>,
    uncounted_failed: BTreeSet<&'a str>,
    /// Finished Pods that the status does not list yet.
    newly: Newly<'a>,
    backoff: Backoff,
    /// The completed indexes, in the status and with `newly`.
    indexes: Option<(Indexes, Indexes)>,
    succeeded: i64,
    failed: i64,
}

#[derive(Default)]
struct Newly<'a> {
    succeeded: Vec<&'a Value>,
    failed: Vec<&'a Value>,
}

impl Newly<'_> {
    fn is_empty(&self) -> bool {
        self.succeeded.is_empty() && self.failed.is_empty()
    }
}

#[derive(Clone, Debug)]
struct Verdict {
    outcome: Outcome,
    reason: String,
    message: String,
    known: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Success,
    Failure,
}

impl Verdict {
    fn new(outcome: Outcome, reason: &str, message: &str) -> Self {
        Self { outcome, reason: reason.to_owned(), message: message.to_owned(), known: false }
    }

    /// Returns the condition before and the one after the last Pod has ended.
    fn conditions(&self) -> (&'static str, &'static str) {
        match self.outcome {
            Outcome::Success => ("SuccessCriteriaMet", "Complete"),
            Outcome::Failure => ("FailureTarget", "Failed"),
        }
    }
}

#[derive(Clone, Copy)]
struct Counts {
    active: i64,
    ready: i64,
    terminating: i64,
}

impl<'a> Sync<'a> {
    fn new(job: &'a Value, pods: Vec<&'a Value>, now: Timestamp, backoff: Option<&Backoff>, creation: Creation) -> Self {
        let uids =
            |field: &str| list(job, &format!("/status/uncountedTerminatedPods/{field}")).iter().filter_map(Value::as_str);
        let mut sync = Self {
            job,
            pods,
            now,
            creation,
            uncounted_succeeded: uids("succeeded").collect(),
            uncounted_failed: uids("failed").collect(),
            newly: Newly::default(),
            backoff: Backoff::default(),
            indexes: None,
            succeeded: 0,
            failed: 0,
        };
        let uid = |pod: &Value| object::uid(pod).unwrap_or_default().to_owned();
        let countable: Vec<&Value> =
            sync.pods.iter().copied().filter(|pod| is_tracked(pod) && sync.has_valid_index(pod)).collect();
        let succeeded = countable.iter().copied().filter(|pod| text(pod, "/status/phase") == "Succeeded");
        let failed = countable.iter().copied().filter(|pod| sync.is_failed(pod));
        sync.newly = Newly {
            succeeded: succeeded.filter(|pod| !sync.uncounted_succeeded.contains(uid(pod).as_str())).collect(),
            failed: failed.filter(|pod| !sync.uncounted_failed.contains(uid(pod).as_str())).collect(),
        };
        sync.backoff = backoff.cloned().unwrap_or_default().with(&sync.newly.succeeded, &sync.newly.failed);
        let total = |field: &str, newly: usize, uncounted: usize| {
            integer(job, field)
                .unwrap_or_default()
                .saturating_add(i64::try_from(newly.saturating_add(uncounted)).unwrap_or(i64::MAX))
        };
        sync.succeeded = total("/status/succeeded", sync.newly.succeeded.len(), sync.uncounted_succeeded.len());
        sync.failed = total("/status/failed", sync.newly.failed.len(), sync.uncounted_failed.len());
        if is_indexed(job) {
            let before = Indexes::parse(text(job, "/status/completedIndexes"), sync.completions().unwrap_or_default());
            let ended = sync.pods.iter().filter(|pod| text(pod, "/status/phase") == "Succeeded" && is_tracked(pod));
            let after = before.with(ended.filter(|pod| sync.has_valid_index(pod)).filter_map(|pod| completion_index(pod)));
            sync.succeeded = after.count();
            sync.indexes = Some((before, after));
        }
        sync
    }

    fn completions(&self) -> Option<i64> {
        integer(self.job, "/spec/completions")
    }

    fn is_suspended(&self) -> bool {
        is_true(self.job, "/spec/suspend")
    }

    fn has_valid_index(&self, pod: &Value) -> bool {
        let is_valid = |index| index < self.completions().unwrap_or_default();
        !is_indexed(self.job) || completion_index(pod).is_some_and(is_valid)
    }

    /// Deleted Pods count as failed, unless the Job replaces only failed ones.
    fn is_failed(&self, pod: &Value) -> bool {
        match text(pod, "/status/phase") {
            "Failed" => true,
            "Succeeded" => false,
            _ => object::is_deleting(pod) && !self.replaces_only_failed(),
        }
    }

    fn replaces_only_failed(&self) -> bool {
        text(self.job, "/spec/podReplacementPolicy") == "Failed" || self.job.pointer("/spec/podFailurePolicy").is_some()
    }

    fn active(&self) -> Vec<&'a Value> {
        self.pods.iter().copied().filter(|pod| !is_over(pod) && !object::is_deleting(pod)).collect()
    }

    fn terminating(&self) -> Vec<&'a Value> {
        self.pods.iter().copied().filter(|pod| !is_over(pod) && object::is_deleting(pod)).collect()
    }

    fn event(&self, severity: Severity, reason: &str, message: impl Into<String>) -> Event {
        Event::new(COMPONENT, self.job, severity, reason, message)
    }

    fn decide(&self) -> Step {
        let mut status = self.job.get("status").and_then(Value::as_object).cloned().unwrap_or_default();
        if !status.contains_key("startTime") && !self.is_suspended() {
            status.insert("startTime".to_owned(), Value::from(seconds(self.now)));
        }
        let active = self.active();
        let mut counts = Counts { active: length(&active), ready: 0, terminating: length(&self.terminating()) };
        counts.ready = length(&active.iter().filter(|pod| has_condition(pod, "Ready")).collect::<Vec<_>>());
        let (mut verdict, mut again) = self.failure(&status);
        let mut events = Vec::new();
        let mut removals = Vec::new();
        if verdict.is_some() {
            removals = active.iter().map(|pod| self.deletion(pod)).collect();
            counts = Counts { active: 0, ready: 0, terminating: counts.terminating.saturating_add(counts.active) };
        } else {
            if !object::is_deleting(self.job) {
                match self.manage(active) {
                    Managed::Change(intents) => return Step { intents, again, events },
                    Managed::Enough { again: retry } => again = [again, retry].into_iter().flatten().min(),
                }
            }
            let is_complete = match self.completions() {
                None => self.succeeded > 0 && counts.active == 0,
                Some(completions) => self.succeeded >= completions && counts.active == 0,
            };
            if is_complete {
                let message = "Reached expected number of succeeded pods";
                verdict = Some(Verdict::new(Outcome::Success, "CompletionsReached", message));
            } else if !object::is_deleting(self.job) {
                events.extend(self.suspend_or_resume(&mut status));
            }
        }
        let step = self.track(status, counts, verdict, removals);
        Step { again, events: if step.is_empty() { Vec::new() } else { events }, intents: step }
    }

    /// Returns how the Job ends, if it does, and the next deadline.
    fn failure(&self, status: &Map<String, Value>) -> (Option<Verdict>, Option<Timestamp>) {
        for (kind, outcome) in [("SuccessCriteriaMet", Outcome::Success), ("FailureTarget", Outcome::Failure)] {
            if let Some(found) = condition(self.job, kind).filter(|found| object::text(found, "status") == "True") {
                let verdict = Verdict::new(outcome, object::text(found, "reason"), object::text(found, "message"));
                return (Some(Verdict { known: true, ..verdict }), None);
            }
        }
        let limit = integer(self.job, "/spec/backoffLimit").unwrap_or(6);
        if self.failed > limit || self.is_past_restarts(limit) {
            let message = "Job has reached the specified backoff limit";
            return (Some(Verdict::new(Outcome::Failure, "BackoffLimitExceeded", message)), None);
        }
        if self.is_suspended() {
            return (None, None);
        }
        let start = status.get("startTime").and_then(Value::as_str).and_then(|text| text.parse::<Timestamp>().ok());
        let allowed = integer(self.job, "/spec/activeDeadlineSeconds");
        let Some(deadline) = start.zip(allowed).map(|(start, allowed)| later(start, allowed)) else { return (None, None) };
        if deadline <= self.now && time(self.job, "/status/startTime").is_some() {
            let message = "Job was active longer than specified deadline";
            return (Some(Verdict::new(Outcome::Failure, "DeadlineExceeded", message)), None);
        }
        (None, Some(deadline).filter(|deadline| *deadline > self.now))
    }

    /// Returns whether containers restarted in place have failed too often.
    fn is_past_restarts(&self, limit: i64) -> bool {
        if text(self.job, "/spec/template/spec/restartPolicy") != "OnFailure" {
            return false;
        }
        let running = self.pods.iter().filter(|pod| matches!(text(pod, "/status/phase"), "Running" | "Pending"));
        let statuses = running.flat_map(|pod| {
            ["/status/initContainerStatuses", "/status/containerStatuses"].into_iter().flat_map(|statuses| list(pod, statuses))
        });
        let restarts = statuses.filter_map(|status| integer(status, "/restartCount")).fold(0, i64::saturating_add);
        if limit == 0 { restarts > 0 } else { restarts >= limit }
    }

    fn suspend_or_resume(&self, status: &mut Map<String, Value>) -> Option<Event> {
        let (value, reason, message, event) = match self.is_suspended() {
            true => ("True", "JobSuspended", "Job suspended", "Suspended"),
            false => ("False", "JobResumed", "Job resumed", "Resumed"),
        };
        if !set_condition(status, "Suspended", value, reason, message, self.now) {
            return None;
        }
        match self.is_suspended() {
            true => status.remove("startTime"),
            false => status.insert("startTime".to_owned(), Value::from(seconds(self.now))),
        };
        Some(self.event(Severity::Normal, event, message))
    }
}

/// Sets a condition and returns whether that changed it. An absent one is not set to `False`.
fn set_condition(
    status: &mut Map<String, Value>,
    kind: &str,
    value: &str,
    reason: &str,
    message: &str,
    now: Timestamp,
) -> bool {
    let new = json!({
        "type": kind, "status": value, "lastProbeTime": seconds(now), "lastTransitionTime": seconds(now),
        "reason": reason, "message": message,
    });
    let Some(conditions) = status.entry("conditions").or_insert_with(|| json!([])).as_array_mut() else { return false };
    let old = conditions.iter_mut().find(|condition| object::text(condition, "type") == kind);
    let is_same = |old: &Value| ["status", "reason", "message"].iter().all(|field| old.get(field) == new.get(field));
    let changed = match old {
        Some(old) if is_same(old) => false,
        Some(old) => {
            *old = new;
            true
        }
        None if value == "False" => false,
        None => {
            conditions.push(new);
            true
        }
    };
    if conditions.is_empty() {
        status.remove("conditions");
    }
    changed
}

fn is_over(pod: &Value) -> bool {
    matches!(text(pod, "/status/phase"), "Succeeded" | "Failed")
}

fn is_tracked(pod: &Value) -> bool {
    object::finalizers(pod).any(|finalizer| finalizer == TRACKING)
}

fn is_indexed(job: &Value) -> bool {
    text(job, "/spec/completionMode") == "Indexed"
}

fn completion_index(pod: &Value) -> Option<i64> {
    let index = pod.get("metadata")?.get("annotations")?.get(COMPLETION_INDEX)?.as_str()?;
    index.parse().ok().filter(|index| *index >= 0)
}

fn length<T>(list: &[T]) -> i64 {
    i64::try_from(list.len()).unwrap_or(i64::MAX)
}

impl Sync<'_> {
    fn deletion(&self, pod: &Value) -> Intent {
        let deleted = self.event(Severity::Normal, "SuccessfulDelete", format!("Deleted pod: {}", object::name(pod)));
        let failed = self.event(Severity::Warning, "FailedDelete", "Error deleting: ");
        Intent::delete(&PODS, pod, None).then(super::Then::Event(deleted)).then(super::Then::FailureEvent(failed))
    }
}
