//! Pseudorandom numbers from a seed.

use std::time::Duration;

/// The finalizer of Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014).
pub(crate) fn splitmix64(input: u64) -> u64 {
    let mut mixed = input.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The fraction `random / 2^64` of `span`, in 32 bits: precise to a microsecond in 1000 s.
pub(crate) fn scale(span: Duration, random: u64) -> Duration {
    Duration::from_nanos_u128((span.as_nanos() * u128::from(random >> 32)) >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs of <https://prng.di.unimi.it/splitmix64.c> for seed 0.
    #[test]
    fn the_mixer_is_the_published_one() {
        assert_eq!(splitmix64(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(splitmix64(0x9e37_79b9_7f4a_7c15), 0x6e78_9e6a_a1b9_65f4);
    }
}
