//! The objects that wait for the suspects' lane.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use super::scope::QuarantineScope;
use crate::object::ObjectKey;
use crate::queue::Time;

/// The objects that are queued when the lane is free: some may be deleted, or need no call.
const NEXT_OBJECTS: usize = 4;

/// The time for which the unproven go first, as a multiple of the last suspect's turn: a call that
/// ends at its deadline takes a thousand times as long as an answer.
const UNPROVEN_SHARE: u32 = 3;

/// The waiting objects. Scopes take turns, so that many objects of one do not delay another.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting {
    /// These go first.
    unproven: Line,
    /// These have a turn from time to time, or they would wait for ever.
    suspects: Line,
    turn: Option<(Rank, Time)>,
    unproven_until: Time,
}

/// Why an object waits. [`Self::Unproven`] goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rank {
    /// Nothing speaks against its scope, but it has not answered yet.
    Unproven,
    /// Its own calls, or others about its scope, ended in faults.
    Suspect,
}

#[derive(Clone, Debug, Default)]
struct Line {
    objects: BTreeMap<QuarantineScope, BTreeSet<ObjectKey>>,
    last: Option<QuarantineScope>,
    /// Otherwise an object that changes all the time would be ahead of the others of its scope.
    last_objects: BTreeMap<QuarantineScope, ObjectKey>,
}

impl Waiting {
    pub(super) fn add(&mut self, scope: QuarantineScope, object: ObjectKey, rank: Rank) {
        self.line(rank).objects.entry(scope).or_default().insert(object);
    }

    pub(super) fn begin_turn(&mut self, scope: QuarantineScope, rank: Rank, now: Time) {
        self.turn = Some((rank, now));
        self.line(rank).last = Some(scope);
    }

    pub(super) fn end_turn(&mut self, is_fault: bool, now: Time) {
        let Some((rank, since)) = self.turn.take() else { return };
        // A fault of an unproven counts as a suspect's turn, unless it was in the time of the
        // unproven. Otherwise suspects would wait for ever behind new scopes.
        if rank == Rank::Suspect || (is_fault && self.unproven_until <= since) {
            self.unproven_until = now + now.saturating_since(since).saturating_mul(UNPROVEN_SHARE);
        }
    }

    pub(super) fn suspect(&mut self, scope: &QuarantineScope) {
        self.unproven.last_objects.remove(scope);
        if let Some((scope, objects)) = self.unproven.objects.remove_entry(scope) {
            self.suspects.objects.entry(scope).or_default().extend(objects);
        }
    }

    pub(super) fn remove(&mut self, scope: &QuarantineScope, object: &ObjectKey) {
        self.unproven.remove(scope, object);
        self.suspects.remove(scope, object);
    }

    pub(super) fn next(&mut self, now: Time, due: &mut Vec<ObjectKey>) {
        let lines = match now <= self.unproven_until {
            true => [&mut self.unproven, &mut self.suspects],
            false => [&mut self.suspects, &mut self.unproven],
        };
        for line in lines {
            line.next(NEXT_OBJECTS.saturating_sub(due.len()), due);
        }
    }

    pub(super) fn take_all(&mut self, due: &mut Vec<ObjectKey>) {
        for line in [&mut self.unproven, &mut self.suspects] {
            due.extend(std::mem::take(&mut line.objects).into_values().flatten());
        }
    }

    pub(super) fn scopes(&self) -> impl Iterator<Item = &QuarantineScope> {
        self.unproven.objects.keys().chain(self.suspects.objects.keys())
    }

    fn line(&mut self, rank: Rank) -> &mut Line {
        match rank {
            Rank::Unproven => &mut self.unproven,
            Rank::Suspect => &mut self.suspects,
        }
    }

    pub(super) fn objects(&self) -> impl Iterator<Item = &ObjectKey> {
        self.unproven.objects.values().chain(self.suspects.objects.values()).flatten()
    }
}

impl Line {
    fn remove(&mut self, scope: &QuarantineScope, object: &ObjectKey) {
        if let Some(objects) = self.objects.get_mut(scope) {
            objects.remove(object);
            if objects.is_empty() {
                self.objects.remove(scope);
                self.last_objects.remove(scope);
            }
        }
    }

    /// Takes objects of one scope after the other. Only the first scope has had its turn then.
    fn next(&mut self, most: usize, due: &mut Vec<ObjectKey>) {
        let mut last = self.last.clone();
        for turn in 0..most {
            let Some((scope, object)) = self.after(last.as_ref()) else { return };
            self.last_objects.insert(scope.clone(), object.clone());
            self.remove(&scope, &object);
            due.push(object);
            if turn == 0 {
                self.last = Some(scope.clone());
            }
            last = Some(scope);
        }
    }

    fn after(&self, last: Option<&QuarantineScope>) -> Option<(QuarantineScope, ObjectKey)> {
        let after = last.map_or(Bound::Unbounded, Bound::Excluded);
        let (scope, objects) =
            self.objects.range::<QuarantineScope, _>((after, Bound::Unbounded)).chain(&self.objects).next()?;
        let after = self.last_objects.get(scope).map_or(Bound::Unbounded, Bound::Excluded);
        let object = objects.range::<ObjectKey, _>((after, Bound::Unbounded)).chain(objects).next()?;
        Some((scope.clone(), object.clone()))
    }
}
