//! What the host says of itself: logs, metrics, traces, and to a person how far it is.

pub(crate) mod log;
pub mod metrics;
pub(crate) mod progress;
pub(crate) mod time;
pub(crate) mod traces;
