//! The parents that wait to be compared, and the results of their last comparisons.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use gyre_core::object::ObjectKey;

use crate::difference::{Change, Counts, Verb};
use crate::telemetry::metrics::{DIFFERENT, FAILED, SAME, Shadowed};

/// The number of parents whose changes are kept; more are only counted.
const MOST_PARENTS: usize = 1_000;
/// The same for changes only to recreated children, which are alike.
const MOST_RECREATED: usize = 20;
/// The maximum size of all changes, as JSON.
const MOST_BYTES: usize = 16 << 20;
/// The maximum size of one parent's changes: a few large objects.
const MOST_BYTES_OF_ONE: usize = 256 << 10;

const SLACK: usize = 64;

#[derive(Clone, Debug, Default)]
pub(super) struct ComparisonResult {
    pub(super) counts: Counts,
    pub(super) details: Option<Box<str>>,
    /// Whether the shadow's call exceeded the deadline of a mount.
    pub(super) is_late: bool,
}

impl ComparisonResult {
    pub(super) fn of(changes: &[Change], is_late: bool) -> Self {
        let counts = Counts::of(changes);
        let details = (!changes.is_empty()).then(|| serde_json::to_string(changes).ok()).flatten();
        let details = details.filter(|details| details.len() <= MOST_BYTES_OF_ONE).map(String::into_boxed_str);
        Self { counts, details, is_late }
    }

    pub(super) fn word(&self) -> &'static str {
        match (self.counts.is_empty(), self.counts.get(Verb::Fail)) {
            (true, _) => SAME,
            (false, 0) => DIFFERENT,
            (false, _) => FAILED,
        }
    }
}

#[derive(Default)]
pub(super) struct ComparisonQueue {
    /// In order; may contain deleted parents.
    waiting: VecDeque<ObjectKey>,
    waits: HashSet<ObjectKey>,
    /// The parent that is being compared, unless it was deleted.
    current: Option<ObjectKey>,
    compared: HashMap<ObjectKey, Option<Box<Counts>>>,
    diverging: usize,
    counts: Counts,
    details: BTreeMap<ObjectKey, Box<str>>,
    details_bytes: usize,
    late: HashSet<ObjectKey>,
}

impl ComparisonQueue {
    pub(super) fn add(&mut self, parent: &ObjectKey) {
        if self.waits.insert(parent.clone()) {
            self.waiting.push_back(parent.clone());
        }
    }

    pub(super) fn next(&mut self) -> Option<ObjectKey> {
        self.current = loop {
            match self.waiting.pop_front() {
                Some(next) if !self.waits.remove(&next) => {}
                next => break next,
            }
        };
        self.current.clone()
    }

    /// Removes deleted parents, and later duplicates.
    fn tidy(&mut self) {
        let mut kept = HashSet::new();
        self.waiting.retain(|parent| self.waits.contains(parent) && kept.insert(parent.clone()));
    }

    /// Ignores a parent that was deleted during its comparison.
    pub(super) fn record(&mut self, parent: &ObjectKey, outcome: ComparisonResult) {
        if self.current.take_if(|current| current == parent).is_none() {
            return;
        }
        self.forget_outcome(parent);
        let ComparisonResult { counts, details, is_late } = outcome;
        if is_late {
            self.late.insert(parent.clone());
        }
        let most = if counts.is_change() { MOST_PARENTS } else { MOST_RECREATED };
        self.diverging += usize::from(counts.is_change());
        self.counts.add(&counts);
        self.compared.insert(parent.clone(), (!counts.is_empty()).then(|| Box::new(counts)));
        let has_room = |details: &str| self.details.len() < most && self.details_bytes + details.len() <= MOST_BYTES;
        if let Some(details) = details.filter(|details| has_room(details)) {
            self.details_bytes += details.len();
            self.details.insert(parent.clone(), details);
        }
    }

    pub(super) fn forget(&mut self, parent: &ObjectKey) {
        self.forget_outcome(parent);
        self.compared.remove(parent);
        self.current.take_if(|current| current == parent);
        self.waits.remove(parent);
        if self.waiting.len() > 2 * self.waits.len() + SLACK {
            self.tidy();
        }
    }

    fn forget_outcome(&mut self, parent: &ObjectKey) {
        self.late.remove(parent);
        if let Some(Some(counts)) = self.compared.get(parent) {
            self.counts.subtract(counts);
            self.diverging -= usize::from(counts.is_change());
        }
        if let Some(details) = self.details.remove(parent) {
            self.details_bytes -= details.len();
        }
    }

    pub(super) fn moment(&self) -> Shadowed {
        Shadowed {
            compared: self.compared.len(),
            waiting: self.waits.len() + usize::from(self.current.is_some()),
            diverging: self.diverging,
            changes: self.counts.by_verb.iter().map(|(verb, count)| (verb.name(), *count)).collect(),
        }
    }

    pub(super) fn late(&self) -> usize {
        self.late.len()
    }

    pub(super) fn counts(&self) -> &Counts {
        &self.counts
    }

    pub(super) fn differing(&self) -> usize {
        self.compared.values().flatten().count()
    }

    pub(super) fn details(&self) -> impl Iterator<Item = &str> {
        self.details.values().map(|details| &**details)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::difference::Subject;

    fn key(number: usize) -> ObjectKey {
        ObjectKey::new(Some("default"), format!("it-{number}"))
    }

    fn outcome(verb: Verb, size: usize) -> ComparisonResult {
        let subject = Subject::of(&json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "it" } }));
        let after = Value::from("x".repeat(size));
        ComparisonResult::of(
            &[Change { verb, subject, refusal: None, message: None, parent: None, before: Value::Null, after }],
            false,
        )
    }

    fn compared(comparisons: &mut ComparisonQueue, number: usize, outcome: ComparisonResult) {
        comparisons.add(&key(number));
        assert_eq!(comparisons.next(), Some(key(number)));
        comparisons.record(&key(number), outcome);
    }

    #[test]
    fn the_last_comparison_counts_and_a_parent_that_agrees_leaves() {
        let mut comparisons = ComparisonQueue::default();
        compared(&mut comparisons, 1, outcome(Verb::Create, 1));
        compared(&mut comparisons, 2, outcome(Verb::Delete, 1));
        compared(&mut comparisons, 1, outcome(Verb::Update, 1));
        let moment = comparisons.moment();
        assert_eq!((moment.compared, moment.diverging, moment.changes), (2, 2, vec![("update", 1), ("delete", 1)]));
        compared(&mut comparisons, 1, ComparisonResult::default());
        let moment = comparisons.moment();
        assert_eq!((moment.compared, moment.diverging, moment.changes), (2, 1, vec![("delete", 1)]));
        assert_eq!(comparisons.details().count(), 1);
        comparisons.forget(&key(2));
        assert_eq!((comparisons.moment().compared, comparisons.moment().diverging, comparisons.details().count()), (1, 0, 0));
        assert!(comparisons.counts().is_empty());
        assert_eq!(comparisons.details_bytes, 0);
    }

    #[test]
    fn differences_of_recreated_children_are_counted_but_are_not_changes() {
        let mut comparisons = ComparisonQueue::default();
        for number in 0..2 * MOST_RECREATED {
            compared(&mut comparisons, number, outcome(Verb::WouldRecreate, 1));
        }
        let moment = comparisons.moment();
        assert_eq!((moment.diverging, moment.changes), (0, vec![("anew", 2 * MOST_RECREATED)]));
        assert_eq!(comparisons.details().count(), MOST_RECREATED);
        compared(&mut comparisons, 0, outcome(Verb::Update, 1));
        assert_eq!(
            (comparisons.moment().diverging, comparisons.details().count()),
            (1, MOST_RECREATED),
            "there is room for a change"
        );
        compared(&mut comparisons, 0, ComparisonResult::default());
        assert_eq!((comparisons.moment().diverging, comparisons.moment().changes), (0, vec![("anew", 2 * MOST_RECREATED - 1)]));
    }

    #[test]
    fn a_parent_waits_once_and_not_after_its_deletion() {
        let mut comparisons = ComparisonQueue::default();
        for number in [1, 2, 1, 3, 2, 1] {
            comparisons.add(&key(number));
        }
        assert_eq!(comparisons.moment().waiting, 3);
        comparisons.forget(&key(2));
        assert_eq!(comparisons.next(), Some(key(1)));
        comparisons.add(&key(1));
        assert_eq!([comparisons.next(), comparisons.next(), comparisons.next()], [Some(key(3)), Some(key(1)), None]);
        assert_eq!(comparisons.moment().waiting, 0);
    }

    #[test]
    fn kept_changes_are_bounded_and_all_changes_are_counted() {
        let mut comparisons = ComparisonQueue::default();
        for number in 0..3 * MOST_PARENTS {
            compared(&mut comparisons, number, outcome(Verb::Create, 1));
        }
        assert_eq!((comparisons.moment().diverging, comparisons.details().count()), (3 * MOST_PARENTS, MOST_PARENTS));
        let mut comparisons = ComparisonQueue::default();
        for number in 0..MOST_PARENTS {
            compared(&mut comparisons, number, outcome(Verb::Create, MOST_BYTES_OF_ONE / 2));
            assert!(comparisons.details_bytes <= MOST_BYTES);
        }
        assert!(comparisons.details().count() > 100);
        compared(&mut comparisons, 0, outcome(Verb::Create, MOST_BYTES_OF_ONE));
        assert_eq!(comparisons.moment().diverging, MOST_PARENTS);
    }

    #[test]
    fn parents_that_come_and_go_take_bounded_memory() {
        let mut comparisons = ComparisonQueue::default();
        comparisons.add(&key(0));
        for number in 1..10_000 {
            comparisons.add(&key(number % 7 + 1));
            comparisons.forget(&key(number % 7 + 1));
            assert!(comparisons.waiting.len() < 100);
        }
        comparisons.add(&key(8));
        assert_eq!([comparisons.next(), comparisons.next(), comparisons.next()], [Some(key(0)), Some(key(8)), None]);
    }

    #[test]
    fn a_parent_that_goes_while_it_is_compared_is_forgotten() {
        let mut comparisons = ComparisonQueue::default();
        comparisons.add(&key(1));
        assert_eq!(comparisons.next(), Some(key(1)));
        assert_eq!(comparisons.moment().waiting, 1);
        comparisons.forget(&key(1));
        comparisons.record(&key(1), outcome(Verb::Create, 1));
        let moment = comparisons.moment();
        assert_eq!((moment.compared, moment.waiting, moment.diverging, comparisons.details().count()), (0, 0, 0, 0));
    }
}
