use std::io::Write as _;

/// Writes to stderr directly, because the test runner captures the output of macros.
pub(crate) fn print_uncaptured(text: &str) {
    // Without stderr there is no place for the error.
    let _ = std::io::stderr().write_all(text.as_bytes());
}
