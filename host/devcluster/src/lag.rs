//! A second API server over the same history. Its watch cache lags, from which it serves watches,
//! and lists of any state (`resourceVersion=0`). All other answers are current.

use std::collections::VecDeque;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use parking_lot::{Mutex, MutexGuard};

/// The lag of a watch cache, which gets each change after a delay.
#[derive(Debug)]
pub(crate) struct Lag(Mutex<LagState>);

#[derive(Debug)]
struct LagState {
    delay: SignedDuration,
    cached: u64,
    to_come: VecDeque<(Timestamp, u64)>,
}

impl Lag {
    pub(crate) fn new(delay: Duration, revision: u64) -> Self {
        let delay = SignedDuration::try_from(delay).unwrap_or(SignedDuration::MAX);
        Self(Mutex::new(LagState { delay, cached: revision, to_come: VecDeque::new() }))
    }

    pub(crate) fn record_revision(&self, now: Timestamp, revision: u64) {
        self.state().to_come.push_back((now, revision));
    }

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

    fn state(&self) -> MutexGuard<'_, LagState> {
        self.0.lock()
    }
}
