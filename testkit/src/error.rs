//! The errors of the test kit.

use std::fmt;

/// A sentence. `{}` and `{:?}` print the same, so that a test fails with the sentence.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(String);

/// The result of most functions here, and of tests: `fn a_test() -> gyre_test::Result`.
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
