//! Fuzzing of the embedded API server: requests that nobody meant, in sequences that follow from a seed.
//!
//! ```text
//! fleet ── a process per core, which may crash, hang or grow ──▶ case ─┬─ request ─ mutate ◀── corpus
//!   └─ progress, limits, what failed and how to run it again           ├─ apply   (laws of server-side apply)
//!                                                                      ├─ wire    (bytes of connections)
//!                                                                      └─ check   (what holds of every answer)
//! ```
//!
//! Not here: coverage. It would need another toolchain; what is mutated is real objects instead.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test: what it draws from is never empty, and its corpus is its own"
)]

mod apply;
mod case;
mod check;
mod corpus;
mod fleet;
mod mutate;
mod request;
#[cfg(test)]
mod tests;
mod wire;
mod worker;

use std::process::ExitCode;

use clap::Parser;

/// Sends what nobody meant to the embedded API server.
#[derive(Clone, Debug, Parser)]
#[command(name = "cargo xtask fuzz", bin_name = "cargo xtask fuzz")]
struct Arguments {
    /// For how long.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// The seed of the first case; each further one has the next [default: from the time].
    #[arg(long)]
    seed: Option<u64>,
    /// How many cases, instead of a time. One alone is told step by step when it fails.
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
        Some(stride) => Ok(worker::run(&arguments, stride)),
        None => fleet::run(&arguments),
    }
}
