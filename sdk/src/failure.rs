//! Errors that a plugin returns instead of a plan.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::time::Duration;

use crate::host::Error as ReadError;
use crate::plan::Plan;

/// The result of a reconciler.
pub type Result<T = Plan, E = Failure> = std::result::Result<T, E>;

/// An error that a plugin returns instead of a plan. The children and the status stay as they are,
/// and the conditions of the parent tell the message.
///
/// `?` makes one of any error: a terminal one, because the same inputs give the same error; for a
/// kind that the API server does not serve, a transient one. [`Context`] says it otherwise:
///
/// ```
/// use std::time::Duration;
///
/// use gyre_sdk::{Context, Failure};
///
/// fn port(text: &str) -> Result<u16, Failure> {
///     let number: u32 = text.parse()?;
///     u16::try_from(number).retry_after(Duration::from_secs(60), "the port is out of range")
/// }
///
/// assert_eq!(port("x").unwrap_err().to_string(), "invalid digit found in string");
/// let error = port("70000").unwrap_err();
/// assert!(error.to_string().starts_with("the port is out of range: "));
/// ```
///
/// It is no [`Error`] itself: with that, `?` could not take every error.
#[doc(alias = "Error")]
#[derive(Clone, PartialEq, Eq)]
pub enum Failure {
    /// The call is retried with back-off.
    Transient(String),
    /// The call is retried after that time.
    RetryAfter(Duration, String),
    /// The call is retried only when an input changes.
    Terminal(String),
}

impl Failure {
    /// Returns a failure after which the call is retried with back-off.
    #[doc(alias = "TemporaryError")]
    pub fn transient(message: impl fmt::Display) -> Self {
        Self::Transient(message.to_string())
    }

    /// Sets the time after which the call is retried:
    /// `Failure::transient(message).retry_after(delay)`.
    #[doc(alias = "delay")]
    pub fn retry_after(self, delay: Duration) -> Self {
        match self {
            Self::Transient(message) | Self::RetryAfter(_, message) | Self::Terminal(message) => {
                Self::RetryAfter(delay, message)
            }
        }
    }

    /// Returns a failure after which the call is retried only when an input changes.
    #[doc(alias = "TerminalError")]
    #[doc(alias = "PermanentError")]
    #[doc(alias = "fatal")]
    pub fn terminal(message: impl fmt::Display) -> Self {
        Self::Terminal(message.to_string())
    }

    /// Returns the message.
    pub fn message(&self) -> &str {
        match self {
            Self::Transient(message) | Self::RetryAfter(_, message) | Self::Terminal(message) => message,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.message())
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Transient(message) => write!(formatter, "Transient({message:?})"),
            Self::RetryAfter(delay, message) => write!(formatter, "RetryAfter({delay:?}, {message:?})"),
            Self::Terminal(message) => write!(formatter, "Terminal({message:?})"),
        }
    }
}

impl<E: Error + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        let may_pass = matches!((&error as &dyn Any).downcast_ref(), Some(ReadError::NotServed(_)));
        let message = chain(&error);
        if may_pass { Self::Transient(message) } else { Self::Terminal(message) }
    }
}

/// The error with its causes. Not inlined, so that a component contains it only once.
#[inline(never)]
fn chain(error: &dyn Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !message.ends_with(&said) {
            message.push_str(": ");
            message.push_str(&said);
        }
        cause = error.source();
    }
    message
}

/// Says of an error what follows from it. On an `Option`, `None` is the error.
pub trait Context<T> {
    /// The call is retried with back-off.
    ///
    /// # Errors
    ///
    /// If this is an error.
    fn transient(self, context: impl fmt::Display) -> Result<T>;

    /// The call is retried after that time.
    ///
    /// # Errors
    ///
    /// If this is an error.
    fn retry_after(self, delay: Duration, context: impl fmt::Display) -> Result<T>;

    /// The call is retried only when an input changes.
    ///
    /// # Errors
    ///
    /// If this is an error.
    fn terminal(self, context: impl fmt::Display) -> Result<T>;
}

impl<T, E: fmt::Display> Context<T> for std::result::Result<T, E> {
    fn transient(self, context: impl fmt::Display) -> Result<T> {
        self.map_err(|error| Failure::Transient(format!("{context}: {error}")))
    }

    fn retry_after(self, delay: Duration, context: impl fmt::Display) -> Result<T> {
        self.map_err(|error| Failure::RetryAfter(delay, format!("{context}: {error}")))
    }

    fn terminal(self, context: impl fmt::Display) -> Result<T> {
        self.map_err(|error| Failure::Terminal(format!("{context}: {error}")))
    }
}

impl<T> Context<T> for Option<T> {
    fn transient(self, context: impl fmt::Display) -> Result<T> {
        self.ok_or_else(|| Failure::transient(context))
    }

    fn retry_after(self, delay: Duration, context: impl fmt::Display) -> Result<T> {
        self.ok_or_else(|| Failure::transient(context).retry_after(delay))
    }

    fn terminal(self, context: impl fmt::Display) -> Result<T> {
        self.ok_or_else(|| Failure::terminal(context))
    }
}
