//! The time of day. What decides takes it as an argument; this is where the host asks for it.

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// Where the host takes the time of day from.
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
