use std::ops::Add;
use std::time::Duration;

/// A point in time: the time since an arbitrary start, which never goes back. Decisions take it as
/// an argument, so that tests can supply their own; the host reads a monotonic clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(Duration);

impl Time {
    /// The point this long after the start.
    pub const fn from_duration(since_start: Duration) -> Self {
        Self(since_start)
    }

    /// The time since the start.
    pub const fn as_duration(self) -> Duration {
        self.0
    }

    /// The time since `earlier`, or zero if `earlier` is later.
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

/// Saturates: a time that cannot be represented never comes.
impl Add<Duration> for Time {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration))
    }
}
