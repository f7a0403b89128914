//! What the host says of itself: logs, metrics, traces, and to a person how far it is.

pub mod log;
pub mod metrics;
pub mod progress;
pub mod time;
pub mod traces;
