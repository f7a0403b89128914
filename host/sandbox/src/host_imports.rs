//! What a call may look at and say.

use std::any::Any;
use std::sync::Arc;

use gyre_core::object::GroupVersionKind;
use serde::{Deserialize, Serialize};

/// The JSON of one object, shared with the host's store: it is copied once, into the plugin's memory.
pub type Bytes = Arc<[u8]>;

/// The reason why something cannot be read. The plugin sees it as a typed error and may continue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReadError {
    /// The manifest does not name this kind. The sandbox checks it before it asks the world.
    NotDeclared,
    /// The mount may not read this kind, or not in this namespace.
    NotGranted,
    /// The API server does not serve this kind.
    NotServed,
    /// The label selector does not parse; the text says where.
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
    /// Info; also what is written to stdout.
    Info,
    /// Warn; also what is written to stderr.
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

/// One line of a plugin's log. Its texts are the plugin's own and may hold anything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// The source.
    pub source: LogSource,
    /// The level.
    pub level: LogLevel,
    /// The text.
    pub message: String,
    /// Keys and values beside it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<(String, String)>,
}

/// The host's side of a call: the reads and the log. The host gives one to each call, and gets it back with the answer.
///
/// # Assumptions
/// The methods answer from memory: the plugin's deadline does not run out inside them.
pub trait HostImports: Any + Send {
    /// The objects of a child kind that exist because of this parent, by namespace and name.
    ///
    /// # Errors
    /// The error that the plugin gets.
    fn children(&mut self, kind: &GroupVersionKind) -> Result<Vec<Bytes>, ReadError>;

    /// One object of a kind that the manifest reads; none if it does not exist.
    ///
    /// # Errors
    /// The error that the plugin gets.
    fn get(&mut self, kind: &GroupVersionKind, namespace: Option<&str>, name: &str) -> Result<Option<Bytes>, ReadError>;

    /// The objects of a kind that the manifest reads, by namespace and name.
    ///
    /// # Errors
    /// The error that the plugin gets.
    fn list(
        &mut self,
        kind: &GroupVersionKind,
        namespace: Option<&str>,
        label_selector: Option<&str>,
    ) -> Result<Vec<Bytes>, ReadError>;

    /// Takes a log line. At most [`crate::Limits::log_lines`] of them come in a call.
    fn log(&mut self, line: LogLine);

    /// Shows the JSON texts of the answer as the plugin wrote them: those of the children that it applies, in order, then that of the
    /// status. It comes before they are read, so also if they are not JSON at all, or too large.
    fn answered(&mut self, texts: &[&[u8]]) {
        let _ = texts;
    }
}

impl dyn HostImports {
    /// Gives back the host's own type, e.g. to take out what it recorded.
    ///
    /// # Errors
    /// The world itself if it is of another type.
    pub fn downcast<W: HostImports>(self: Box<Self>) -> Result<Box<W>, Box<dyn HostImports>> {
        if (&*self as &dyn Any).is::<W>() {
            let any: Box<dyn Any> = self;
            any.downcast().map_err(|_| -> Box<dyn HostImports> { Box::new(NoImports) })
        } else {
            Err(self)
        }
    }
}

/// A world in which there is nothing. It stands in where a call has no world to give back, which does not happen.
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
