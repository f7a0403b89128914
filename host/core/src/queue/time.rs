use std::ops::Add;
use std::time::Duration;

/// A moment: the time since an arbitrary start, which never goes back.
///
/// It is an argument of everything that decides, so that tests and simulations make their own. The host derives it from a
/// monotonic clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(Duration);

impl Time {
    /// The moment that long after the start.
    pub const fn from_duration(since_start: Duration) -> Self {
        Self(since_start)
    }

    /// The time since the start.
    pub const fn as_duration(self) -> Duration {
        self.0
    }

    /// The time since `earlier`; zero if this is before it.
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

/// Saturates: a moment that cannot be represented is one that never comes.
impl Add<Duration> for Time {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration))
    }
}
