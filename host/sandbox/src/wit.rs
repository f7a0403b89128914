//! The contract's versions. Each has its own module, which alone knows that version's types; everything else speaks those
//! of gyre-core, and calls the latest.

mod answer;
pub(crate) mod since_v0_1_0;

pub(crate) use since_v0_1_0 as latest;
