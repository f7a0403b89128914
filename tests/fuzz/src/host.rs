//! Inputs of the host: from API servers, plugins, operators, recordings and registries.

pub(crate) mod answers;
pub(crate) mod artifacts;
pub(crate) mod configuration;
pub(crate) mod plugin;
pub(crate) mod recordings;
pub(crate) mod watch;
