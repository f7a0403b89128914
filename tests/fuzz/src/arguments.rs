//! The command line.

use clap::Parser;

use crate::target::Target;

/// Fuzz the in-memory API server (devcluster) and the host.
#[derive(Clone, Debug, Parser)]
#[command(name = "cargo xtask fuzz", bin_name = "cargo xtask fuzz")]
pub(crate) struct Arguments {
    /// Target to fuzz [default: all targets, one after another].
    #[arg(long)]
    pub(crate) target: Option<Target>,
    /// Duration in seconds, shared by the targets.
    #[arg(long, default_value_t = 60)]
    pub(crate) seconds: u64,
    /// Seed of the first case; each further case has the next seed [default: derived from the
    /// time].
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Number of cases of each target, instead of a duration. If it is 1 and the case fails, its
    /// steps are printed.
    #[arg(long)]
    pub(crate) cases: Option<u64>,
    /// The distance between the seeds of this process's cases. If it is set, the process reports to
    /// a parent process.
    #[arg(long, hide = true)]
    pub(crate) stride: Option<u64>,
    /// If true, it reports each step.
    #[arg(long, hide = true)]
    pub(crate) trace: bool,
}
