//! The reads and the log of a call.

use std::any::Any;
use std::sync::Arc;

use gyre_core::object::GroupVersionKind;
use serde::{Deserialize, Serialize};

/// The JSON of an object, shared with the host's store and copied once, into the plugin's memory.
pub type Bytes = Arc<[u8]>;

/// The reason why a read failed: a typed error, after which the plugin may continue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReadError {
    /// The manifest does not declare this kind. The sandbox checks it before it calls the host.
    NotDeclared,
    /// The mount may not read this kind, or not in this namespace.
    NotGranted,
    /// The API server does not serve this kind.
    NotServed,
    /// The label selector is invalid; the text says where.
    InvalidSelector(String),
}

/// The level of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// Trace.
    Trace,
    /// Debug.
    Debug,
    /// Info, and lines on stdout.
    Info,
    /// Warn, and lines on stderr.
    Warn,
    /// Error.
    Error,
}

/// The source of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogSource {
    /// The contract's `log` import.
    Log,
    /// A line on stdout.
    Stdout,
    /// A line on stderr.
    Stderr,
}

/// A line of a plugin's log. Its texts come from the plugin and may contain anything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// The source.
    pub source: LogSource,
    /// The level.
    pub level: LogLevel,
    /// The text.
    pub message: String,
    /// Keys and values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<(String, String)>,
}

/// The host's side of a call: reads and log. The host gets it back with the answer.
///
/// # Assumptions
/// The methods answer from memory, so that the plugin's deadline does not pass inside them.
///
/// # Errors
/// The error of a read is the one that the plugin gets.
pub trait HostImports: Any + Send {
    /// The existing children of the parent of this kind, by namespace and name.
    fn children(&mut self, kind: &GroupVersionKind) -> Result<Vec<Bytes>, ReadError>;

    /// An object of a kind that the manifest reads, or `None` if it does not exist.
    fn get(&mut self, kind: &GroupVersionKind, namespace: Option<&str>, name: &str) -> Result<Option<Bytes>, ReadError>;

    /// The objects of a kind that the manifest reads, by namespace and name.
    fn list(
        &mut self,
        kind: &GroupVersionKind,
        namespace: Option<&str>,
        label_selector: Option<&str>,
    ) -> Result<Vec<Bytes>, ReadError>;

    /// Takes a log line, at most [`crate::Limits::log_lines`] in a call.
    fn log(&mut self, line: LogLine);

    /// Takes the JSON texts of the answer before any check: children to apply, then the status.
    fn answered(&mut self, texts: &[&[u8]]) {
        let _ = texts;
    }
}

impl dyn HostImports {
    /// Returns the host's own type, with its records.
    ///
    /// # Errors
    /// The imports themselves if they have another type.
    pub fn downcast<W: HostImports>(self: Box<Self>) -> Result<Box<W>, Box<dyn HostImports>> {
        if (&*self as &dyn Any).is::<W>() {
            let any: Box<dyn Any> = self;
            any.downcast().map_err(|_| -> Box<dyn HostImports> { Box::new(NoImports) })
        } else {
            Err(self)
        }
    }
}

/// Imports without any objects, for a call that has no others to return, which does not happen.
pub(crate) struct NoImports;

impl HostImports for NoImports {
    fn children(&mut self, _kind: &GroupVersionKind) -> Result<Vec<Bytes>, ReadError> {
        Err(ReadError::NotServed)
    }

    fn get(&mut self, _kind: &GroupVersionKind, _namespace: Option<&str>, _name: &str) -> Result<Option<Bytes>, ReadError> {
        Err(ReadError::NotServed)
    }

    fn list(
        &mut self,
        _kind: &GroupVersionKind,
        _namespace: Option<&str>,
        _label_selector: Option<&str>,
    ) -> Result<Vec<Bytes>, ReadError> {
        Err(ReadError::NotServed)
    }

    fn log(&mut self, _line: LogLine) {}
}
