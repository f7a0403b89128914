//! What goes wrong in a test before anything can be compared.

use std::fmt;

/// A sentence that says what is wrong. It prints the same as `{}` and as `{:?}`, so that a test that returns it says it in words.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(String);

/// What most of the kit returns, and a test may: `fn a_test() -> gyre_test::Result`.
pub type Result<T = (), E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl From<anyhow::Error> for Error {
    fn from(error: anyhow::Error) -> Self {
        Self(format!("{error:#}"))
    }
}
