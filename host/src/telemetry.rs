//! What the host says of itself: logs, metrics and traces.

pub(crate) mod log;
pub mod metrics;
pub(crate) mod traces;
