//! The objects that wait for the suspects' lane.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use super::scope::QuarantineScope;
use crate::object::ObjectKey;
use crate::queue::Time;

/// The objects that are queued when the lane is free: some may be deleted, or need no call.
const NEXT_OBJECTS: usize = 4;

/// The time for which the unproven go first, as a multiple of the last suspect's turn. So suspects
/// get about a quarter of the time. Turns are not counted, because a call that ends at its deadline
/// takes a thousand times as long as an answer.
const UNPROVEN_SHARE: u32 = 3;

/// The waiting objects. Scopes take turns, so that many objects of one do not delay another.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting {
    unproven: RankQueue,
    /// Suspects go first after [`Self::unproven_until`], or they might wait for ever.
    suspects: RankQueue,
    /// The turn of the call that is in the lane.
    turn: Option<Turn>,
    /// The unproven go first until this time.
    unproven_until: Time,
}

/// The reason why an object waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rank {
    /// Nothing speaks against its scope, but it has not answered yet.
    Unproven,
    /// Its own calls, or others about its scope, ended in faults.
    Suspect,
}

#[derive(Clone, Copy, Debug)]
struct Turn {
    rank: Rank,
    since: Time,
}

/// The waiting objects of a rank.
#[derive(Clone, Debug, Default)]
struct RankQueue {
    objects: BTreeMap<QuarantineScope, BTreeSet<ObjectKey>>,
    /// The scope that had the last turn.
    last: Option<QuarantineScope>,
    /// The object of each scope that was taken last. Without it, an object that changes all the
    /// time would be ahead of the others of its scope.
    last_objects: BTreeMap<QuarantineScope, ObjectKey>,
}

impl Waiting {
    pub(super) fn add(&mut self, scope: QuarantineScope, object: ObjectKey, rank: Rank) {
        self.queue(rank).objects.entry(scope).or_default().insert(object);
    }

    pub(super) fn begin_turn(&mut self, scope: QuarantineScope, rank: Rank, now: Time) {
        self.turn = Some(Turn { rank, since: now });
        self.queue(rank).last = Some(scope);
    }

    pub(super) fn end_turn(&mut self, is_fault: bool, now: Time) {
        let Some(Turn { rank, since }) = self.turn.take() else { return };
        // A fault of an unproven counts as a suspect's turn, unless it was in the time of the
        // unproven. Otherwise suspects would wait for ever behind new scopes.
        if rank == Rank::Suspect || (is_fault && self.unproven_until <= since) {
            self.unproven_until = now + now.saturating_since(since).saturating_mul(UNPROVEN_SHARE);
        }
    }

    /// Makes the unproven objects of a scope suspects, after a fault in it.
    pub(super) fn move_to_suspects(&mut self, scope: &QuarantineScope) {
        self.unproven.last_objects.remove(scope);
        if let Some((scope, objects)) = self.unproven.objects.remove_entry(scope) {
            self.suspects.objects.entry(scope).or_default().extend(objects);
        }
    }

    pub(super) fn remove(&mut self, scope: &QuarantineScope, object: &ObjectKey) {
        self.unproven.remove(scope, object);
        self.suspects.remove(scope, object);
    }

    /// Takes the objects that may ask for the lane now, until `due` has [`NEXT_OBJECTS`].
    pub(super) fn take_next(&mut self, now: Time, due: &mut Vec<ObjectKey>) {
        let queues = if now <= self.unproven_until {
            [&mut self.unproven, &mut self.suspects]
        } else {
            [&mut self.suspects, &mut self.unproven]
        };
        for queue in queues {
            queue.take(NEXT_OBJECTS.saturating_sub(due.len()), due);
        }
    }

    pub(super) fn take_all(&mut self, due: &mut Vec<ObjectKey>) {
        for queue in [&mut self.unproven, &mut self.suspects] {
            due.extend(std::mem::take(&mut queue.objects).into_values().flatten());
        }
    }

    pub(super) fn scopes(&self) -> impl Iterator<Item = &QuarantineScope> {
        self.unproven.objects.keys().chain(self.suspects.objects.keys())
    }

    pub(super) fn objects(&self) -> impl Iterator<Item = &ObjectKey> {
        self.unproven.objects.values().chain(self.suspects.objects.values()).flatten()
    }

    fn queue(&mut self, rank: Rank) -> &mut RankQueue {
        match rank {
            Rank::Unproven => &mut self.unproven,
            Rank::Suspect => &mut self.suspects,
        }
    }
}

impl RankQueue {
    fn remove(&mut self, scope: &QuarantineScope, object: &ObjectKey) {
        if let Some(objects) = self.objects.get_mut(scope) {
            objects.remove(object);
            if objects.is_empty() {
                self.objects.remove(scope);
                self.last_objects.remove(scope);
            }
        }
    }

    /// Takes an object of each scope in turn, at most `most`. Only the first scope has had its turn
    /// then: the other objects ask in case the first needs no call.
    fn take(&mut self, most: usize, due: &mut Vec<ObjectKey>) {
        let mut last = self.last.clone();
        for turn in 0..most {
            let Some((scope, object)) = self.next_after(last.as_ref()) else { return };
            self.last_objects.insert(scope.clone(), object.clone());
            self.remove(&scope, &object);
            due.push(object);
            if turn == 0 {
                self.last = Some(scope.clone());
            }
            last = Some(scope);
        }
    }

    fn next_after(&self, last: Option<&QuarantineScope>) -> Option<(QuarantineScope, ObjectKey)> {
        let after_last = last.map_or(Bound::Unbounded, Bound::Excluded);
        let (scope, objects) =
            self.objects.range::<QuarantineScope, _>((after_last, Bound::Unbounded)).chain(&self.objects).next()?;
        let after_last_object = self.last_objects.get(scope).map_or(Bound::Unbounded, Bound::Excluded);
        let object = objects.range::<ObjectKey, _>((after_last_object, Bound::Unbounded)).chain(objects).next()?;
        Some((scope.clone(), object.clone()))
    }
}
