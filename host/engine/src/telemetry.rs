//! The host's output about itself: logs, metrics, traces, and progress for people.

pub mod log;
pub mod metrics;
pub mod progress;
pub mod time;
pub mod traces;
