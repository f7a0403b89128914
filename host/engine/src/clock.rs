//! The time of day, and the order of moments. Code that decides takes the time of day as an argument; the host reads it here.

use std::sync::atomic::{AtomicU64, Ordering};

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// A moment in this process, for the order of events and nothing else. Of two, the one that was taken first is the lesser one; clocks may show
/// the same time for both, or stand still.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(u64);

impl Moment {
    /// This moment.
    pub(crate) fn now() -> Self {
        static TAKEN: AtomicU64 = AtomicU64::new(0);
        Self(TAKEN.fetch_add(1, Ordering::SeqCst))
    }
}

/// The source of the time of day.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// The system.
    #[default]
    System,
    /// A start, and the time that tokio counts from it: with tokio's time paused, simulations drive it.
    Simulated {
        /// The time of day at `origin`.
        start: Timestamp,
        /// When it began.
        origin: Instant,
    },
}

impl Clock {
    /// A simulation's clock, which shows `start` now.
    pub fn simulated(start: Timestamp) -> Self {
        Self::Simulated { start, origin: Instant::now() }
    }

    /// The time of day.
    pub fn now(&self) -> Timestamp {
        match self {
            Self::System => Timestamp::now(),
            Self::Simulated { start, origin } => {
                let passed = SignedDuration::try_from(origin.elapsed()).unwrap_or(SignedDuration::MAX);
                start.saturating_add(passed).unwrap_or(Timestamp::MAX)
            }
        }
    }
}
