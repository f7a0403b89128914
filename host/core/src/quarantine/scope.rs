//! The history of the calls about one scope.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use super::{FIRST_PROBE, Hold, SUSPECT_FOR};
use crate::object::ObjectKey;
use crate::queue::Time;

/// Objects that may belong to one tenant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QuarantineScope {
    /// The objects of a namespace.
    Namespace(String),
    /// A cluster-scoped object, by its name.
    Object(String),
}

impl QuarantineScope {
    /// The scope of an object.
    pub fn of(object: &ObjectKey) -> Self {
        match &object.namespace {
            Some(namespace) => Self::Namespace(namespace.clone()),
            None => Self::Object(object.name.clone()),
        }
    }

    /// Returns whether the fault of one object is enough to suspect the scope.
    fn is_one_object(&self) -> bool {
        matches!(self, Self::Object(_))
    }
}

/// Identifies an object within its scope. Names with the same hash count as one object.
pub(super) fn id(object: &ObjectKey) -> u64 {
    let mut hasher = DefaultHasher::new();
    object.name.hash(&mut hasher);
    hasher.finish()
}

/// The last call about an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LastCall {
    Answered,
    /// It faulted, and so did all calls before it.
    Faulted,
    /// It faulted, but an earlier call about the object answered.
    Relapsed,
}

impl LastCall {
    pub(super) fn is_fault(self) -> bool {
        self != Self::Answered
    }

    pub(super) fn has_answered(self) -> bool {
        self != Self::Faulted
    }
}

/// The history of a scope. Its objects are identified by [`id`].
#[derive(Clone, Debug, Default)]
pub(super) struct ScopeHistory {
    objects: BTreeMap<u64, LastCall>,
    /// The number of objects about which any call has answered.
    answered_objects: usize,
    last_answer: Option<Time>,
    /// Whether an object that had answered has faulted since the last answer of the scope.
    has_relapsed: bool,
    last_fault: Option<Fault>,
    suspicion: Option<Suspicion>,
    /// The objects of the consecutive faults.
    culprits: BTreeSet<u64>,
    /// The number of consecutive faults.
    pub(super) faults: u32,
    pub(super) hold: Hold,
    /// Whether it is in `Quarantine::empty`.
    pub(super) is_listed_as_empty: bool,
}

#[derive(Clone, Copy, Debug)]
struct Fault {
    object: u64,
    at: Time,
}

/// The last period in which all calls about the scope use the suspects' lane.
#[derive(Clone, Copy, Debug)]
struct Suspicion {
    until: Time,
    duration: Duration,
}

impl ScopeHistory {
    pub(super) fn last_call(&self, id: u64) -> Option<LastCall> {
        self.objects.get(&id).copied()
    }

    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    pub(super) fn answered_objects(&self) -> usize {
        self.answered_objects
    }

    pub(super) fn has_answered(&self) -> bool {
        self.last_answer.is_some()
    }

    pub(super) fn ended_in_fault(&self) -> bool {
        self.faults > 0
    }

    /// Returns whether the plugin may be the cause: nothing in the scope has ever answered, or
    /// something that had answered does not any more.
    pub(super) fn is_in_doubt(&self) -> bool {
        self.faults > 0 && (self.has_relapsed || self.last_answer.is_none())
    }

    pub(super) fn answered_lately(&self, now: Time) -> bool {
        self.last_answer.is_some_and(|at| now < at + SUSPECT_FOR)
    }

    /// The time until which the history is kept, even if the scope has no objects any more.
    pub(super) fn counts_until(&self) -> Time {
        let of_hold = self.hold.held.map(|held| held.until + SUSPECT_FOR);
        let of_fault = self.last_fault.map(|fault| fault.at + SUSPECT_FOR);
        let of_suspicion = self.suspicion.map(|suspicion| suspicion.until + SUSPECT_FOR);
        [of_suspicion, of_hold, of_fault].into_iter().flatten().max().unwrap_or_default()
    }

    pub(super) fn record_answer(&mut self, id: u64, now: Time) {
        self.last_answer = Some(now);
        self.has_relapsed = false;
        self.culprits.clear();
        self.faults = 0;
        self.record_call(id, LastCall::Answered);
    }

    /// Returns until when the scope is suspect, if it is.
    pub(super) fn record_fault(&mut self, scope: &QuarantineScope, id: u64, now: Time) -> Option<Time> {
        self.faults = self.faults.saturating_add(1);
        let last_call = self.last_call(id);
        self.has_relapsed |= last_call == Some(LastCall::Answered);
        let has_answered = last_call.is_some_and(LastCall::has_answered);
        self.record_call(id, if has_answered { LastCall::Relapsed } else { LastCall::Faulted });
        let last_fault = self.last_fault.replace(Fault { object: id, at: now });
        let has_two_culprits = last_fault.is_some_and(|fault| fault.object != id && now < fault.at + SUSPECT_FOR);
        let duration = match self.suspicion {
            // It is suspect already: the same time begins again.
            Some(Suspicion { until, duration }) if now < until => duration,
            _ if !has_two_culprits && !scope.is_one_object() => return None,
            // It was suspect recently.
            Some(Suspicion { until, duration }) if now < until + SUSPECT_FOR => duration.saturating_mul(2).min(SUSPECT_FOR),
            _ => FIRST_PROBE,
        };
        let until = now + duration;
        self.suspicion = Some(Suspicion { until, duration });
        Some(until)
    }

    /// Adds an object to the culprits. Returns their number, or the number of consecutive faults if
    /// the scope is one object.
    pub(super) fn count_culprit(&mut self, scope: &QuarantineScope, id: u64) -> usize {
        self.culprits.insert(id);
        match scope {
            QuarantineScope::Namespace(_) => self.culprits.len(),
            QuarantineScope::Object(_) => self.faults as usize,
        }
    }

    pub(super) fn forget(&mut self, id: u64) {
        let before = self.objects.remove(&id);
        self.answered_objects -= usize::from(before.is_some_and(LastCall::has_answered));
    }

    fn record_call(&mut self, id: u64, call: LastCall) {
        let before = self.objects.insert(id, call);
        let counts = |call: Option<LastCall>| usize::from(call.is_some_and(LastCall::has_answered));
        self.answered_objects = self.answered_objects + counts(Some(call)) - counts(before);
    }
}
