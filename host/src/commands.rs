//! The commands of `gyre` beside the host itself: how a plugin begins, what it is, what it does to objects, and what it may.
//!
//! They are wired in [`cli`](crate::cli). `record` and `replay` have modules of their own, since the host takes part in them.

pub(crate) mod dev;
pub(crate) mod inspect;
pub(crate) mod manual;
pub(crate) mod new;
pub(crate) mod offline;
pub(crate) mod rbac;
