//! The elector of one Lease.

use super::{Lease, Record, Term, Timing};
use crate::queue::Time;
use crate::random::splitmix64;

/// The goal of an elector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// To have it, as soon as it is free.
    Lead,
    /// To know who has it; to give it back if it is its own.
    Follow,
    /// To give it back if it is its own, and then to do nothing ever again.
    Leave,
}

/// An input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Time passed.
    Tick,
    /// The request that was to be sent ended like this.
    Answer(RequestResult),
    /// The goal is another now. A claim is gone with it, so whoever writes has to have stopped before.
    Goal(Goal),
    /// Somebody else asked for the lease, at that moment, and this was found.
    Seen(Time, Option<Lease>),
}

/// The result of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestResult {
    /// Well: this is the lease now.
    Lease(Lease),
    /// The lease does not exist.
    NotFound,
    /// Nothing was written, since the lease is no longer what it was (409).
    Conflict,
    /// An error, or no answer in time: what was to be written may have been, or may be yet.
    Unknown,
}

/// A request to the API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Read the lease.
    Read,
    /// Create it, with both times that of sending.
    Create(Record),
    /// Replace just this version of it.
    Replace {
        /// The version that must still be there.
        resource_version: String,
        /// The new content.
        record: Record,
        /// What becomes of `acquireTime`.
        term: Term,
    },
}

/// The next action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send this, and say how it ended.
    Send(Request),
    /// Nothing until then, if nothing else happens. It is in the future.
    Wait(Time),
    /// Nothing: there is a request whose end has not been told.
    Pending,
    /// Nothing ever: it was told to leave, and has.
    Left,
}

/// An elector must be told from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an elector needs an identity: a lease without a holder is free")]
pub struct NoIdentity;

/// Decides about one Lease, on behalf of one process. See [the module's documentation](super).
#[derive(Clone, Debug)]
pub struct Elector {
    identity: String,
    timing: Timing,
    goal: Goal,
    state: State,
    view: View,
    /// Until when the claim is good, by the last renewal.
    claim: Option<Time>,
    /// The time of the next round.
    due: Time,
    /// The number of conflicts in this round.
    conflicts: u32,
    /// Since when what the others say is not outdated by what was answered to this elector.
    settled: Time,
    /// Whether the lease may have become its own by a request whose answer was lost.
    is_claim_in_doubt: bool,
    /// The time after which it no longer tries to release the lease.
    leave_by: Option<Time>,
    random: u64,
}

/// The request in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    Reading {
        asked: Time,
    },
    /// A write that makes the lease its own, or keeps it.
    Claiming {
        sent: Time,
    },
    Releasing,
    Left,
}

/// The lease as it was last seen.
#[derive(Clone, Debug)]
struct View {
    /// With the moment since which it is known to be unchanged. Kept when it is gone: see [`super`] on deleted leases.
    last: Option<(Lease, Time)>,
    /// Since when it is known that there is none.
    absent: Option<Time>,
    /// The source of this knowledge.
    source: Source,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// As it was written by this elector.
    Written,
    /// As it was read.
    Read,
    /// It is to be read before anything is decided: at once.
    Outdated,
    /// It is to be read before anything is decided: in the next round.
    Doubtful,
}

/// The owner of the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LeaseOwner {
    Own,
    /// Free since then.
    Free(Time),
    /// Held by another; free at that time if it is not renewed.
    Taken(Time),
}

impl Elector {
    /// An elector that knows nothing yet. Two processes never have the same `identity`; what differs between them may make the
    /// `seed`, so that they do not act in step.
    ///
    /// # Errors
    ///
    /// Without an identity.
    pub fn new(identity: String, timing: Timing, goal: Goal, seed: u64) -> Result<Self, NoIdentity> {
        if identity.is_empty() {
            return Err(NoIdentity);
        }
        Ok(Self {
            identity,
            timing,
            goal,
            state: State::Idle,
            view: View { last: None, absent: None, source: Source::Outdated },
            claim: None,
            due: Time::default(),
            conflicts: 0,
            settled: Time::default(),
            is_claim_in_doubt: false,
            leave_by: None,
            random: splitmix64(seed),
        })
    }

    /// Takes in what happened, and says what to do.
    ///
    /// # Assumptions
    ///
    /// `now` is read from a clock of this process that never goes back: before the request that is asked for is sent, and after the
    /// answer that is told has come. Each request is answered once; if not within [`Timing::request_timeout`], then with
    /// [`RequestResult::Unknown`], and whatever comes later is dropped.
    ///
    /// # Guarantees
    ///
    /// See the module's documentation. As long as requests are answered at once there are at most four of them in a round, which is 0.7
    /// retry periods long or longer, and at most three more when a lease expires within the round.
    pub fn step(&mut self, input: Input, now: Time) -> Action {
        match input {
            Input::Tick => {}
            Input::Answer(answer) => self.answered(answer, now),
            Input::Goal(goal) => self.set_goal(goal, now),
            Input::Seen(asked, lease) => self.shown(asked, lease, now),
        }
        if self.claim.is_some_and(|until| until <= now) {
            self.claim = None;
        }
        match self.state {
            State::Idle => self.decide(now),
            State::Left => Action::Left,
            State::Reading { .. } | State::Claiming { .. } | State::Releasing => Action::Pending,
        }
    }

    /// Until when this process may write; none: it may not.
    pub fn claim(&self) -> Option<Time> {
        self.claim
    }

    /// The holder that the lease names, as last seen. The lease may have expired.
    pub fn holder(&self) -> Option<&str> {
        let holder = &self.view.lease()?.record.holder;
        Some(holder.as_str()).filter(|holder| !holder.is_empty())
    }

    /// The lease as last seen; none: it is not known to exist.
    pub(super) fn lease(&self) -> Option<&Lease> {
        self.view.lease()
    }

    /// Since when nobody has had the lease, as far as is known.
    pub fn free_since(&self, now: Time) -> Option<Time> {
        match self.owner(now)? {
            LeaseOwner::Free(since) => Some(since),
            LeaseOwner::Own | LeaseOwner::Taken(_) => None,
        }
    }

    /// Whether the lease names this elector as its holder, or may do so.
    pub fn may_hold(&self) -> bool {
        let may_become = matches!(self.state, State::Claiming { .. } | State::Releasing);
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
            // The process is about to end, so this is not put off to the next round.
            if self.view.source == Source::Doubtful {
                self.view.source = Source::Outdated;
            }
        }
    }

    pub(super) fn answered(&mut self, answer: RequestResult, now: Time) {
        let state = match self.state {
            State::Idle | State::Left => return,
            State::Reading { .. } | State::Claiming { .. } | State::Releasing => {
                std::mem::replace(&mut self.state, State::Idle)
            }
        };
        self.settled = now;
        match (state, answer) {
            (State::Claiming { sent }, RequestResult::Lease(lease)) if lease.record.holder == self.identity => {
                self.wrote(lease, now);
                if self.goal == Goal::Lead {
                    self.claim = Some(sent + self.timing.renew_deadline());
                }
            }
            (State::Releasing, RequestResult::Lease(lease)) if lease.record.holder != self.identity => self.wrote(lease, now),
            // Done, but not as it was asked for: an admission webhook can do that.
            (
                State::Claiming { .. } | State::Releasing,
                RequestResult::Lease(_) | RequestResult::Conflict | RequestResult::NotFound,
            ) => {
                self.conflicts = self.conflicts.saturating_add(1);
                // What others write without pause, or has no namespace, is not run after.
                self.view.source = if self.conflicts == 1 { Source::Outdated } else { Source::Doubtful };
            }
            (State::Claiming { .. }, RequestResult::Unknown) => {
                self.is_claim_in_doubt = true;
                self.view.source = Source::Doubtful;
            }
            (State::Releasing, RequestResult::Unknown) => self.view.source = Source::Doubtful,
            (_, RequestResult::Lease(lease)) => self.read(Some(lease), now),
            (_, RequestResult::NotFound) => self.read(None, now),
            (_, RequestResult::Conflict | RequestResult::Unknown) => {
                if self.view.source == Source::Outdated {
                    self.view.source = Source::Doubtful;
                }
                self.end_round_of_reading(now);
            }
        }
    }

    fn shown(&mut self, asked: Time, lease: Option<Lease>, now: Time) {
        match self.state {
            State::Reading { asked: since } if since <= asked => self.state = State::Idle,
            State::Idle if self.settled <= asked => {}
            _ => return,
        }
        let is_known = lease.is_some() && lease.as_ref() == self.view.last.as_ref().map(|(lease, _)| lease);
        if is_known && self.view.source == Source::Written {
            return;
        }
        self.read(lease, now);
        if self.holder() != Some(&self.identity) {
            self.begin_round(now);
        }
    }

    fn wrote(&mut self, lease: Lease, now: Time) {
        self.is_claim_in_doubt = false;
        self.view.shows(lease, now, Source::Written);
    }

    fn read(&mut self, found: Option<Lease>, now: Time) {
        self.is_claim_in_doubt = false;
        match found {
            Some(lease) => self.view.shows(lease, now, Source::Read),
            None => self.view.shows_none(now),
        }
        // The claim was over before another could take the lease, but by hand anything can be written.
        if self.holder() != Some(&self.identity) {
            self.claim = None;
        }
        self.end_round_of_reading(now);
    }

    /// What was read is made use of, even if that took longer than a round.
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
        let standing = self.owner(now);
        let is_over = self.leave_by.is_some_and(|leave_by| leave_by <= now);
        let has_to_give_back = self.is_claim_in_doubt || standing == Some(LeaseOwner::Own);
        if is_over || (self.goal == Goal::Leave && !has_to_give_back) {
            self.state = State::Left;
            return Action::Left;
        }
        let (Some(standing), Source::Written | Source::Read) = (standing, self.view.source) else {
            return if self.view.source == Source::Doubtful { self.wait(None) } else { self.ask(now) };
        };
        match (self.goal, standing) {
            (Goal::Lead, LeaseOwner::Own) if is_due || self.view.source == Source::Read => self.take(Term::GoesOn, now),
            (Goal::Lead, LeaseOwner::Own) => self.wait(self.claim),
            (Goal::Follow | Goal::Leave, LeaseOwner::Own) => self.release(),
            _ if is_due => self.ask(now),
            (Goal::Lead, LeaseOwner::Free(_)) => {
                // A lease may expire between two rounds: the next round is a pause away from this attempt, too.
                if self.conflicts == 0 {
                    self.begin_round(now);
                }
                self.take(Term::Begins, now)
            }
            (Goal::Lead, LeaseOwner::Taken(until)) => self.wait(Some(until)),
            (Goal::Follow | Goal::Leave, LeaseOwner::Free(_) | LeaseOwner::Taken(_)) => self.wait(None),
        }
    }

    fn owner(&self, now: Time) -> Option<LeaseOwner> {
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

    fn ask(&mut self, now: Time) -> Action {
        self.state = State::Reading { asked: now };
        Action::Send(Request::Read)
    }

    fn take(&mut self, term: Term, now: Time) -> Action {
        self.state = State::Claiming { sent: now };
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

    /// As client-go's `ReleaseOnCancel` writes it.
    fn release(&mut self) -> Action {
        let Some(Lease { resource_version, record }) = self.view.lease() else { return self.wait(None) };
        let record = Record { holder: String::new(), duration_seconds: 1, transitions: record.transitions.max(0) };
        let request = Request::Replace { resource_version: resource_version.clone(), record, term: Term::Begins };
        self.state = State::Releasing;
        Action::Send(request)
    }
}

impl View {
    /// The lease, if there is one.
    fn lease(&self) -> Option<&Lease> {
        self.last.as_ref().filter(|_| self.absent.is_none()).map(|(lease, _)| lease)
    }

    fn shows(&mut self, lease: Lease, now: Time, source: Source) {
        self.source = source;
        self.absent = None;
        if self.last.as_ref().is_none_or(|(last, _)| *last != lease) {
            self.last = Some((lease, now));
        }
    }

    fn shows_none(&mut self, now: Time) {
        self.source = Source::Read;
        self.absent = self.absent.or(Some(now));
    }
}
