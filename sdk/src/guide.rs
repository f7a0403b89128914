//! Guides for plugin authors and operators. The rest of this documentation is the reference.
//!
//! | guide | for whom |
//! |---|---|
//! | [`getting_started`] | those who write their first plugin |
//! | [`writing_plugins`] | plugin authors: one section for each thing that a plugin may want to do |
//! | [`testing`] | plugin authors |
//! | [`contract`] | plugin authors, in any language: what the host promises, and what it asks |
//! | [`coming_from`] | those who know controller-runtime, Metacontroller, kopf or echoperator |
//! | [`operating`] | those who run a host |
//! | [`troubleshooting`] | those for whom something does not work |
//! | [`security`] | those who decide what may run |
//!
//! They are copies of the pages in `docs/` of the repository, because a published package has only what is inside of it.

#[doc = include_str!("guide/getting_started.md")]
pub mod getting_started {}

#[doc = include_str!("guide/writing_plugins.md")]
pub mod writing_plugins {}

#[doc = include_str!("guide/testing.md")]
pub mod testing {}

#[doc = include_str!("guide/contract.md")]
pub mod contract {}

#[doc = include_str!("guide/coming_from.md")]
pub mod coming_from {}

#[doc = include_str!("guide/operating.md")]
pub mod operating {}

#[doc = include_str!("guide/troubleshooting.md")]
pub mod troubleshooting {}

#[doc = include_str!("guide/security.md")]
pub mod security {}
