//! The elector of one Lease.

use super::{Lease, Record, Term, Timing};
use crate::queue::Time;
use crate::random::splitmix64;

/// The goal of an elector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// Acquire the lease as soon as it is free.
    Lead,
    /// Watch who holds it, and release it if it is its own.
    Follow,
    /// Release it if it is its own, and then stop for ever.
    Leave,
}

/// An input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Time passed.
    Tick,
    /// The result of the requested action.
    Answer(RequestResult),
    /// The goal changed. This ends a claim, so all writers must have stopped before.
    Goal(Goal),
    /// Another component read the lease at this time, with this result.
    Seen(Time, Option<Lease>),
}

/// The result of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestResult {
    /// It succeeded, and this is the lease now.
    Lease(Lease),
    /// The lease does not exist.
    NotFound,
    /// Nothing was written, because the lease has changed (409).
    Conflict,
    /// An error or a time-out: the write may have happened, or may still happen.
    Unknown,
}

/// A request to the API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Read the lease.
    Read,
    /// Create it. `acquireTime` and `renewTime` are the time of sending.
    Create(Record),
    /// Replace this version of it.
    Replace {
        /// The version that must still exist.
        resource_version: String,
        /// The new content.
        record: Record,
        /// The new `acquireTime`.
        term: Term,
    },
}

/// The next action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send this request and report its result.
    Send(Request),
    /// Nothing until this time, which is in the future, if nothing else happens.
    Wait(Time),
    /// Nothing: the result of a request is missing.
    Pending,
    /// Nothing any more: it has left.
    Left,
}

/// The identity of the elector is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an elector needs an identity: a lease without a holder is free")]
pub struct NoIdentity;

/// Decides about one Lease for one process. See [the module](super).
#[derive(Clone, Debug)]
pub struct Elector {
    identity: String,
    timing: Timing,
    goal: Goal,
    state: ElectorState,
    view: View,
    claim: Option<Time>,
    due: Time,
    conflicts: u32,
    /// The time of the last answer. What others read before is outdated.
    settled: Time,
    /// Whether a request without an answer may have acquired the lease.
    is_claim_in_doubt: bool,
    /// Until when nobody takes the lease, because its version went back: see [`super`].
    restored_until: Option<Time>,
    leave_by: Option<Time>,
    random: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ElectorState {
    Idle,
    Reading {
        asked: Time,
    },
    /// A write that acquires or renews the lease.
    Claiming {
        sent: Time,
    },
    Releasing,
    Left,
}

#[derive(Clone, Debug)]
struct View {
    /// Kept when the lease is deleted: see [`super`]. The time is since when it is unchanged.
    last: Option<(Lease, Time)>,
    absent: Option<Time>,
    source: Source,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Written,
    Read,
    /// Must be read at once, before any decision.
    Outdated,
    /// Must be read in the next round, before any decision.
    Doubtful,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LeaseOwner {
    Own,
    /// Free since this time.
    Free(Time),
    /// Held by another, until this time if it is not renewed.
    Taken(Time),
}

impl Elector {
    /// An elector with a unique `identity`. Different seeds keep processes from acting in step.
    ///
    /// # Errors
    ///
    /// If the identity is empty.
    pub fn new(identity: String, timing: Timing, goal: Goal, seed: u64) -> Result<Self, NoIdentity> {
        if identity.is_empty() {
            return Err(NoIdentity);
        }
        Ok(Self {
            identity,
            timing,
            goal,
            state: ElectorState::Idle,
            view: View { last: None, absent: None, source: Source::Outdated },
            claim: None,
            due: Time::default(),
            conflicts: 0,
            settled: Time::default(),
            is_claim_in_doubt: false,
            restored_until: None,
            leave_by: None,
            random: splitmix64(seed),
        })
    }

    /// Processes an input and returns the next action.
    ///
    /// # Assumptions
    ///
    /// `now` is read from a monotonic clock of this process: before a request is sent, and after an
    /// answer has arrived. Each request is answered once: without an answer within
    /// [`Timing::request_timeout`], with [`RequestResult::Unknown`], and later answers are dropped.
    ///
    /// # Guarantees
    ///
    /// See the module's documentation. A round takes at least 0.7 retry periods, and has at most
    /// four requests if they are answered at once, and three more if a lease expires within it.
    pub fn step(&mut self, input: Input, now: Time) -> Action {
        match input {
            Input::Tick => {}
            Input::Answer(answer) => self.answered(answer, now),
            Input::Goal(goal) => self.set_goal(goal, now),
            Input::Seen(asked, lease) => self.record_seen(asked, lease, now),
        }
        if self.claim.is_some_and(|until| until <= now) {
            self.claim = None;
        }
        match self.state {
            ElectorState::Idle => self.decide(now),
            ElectorState::Left => Action::Left,
            ElectorState::Reading { .. } | ElectorState::Claiming { .. } | ElectorState::Releasing => Action::Pending,
        }
    }

    /// The end of the claim: until then this process may write. `None` if it may not.
    pub fn claim(&self) -> Option<Time> {
        self.claim
    }

    /// The holder in the lease as last seen. The lease may have expired.
    pub fn holder(&self) -> Option<&str> {
        let holder = &self.view.lease()?.record.holder;
        Some(holder.as_str()).filter(|holder| !holder.is_empty())
    }

    pub(super) fn lease(&self) -> Option<&Lease> {
        self.view.lease()
    }

    /// Since when the lease has been free, as far as is known.
    pub fn free_since(&self, now: Time) -> Option<Time> {
        match self.owner(now)? {
            LeaseOwner::Free(since) => Some(since),
            LeaseOwner::Own | LeaseOwner::Taken(_) => None,
        }
    }

    /// Returns whether the lease names this elector as its holder, or may do so.
    pub fn may_hold(&self) -> bool {
        let may_become = matches!(self.state, ElectorState::Claiming { .. } | ElectorState::Releasing);
        may_become || self.is_claim_in_doubt || self.holder() == Some(&self.identity)
    }

    /// The identity of this process.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// The goal.
    pub fn goal(&self) -> Goal {
        self.goal
    }

    pub(super) fn set_goal(&mut self, goal: Goal, now: Time) {
        if self.goal == Goal::Leave || goal == self.goal {
            return;
        }
        self.goal = goal;
        if goal != Goal::Lead {
            self.claim = None;
        }
        if goal == Goal::Leave {
            self.leave_by = Some(now + self.timing.renew_deadline());
            // The process is about to end, so do not wait for the next round.
            if self.view.source == Source::Doubtful {
                self.view.source = Source::Outdated;
            }
        }
    }

    pub(super) fn answered(&mut self, answer: RequestResult, now: Time) {
        let state = match self.state {
            ElectorState::Idle | ElectorState::Left => return,
            ElectorState::Reading { .. } | ElectorState::Claiming { .. } | ElectorState::Releasing => {
                std::mem::replace(&mut self.state, ElectorState::Idle)
            }
        };
        self.settled = now;
        match (state, answer) {
            (ElectorState::Claiming { sent }, RequestResult::Lease(lease)) if lease.record.holder == self.identity => {
                self.record_written(lease, now);
                if self.goal == Goal::Lead {
                    self.claim = Some(sent + self.timing.renew_deadline());
                }
            }
            (ElectorState::Releasing, RequestResult::Lease(lease)) if lease.record.holder != self.identity => {
                self.record_written(lease, now)
            }
            // The write was changed: an admission webhook can do that.
            (
                ElectorState::Claiming { .. } | ElectorState::Releasing,
                RequestResult::Lease(_) | RequestResult::Conflict | RequestResult::NotFound,
            ) => {
                self.conflicts = self.conflicts.saturating_add(1);
                // Someone writes without pause, or the namespace is missing: wait for a round.
                self.view.source = if self.conflicts == 1 { Source::Outdated } else { Source::Doubtful };
            }
            (ElectorState::Claiming { .. }, RequestResult::Unknown) => {
                self.is_claim_in_doubt = true;
                self.view.source = Source::Doubtful;
            }
            (ElectorState::Releasing, RequestResult::Unknown) => self.view.source = Source::Doubtful,
            (_, RequestResult::Lease(lease)) => self.record_read(Some(lease), now),
            (_, RequestResult::NotFound) => self.record_read(None, now),
            (_, RequestResult::Conflict | RequestResult::Unknown) => {
                if self.view.source == Source::Outdated {
                    self.view.source = Source::Doubtful;
                }
                self.end_round_of_reading(now);
            }
        }
    }

    fn record_seen(&mut self, asked: Time, lease: Option<Lease>, now: Time) {
        match self.state {
            ElectorState::Reading { asked: since } if since <= asked => self.state = ElectorState::Idle,
            ElectorState::Idle if self.settled <= asked => {}
            _ => return,
        }
        let is_known = lease.is_some() && lease.as_ref() == self.view.last.as_ref().map(|(lease, _)| lease);
        if is_known && self.view.source == Source::Written {
            return;
        }
        self.record_read(lease, now);
        if self.holder() != Some(&self.identity) {
            self.begin_round(now);
        }
    }

    fn record_written(&mut self, lease: Lease, now: Time) {
        self.is_claim_in_doubt = false;
        self.view.set_lease(lease, now, Source::Written);
    }

    fn record_read(&mut self, found: Option<Lease>, now: Time) {
        self.is_claim_in_doubt = false;
        match found {
            Some(lease) => {
                if self.claim.is_none_or(|until| until <= now)
                    && let Some(last) = self.view.outdated_by(&lease)
                {
                    let durations =
                        [last.duration_seconds, lease.record.duration_seconds, self.timing.lease_duration_seconds()];
                    let patience = durations.map(|seconds| self.timing.patience(seconds)).into_iter().max();
                    self.restored_until = patience.map(|patience| now + patience);
                }
                self.view.set_lease(lease, now, Source::Read);
            }
            None => self.view.set_absent(now),
        }
        // Only a lease written by hand can be another's before the claim has ended.
        if self.holder() != Some(&self.identity) {
            self.claim = None;
        }
        self.end_round_of_reading(now);
    }

    /// Ends a round that took longer than planned because of a slow read.
    fn end_round_of_reading(&mut self, now: Time) {
        if self.due <= now {
            self.begin_round(now);
        }
    }

    fn begin_round(&mut self, now: Time) {
        self.random = splitmix64(self.random);
        self.due = now + self.timing.pause(self.random);
        self.conflicts = 0;
    }

    fn decide(&mut self, now: Time) -> Action {
        let is_due = self.due <= now;
        if is_due {
            self.begin_round(now);
            if self.view.source == Source::Doubtful {
                self.view.source = Source::Outdated;
            }
        }
        let owner = self.owner(now);
        let is_over = self.leave_by.is_some_and(|leave_by| leave_by <= now);
        let must_release = self.is_claim_in_doubt || owner == Some(LeaseOwner::Own);
        if is_over || (self.goal == Goal::Leave && !must_release) {
            self.state = ElectorState::Left;
            return Action::Left;
        }
        let (Some(owner), Source::Written | Source::Read) = (owner, self.view.source) else {
            return if self.view.source == Source::Doubtful { self.wait(None) } else { self.read_lease(now) };
        };
        match (self.goal, owner) {
            (Goal::Lead, LeaseOwner::Own) if is_due || self.view.source == Source::Read => self.claim_lease(Term::GoesOn, now),
            (Goal::Lead, LeaseOwner::Own) => self.wait(self.claim),
            (Goal::Follow | Goal::Leave, LeaseOwner::Own) => self.release(),
            _ if is_due => self.read_lease(now),
            (Goal::Lead, LeaseOwner::Free(_)) => {
                // A lease may expire between two rounds: the next one is a pause away.
                if self.conflicts == 0 {
                    self.begin_round(now);
                }
                self.claim_lease(Term::Begins, now)
            }
            (Goal::Lead, LeaseOwner::Taken(until)) => self.wait(Some(until)),
            (Goal::Follow | Goal::Leave, LeaseOwner::Free(_) | LeaseOwner::Taken(_)) => self.wait(None),
        }
    }

    fn owner(&self, now: Time) -> Option<LeaseOwner> {
        if let Some(until) = self.restored_until.filter(|until| now < *until) {
            return Some(LeaseOwner::Taken(until));
        }
        let Some((Lease { record, .. }, since)) = &self.view.last else { return self.view.absent.map(LeaseOwner::Free) };
        if record.holder == self.identity && self.view.absent.is_none() {
            return Some(LeaseOwner::Own);
        }
        let free_since = if record.holder.is_empty() || record.holder == self.identity {
            *since
        } else {
            *since + self.timing.patience(record.duration_seconds)
        };
        let free_since = self.view.absent.map_or(free_since, |absent| absent.max(free_since));
        Some(if free_since <= now { LeaseOwner::Free(free_since) } else { LeaseOwner::Taken(free_since) })
    }

    fn wait(&self, until: Option<Time>) -> Action {
        let times = [Some(self.due), until, self.leave_by];
        Action::Wait(times.into_iter().flatten().min().unwrap_or(self.due))
    }

    fn read_lease(&mut self, now: Time) -> Action {
        self.state = ElectorState::Reading { asked: now };
        Action::Send(Request::Read)
    }

    fn claim_lease(&mut self, term: Term, now: Time) -> Action {
        self.state = ElectorState::Claiming { sent: now };
        let record = |transitions: i32| Record {
            holder: self.identity.clone(),
            duration_seconds: self.timing.lease_duration_seconds(),
            transitions: transitions.max(0),
        };
        let Some(Lease { resource_version, record: last }) = self.view.lease() else {
            return Action::Send(Request::Create(record(0)));
        };
        let transitions = match term {
            Term::Begins => last.transitions.saturating_add(1),
            Term::GoesOn => last.transitions,
        };
        Action::Send(Request::Replace { resource_version: resource_version.clone(), record: record(transitions), term })
    }

    /// Releases the lease as client-go's `ReleaseOnCancel` does.
    fn release(&mut self) -> Action {
        let Some(Lease { resource_version, record }) = self.view.lease() else { return self.wait(None) };
        let record = Record { holder: String::new(), duration_seconds: 1, transitions: record.transitions.max(0) };
        let request = Request::Replace { resource_version: resource_version.clone(), record, term: Term::Begins };
        self.state = ElectorState::Releasing;
        Action::Send(request)
    }
}

impl View {
    fn lease(&self) -> Option<&Lease> {
        self.last.as_ref().filter(|_| self.absent.is_none()).map(|(lease, _)| lease)
    }

    /// Returns the record as last seen, if its version was newer than this one's.
    fn outdated_by(&self, lease: &Lease) -> Option<&Record> {
        let version = |lease: &Lease| lease.resource_version.parse::<u64>().ok();
        let (last, _) = self.last.as_ref()?;
        (version(lease)? < version(last)?).then_some(&last.record)
    }

    fn set_lease(&mut self, lease: Lease, now: Time, source: Source) {
        self.source = source;
        self.absent = None;
        if self.last.as_ref().is_none_or(|(last, _)| *last != lease) {
            self.last = Some((lease, now));
        }
    }

    fn set_absent(&mut self, now: Time) {
        self.source = Source::Read;
        self.absent = self.absent.or(Some(now));
    }
}
