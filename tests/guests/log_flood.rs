//! Writes 100,000 lines of 1 KiB to the log, to stdout and to stderr.

use std::io::Write;

use gyre_sdk::{Plan, log};

const LINES: usize = 100_000;
const LINE_LENGTH: usize = 1024;

gyre_guests::guest!(LogFlood, || {
    let line = "x".repeat(LINE_LENGTH);
    for _ in 0..LINES {
        log::info(&line, &[("field", &line)]);
        // The host may close the streams; the flood continues.
        let _ = writeln!(std::io::stdout(), "{line}");
        let _ = writeln!(std::io::stderr(), "{line}");
    }
    Ok(Plan::keep_children())
});
