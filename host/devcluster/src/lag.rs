//! An API server beside another one, over the same history, whose watch cache lags.
//!
//! Every API server of a cluster has a watch cache of its own. It serves watches from it, and lists and streams that ask for any state
//! (`resourceVersion=0`); these may be arbitrarily old. Everything else is as current as etcd, whichever API server answers.

use std::collections::VecDeque;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use parking_lot::{Mutex, MutexGuard};

/// The lag of a watch cache: each change enters it after a delay.
#[derive(Debug)]
pub(crate) struct Lag(Mutex<State>);

#[derive(Debug)]
struct State {
    delay: SignedDuration,
    /// The revision of the cache.
    cached: u64,
    /// Later revisions, and when they came to be.
    to_come: VecDeque<(Timestamp, u64)>,
}

impl Lag {
    pub(crate) fn new(delay: Duration, revision: u64) -> Self {
        let delay = SignedDuration::try_from(delay).unwrap_or(SignedDuration::MAX);
        Self(Mutex::new(State { delay, cached: revision, to_come: VecDeque::new() }))
    }

    /// There is a new revision.
    pub(crate) fn note(&self, now: Timestamp, revision: u64) {
        self.state().to_come.push_back((now, revision));
    }

    /// From now on it does not lag.
    pub(crate) fn end(&self) {
        self.state().delay = SignedDuration::ZERO;
    }

    /// The revision that the cache has come to, and when it comes to the next one.
    pub(crate) fn cached(&self, now: Timestamp) -> (u64, Option<Timestamp>) {
        let mut state = self.state();
        let delay = state.delay;
        let due = |at: Timestamp| at.saturating_add(delay).unwrap_or(Timestamp::MAX);
        while let Some((at, revision)) = state.to_come.front().copied() {
            if due(at) > now {
                return (state.cached, Some(due(at)));
            }
            state.cached = revision;
            state.to_come.pop_front();
        }
        (state.cached, None)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }
}
