//! Exponential back-off whose jitter follows from the seed, the key and the number of failures.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use super::Options;
use crate::random::{scale, splitmix64};

/// The back-off after consecutive failures: in the upper half of [`limit`], so that keys do not
/// come back together. Below the cap, no delay is shorter than the one before.
pub(super) fn delay(options: &Options, key: &impl Hash, failures: u32) -> Duration {
    let longest = limit(options, failures);
    let shortest = longest / 2;
    // `DefaultHasher::new` has a fixed seed: one build gives the same delays in each process.
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    let random = splitmix64(options.seed ^ splitmix64(hasher.finish() ^ splitmix64(u64::from(failures))));
    shortest + scale(longest - shortest, random)
}

/// The back-off without jitter: doubled with each failure after the first, up to the cap.
pub(super) fn limit(options: &Options, failures: u32) -> Duration {
    // A `Duration` has fewer than 2^94 nanoseconds, so this exceeds any cap and fits in u128.
    let doublings = failures.saturating_sub(1).min(120);
    let nanoseconds = options.base_delay.as_nanos().saturating_mul(1 << doublings);
    Duration::from_nanos_u128(nanoseconds.min(options.max_delay.as_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_doubles_up_to_the_cap() {
        let options = Options::default();
        let milliseconds: Vec<u128> = (1..=20).map(|failures| limit(&options, failures).as_millis()).collect();
        assert_eq!(
            milliseconds,
            [
                5, 10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 5_120, 10_240, 20_480, 40_960, 81_920, 163_840, 327_680,
                655_360, 1_000_000, 1_000_000
            ]
        );
    }

    #[test]
    fn no_options_and_no_count_overflow() {
        for base_delay in [Duration::ZERO, Duration::from_nanos(1), Duration::MAX] {
            for max_delay in [Duration::ZERO, Duration::from_nanos(1), Duration::MAX] {
                let options = Options { base_delay, max_delay, ..Options::default() };
                for failures in [0, 1, 2, 64, 65, u32::MAX] {
                    assert!(delay(&options, &"key", failures) <= max_delay);
                }
            }
        }
    }

    #[test]
    fn the_smallest_base_reaches_the_cap_too() {
        let options = Options { base_delay: Duration::from_nanos(1), ..Options::default() };
        assert_eq!(limit(&options, 100), options.max_delay);
    }

    #[test]
    fn delays_differ_by_key_and_by_seed_and_are_the_same_for_the_same() {
        let options = Options::default();
        let other_seed = Options { seed: 1, ..Options::default() };
        assert_eq!(delay(&options, &"a", 9), delay(&options, &"a", 9));
        assert_ne!(delay(&options, &"a", 9), delay(&options, &"b", 9));
        assert_ne!(delay(&options, &"a", 9), delay(&other_seed, &"a", 9));
    }

    #[test]
    fn delays_of_many_keys_fill_the_band() {
        let options = Options::default();
        let delays: Vec<f64> = (0..1000).map(|key| delay(&options, &key, 30).as_secs_f64()).collect();
        let mean = delays.iter().sum::<f64>() / 1000.0;
        assert!((740.0..760.0).contains(&mean), "the mean is {mean} s");
        assert!(delays.iter().any(|delay| *delay < 510.0) && delays.iter().any(|delay| *delay > 990.0));
    }
}
