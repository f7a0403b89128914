//! The durations of an election.

use std::time::Duration;

/// The shortest round of a candidate, in tenths of the retry period.
const SHORTEST_PAUSE_TENTHS: u32 = 7;
/// The longest round. The rest is for the requests, so that a takeover takes at most the lease
/// duration and a retry period, or one retry period after a release.
const LONGEST_PAUSE_TENTHS: u32 = 9;
/// The least renew deadline, in percent of the retry period: client-go's `JitterFactor`.
const JITTER_PERCENT: u32 = 120;

/// The valid times of an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    lease_duration: Duration,
    renew_deadline: Duration,
    retry_period: Duration,
}

/// An invalid combination of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The lease duration cannot be written into a Lease.
    #[error("the lease duration is {0:?}, and must be whole seconds, from 1 to {max}: a Lease cannot hold any other", max = i32::MAX)]
    LeaseDuration(Duration),
    /// The holder would write when others have the lease.
    #[error("the lease duration ({lease_duration:?}) must be longer than the renew deadline ({renew_deadline:?})")]
    RenewDeadline {
        /// The lease duration.
        lease_duration: Duration,
        /// The renew deadline.
        renew_deadline: Duration,
    },
    /// The holder could not try twice.
    #[error("the renew deadline ({renew_deadline:?}) must be longer than 1.2 times the retry period ({retry_period:?})")]
    RetryPeriod {
        /// The renew deadline.
        renew_deadline: Duration,
        /// The retry period.
        retry_period: Duration,
    },
    /// Requests would follow each other without a pause.
    #[error("the retry period is {0:?}, and must be at least 1 ms")]
    NoPause(Duration),
}

/// 15 s, 10 s and 2 s, as in controller-runtime and Kubernetes' own components.
impl Default for Timing {
    fn default() -> Self {
        Self {
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        }
    }
}

impl Timing {
    /// Checks the times of an election:
    ///
    /// - `lease_duration`: how long a lease stays with a holder that does not renew it.
    /// - `renew_deadline`: how long a holder may write after its last renewal.
    /// - `retry_period`: how often a holder renews, and a candidate checks.
    ///
    /// # Errors
    ///
    /// If they break a rule of client-go's `NewLeaderElector`, or if a Lease cannot express them.
    pub fn new(lease_duration: Duration, renew_deadline: Duration, retry_period: Duration) -> Result<Self, Error> {
        let is_whole = lease_duration.subsec_nanos() == 0;
        if !is_whole || lease_duration.is_zero() || i32::try_from(lease_duration.as_secs()).is_err() {
            return Err(Error::LeaseDuration(lease_duration));
        }
        if lease_duration <= renew_deadline {
            return Err(Error::RenewDeadline { lease_duration, renew_deadline });
        }
        if retry_period < Duration::from_millis(1) {
            return Err(Error::NoPause(retry_period));
        }
        if renew_deadline <= retry_period.saturating_mul(JITTER_PERCENT) / 100 {
            return Err(Error::RetryPeriod { renew_deadline, retry_period });
        }
        Ok(Self { lease_duration, renew_deadline, retry_period })
    }

    /// The time after which others may take a lease that its holder does not renew.
    pub fn lease_duration(&self) -> Duration {
        self.lease_duration
    }

    /// Returns how long a holder may write after its last renewal.
    pub fn renew_deadline(&self) -> Duration {
        self.renew_deadline
    }

    /// Returns the period in which a holder renews, and a candidate checks the lease.
    pub fn retry_period(&self) -> Duration {
        self.retry_period
    }

    /// The timeout of a request: after a lost one, the holder can send another within its claim.
    pub fn request_timeout(&self) -> Duration {
        self.renew_deadline / 2
    }

    /// Returns the time that the last request of a claim may take before another can hold the
    /// lease.
    pub fn margin(&self) -> Duration {
        self.lease_duration.saturating_sub(self.renew_deadline)
    }

    /// The fraction by which the clock of a holder may be slower than that of a waiting process.
    pub fn tolerated_slowness(&self) -> f64 {
        1.0 - self.renew_deadline.as_secs_f64() / self.lease_duration.as_secs_f64()
    }

    pub(super) fn lease_duration_seconds(&self) -> i32 {
        i32::try_from(self.lease_duration.as_secs()).unwrap_or(i32::MAX)
    }

    /// Returns how long others wait for a holder that wrote this value.
    pub(super) fn patience(&self, duration_seconds: i32) -> Duration {
        match u64::try_from(duration_seconds) {
            Ok(seconds @ 1..) => Duration::from_secs(seconds),
            _ => self.lease_duration,
        }
    }

    /// The time between two rounds, with jitter.
    pub(super) fn pause(&self, random: u64) -> Duration {
        let shortest = self.retry_period * SHORTEST_PAUSE_TENTHS / 10;
        let longest = self.retry_period * LONGEST_PAUSE_TENTHS / 10;
        shortest + crate::random::scale(longest - shortest, random)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lease: u64, renew: u64, retry: u64, expected: Result<(), &str>) {
        let milliseconds = Duration::from_millis;
        let timing = Timing::new(milliseconds(lease), milliseconds(renew), milliseconds(retry));
        assert_eq!(timing.map(|_| ()).map_err(|error| error.to_string()), expected.map_err(str::to_owned));
    }

    #[test]
    fn inconsistent_times_are_refused() {
        check(15_000, 10_000, 2_000, Ok(()));
        check(2_000, 1_999, 1_665, Ok(()));
        check(10_000, 10_000, 2_000, Err("the lease duration (10s) must be longer than the renew deadline (10s)"));
        check(15_000, 2_400, 2_000, Err("the renew deadline (2.4s) must be longer than 1.2 times the retry period (2s)"));
        check(15_000, 2_401, 2_000, Ok(()));
        check(15_000, 10_000, 0, Err("the retry period is 0ns, and must be at least 1 ms"));
        let remedy = "must be whole seconds, from 1 to 2147483647: a Lease cannot hold any other";
        check(0, 0, 0, Err(&format!("the lease duration is 0ns, and {remedy}")));
        check(1_500, 1_000, 100, Err(&format!("the lease duration is 1.5s, and {remedy}")));
        check(2_147_483_648_000, 1_000, 100, Err(&format!("the lease duration is 2147483648s, and {remedy}")));
    }

    #[test]
    fn no_times_overflow() {
        for renew in [Duration::ZERO, Duration::MAX] {
            for retry in [Duration::ZERO, Duration::MAX] {
                assert!(Timing::new(Duration::MAX, renew, retry).is_err());
                assert!(Timing::new(Duration::from_secs(15), renew, retry).is_err());
            }
        }
    }

    #[test]
    fn pauses_differ_and_leave_a_tenth_of_the_retry_period_to_the_requests() {
        let timing = Timing::default();
        assert_eq!(timing.pause(0), Duration::from_millis(1400));
        assert!(timing.pause(u64::MAX) <= Duration::from_millis(1800));
        assert!((timing.tolerated_slowness() - 1.0 / 3.0).abs() < 1e-9);
        assert_eq!(timing.margin(), Duration::from_secs(5));
    }
}
