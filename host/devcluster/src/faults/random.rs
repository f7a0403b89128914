//! Random numbers that follow from a seed: `SplitMix64` (Steele, Lea and Flood, "Fast splittable pseudorandom number generators").

use std::ops::RangeInclusive;
use std::time::Duration;

/// A generator. The same seed gives the same numbers.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

/// The odd number closest to 2⁶⁴ divided by the golden ratio, whose multiples are spread evenly.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

impl Random {
    /// The generator number `stream` of those that a seed gives. What one draws changes nothing for another.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        let mut seeds = Self(seed);
        let seed = seeds.next();
        Self(seed ^ Self(stream).next())
    }

    /// 64 random bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// Whether something of this probability happens.
    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        // 53 bits are what a float holds exactly.
        #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
        let drawn = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        drawn < probability
    }

    /// A number in the range; its start if it is empty.
    pub(crate) fn within(&mut self, range: &RangeInclusive<u64>) -> u64 {
        let span = u128::from(range.end().saturating_sub(*range.start())) + 1;
        let offset = (u128::from(self.next()) * span) >> 64;
        range.start().saturating_add(u64::try_from(offset).unwrap_or(0))
    }

    /// A time in the range, to the millisecond, which is as exact as tokio's timers are.
    pub(crate) fn duration(&mut self, range: &RangeInclusive<Duration>) -> Duration {
        let milliseconds = |duration: &Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        Duration::from_millis(self.within(&(milliseconds(range.start())..=milliseconds(range.end()))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_published_generator() {
        let mut random = Random(1_234_567);
        let found: Vec<u64> = std::iter::repeat_with(|| random.next()).take(3).collect();
        assert_eq!(found, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn draws_stay_within_their_bounds() {
        let mut random = Random::new(1, 2);
        let drawn: Vec<u64> = std::iter::repeat_with(|| random.within(&(3..=5))).take(100).collect();
        assert!([3, 4, 5].iter().all(|number| drawn.contains(number)) && drawn.iter().all(|number| (3..=5).contains(number)));
        assert_eq!(random.within(&(7..=7)), 7);
        assert!((0..100).all(|_| random.chance(1.0) && !random.chance(0.0)));
        let often = (0..10_000).filter(|_| random.chance(0.25)).count();
        assert!((2_000..3_000).contains(&often), "{often}");
    }

    #[test]
    fn streams_of_a_seed_differ() {
        assert_ne!(Random::new(1, 0).next(), Random::new(1, 1).next());
        assert_ne!(Random::new(0, 1).next(), Random::new(1, 1).next());
        assert_eq!(Random::new(5, 6).next(), Random::new(5, 6).next());
    }
}
