//! The versions of the contract. Only their modules know their types; others use those of
//! gyre-core, and call the latest.

mod answer;
pub(crate) mod since_v0_1_0;

pub(crate) use since_v0_1_0 as latest;
