//! The arguments that several commands share, from flags and environment variables.

pub(crate) mod admin;
pub(crate) mod election;
pub(crate) mod mounts;
pub(crate) mod registry;
pub(crate) mod signatures;
pub(crate) mod telemetry;
