//! Inputs of the host: from API servers, plugins, operators and recordings.

pub(crate) mod answers;
pub(crate) mod configuration;
pub(crate) mod plugin;
pub(crate) mod recordings;
pub(crate) mod watch;
