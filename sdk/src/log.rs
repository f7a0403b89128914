//! Into the host's log, beside the plugin's name, the parent and the reconcile id.
//!
//! What a plugin writes to stdout and stderr becomes log lines as well, at a cost: it draws the formatting and streams of the
//! standard library into the component. In native tests, [`testing::take_log`](crate::testing::take_log) returns the lines.

#[cfg(target_family = "wasm")]
use crate::component::write_log;
#[cfg(not(target_family = "wasm"))]
use crate::testing::write_log;

/// How much a line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Only to follow single steps.
    Trace,
    /// To find a defect.
    Debug,
    /// What an operator would want to know.
    Info,
    /// Something that may need a look.
    Warn,
    /// Something that needs a look.
    Error,
}

/// Logs at a level, with fields for programs.
pub fn log(level: Level, message: &str, fields: &[(&str, &str)]) {
    write_log(level, message, fields);
}

/// Logs at [`Level::Trace`].
pub fn trace(message: &str, fields: &[(&str, &str)]) {
    log(Level::Trace, message, fields);
}

/// Logs at [`Level::Debug`].
pub fn debug(message: &str, fields: &[(&str, &str)]) {
    log(Level::Debug, message, fields);
}

/// Logs at [`Level::Info`].
pub fn info(message: &str, fields: &[(&str, &str)]) {
    log(Level::Info, message, fields);
}

/// Logs at [`Level::Warn`].
pub fn warn(message: &str, fields: &[(&str, &str)]) {
    log(Level::Warn, message, fields);
}

/// Logs at [`Level::Error`].
pub fn error(message: &str, fields: &[(&str, &str)]) {
    log(Level::Error, message, fields);
}
