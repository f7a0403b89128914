use std::io::Write as _;

/// Writes to stderr directly, because the test runner captures the output of macros.
pub(crate) fn print_uncaptured(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}
