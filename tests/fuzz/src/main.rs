//! Fuzzing of the embedded API server and of the host: cases that follow from a seed.
//!
//! ```text
//! fleet ── a process per core, which may crash, hang or grow ──▶ target ─┬─ server               (requests)
//!   └─ progress, limits, what failed and how to run it again             ├─ host::watch          (objects of an API server)
//!                                                                        ├─ host::answers        (of plugins)
//!                                                                        ├─ host::configuration  (files of operators)
//!                                                                        └─ host::recordings     (of calls)
//!                                                                              └─ all: mutate ◀── corpus
//! ```
//!
//! Not here: coverage. It would need another toolchain; what is mutated is real objects instead.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test: what it draws from is never empty, and its corpus is its own"
)]

mod corpus;
mod fleet;
mod host;
mod mutate;
mod server;
mod target;
#[cfg(test)]
mod tests;
mod worker;

use std::process::ExitCode;

use clap::Parser;

use crate::target::Target;

/// Fuzzes the embedded API server and the host.
#[derive(Clone, Debug, Parser)]
#[command(name = "cargo xtask fuzz", bin_name = "cargo xtask fuzz")]
struct Arguments {
    /// What is fuzzed [default: everything, one target after another].
    #[arg(long)]
    target: Option<Target>,
    /// For how many seconds, shared by the targets.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// The seed of the first case; each further one has the next [default: from the time].
    #[arg(long)]
    seed: Option<u64>,
    /// How many cases of each target, instead of a time. One alone is told step by step when it fails.
    #[arg(long)]
    cases: Option<u64>,
    /// How far the seeds of this process's cases are apart; it tells a parent process what it does.
    #[arg(long, hide = true)]
    stride: Option<u64>,
    /// Whether it tells what each step is.
    #[arg(long, hide = true)]
    trace: bool,
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    match arguments.stride {
        Some(stride) => Ok(worker::run(&arguments, arguments.target.unwrap_or(Target::Server), stride)),
        None => fleet::run(&arguments),
    }
}
