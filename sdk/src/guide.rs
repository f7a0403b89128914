//! Guides for plugin authors and operators. The rest of this documentation is the reference.
//!
//! | guide | for whom |
//! |---|---|
//! | [`getting_started`] | authors of a first plugin |
//! | [`writing_plugins`] | plugin authors: one section per feature |
//! | [`testing`] | plugin authors |
//! | [`test_kit_protocol`] | authors of test kits, in any language |
//! | [`contract`] | plugin authors, in any language |
//! | [`coming_from`] | users of controller-runtime, Metacontroller, kopf or echoperator |
//! | [`operating`] | operators |
//! | [`troubleshooting`] | operators and authors with a problem |
//! | [`security`] | people who decide which plugins may run |
//!
//! The pages are copies of `docs/` in the repository, because a package has only its own files.

#[doc = include_str!("guide/getting_started.md")]
pub mod getting_started {}

#[doc = include_str!("guide/writing_plugins.md")]
pub mod writing_plugins {}

#[doc = include_str!("guide/testing.md")]
pub mod testing {}

#[doc = include_str!("guide/test_kit_protocol.md")]
pub mod test_kit_protocol {}

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
