//! The host's side: what API servers, plugins, operators and recordings hand to it.

pub(crate) mod answers;
pub(crate) mod configuration;
pub(crate) mod plugin;
pub(crate) mod recordings;
pub(crate) mod watch;
