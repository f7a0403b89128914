//! The calls of a plugin that are in progress.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

#[derive(Clone, Debug, Default)]
pub(crate) struct Running(Arc<Mutex<Calls>>);

#[derive(Debug, Default)]
struct Calls {
    registered: u64,
    progress: HashMap<u64, Arc<Progress>>,
}

/// A call that may be in progress until this is dropped.
#[derive(Debug)]
pub(crate) struct Call {
    running: Running,
    number: u64,
    progress: Arc<Progress>,
}

/// Set by the thread of the call, which may have the idle priority and so takes no lock.
#[derive(Debug)]
pub(crate) struct Progress {
    deadline: Duration,
    until: OnceLock<Instant>,
    has_ended: AtomicBool,
}

impl Progress {
    pub(crate) fn begin(&self) {
        let _ = self.until.set(Instant::now() + self.deadline);
    }

    pub(crate) fn end(&self) {
        self.has_ended.store(true, Ordering::Relaxed);
    }

    fn until(&self) -> Option<&Instant> {
        self.until.get().filter(|_| !self.has_ended.load(Ordering::Relaxed))
    }
}

impl Running {
    pub(crate) fn register(&self, deadline: Duration) -> Call {
        let progress = Arc::new(Progress { deadline, until: OnceLock::new(), has_ended: AtomicBool::new(false) });
        let mut calls = self.calls();
        let number = calls.registered;
        calls.registered += 1;
        calls.progress.insert(number, Arc::clone(&progress));
        Call { running: self.clone(), number, progress }
    }

    pub(crate) fn count(&self) -> usize {
        self.calls().progress.values().filter_map(|progress| progress.until()).count()
    }

    /// Returns by how much the oldest call in progress exceeds its deadline.
    pub(crate) fn overdue(&self) -> Duration {
        let calls = self.calls();
        calls.progress.values().filter_map(|progress| progress.until()).min().map(Instant::elapsed).unwrap_or_default()
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.0.lock()
    }
}

impl Call {
    pub(crate) fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.running.calls().progress.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_call_is_overdue_once_its_time_is_over_and_not_after_it_has_ended() {
        let running = Running::default();
        let (short, long) = (running.register(Duration::from_secs(2)), running.register(Duration::from_secs(60)));
        let waiting = running.register(Duration::ZERO);
        for call in [&short, &long] {
            call.progress().begin();
        }
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!((running.count(), running.overdue()), (2, Duration::ZERO));
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!((running.count(), running.overdue()), (2, Duration::from_secs(5)));
        drop(short);
        assert_eq!((running.count(), running.overdue()), (1, Duration::ZERO));
        long.progress().end();
        assert_eq!((running.count(), running.overdue()), (0, Duration::ZERO));
        drop((long, waiting));
    }
}
