pub(crate) mod compare;
pub(crate) mod differences;
pub(crate) mod mask;
pub(crate) mod objects;
pub(crate) mod probe;
pub(crate) mod registry;
pub(crate) mod servers;
pub(crate) mod transcript;
