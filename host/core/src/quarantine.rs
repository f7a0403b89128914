//! When a plugin that keeps failing by its own fault is no longer called, and about which objects.
//!
//! A plugin that traps or spins on whatever it is given costs a worker each time, so it is no longer called: it is quarantined. But faults
//! may as well follow from what one tenant wrote into its objects, and then they must hold back nobody else. What can be told apart is
//! where the objects are:
//!
//! ```text
//!   a call about an object of a scope ends in a fault
//!     ├─ of that object once ─────────────────────────▶ its next calls are made in the suspects' lane: one at a time in a mount
//!     ├─ of two objects of the scope ─────────────────▶ so are all calls about the scope, for a while
//!     ├─ of many objects in a row, of the scope ──────▶ the scope is held but for those of its objects that answered before
//!     └─ … and no scope that is active answers ───────▶ the mount is held, in all scopes that are in doubt
//!
//!   held ── after 30 s, 1 min, 2 min … 10 min ──▶ one call: the probe ── an answer ──▶ the hold is over
//!     ▲                                             │
//!     └────────────────── a fault ──────────────────┘
//! ```
//!
//! A [`QuarantineScope`] is a namespace. Of cluster-scoped objects nobody knows whose they are: each is a scope of its own, in which its faults in a row
//! count as objects do in a namespace. A scope is in doubt if its last call ended in a fault, and either nothing of it has ever answered, or
//! something that had answered has not since the last answer: the cause may then be the plugin. Otherwise it is what is new in the scope.
//!
//! # Guarantees
//!
//! - An object is never held because of calls about other scopes alone: the mount is only held in scopes that are in doubt themselves. So an
//!   object that answered last is not held before another of its scope that had answered has ended in a fault.
//! - Calls about a scope without faults that has answered before, and still has objects, never wait for the lane, whatever other scopes do.
//! - An object of a scope that has neither answered nor faulted waits in the lane only while several scopes are suspect, or the plugin has never
//!   answered. It goes ahead of most suspects: it waits for the call that is under way, and for others that are as new as it is.
//! - At most one call in the suspects' lane is under way, and probes are among these: a plugin that spins about everything takes one CPU.
//! - Whoever is held is called again some day: one answer ends the hold of its scope, and that of the mount.
//! - The probe of a mount is made with an object that has answered before, if one asks within two seconds.
//! - What is kept is a few bytes for each object that was called about and not forgotten, and for each scope with such objects. Scopes
//!   without any are kept for as long as they are suspect, or deleting an object would be a way to be trusted again; but a thousand at most.
//!
//! # What is absent
//!
//! - The first calls about a scope take whatever workers are free. If objects of many scopes, all of which answered before, begin to spin at
//!   once, each of these scopes may take all workers for one deadline before it is suspect.
//! - Faults count for the scope of the object that was called about, whoever wrote what the call read.
//! - Nobody knows that several scopes are one tenant's. Before the first answer, and among scopes that are new, a tenant with a hundred
//!   namespaces has a hundred turns where another has one, and so has one with a hundred cluster-scoped objects.
//!
//! There is one state for each mount and digest of its plugin: another digest starts with a new state, and so does another host. Until the plugin has answered for
//! the first time all calls are made in the suspects' lane, in which scopes take turns.

mod lane;
mod scope;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use self::lane::{Rank, Waiting};
use self::scope::{Record, Scoped};
use crate::object::ObjectKey;
use crate::queue::Time;

pub use self::scope::QuarantineScope;

/// How long the first probe waits. Soon enough that a passing cause (a host short of CPU makes calls run into their deadline) is not
/// noticed by people.
pub const FIRST_PROBE: Duration = Duration::from_secs(30);

/// No probe waits longer: someone who has removed the cause without changing the plugin waits for as long as this.
pub const LONGEST_WAIT: Duration = Duration::from_secs(10 * 60);

/// How long a fault or an answer counts: as long as a held scope waits for a probe at most. A scope is suspect for [`FIRST_PROBE`] after
/// its last fault, and for twice as long each time that it becomes so again within this time, at most for this time: otherwise whoever
/// provokes faults and takes back what did would be trusted again each time.
pub const SUSPECT_FOR: Duration = LONGEST_WAIT;

/// So much sooner than others an object may be the probe of a mount that answered before. All that are held ask at the same time.
const PREFERENCE: Duration = Duration::from_secs(2);

/// How long the lane of suspects is kept for those who were told that it is their turn: otherwise whoever floods the queue would be ahead of
/// them. It is longer than the way through the queue of a mount that keeps up, and short for others if those who were told need no call.
const KEPT_FOR: Duration = Duration::from_secs(2);

/// So many scopes have to be suspect until scopes that have not answered yet are, too: a tenant may have several namespaces.
const MANY_SUSPECTS: usize = 2;

/// How many scopes without objects are kept at most: those whose past counts longest. Without a bound, there would be one for each
/// cluster-scoped object that was created, ended in a fault and was deleted within [`SUSPECT_FOR`].
const MOST_EMPTY: usize = 1000;

/// Whether the plugin of one mount is called.
#[derive(Clone, Debug)]
pub struct Quarantine {
    after: Option<u32>,
    scopes: BTreeMap<QuarantineScope, Scoped>,
    /// The scopes that are suspect, and until when.
    suspects: BTreeMap<QuarantineScope, Time>,
    /// The scopes without objects, and until when their past counts.
    empty: BTreeSet<(Time, QuarantineScope)>,
    /// How many objects there are that have ever answered.
    answered_objects: usize,
    /// Whether the plugin has ever answered.
    has_answered: bool,
    /// The objects of the last faults in a row, over all scopes: no more than `after`.
    culprits: BTreeSet<(QuarantineScope, u64)>,
    faults: u32,
    hold: Hold,
    /// Whether a call in the suspects' lane is under way.
    is_lane_taken: bool,
    waiting: Waiting,
    /// The objects that were told to ask for the lane. The first of them that asks gets it.
    told: Vec<ObjectKey>,
    /// Until then, no other object gets the lane.
    told_until: Time,
    held: BTreeMap<QuarantineScope, BTreeSet<ObjectKey>>,
    /// How many scopes are held.
    held_scopes: usize,
}

/// A quarantine of a mount or a scope, or none.
#[derive(Clone, Copy, Debug)]
struct Hold {
    held: Option<Held>,
    /// How long the probe after the next one waits.
    wait: Duration,
}

impl Default for Hold {
    fn default() -> Self {
        Self { held: None, wait: FIRST_PROBE }
    }
}

impl Hold {
    fn begin(&mut self, faults: u32, reason: &'static str, now: Time) {
        self.held = Some(Held { since: now, faults, reason, until: now + self.wait });
        self.wait = self.wait.saturating_mul(2).min(LONGEST_WAIT);
    }

    /// A probe ended in a fault.
    fn go_on(&mut self, reason: &'static str, now: Time) {
        if let Some(held) = &mut self.held {
            *held = Held { faults: held.faults.saturating_add(1), reason, until: now + self.wait, ..*held };
            self.wait = self.wait.saturating_mul(2).min(LONGEST_WAIT);
        }
    }

    /// Whether there was one.
    fn end(&mut self) -> bool {
        std::mem::take(self).held.is_some()
    }
}

/// Whether to make a call. Whoever gets [`Self::Call`] or [`Self::Probe`] hands it back to [`Quarantine::ended`], whatever happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Make it.
    Call(Lane),
    /// Make it, in the suspects' lane: it decides whether the plugin is called again.
    Probe(Extent),
    /// Not now: another call in the suspects' lane is under way. [`Ended::next`] says when to ask again.
    Wait,
    /// Do not make it.
    Held {
        /// When to ask again. If the plugin recovers, [`Ended::released`] says so earlier.
        until: Time,
        /// Whether the mount or only the scope is held.
        extent: Extent,
    },
}

/// The lane of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Beside others.
    Usual,
    /// Alone among suspects: it may well end in a fault.
    Suspects,
}

/// The objects that a quarantine covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The mount, in all scopes that are in doubt.
    Mount,
    /// One scope: a namespace, or one cluster-scoped object.
    Scope,
}

/// The end of a call, as far as the quarantine is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallEnd {
    /// With an answer, even if the plugin says in it that it failed.
    Answered,
    /// By the plugin's fault: it trapped, or was stopped at one of its limits.
    PluginFault {
        /// The sandbox's word for it, in CamelCase.
        reason: &'static str,
    },
    /// By the host's fault, or it was not made at all.
    HostFault,
}

/// The effects of the end of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// The quarantines that began or ended.
    pub changes: Vec<Change>,
    /// The objects that were held, or waited, and may ask again now: there may be many.
    pub released: Vec<ObjectKey>,
    /// Those whose turn it is in the suspects' lane: a few, of which the first that asks gets it.
    pub next: Vec<ObjectKey>,
}

/// The beginning or end of a quarantine, for logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The plugin is no longer called about these.
    Quarantined(Extent),
    /// It is called again.
    Recovered(Extent),
}

/// A quarantine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Since when.
    pub since: Time,
    /// The number of consecutive calls that ended by the plugin's fault, probes included.
    pub faults: u32,
    /// The reason of the last of them, in CamelCase.
    pub reason: &'static str,
    /// The time of the next probe. In the past while one is being made.
    pub until: Time,
}

impl Quarantine {
    /// For a plugin that has not been called yet. It is quarantined after faults in a row about so many different objects (0 is the same
    /// as 1); none: never. An object that the plugin cannot bear is thus held back by its own back-off, and not by a quarantine that
    /// would hold back others, too.
    pub fn new(after: Option<u32>) -> Self {
        Self {
            after,
            scopes: BTreeMap::new(),
            suspects: BTreeMap::new(),
            empty: BTreeSet::new(),
            answered_objects: 0,
            has_answered: false,
            culprits: BTreeSet::new(),
            faults: 0,
            hold: Hold::default(),
            is_lane_taken: false,
            waiting: Waiting::default(),
            told: Vec::new(),
            told_until: Time::default(),
            held: BTreeMap::new(),
            held_scopes: 0,
        }
    }

    /// Whether a call about an object is made now.
    pub fn admit(&mut self, object: &ObjectKey, now: Time) -> Admission {
        let (scope, id) = (QuarantineScope::of(object), scope::id(object));
        let has_turn = self.told.contains(object) || self.told.is_empty() || self.told_until <= now;
        self.waits_no_longer(&scope, object);
        let record = self.scopes.get(&scope).and_then(|scoped| scoped.record(id));
        let hold = self.holds(object).map(|(extent, held)| {
            let has_answered = record.is_some_and(Record::has_answered);
            let yields = extent == Extent::Mount && !has_answered && self.answered_objects > 0;
            (extent, if yields { held.until + PREFERENCE } else { held.until })
        });
        match hold {
            Some((extent, until)) if now < until => {
                self.held.entry(scope).or_default().insert(object.clone());
                Admission::Held { until, extent }
            }
            Some((extent, _)) => self.take_lane(scope, object, record, has_turn, (Admission::Probe(extent), now)),
            None if self.is_suspect(&scope, record, now) => {
                self.take_lane(scope, object, record, has_turn, (Admission::Call(Lane::Suspects), now))
            }
            None => Admission::Call(Lane::Usual),
        }
    }

    /// Takes note of how a call about that object ended, which was admitted like this.
    ///
    /// Calls that were in progress when the plugin was quarantined count for nothing, except that an answer is an answer. A probe that
    /// comes to no end by the host's fault may be repeated at once: it says nothing.
    pub fn ended(&mut self, object: &ObjectKey, admission: Admission, end: CallEnd, now: Time) -> Ended {
        let mut ended = Ended::default();
        match admission {
            Admission::Wait | Admission::Held { .. } => return ended,
            Admission::Call(Lane::Suspects) | Admission::Probe(_) => {
                self.is_lane_taken = false;
                self.waiting.end_turn(matches!(end, CallEnd::PluginFault { .. }), now);
            }
            Admission::Call(Lane::Usual) => {}
        }
        match end {
            CallEnd::Answered => self.answered(object, now, &mut ended),
            CallEnd::PluginFault { reason } => self.faulted(object, admission, reason, now, &mut ended),
            CallEnd::HostFault => {}
        }
        let is_kept = !self.told.is_empty() && now < self.told_until;
        if !self.is_lane_taken && !is_kept {
            self.waiting.next(now, &mut ended.next);
            (self.told, self.told_until) = (ended.next.clone(), now + KEPT_FOR);
        }
        ended
    }

    /// An object is gone.
    pub fn forget(&mut self, object: &ObjectKey, now: Time) {
        let scope = QuarantineScope::of(object);
        self.waits_no_longer(&scope, object);
        if let Some(scoped) = self.scopes.get_mut(&scope) {
            let answered = scoped.answered_objects();
            scoped.forget(scope::id(object));
            self.answered_objects = self.answered_objects + scoped.answered_objects() - answered;
            if scoped.is_empty() && !std::mem::replace(&mut scoped.is_listed_as_empty, true) {
                self.empty.insert((scoped.counts_until(), scope));
            }
        }
        self.tidy(now);
    }

    /// The quarantine of the mount, if it is in one.
    pub fn view(&self) -> Option<Held> {
        self.hold.held
    }

    /// The quarantines of single scopes.
    pub fn held_scopes(&self) -> impl Iterator<Item = (&QuarantineScope, Held)> {
        self.scopes.iter().filter_map(|(scope, scoped)| Some((scope, scoped.hold.held?)))
    }

    /// The number of them.
    pub fn held_scope_count(&self) -> usize {
        self.held_scopes
    }

    /// The quarantine that an object is held by but for probes, if any.
    pub fn holds(&self, object: &ObjectKey) -> Option<(Extent, Held)> {
        let scoped = self.scopes.get(&QuarantineScope::of(object))?;
        match self.hold.held {
            Some(held) if scoped.is_in_doubt() => Some((Extent::Mount, held)),
            _ if scoped.record(scope::id(object)) == Some(Record::Answered) => None,
            _ => scoped.hold.held.map(|held| (Extent::Scope, held)),
        }
    }

    /// The objects that are held, or wait for their turn.
    pub fn objects(&self) -> impl Iterator<Item = &ObjectKey> {
        self.held.values().flatten().chain(self.waiting.objects()).chain(&self.told)
    }

    /// The number of objects and scopes in memory.
    pub fn len(&self) -> (usize, usize) {
        (self.scopes.values().map(Scoped::len).sum(), self.scopes.len())
    }

    /// Whether nothing is known of any object.
    pub fn is_empty(&self) -> bool {
        self.scopes.is_empty()
    }

    fn waits_no_longer(&mut self, scope: &QuarantineScope, object: &ObjectKey) {
        self.waiting.remove(scope, object);
        self.told.retain(|told| told != object);
        if let Some(held) = self.held.get_mut(scope) {
            held.remove(object);
            if held.is_empty() {
                self.held.remove(scope);
            }
        }
    }

    fn take_lane(
        &mut self,
        scope: QuarantineScope,
        object: &ObjectKey,
        record: Option<Record>,
        has_turn: bool,
        (admission, now): (Admission, Time),
    ) -> Admission {
        let has_faults = record.is_some_and(Record::is_fault)
            || self.suspects.get(&scope).is_some_and(|until| now < *until)
            || self.scopes.get(&scope).is_some_and(Scoped::ended_in_fault);
        let rank = if has_faults { Rank::Suspect } else { Rank::Unproven };
        if self.is_lane_taken || !has_turn {
            self.waiting.add(scope, object.clone(), rank);
            return Admission::Wait;
        }
        self.is_lane_taken = true;
        self.told.clear();
        self.waiting.begin_turn(scope, rank, now);
        admission
    }

    fn is_suspect(&self, scope: &QuarantineScope, record: Option<Record>, now: Time) -> bool {
        let is_one = |until: &Time| now < *until;
        let has_answered = self.scopes.get(scope).is_some_and(Scoped::has_answered);
        let are_many = || self.suspects.values().filter(|until| is_one(until)).take(MANY_SUSPECTS).count() == MANY_SUSPECTS;
        !self.has_answered
            || record.is_some_and(Record::is_fault)
            || self.suspects.get(scope).is_some_and(is_one)
            || (!has_answered && are_many())
    }

    fn answered(&mut self, object: &ObjectKey, now: Time, ended: &mut Ended) {
        let (scope, id) = (QuarantineScope::of(object), scope::id(object));
        self.culprits.clear();
        self.faults = 0;
        if !std::mem::replace(&mut self.has_answered, true) {
            // Most that waited are no suspects any more.
            self.waiting.take_all(&mut ended.released);
        }
        let scoped = self.scopes.entry(scope.clone()).or_default();
        let answered = scoped.answered_objects();
        scoped.answered(id, now);
        self.answered_objects = self.answered_objects + scoped.answered_objects() - answered;
        if scoped.hold.end() {
            self.held_scopes -= 1;
            ended.changes.push(Change::Recovered(Extent::Scope));
        }
        ended.released.extend(self.held.remove(&scope).into_iter().flatten());
        if self.hold.end() {
            ended.changes.push(Change::Recovered(Extent::Mount));
            // Those whose scope is still held may say so now.
            ended.released.extend(std::mem::take(&mut self.held).into_values().flatten());
        }
    }

    fn faulted(&mut self, object: &ObjectKey, admission: Admission, reason: &'static str, now: Time, ended: &mut Ended) {
        let (scope, id) = (QuarantineScope::of(object), scope::id(object));
        self.suspects.retain(|_, until| now < *until);
        self.waiting.suspect(&scope);
        let scoped = self.scopes.entry(scope.clone()).or_default();
        let answered = scoped.answered_objects();
        if let Some(until) = scoped.faulted(&scope, id, now) {
            self.suspects.insert(scope.clone(), until);
        }
        self.answered_objects = self.answered_objects + scoped.answered_objects() - answered;
        let after = self.after.map(|after| after.max(1) as usize);
        match (admission, scoped.hold.held) {
            (Admission::Probe(Extent::Scope), Some(_)) => scoped.hold.go_on(reason, now),
            (_, Some(_)) => {}
            (_, None) => {
                if after.is_some_and(|after| scoped.count(&scope, id) >= after) {
                    scoped.hold.begin(scoped.faults, reason, now);
                    self.held_scopes += 1;
                    ended.changes.push(Change::Quarantined(Extent::Scope));
                }
            }
        }
        match (admission, self.hold.held) {
            (Admission::Probe(Extent::Mount), Some(_)) => self.hold.go_on(reason, now),
            (_, Some(_)) => {}
            (_, None) => {
                self.faults = self.faults.saturating_add(1);
                let Some(after) = after else { return };
                if self.culprits.len() < after {
                    self.culprits.insert((scope, id));
                }
                if self.culprits.len() >= after && !self.may_answer_elsewhere(now) {
                    self.hold.begin(self.faults, reason, now);
                    ended.changes.push(Change::Quarantined(Extent::Mount));
                }
            }
        }
    }

    /// Whether the plugin answers, or has not been asked, about a scope that is active.
    fn may_answer_elsewhere(&self, now: Time) -> bool {
        let is_bad = |scope: &QuarantineScope| self.scopes.get(scope).is_some_and(Scoped::is_in_doubt);
        self.scopes.values().any(|scoped| scoped.answered_lately(now) && !scoped.is_in_doubt())
            || self.waiting.scopes().any(|scope| !is_bad(scope))
            || self.told.iter().any(|object| !is_bad(&QuarantineScope::of(object)))
    }

    /// Forgets scopes without objects whose past does not count any more, and those that are too many.
    fn tidy(&mut self, now: Time) {
        while let Some((until, _)) = self.empty.first()
            && (*until <= now || self.empty.len() > MOST_EMPTY)
            && let Some((until, scope)) = self.empty.pop_first()
        {
            let Some(scoped) = self.scopes.get_mut(&scope) else { continue };
            // It may have had objects, and faults, since it was listed.
            let counts_until = scoped.counts_until();
            scoped.is_listed_as_empty = scoped.is_empty() && until < counts_until && now < counts_until;
            if scoped.is_listed_as_empty {
                self.empty.insert((counts_until, scope));
            } else if scoped.is_empty() {
                self.held_scopes -= usize::from(scoped.hold.held.is_some());
                self.scopes.remove(&scope);
                self.suspects.remove(&scope);
                // They were told to ask at a time that is long past.
                self.held.remove(&scope);
            }
        }
    }
}

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
