//! The imports of the contract: reads and logs. In native tests they are those of a [`Host`].
//!
//! In a component the calls are static, so that a plugin imports only what it uses.

#[cfg(not(target_family = "wasm"))]
mod native;
#[cfg(target_family = "wasm")]
mod wasm;

use std::fmt;

use crate::kind::Kind;

#[cfg(not(target_family = "wasm"))]
pub use native::{Host, LogLine, take_log};
#[cfg(not(target_family = "wasm"))]
pub(crate) use native::{Imports, LoggingTo, keep_log, write_log};
#[cfg(target_family = "wasm")]
pub(crate) use wasm::{Imports, write_log};

/// The severity of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Single steps.
    Trace,
    /// Details for debugging.
    Debug,
    /// Information for operators.
    Info,
    /// A possible problem.
    Warn,
    /// A problem.
    Error,
}

/// An error of a read. `?` converts it to a [`Failure`](crate::Failure).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The manifest does not declare this kind.
    NotDeclared(Kind),
    /// The mount may not read this kind, or not in this namespace.
    NotGranted(Kind),
    /// The API server does not serve this kind, e.g. because its CRD is not installed.
    NotServed(Kind),
    /// The label selector is invalid. The text includes the position.
    InvalidSelector(String),
    /// An object does not fit the type of the plugin. The text includes the position.
    Unexpected(Kind, String),
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotDeclared(kind) => {
                let Kind { kind: name, .. } = kind;
                write!(
                    formatter,
                    "{kind} was read, which the plugin's manifest does not declare: add `.reads::<{name}>()` to it"
                )?;
                write!(formatter, ", or read a child with `cluster.child::<{name}>(name)`")
            }
            Self::NotGranted(kind) => write!(formatter, "{kind} was read, which is not granted"),
            Self::NotServed(kind) => write!(formatter, "the API server does not serve {kind}"),
            Self::InvalidSelector(message) => write!(formatter, "the label selector does not parse: {message}"),
            Self::Unexpected(kind, message) => write!(formatter, "a {kind} is not as expected: {message}"),
        }
    }
}

impl std::error::Error for Error {}
