//! Counting the Pods that ended, and with that the end of the Job.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{Counts, Outcome, Sync, TRACKING, Verdict, completion_index, is_tracked, set_condition};
use crate::controllers::event::Severity;
use crate::controllers::json::{integer, list, seconds, text, with};
use crate::controllers::{Intent, JOBS, PODS, Then, without_finalizer};
use crate::object;

/// How many Pods are noted as ended and not counted: the status must not grow without bound.
const MOST_UNCOUNTED: usize = 500;

/// What is noted of Pods that ended.
struct Ledger {
    succeeded: Vec<String>,
    failed: Vec<String>,
}

impl Ledger {
    fn len(&self) -> usize {
        self.succeeded.len().saturating_add(self.failed.len())
    }
}

impl Sync<'_> {
    /// The next step of the count: a new status, or the finalizers that it makes superfluous. `removals` delete the Pods of a Job that
    /// has failed; its status says so before.
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
        let (released, is_full) = self.note(&mut ledger, verdict.as_ref());
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

    /// Counts those that were noted and whose finalizer is gone; returns what is left.
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

    /// Notes those that ended. Returns those that no longer need to wait, and whether there were too many.
    fn note(&self, ledger: &mut Ledger, verdict: Option<&Verdict>) -> (Vec<&Value>, bool) {
        let mut released = Vec::new();
        let mut new_indexes = BTreeSet::new();
        for pod in self.pods.iter().copied().filter(|pod| is_tracked(pod)) {
            let has_succeeded = text(pod, "/status/phase") == "Succeeded";
            let has_failed = self.is_failed(pod);
            if !(object::is_deleting(self.job) || verdict.is_some() || has_succeeded || has_failed) {
                continue;
            }
            released.push(pod);
            let uid = object::uid(pod).unwrap_or_default();
            let is_noted_as_failed = self.uncounted_failed.contains(uid);
            if has_succeeded && !is_noted_as_failed {
                match (&self.indexes, completion_index(pod)) {
                    (Some((before, _)), Some(index)) if self.has_valid_index(pod) && !before.contains(index) => {
                        new_indexes.insert(index);
                    }
                    (Some(_), _) => {}
                    (None, _) if !self.uncounted_succeeded.contains(uid) => ledger.succeeded.push(uid.to_owned()),
                    (None, _) => {}
                }
            } else if (has_failed || verdict.is_some_and(|verdict| verdict.outcome == Outcome::Failure))
                && !is_noted_as_failed
                && self.has_valid_index(pod)
            {
                ledger.failed.push(uid.to_owned());
            }
            if ledger.len().saturating_add(new_indexes.len()) >= MOST_UNCOUNTED {
                return (released, true);
            }
        }
        (released, false)
    }

    /// What is said when it ends.
    fn end(&self, verdict: &Verdict, status: &Map<String, Value>) -> Vec<Then> {
        let mut events = Vec::new();
        match verdict.outcome {
            Outcome::Success => {
                let succeeded = status.get("succeeded").and_then(Value::as_i64).unwrap_or_default();
                if self.completions().is_some_and(|completions| succeeded > completions) {
                    let message = "Too many succeeded pods running after completion count reached";
                    events.push(self.say(Severity::Warning, "TooManySucceededPods", message));
                }
                events.push(self.say(Severity::Normal, "Completed", "Job completed"));
            }
            Outcome::Failure => events.push(self.say(Severity::Warning, &verdict.reason, verdict.message.as_str())),
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
