//! The exit codes of commands, and the errors that they print.

use std::io::Write as _;
use std::process::ExitCode;

use gyre_engine::error::error_chain;

use super::{arguments, commands};
use crate::config::values::WrongArguments;

/// Exit codes of most commands: 0 success, 1 failure, 2 invalid arguments.
pub(super) fn ended(result: anyhow::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error, ExitCode::FAILURE),
    }
}

/// Exit codes of commands like `diff`: 1 differences, 2 nothing was compared.
pub(super) fn compared(result: anyhow::Result<ExitCode>) -> ExitCode {
    result.unwrap_or_else(|error| failed(&error, ExitCode::from(2)))
}

fn failed(error: &anyhow::Error, code: ExitCode) -> ExitCode {
    let is_broken_pipe = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref().is_some_and(|error: &std::io::Error| error.kind() == std::io::ErrorKind::BrokenPipe)
    };
    // A reader that closes the output early is not an error.
    if error.chain().any(is_broken_pipe) {
        return code;
    }
    if let Some(missing) = error.downcast_ref() {
        arguments::missing(missing, commands());
    }
    // Prints each source once: some errors contain the text of theirs.
    let _ = writeln!(std::io::stderr(), "gyre: {}", error_chain(error.as_ref()));
    if error.is::<WrongArguments>() { ExitCode::from(2) } else { code }
}
