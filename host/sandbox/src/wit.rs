//! The versions of the contract. No other module knows their types; others call the latest.

mod answer;
pub(crate) mod since_v0_1_0;

pub(crate) use since_v0_1_0 as latest;

/// The text of the latest version, from which compilers of other languages build components.
pub const CONTRACT: &str = include_str!("../wit/v0.1.0/plugin.wit");
