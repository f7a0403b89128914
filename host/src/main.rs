//! The `gyre` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    gyre::cli::main()
}
