//! A random generator with a seed.

/// SplitMix64 (Steele, Lea and Flood, 2014): small, and good enough for names and faults.
#[derive(Clone, Debug)]
pub struct Random(u64);

/// The characters of generated names, as in apimachinery's `util/rand`.
const NAME_CHARACTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

impl Random {
    /// The sequence of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `bound`, or 0 if that is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        u64::try_from((u128::from(self.next_u64()) * u128::from(bound)) >> 64).unwrap_or(0)
    }

    /// Returns `true` with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        // A double has 53 bits.
        ((self.next_u64() >> 11) as f64) < probability * (1u64 << 53) as f64
    }

    /// Returns a random (version 4) UUID.
    pub fn uuid(&mut self) -> String {
        let (high, low) = (self.next_u64(), self.next_u64());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xfff,
            0x8000 | ((low >> 48) & 0x3fff),
            low & 0xffff_ffff_ffff
        )
    }

    /// Returns the random end of a generated name.
    pub fn suffix(&mut self, length: usize) -> String {
        (0..length)
            .filter_map(|_| {
                let index = usize::try_from(self.below(NAME_CHARACTERS.len() as u64)).ok()?;
                NAME_CHARACTERS.get(index).map(|byte| char::from(*byte))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_sequence() {
        let draw = |seed| {
            let mut random = Random::new(seed);
            (random.uuid(), random.suffix(5), random.below(10))
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn an_event_happens_with_its_probability() {
        let mut random = Random::new(1);
        assert!((0..1000).all(|_| !random.chance(0.0)));
        assert!((0..1000).all(|_| random.chance(1.0)));
        let half = (0..10_000).filter(|_| random.chance(0.5)).count();
        assert!((4_700..5_300).contains(&half), "{half}");
        assert!((0..1000).all(|_| random.below(3) < 3));
    }
}
