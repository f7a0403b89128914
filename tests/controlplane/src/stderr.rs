//! Messages that the test runner does not capture.

use std::io::Write as _;

/// Writes to stderr itself: the test runner captures only what the macros print.
pub(crate) fn say(text: &str) {
    // Nobody is left to be told when stderr is closed.
    let _ = std::io::stderr().write_all(text.as_bytes());
}
