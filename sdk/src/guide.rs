//! Guides: what is done, rather than what there is.

#[doc = include_str!("../docs/testing.md")]
pub mod testing {}

#[doc = include_str!("../docs/coming_from.md")]
pub mod coming_from {}
