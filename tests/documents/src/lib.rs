//! Tests the Rust code in README.md and `docs/`, by `cargo test --doc -p gyre-documents`.
//!
//! The SDK has copies of some pages. This crate tests the originals, which also use the test kit.

/// README.md.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod readme {}

/// docs/getting-started.md.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/getting-started.md")]
mod getting_started {}

/// docs/writing-plugins.md.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/writing-plugins.md")]
mod writing_plugins {}

/// docs/patterns.md.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/patterns.md")]
mod patterns {}

/// docs/testing.md.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/testing.md")]
mod testing {}

/// docs/coming-from.md.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/coming-from.md")]
mod coming_from {}
