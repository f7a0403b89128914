//! Random choices that follow from a seed.

use gyre_devcluster::random::Random;

pub(super) struct Dice(Random);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(Random::new(seed))
    }

    /// A number below the bound; 0 if the bound is 0.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0.next_u64().checked_rem(bound).unwrap_or_default()
    }

    pub(super) fn bits(&mut self) -> u32 {
        u32::try_from(self.below(1 << 32)).unwrap_or_default()
    }

    pub(super) fn wide(&mut self) -> u128 {
        (u128::from(self.0.next_u64()) << 64) | u128::from(self.0.next_u64())
    }

    pub(super) fn in_percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub(super) fn pick<'a, T>(&mut self, choices: &'a [T]) -> Option<&'a T> {
        let index = usize::try_from(self.below(choices.len() as u64)).ok()?;
        choices.get(index)
    }
}
