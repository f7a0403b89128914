//! Decides which calls of a plugin that keeps failing by its own fault are held back.
//!
//! A plugin that traps or spins is quarantined, because each call costs a worker. But faults that
//! follow from one tenant's objects must not hold back others. The scopes of the objects tell:
//!
//! ```text
//!   a call about an object of a scope ends in a fault
//!     ├─ once about this object ─────────▶ its next calls use the suspects' lane: one at a time
//!     ├─ about two objects of the scope ─▶ so do all calls about the scope, for a while
//!     ├─ about many of these in a row ───▶ the scope is held, but not objects whose last call answered
//!     └─ … and no active scope answers ──▶ the mount is held, in all scopes that are in doubt
//!
//!   held ── after 30 s, 1 min, 2 min … 10 min ──▶ a call: the probe ── an answer ──▶ not held
//!     ▲                                             │
//!     └────────────────── a fault ──────────────────┘
//! ```
//!
//! A [`QuarantineScope`] is a namespace, or one cluster-scoped object. A scope is in doubt if its
//! last call faulted, and either nothing in it has ever answered, or something that had answered
//! has faulted since: then the plugin may be the cause. Otherwise the cause is something new in the
//! scope.
//!
//! There is one [`Quarantine`] for each mount and digest of its plugin. Before the first answer,
//! all calls use the lane.
//!
//! # Guarantees
//!
//! - A mount is only held in scopes that are in doubt themselves.
//! - Calls about a scope that has objects, has answered and has not faulted never wait for the
//!   lane.
//! - An object of a new scope waits in the lane only while several scopes are suspect, or the
//!   plugin has never answered. It goes ahead of most suspects.
//! - At most one call at a time is in the suspects' lane: a plugin that always spins takes one CPU.
//! - Every held object is called again. An answer ends the holds of its scope and of the mount.
//! - An object that has answered probes the mount, if one asks within two seconds.
//! - Each known object, and each scope with objects, takes a few bytes. A suspect scope is kept
//!   when its objects are deleted: otherwise deleting them would restore trust. At most a thousand
//!   of these are kept.
//!
//! # What is absent
//!
//! - The first calls about a scope may take all free workers for one deadline.
//! - Faults count for the scope of the object that was called about, whatever the call read.
//! - A tenant with many namespaces has many turns.

mod lane;
mod scope;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use self::lane::{Rank, Waiting};
use self::scope::{LastCall, ScopeHistory};
use crate::object::ObjectKey;
use crate::queue::Time;

pub use self::scope::QuarantineScope;

/// The wait before the first probe: people should not notice a passing cause, e.g. a busy host.
pub const FIRST_PROBE: Duration = Duration::from_secs(30);

/// The longest wait for a probe, e.g. of someone who removed the cause without an upgrade.
pub const LONGEST_WAIT: Duration = Duration::from_secs(10 * 60);

/// How long a fault or an answer counts. A scope is suspect for [`FIRST_PROBE`] after its last
/// fault, and twice as long each time it becomes so again, up to this time: otherwise removing what
/// provoked the faults would restore trust each time.
pub const SUSPECT_FOR: Duration = LONGEST_WAIT;

/// How much sooner than others an object that answered before may probe the mount.
const PREFERENCE: Duration = Duration::from_secs(2);

/// How long the lane is reserved for objects that were told to ask: longer than the way through the
/// queue, and short if they need no call.
const RESERVED_FOR: Duration = Duration::from_secs(2);

/// The number of suspect scopes at which scopes that have not answered yet are suspect too.
const MANY_SUSPECTS: usize = 2;

/// The most scopes without objects that are kept, e.g. of deleted cluster-scoped objects.
const MOST_EMPTY: usize = 1000;

/// The past calls of the plugin of one mount, which decide whether it is called.
#[derive(Clone, Debug)]
pub struct Quarantine {
    /// The number of objects whose consecutive faults begin a quarantine; `None` for no quarantine.
    after: Option<u32>,
    scopes: BTreeMap<QuarantineScope, ScopeHistory>,
    /// The time until which each scope is suspect, which may have passed.
    suspects: BTreeMap<QuarantineScope, Time>,
    /// The scopes without objects, each with a time until which its past counts.
    empty: BTreeSet<(Time, QuarantineScope)>,
    /// The number of known objects of all scopes about which a call has ever answered.
    answered_objects: usize,
    has_answered: bool,
    /// The objects of the last consecutive faults over all scopes, at most `after`.
    culprits: BTreeSet<(QuarantineScope, u64)>,
    faults: u32,
    /// The quarantine of the mount; each scope has its own.
    hold: Hold,
    is_lane_taken: bool,
    waiting: Waiting,
    /// The objects that were told to ask for the lane: the first that asks gets it.
    reserved_for: Vec<ObjectKey>,
    reserved_until: Time,
    /// The objects that asked for a call and were told that they are held.
    held_objects: BTreeMap<QuarantineScope, BTreeSet<ObjectKey>>,
    held_scope_count: usize,
}

/// The quarantine of a mount or of a scope, if it is in one.
#[derive(Clone, Copy, Debug)]
struct Hold {
    held: Option<Held>,
    /// The wait for a probe after the next fault; it doubles each time, up to [`LONGEST_WAIT`].
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

    fn extend(&mut self, reason: &'static str, now: Time) {
        if let Some(held) = &mut self.held {
            *held = Held { faults: held.faults.saturating_add(1), reason, until: now + self.wait, ..*held };
            self.wait = self.wait.saturating_mul(2).min(LONGEST_WAIT);
        }
    }

    fn end(&mut self) -> bool {
        std::mem::take(self).held.is_some()
    }
}

/// Whether to make a call. Pass [`Self::Call`] and [`Self::Probe`] to [`Quarantine::ended`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Make it.
    Call(Lane),
    /// Make it in the suspects' lane: it decides whether the plugin is called again.
    Probe(Extent),
    /// Not now: the suspects' lane is in use. [`Ended::next`] says when to ask again.
    Wait,
    /// Do not make it.
    Held {
        /// When to ask again, unless [`Ended::released`] names the object earlier.
        until: Time,
        /// Whether the mount or only the scope is held.
        extent: Extent,
    },
}

/// The lane of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// In parallel with others.
    Usual,
    /// One at a time, because it may end in a fault.
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

/// The end of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallEnd {
    /// It answered, even if the plugin reports a failure.
    Answered,
    /// The plugin's fault: it trapped or reached one of its limits.
    PluginFault {
        /// The sandbox's reason, in CamelCase.
        reason: &'static str,
    },
    /// The host's fault, or the call was not made.
    HostFault,
}

/// The effects of the end of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// The quarantines that began or ended.
    pub changes: Vec<Change>,
    /// The objects that were held, or waited, and may ask again: there may be many.
    pub released: Vec<ObjectKey>,
    /// The objects whose turn it is in the suspects' lane. The first that asks gets it.
    pub next: Vec<ObjectKey>,
}

/// The beginning or end of a quarantine, for logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The plugin is no longer called about these objects.
    Quarantined(Extent),
    /// It is called again.
    Recovered(Extent),
}

/// A quarantine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The start.
    pub since: Time,
    /// The number of consecutive calls that ended by the plugin's fault, with probes.
    pub faults: u32,
    /// The reason of the last fault, in CamelCase.
    pub reason: &'static str,
    /// The time of the next probe, in the past during a probe.
    pub until: Time,
}

impl Quarantine {
    /// A state for a plugin that has not been called. It is quarantined after consecutive faults
    /// about `after` different objects (at least 1), or never if `None`.
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
            reserved_for: Vec::new(),
            reserved_until: Time::default(),
            held_objects: BTreeMap::new(),
            held_scope_count: 0,
        }
    }

    /// Decides whether a call about an object is made now.
    pub fn admit(&mut self, object: &ObjectKey, now: Time) -> Admission {
        let (scope, id) = (QuarantineScope::of(object), scope::id(object));
        let has_turn = self.reserved_for.contains(object) || self.reserved_for.is_empty() || self.reserved_until <= now;
        self.stop_waiting(&scope, object);
        let last_call = self.scopes.get(&scope).and_then(|history| history.last_call(id));
        let hold = self.holds(object).map(|(extent, held)| {
            let has_answered = last_call.is_some_and(LastCall::has_answered);
            let yields = extent == Extent::Mount && !has_answered && self.answered_objects > 0;
            (extent, if yields { held.until + PREFERENCE } else { held.until })
        });
        match hold {
            Some((extent, until)) if now < until => {
                self.held_objects.entry(scope).or_default().insert(object.clone());
                Admission::Held { until, extent }
            }
            Some((extent, _)) => self.take_lane(scope, object, last_call, has_turn, Admission::Probe(extent), now),
            None if self.is_suspect(&scope, last_call, now) => {
                self.take_lane(scope, object, last_call, has_turn, Admission::Call(Lane::Suspects), now)
            }
            None => Admission::Call(Lane::Usual),
        }
    }

    /// Records the end of an admitted call. Faults of calls from before a quarantine do not count,
    /// and a probe that ended by the host's fault may be repeated at once.
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
            CallEnd::Answered => self.record_answer(object, now, &mut ended),
            CallEnd::PluginFault { reason } => self.record_fault(object, admission, reason, now, &mut ended),
            CallEnd::HostFault => {}
        }
        let is_reserved = !self.reserved_for.is_empty() && now < self.reserved_until;
        if !self.is_lane_taken && !is_reserved {
            self.waiting.take_next(now, &mut ended.next);
            (self.reserved_for, self.reserved_until) = (ended.next.clone(), now + RESERVED_FOR);
        }
        ended
    }

    /// Forgets a deleted object.
    pub fn forget(&mut self, object: &ObjectKey, now: Time) {
        let scope = QuarantineScope::of(object);
        self.stop_waiting(&scope, object);
        if let Some(history) = self.scopes.get_mut(&scope) {
            let answered = history.answered_objects();
            history.forget(scope::id(object));
            self.answered_objects = self.answered_objects + history.answered_objects() - answered;
            if history.is_empty() && !std::mem::replace(&mut history.is_listed_as_empty, true) {
                self.empty.insert((history.counts_until(), scope));
            }
        }
        self.tidy(now);
    }

    /// The quarantine of the mount, if it is in one.
    pub fn view(&self) -> Option<Held> {
        self.hold.held
    }

    /// The quarantines of scopes.
    pub fn held_scopes(&self) -> impl Iterator<Item = (&QuarantineScope, Held)> {
        self.scopes.iter().filter_map(|(scope, history)| Some((scope, history.hold.held?)))
    }

    /// The number of quarantined scopes.
    pub fn held_scope_count(&self) -> usize {
        self.held_scope_count
    }

    /// The quarantine that holds an object, except for probes.
    pub fn holds(&self, object: &ObjectKey) -> Option<(Extent, Held)> {
        let history = self.scopes.get(&QuarantineScope::of(object))?;
        match self.hold.held {
            Some(held) if history.is_in_doubt() => Some((Extent::Mount, held)),
            _ if history.last_call(scope::id(object)) == Some(LastCall::Answered) => None,
            _ => history.hold.held.map(|held| (Extent::Scope, held)),
        }
    }

    /// The objects that are held or wait for their turn.
    pub fn objects(&self) -> impl Iterator<Item = &ObjectKey> {
        self.held_objects.values().flatten().chain(self.waiting.objects()).chain(&self.reserved_for)
    }

    /// The number of known objects and scopes.
    pub fn len(&self) -> (usize, usize) {
        (self.scopes.values().map(ScopeHistory::len).sum(), self.scopes.len())
    }

    /// Returns whether no object is known.
    pub fn is_empty(&self) -> bool {
        self.scopes.is_empty()
    }

    fn stop_waiting(&mut self, scope: &QuarantineScope, object: &ObjectKey) {
        self.waiting.remove(scope, object);
        self.reserved_for.retain(|other| other != object);
        if let Some(held) = self.held_objects.get_mut(scope) {
            held.remove(object);
            if held.is_empty() {
                self.held_objects.remove(scope);
            }
        }
    }

    /// Returns `admission` if the lane is free and the object has its turn. Otherwise the object
    /// waits.
    fn take_lane(
        &mut self,
        scope: QuarantineScope,
        object: &ObjectKey,
        last_call: Option<LastCall>,
        has_turn: bool,
        admission: Admission,
        now: Time,
    ) -> Admission {
        let has_faults = last_call.is_some_and(LastCall::is_fault)
            || self.suspects.get(&scope).is_some_and(|until| now < *until)
            || self.scopes.get(&scope).is_some_and(ScopeHistory::ended_in_fault);
        let rank = if has_faults { Rank::Suspect } else { Rank::Unproven };
        if self.is_lane_taken || !has_turn {
            self.waiting.add(scope, object.clone(), rank);
            return Admission::Wait;
        }
        self.is_lane_taken = true;
        self.reserved_for.clear();
        self.waiting.begin_turn(scope, rank, now);
        admission
    }

    fn is_suspect(&self, scope: &QuarantineScope, last_call: Option<LastCall>, now: Time) -> bool {
        let is_current = |until: &Time| now < *until;
        let has_answered = self.scopes.get(scope).is_some_and(ScopeHistory::has_answered);
        let are_many = || self.suspects.values().filter(|until| is_current(until)).take(MANY_SUSPECTS).count() == MANY_SUSPECTS;
        !self.has_answered
            || last_call.is_some_and(LastCall::is_fault)
            || self.suspects.get(scope).is_some_and(is_current)
            || (!has_answered && are_many())
    }

    fn record_answer(&mut self, object: &ObjectKey, now: Time, ended: &mut Ended) {
        let (scope, id) = (QuarantineScope::of(object), scope::id(object));
        self.culprits.clear();
        self.faults = 0;
        if !std::mem::replace(&mut self.has_answered, true) {
            // Most waiting objects are no longer suspects.
            self.waiting.take_all(&mut ended.released);
        }
        let history = self.scopes.entry(scope.clone()).or_default();
        let answered = history.answered_objects();
        history.record_answer(id, now);
        self.answered_objects = self.answered_objects + history.answered_objects() - answered;
        if history.hold.end() {
            self.held_scope_count -= 1;
            ended.changes.push(Change::Recovered(Extent::Scope));
        }
        ended.released.extend(self.held_objects.remove(&scope).into_iter().flatten());
        if self.hold.end() {
            ended.changes.push(Change::Recovered(Extent::Mount));
            // Objects whose scope is still held are told so when they ask.
            ended.released.extend(std::mem::take(&mut self.held_objects).into_values().flatten());
        }
    }

    fn record_fault(&mut self, object: &ObjectKey, admission: Admission, reason: &'static str, now: Time, ended: &mut Ended) {
        let (scope, id) = (QuarantineScope::of(object), scope::id(object));
        self.suspects.retain(|_, until| now < *until);
        self.waiting.move_to_suspects(&scope);
        let history = self.scopes.entry(scope.clone()).or_default();
        let answered = history.answered_objects();
        if let Some(until) = history.record_fault(&scope, id, now) {
            self.suspects.insert(scope.clone(), until);
        }
        self.answered_objects = self.answered_objects + history.answered_objects() - answered;
        let after = self.after.map(|after| after.max(1) as usize);
        match (admission, history.hold.held) {
            (Admission::Probe(Extent::Scope), Some(_)) => history.hold.extend(reason, now),
            (_, Some(_)) => {}
            (_, None) => {
                if after.is_some_and(|after| history.count_culprit(&scope, id) >= after) {
                    history.hold.begin(history.faults, reason, now);
                    self.held_scope_count += 1;
                    ended.changes.push(Change::Quarantined(Extent::Scope));
                }
            }
        }
        match (admission, self.hold.held) {
            (Admission::Probe(Extent::Mount), Some(_)) => self.hold.extend(reason, now),
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

    /// Returns whether a scope shows, or may soon show, that the plugin works.
    fn may_answer_elsewhere(&self, now: Time) -> bool {
        let is_in_doubt = |scope: &QuarantineScope| self.scopes.get(scope).is_some_and(ScopeHistory::is_in_doubt);
        self.scopes.values().any(|history| history.answered_lately(now) && !history.is_in_doubt())
            || self.waiting.scopes().any(|scope| !is_in_doubt(scope))
            || self.reserved_for.iter().any(|object| !is_in_doubt(&QuarantineScope::of(object)))
    }

    /// Forgets scopes without objects whose past no longer counts, or that exceed [`MOST_EMPTY`].
    fn tidy(&mut self, now: Time) {
        while let Some((until, _)) = self.empty.first()
            && (*until <= now || self.empty.len() > MOST_EMPTY)
            && let Some((until, scope)) = self.empty.pop_first()
        {
            let Some(history) = self.scopes.get_mut(&scope) else { continue };
            let counts_until = history.counts_until();
            history.is_listed_as_empty = history.is_empty() && until < counts_until && now < counts_until;
            if history.is_listed_as_empty {
                self.empty.insert((counts_until, scope));
            } else if history.is_empty() {
                self.held_scope_count -= usize::from(history.hold.held.is_some());
                self.scopes.remove(&scope);
                self.suspects.remove(&scope);
                self.held_objects.remove(&scope);
            }
        }
    }
}

#[cfg(test)]
mod tests;
