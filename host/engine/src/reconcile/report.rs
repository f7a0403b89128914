//! The progress of a reconcile, and the outcome that follows from it.

use std::collections::BTreeMap;
use std::time::Duration;

use gyre_core::object::ObjectRef;
use gyre_core::outcome::{Changed, Outcome, Problem};
use gyre_core::plan::{self, Held, PRUNE_ANNOTATION, Refusal, Refusals};
use gyre_core::response::{Event, Severity};
use gyre_core::status::{Execution, NextAttempt, Readiness};
use gyre_core::{pace, queue};

use crate::writes::apply::{FIELDS_SKIPPED, StepResult};

pub(crate) struct ReconcileReport {
    pub(crate) changed: Changed,
    pub(crate) refusals: Refusals,
    /// The reason to wait: a word, and a sentence.
    pub(crate) waits: Option<(&'static str, String)>,
    /// Whether a child waits.
    has_waiting_child: bool,
    pub(crate) requeue: Option<Duration>,
    pub(crate) problem: Option<Problem>,
    /// The host's own events, besides problems and refusals.
    pub(crate) host_events: Vec<Event>,
    /// Whether nothing keeps the parent any longer, so that it needs no status.
    pub(crate) parent_goes: bool,
    /// False if the cache lacked a child, so that its deletion would restore the same inputs.
    pub(crate) saw_all_children: bool,
    pub(crate) failures: u32,
}

impl ReconcileReport {
    pub(crate) fn new(failures: u32) -> Self {
        Self {
            changed: Changed::No,
            refusals: Refusals::default(),
            waits: None,
            has_waiting_child: false,
            requeue: None,
            problem: None,
            host_events: Vec::new(),
            parent_goes: false,
            saw_all_children: true,
            failures,
        }
    }

    /// Returns whether a retry will see another state, so that nothing is reported.
    pub(crate) fn is_stale(&self, retries: &queue::Options) -> bool {
        self.problem.as_ref().is_some_and(|problem| problem.is_unreported(retries, self.failures))
    }

    pub(crate) fn record_step(&mut self, done: Result<StepResult, Problem>) {
        match done {
            Ok(StepResult::Wrote) => self.changed = Changed::Yes,
            Ok(StepResult::Nothing) => {}
            Ok(StepResult::Unseen) => self.saw_all_children = false,
            Ok(StepResult::Refused(refusal) | StepResult::Unmarked(refusal, _)) => self.refusals.add(refusal),
            Ok(StepResult::RefusedFor(delay, refusal)) => {
                self.requeue_after(delay);
                self.refusals.add(refusal);
            }
            Ok(StepResult::Waits(message)) => {
                self.changed = Changed::Yes;
                self.wait(message);
            }
            Ok(StepResult::Requeue(delay, message)) => {
                self.requeue_after(delay);
                self.wait(message);
            }
            Err(problem) => self.fail(problem),
        }
    }

    pub(crate) fn record_held(&mut self, held: Held) {
        match held {
            Held::Refused(refusal) => self.refusals.add(refusal),
            Held::Waiting(waiting) => self.wait(waiting.message),
        }
    }

    /// Records undesired children that stay because of their annotation.
    pub(crate) fn keep(&mut self, kept: &[ObjectRef]) {
        if !kept.is_empty() {
            let names = plan::names(kept.iter());
            let message =
                format!("no longer desired, but not deleted, because of the annotation {PRUNE_ANNOTATION}=false: {names}");
            self.host_events.push(Event { severity: Severity::Normal, reason: "ChildKept".to_owned(), message });
        }
    }

    pub(crate) fn warn(&mut self, reason: &str, message: &str) {
        self.host_events.push(warning(reason, message));
    }

    /// Records that a child waits.
    pub(crate) fn wait(&mut self, message: String) {
        self.has_waiting_child = true;
        self.waits.get_or_insert(("Waiting", message));
    }

    pub(crate) fn requeue_after(&mut self, delay: Duration) {
        self.requeue = Some(self.requeue.map_or(delay, |before| before.min(delay)));
    }

    /// Records a problem; the first one is reported.
    pub(crate) fn fail(&mut self, problem: Problem) {
        self.problem.get_or_insert(problem);
    }

    pub(crate) fn is_carried_out(&self) -> bool {
        self.problem.is_none() && self.refusals.is_empty()
    }

    pub(crate) fn execution(&self) -> Execution {
        if self.is_carried_out() && !self.has_waiting_child { Execution::Complete } else { Execution::Incomplete }
    }

    pub(crate) fn readiness<'a>(&'a self, retries: &queue::Options, refusals: &'a [Refusal]) -> Readiness<'a> {
        match (&self.problem, &self.waits) {
            (Some(problem), _) => problem.readiness(retries, self.failures),
            (None, _) if !refusals.is_empty() => Readiness::Refused(refusals),
            (None, Some((reason, message))) => Readiness::Failed { reason, message, next_attempt: NextAttempt::Later },
            (None, None) => Readiness::Ready,
        }
    }

    /// `asked` is the time after which the plugin requested the next call.
    pub(crate) fn outcome(self, asked: Option<Duration>) -> Outcome {
        let Self { changed, refusals, requeue, problem, .. } = self;
        let requeue_after = match (asked, requeue) {
            (Some(asked), Some(needed)) => Some(asked.min(needed)),
            (asked, needed) => asked.or(needed),
        };
        match problem {
            Some(problem) => Outcome::Failed(problem),
            None if refusals.is_empty() => Outcome::Reconciled { changed, requeue_after },
            None => Outcome::Refused { refusals: refusals.reported(), changed, requeue_after },
        }
    }
}

pub(crate) fn warning(reason: &str, message: &str) -> Event {
    Event { severity: Severity::Warning, reason: reason.to_owned(), message: message.to_owned() }
}

/// The reason of the Event about an object that is slowed down, and the label of its metric.
pub const SLOWED_DOWN: &str = "SlowedDown";

/// The reason of the Event about a parent that is deleted again and again.
pub const PARENT_DELETION_DELAYED: &str = "ParentDeletionDelayed";

/// The reason of the Event about fields of a status that the API server did not store, and the
/// label of its metric.
pub const STATUS_FIELDS_DROPPED: &str = "StatusFieldsDropped";

/// The warnings about children that were applied without fields of others: one each, or one with
/// the number of many.
pub(crate) fn skipped_fields(messages: &BTreeMap<String, String>) -> Vec<Event> {
    match messages.values().next() {
        Some(first) if messages.len() > plan::REPORTED_ONE_BY_ONE => {
            let count = messages.len();
            vec![warning(FIELDS_SKIPPED, &format!("fields of {count} children are skipped, those of the first: {first}"))]
        }
        _ => messages.values().map(|message| warning(FIELDS_SKIPPED, message)).collect(),
    }
}

/// The Event about a slowed-down object. Its text never varies, so it is published once.
pub(crate) fn slowed_down() -> Event {
    let message = format!(
        "{} reconciles wrote although nothing but the time had changed: until something changes, there is one reconcile every {} s; return the same answer for the same inputs",
        pace::BURST,
        pace::INTERVAL.as_secs(),
    );
    warning(SLOWED_DOWN, &message)
}
