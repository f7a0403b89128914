//! The parts of the checks, and their runner.

pub(crate) mod compare;
pub(crate) mod differences;
pub(crate) mod mask;
pub(crate) mod messages;
pub(crate) mod objects;
pub(crate) mod probe;
pub(crate) mod registry;
pub(crate) mod servers;
pub(crate) mod transcript;
