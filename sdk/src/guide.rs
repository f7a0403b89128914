//! Guides: what is done, rather than what there is.
//!
//! | guide | for whom |
//! |---|---|
//! | [`first_plugin`] | those who write their first one |
//! | [`contract`] | plugin authors, in any language: what the host promises, and what it asks |
//! | [`testing`] | plugin authors |
//! | [`coming_from`] | those who know controller-runtime, Metacontroller or echoperator |
//! | [`operating`] | those who run a host |
//! | [`security`] | those who decide what may run |

#[doc = include_str!("../docs/first_plugin.md")]
pub mod first_plugin {}

#[doc = include_str!("../docs/contract.md")]
pub mod contract {}

#[doc = include_str!("../docs/testing.md")]
pub mod testing {}

#[doc = include_str!("../docs/coming_from.md")]
pub mod coming_from {}

#[doc = include_str!("../docs/operating.md")]
pub mod operating {}

#[doc = include_str!("../docs/security.md")]
pub mod security {}

/// What README.md shows compiles.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
mod readme {}
