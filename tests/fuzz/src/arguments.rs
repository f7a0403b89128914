//! The command line.

use clap::Parser;

use crate::target::Target;

/// Fuzzes the embedded API server and the host.
#[derive(Clone, Debug, Parser)]
#[command(name = "cargo xtask fuzz", bin_name = "cargo xtask fuzz")]
pub(crate) struct Arguments {
    /// What is fuzzed [default: everything, one target after another].
    #[arg(long)]
    pub(crate) target: Option<Target>,
    /// For how many seconds, shared by the targets.
    #[arg(long, default_value_t = 60)]
    pub(crate) seconds: u64,
    /// The seed of the first case; each further one has the next [default: from the time].
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// How many cases of each target, instead of a time. One alone is told step by step when it fails.
    #[arg(long)]
    pub(crate) cases: Option<u64>,
    /// How far the seeds of this process's cases are apart; it tells a parent process what it does.
    #[arg(long, hide = true)]
    pub(crate) stride: Option<u64>,
    /// Whether it tells what each step is.
    #[arg(long, hide = true)]
    pub(crate) trace: bool,
}
