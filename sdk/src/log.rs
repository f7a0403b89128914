//! Writes to the log of the host, which adds the plugin's name, the parent and the reconcile id.
//!
//! Output on stdout and stderr also becomes log lines, but the formatting code makes the component
//! larger. In native tests, [`testing::take_log`](crate::testing::take_log) returns the lines.

use crate::host::write_log;

pub use crate::host::Level;

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
