//! The time of day, and the order of moments. Decisions take times as arguments.

use std::sync::atomic::{AtomicU64, Ordering};

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// A point in the order of this process's events, even if the clock stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(u64);

impl Moment {
    pub(crate) fn now() -> Self {
        static TAKEN: AtomicU64 = AtomicU64::new(0);
        Self(TAKEN.fetch_add(1, Ordering::SeqCst))
    }
}

/// The source of the time of day.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// The system's clock.
    #[default]
    System,
    /// A start plus tokio's time: with tokio's time paused, simulations control it.
    Simulated {
        /// The time of day at `origin`.
        start: Timestamp,
        /// The beginning of the simulation.
        origin: Instant,
    },
}

impl Clock {
    /// A simulated clock that shows `start` now.
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
