//! Limits how often an object may be written while none of its inputs changes but the time.
//!
//! A plugin may return something else in each call, by the clock or because of its own writes, and
//! back-off does not help, because nothing fails. So each write that only time is the reason for
//! takes a token; a change of an input returns all tokens.
//!
//! ```text
//!   a reconcile begins ── an input changed ──▶ restore ──┐
//!                      └─ only time passed ──▶ held_until ┼─ none ──▶ call, plan, write ──▶ spend
//!                                                         └─ a time ──▶ wait until then
//! ```

use std::time::Duration;

use crate::queue::Time;
use crate::token_bucket::{Limit, TokenBucket};

/// The writes before an object is slowed down: a plugin may take a few rounds to settle.
pub const BURST: u32 = 20;

/// The interval between writes after that: no load on the API server, and enough for a crontab.
pub const INTERVAL: Duration = Duration::from_secs(60);

const LIMIT: Limit = Limit { burst: BURST, interval: INTERVAL };

/// The number of writes that an object has spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace(TokenBucket);

impl Pace {
    /// When the next reconcile without a changed input may begin; `None` is now.
    pub fn held_until(&self, now: Time) -> Option<Time> {
        self.0.empty_until(LIMIT, now)
    }

    /// Records a write that only time was the reason for.
    pub fn spend(&mut self, now: Time) {
        self.0.spend(LIMIT, now);
    }

    /// Records a change of an input.
    pub fn restore(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The times at which an object writes that tries to each `period`.
    fn writes(period: Duration, until: Duration) -> Vec<Duration> {
        let (mut pace, mut now, mut writes) = (Pace::default(), Duration::ZERO, Vec::new());
        while now < until {
            let time = Time::from_duration(now);
            match pace.held_until(time) {
                Some(held) => now += held.saturating_since(time),
                None => {
                    pace.spend(time);
                    writes.push(now);
                    now += period;
                }
            }
        }
        writes
    }

    #[test]
    fn a_burst_of_20_and_then_one_a_minute() {
        let writes = writes(Duration::from_millis(1), Duration::from_secs(600));
        let burst = writes.iter().filter(|at| at.as_secs() == 0).count();
        assert_eq!(burst, 20);
        let then: Vec<u64> = writes.iter().skip(burst).map(Duration::as_secs).collect();
        assert_eq!(then, [60, 120, 180, 240, 300, 360, 420, 480, 540]);
    }

    #[test]
    fn an_object_that_writes_each_minute_is_never_held() {
        let day = Duration::from_secs(86_400);
        assert_eq!(writes(INTERVAL, day).len(), 1_440);
        assert_eq!(writes(INTERVAL * 7, day).len(), 206);
    }

    proptest! {
        #[test]
        fn no_more_than_the_burst_and_one_a_minute_and_never_less(
            steps in prop::collection::vec((0_u64..90_000, prop::bool::weighted(0.05)), 1..300),
        ) {
            let (mut pace, mut now) = (Pace::default(), Duration::ZERO);
            let mut since_restored = Vec::new();
            for (milliseconds, is_restored) in steps {
                now += Duration::from_millis(milliseconds);
                let time = Time::from_duration(now);
                if is_restored {
                    pace.restore();
                    since_restored.clear();
                    prop_assert_eq!(pace.held_until(time), None);
                }
                match pace.held_until(time) {
                    Some(held) => {
                        prop_assert!(held > time && held.saturating_since(time) <= INTERVAL);
                        prop_assert_eq!(pace.held_until(held), None);
                    }
                    None => {
                        pace.spend(time);
                        since_restored.push(now);
                    }
                }
                // The burst, and one write for each minute of the window that has begun.
                for (index, from) in since_restored.iter().enumerate() {
                    let minutes = (now - *from).as_secs() / INTERVAL.as_secs() + 1;
                    prop_assert!((since_restored.len() - index) as u64 <= u64::from(BURST) + minutes);
                }
            }
        }
    }
}
