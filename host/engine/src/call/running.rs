//! The calls of a plugin that are in progress.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

#[derive(Clone, Debug, Default)]
pub(crate) struct Running(Arc<Mutex<CallsInProgress>>);

#[derive(Debug, Default)]
struct CallsInProgress {
    begun: u64,
    going_on: HashMap<u64, Instant>,
}

/// A call in progress until this is dropped.
#[derive(Debug)]
pub(crate) struct Call {
    running: Running,
    number: u64,
}

impl Running {
    pub(crate) fn begin(&self, deadline: Duration) -> Call {
        let mut state = self.state();
        let number = state.begun;
        state.begun += 1;
        state.going_on.insert(number, Instant::now() + deadline);
        Call { running: self.clone(), number }
    }

    pub(crate) fn count(&self) -> usize {
        self.state().going_on.len()
    }

    /// Returns by how much the oldest call in progress exceeds its deadline.
    pub(crate) fn overdue(&self) -> Duration {
        self.state().going_on.values().min().map(Instant::elapsed).unwrap_or_default()
    }

    fn state(&self) -> MutexGuard<'_, CallsInProgress> {
        self.0.lock()
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.running.state().going_on.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_call_is_overdue_once_its_time_is_over_and_not_after_it_has_ended() {
        let running = Running::default();
        let (short, long) = (running.begin(Duration::from_secs(2)), running.begin(Duration::from_secs(60)));
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!((running.count(), running.overdue()), (2, Duration::ZERO));
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!((running.count(), running.overdue()), (2, Duration::from_secs(5)));
        drop(short);
        assert_eq!((running.count(), running.overdue()), (1, Duration::ZERO));
        drop(long);
        assert_eq!((running.count(), running.overdue()), (0, Duration::ZERO));
    }
}
