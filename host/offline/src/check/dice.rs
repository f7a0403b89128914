//! Numbers that a seed decides.

/// A source of numbers that a seed decides: SplitMix64.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Less than that, or 0.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.roll().checked_rem(bound).unwrap_or_default()
    }

    /// Any number of 32 bits.
    pub(super) fn bits(&mut self) -> u32 {
        u32::try_from(self.below(1 << 32)).unwrap_or_default()
    }

    /// Any number of 128 bits.
    pub(super) fn wide(&mut self) -> u128 {
        (u128::from(self.roll()) << 64) | u128::from(self.roll())
    }

    /// In so many of a hundred.
    pub(super) fn in_percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub(super) fn pick<'a, T>(&mut self, choices: &'a [T]) -> Option<&'a T> {
        let index = usize::try_from(self.below(choices.len() as u64)).ok()?;
        choices.get(index)
    }
}
