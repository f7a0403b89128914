//! A second API server over the same history, whose watch cache lags.
//!
//! Each API server of a cluster has its own watch cache, from which it serves watches, and lists of
//! any state (`resourceVersion=0`). The cache may be arbitrarily old; all other answers are
//! current.

use std::collections::VecDeque;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use parking_lot::{Mutex, MutexGuard};

/// The lag of a watch cache, which gets each change after a delay.
#[derive(Debug)]
pub(crate) struct Lag(Mutex<State>);

#[derive(Debug)]
struct State {
    delay: SignedDuration,
    cached: u64,
    /// Later revisions with their times.
    to_come: VecDeque<(Timestamp, u64)>,
}

impl Lag {
    pub(crate) fn new(delay: Duration, revision: u64) -> Self {
        let delay = SignedDuration::try_from(delay).unwrap_or(SignedDuration::MAX);
        Self(Mutex::new(State { delay, cached: revision, to_come: VecDeque::new() }))
    }

    pub(crate) fn note(&self, now: Timestamp, revision: u64) {
        self.state().to_come.push_back((now, revision));
    }

    /// Ends the lag.
    pub(crate) fn end(&self) {
        self.state().delay = SignedDuration::ZERO;
    }

    /// Returns the revision of the cache, and when it gets the next one.
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
