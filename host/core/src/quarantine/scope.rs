//! The memory of the calls about one scope.

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

    fn suspect_after(&self) -> usize {
        match self {
            Self::Namespace(_) => 2,
            Self::Object(_) => 1,
        }
    }
}

/// Identifies an object within its scope. Names with the same hash count as one object.
pub(super) fn id(object: &ObjectKey) -> u64 {
    let mut hasher = DefaultHasher::new();
    object.name.hash(&mut hasher);
    hasher.finish()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Record {
    Answered,
    /// It faulted, as all calls before it.
    Faulted,
    /// It faulted, but an earlier call answered.
    Relapsed,
}

impl Record {
    pub(super) fn is_fault(self) -> bool {
        self != Self::Answered
    }

    pub(super) fn has_answered(self) -> bool {
        self != Self::Faulted
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Scoped {
    /// By [`id`].
    objects: BTreeMap<u64, Record>,
    answered_objects: usize,
    last_answer: Option<Time>,
    has_relapsed: bool,
    last_fault: Option<(u64, Time)>,
    suspicion: Option<(Time, Duration)>,
    culprits: BTreeSet<u64>,
    pub(super) faults: u32,
    pub(super) hold: Hold,
    /// Whether it is in `Quarantine::empty`.
    pub(super) is_listed_as_empty: bool,
}

impl Scoped {
    pub(super) fn record(&self, id: u64) -> Option<Record> {
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

    /// Until when its past counts even without objects.
    pub(super) fn counts_until(&self) -> Time {
        let of_hold = self.hold.held.map(|held| held.until + SUSPECT_FOR);
        let of_fault = self.last_fault.map(|(_, at)| at + SUSPECT_FOR);
        let of_suspicion = self.suspicion.map(|(until, _)| until + SUSPECT_FOR);
        [of_suspicion, of_hold, of_fault].into_iter().flatten().max().unwrap_or_default()
    }

    pub(super) fn answered(&mut self, id: u64, now: Time) {
        self.last_answer = Some(now);
        self.has_relapsed = false;
        self.culprits.clear();
        self.faults = 0;
        self.record_call(id, Record::Answered);
    }

    /// Returns until when the scope is suspect, if it is.
    pub(super) fn faulted(&mut self, scope: &QuarantineScope, id: u64, now: Time) -> Option<Time> {
        self.faults = self.faults.saturating_add(1);
        let last = self.record(id);
        self.has_relapsed |= last == Some(Record::Answered);
        self.record_call(id, if last.is_some_and(Record::has_answered) { Record::Relapsed } else { Record::Faulted });
        let before = self.last_fault.replace((id, now));
        let is_another = before.is_some_and(|(other, at)| other != id && now < at + SUSPECT_FOR);
        let duration = match self.suspicion {
            Some((until, duration)) if now < until => duration,
            _ if !is_another && scope.suspect_after() > 1 => return None,
            Some((until, duration)) if now < until + SUSPECT_FOR => duration.saturating_mul(2).min(SUSPECT_FOR),
            _ => FIRST_PROBE,
        };
        self.suspicion = Some((now + duration, duration));
        Some(now + duration)
    }

    /// Returns the number of objects of consecutive faults, or of faults in a scope of one object.
    pub(super) fn count(&mut self, scope: &QuarantineScope, id: u64) -> usize {
        self.culprits.insert(id);
        match scope {
            QuarantineScope::Namespace(_) => self.culprits.len(),
            QuarantineScope::Object(_) => self.faults as usize,
        }
    }

    pub(super) fn forget(&mut self, id: u64) {
        let before = self.objects.remove(&id);
        self.answered_objects -= usize::from(before.is_some_and(Record::has_answered));
    }

    fn record_call(&mut self, id: u64, record: Record) {
        let before = self.objects.insert(id, record);
        let counts = |record: Option<Record>| usize::from(record.is_some_and(Record::has_answered));
        self.answered_objects = self.answered_objects + counts(Some(record)) - counts(before);
    }
}
