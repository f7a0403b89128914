//! The arguments that several commands share, as clap reads them from flags and environment variables.

pub(crate) mod admin;
pub(crate) mod election;
pub(crate) mod mounts;
pub(crate) mod telemetry;
