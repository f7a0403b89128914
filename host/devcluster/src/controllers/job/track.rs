//! Counts finished Pods and ends the Job.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{Counts, Outcome, Sync, TRACKING, Verdict, completion_index, is_tracked, set_condition};
use crate::controllers::event::Severity;
use crate::controllers::json::{integer, list, seconds, text, with};
use crate::controllers::{Intent, JOBS, PODS, Then, without_finalizer};
use crate::object;

/// The maximum number of uncounted Pods in the status, which must not grow without bound.
const MOST_UNCOUNTED: usize = 500;

/// The UIDs of finished Pods in `status.uncountedTerminatedPods`.
struct Ledger {
    succeeded: Vec<String>,
    failed: Vec<String>,
}

enum Note {
    Nothing,
    Succeeded(String),
    Failed(String),
    /// Indexed Jobs list the index only.
    Index(i64),
}

impl Ledger {
    fn len(&self) -> usize {
        self.succeeded.len().saturating_add(self.failed.len())
    }
}

impl Sync<'_> {
    /// Returns the next step: a new status, removed finalizers, or the `removals` of a failed Job.
    pub(super) fn track(
        &self,
        mut status: Map<String, Value>,
        counts: Counts,
        verdict: Option<Verdict>,
        removals: Vec<Intent>,
    ) -> Vec<Intent> {
        set_count(&mut status, "active", counts.active);
        status.insert("ready".to_owned(), Value::from(counts.ready));
        status.insert("terminating".to_owned(), Value::from(counts.terminating));
        let mut ledger = self.count(&mut status);
        let (released, is_full) = self.list_ended_pods(&mut ledger, verdict.as_ref());
        if let Some((_, succeeded)) = &self.indexes {
            set_count(&mut status, "succeeded", succeeded.count());
            match succeeded.count() {
                0 => status.remove("completedIndexes"),
                _ => status.insert("completedIndexes".to_owned(), Value::from(succeeded.to_string())),
            };
        }
        status.insert("uncountedTerminatedPods".to_owned(), uncounted(&ledger));
        let mut finished = None;
        if let Some(verdict) = &verdict {
            let (interim, end) = verdict.conditions();
            if !verdict.known {
                set_condition(&mut status, interim, "True", &verdict.reason, &verdict.message, self.now);
            } else if ledger.len() == 0 && !is_full && released.is_empty() && counts.terminating == 0 {
                set_condition(&mut status, end, "True", &verdict.reason, &verdict.message, self.now);
                if verdict.outcome == Outcome::Success {
                    status.insert("completionTime".to_owned(), Value::from(seconds(self.now)));
                }
                finished = Some(self.end(verdict, &status));
            }
        }
        let status = Value::Object(status);
        if self.job.get("status") != Some(&status) {
            let mut update = Intent::update_status(&JOBS, with(self.job, "status", status));
            if !self.newly.is_empty() {
                let uid: Arc<str> = object::uid(self.job).unwrap_or_default().into();
                update = update.then(Then::Backoff(uid, self.backoff.clone()));
            }
            for then in finished.into_iter().flatten() {
                update = update.then(then);
            }
            return [update].into_iter().chain(removals).collect();
        }
        if !removals.is_empty() {
            return removals;
        }
        released.into_iter().map(|pod| Intent::update(&PODS, without_finalizer(pod, TRACKING))).collect()
    }

    /// Counts the listed Pods without a finalizer, and returns the others.
    fn count(&self, status: &mut Map<String, Value>) -> Ledger {
        let tracked: BTreeSet<&str> =
            self.pods.iter().filter(|pod| is_tracked(pod)).filter_map(|pod| object::uid(pod)).collect();
        let mut left = |field: &str| {
            let noted = list(self.job, &format!("/status/uncountedTerminatedPods/{field}")).iter().filter_map(Value::as_str);
            let (left, counted): (Vec<&str>, Vec<&str>) = noted.partition(|uid| tracked.contains(uid));
            let count = integer(self.job, &format!("/status/{field}")).unwrap_or_default();
            set_count(status, field, count.saturating_add(super::length(&counted)));
            left.into_iter().map(str::to_owned).collect()
        };
        Ledger { succeeded: left("succeeded"), failed: left("failed") }
    }

    /// Lists finished Pods. Returns those that need no finalizer now, and whether the list is full.
    fn list_ended_pods(&self, ledger: &mut Ledger, verdict: Option<&Verdict>) -> (Vec<&Value>, bool) {
        let (mut released, mut is_full) = (Vec::new(), false);
        let mut new_indexes = BTreeSet::new();
        for pod in self.pods.iter().copied().filter(|pod| is_tracked(pod)) {
            let has_ended = text(pod, "/status/phase") == "Succeeded" || self.is_failed(pod);
            if !(object::is_deleting(self.job) || verdict.is_some() || has_ended) {
                continue;
            }
            let note = self.entry_for(pod, verdict);
            let is_new = !matches!(note, Note::Nothing);
            if is_new && ledger.len().saturating_add(new_indexes.len()) >= MOST_UNCOUNTED {
                is_full = true;
                continue;
            }
            released.push(pod);
            match note {
                Note::Succeeded(uid) => ledger.succeeded.push(uid),
                Note::Failed(uid) => ledger.failed.push(uid),
                Note::Index(index) => {
                    new_indexes.insert(index);
                }
                Note::Nothing => {}
            }
        }
        (released, is_full)
    }

    fn entry_for(&self, pod: &Value, verdict: Option<&Verdict>) -> Note {
        let uid = object::uid(pod).unwrap_or_default();
        if self.uncounted_failed.contains(uid) || self.uncounted_succeeded.contains(uid) || !self.has_valid_index(pod) {
            return Note::Nothing;
        }
        if text(pod, "/status/phase") == "Succeeded" {
            return match (&self.indexes, completion_index(pod)) {
                (Some((before, _)), Some(index)) if !before.contains(index) => Note::Index(index),
                (Some(_), _) => Note::Nothing,
                (None, _) => Note::Succeeded(uid.to_owned()),
            };
        }
        // Unfinished Pods of a failed Job count as failed.
        let is_failing = verdict.is_some_and(|verdict| verdict.outcome == Outcome::Failure);
        if self.is_failed(pod) || is_failing { Note::Failed(uid.to_owned()) } else { Note::Nothing }
    }

    fn end(&self, verdict: &Verdict, status: &Map<String, Value>) -> Vec<Then> {
        let mut events = Vec::new();
        match verdict.outcome {
            Outcome::Success => {
                let succeeded = status.get("succeeded").and_then(Value::as_i64).unwrap_or_default();
                if self.completions().is_some_and(|completions| succeeded > completions) {
                    let message = "Too many succeeded pods running after completion count reached";
                    events.push(self.event(Severity::Warning, "TooManySucceededPods", message));
                }
                events.push(self.event(Severity::Normal, "Completed", "Job completed"));
            }
            Outcome::Failure => events.push(self.event(Severity::Warning, &verdict.reason, verdict.message.as_str())),
        }
        events.into_iter().map(Then::Event).collect()
    }
}

fn set_count(status: &mut Map<String, Value>, field: &str, count: i64) {
    match count {
        0 => status.remove(field),
        _ => status.insert(field.to_owned(), Value::from(count)),
    };
}

fn uncounted(ledger: &Ledger) -> Value {
    let mut noted = json!({});
    if let Some(noted) = noted.as_object_mut() {
        for (field, uids) in [("succeeded", &ledger.succeeded), ("failed", &ledger.failed)] {
            if !uids.is_empty() {
                noted.insert(field.to_owned(), json!(uids));
            }
        }
    }
    noted
}
