//! `cargo xtask fuzz`: fuzzes the in-memory API server (devcluster) and the host.

use crate::{build, steps};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Target to fuzz: requests to the in-memory API server (devcluster), or an input of the host
    /// (watched objects, answers of plugins, configuration files, recordings of calls, artifacts of
    /// registries) [default: all targets, one after another].
    #[arg(long, value_parser = ["server", "watch", "answers", "configuration", "recordings", "artifacts"])]
    target: Option<String>,
    /// Duration in seconds, shared by the targets.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Seed of the first case; each further case has the next seed [default: derived from the
    /// time].
    #[arg(long)]
    seed: Option<u64>,
    /// Number of cases of each target, instead of a duration. A failure names its target and seed,
    /// with which `--cases 1` repeats it.
    #[arg(long)]
    cases: Option<u64>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    // Not optimised further: the server is in every build, and this one notices when a number
    // overflows.
    let mut command = build::cargo(&["run", "--locked", "--package", "gyre-fuzz", "--"]);
    command.args(["--seconds", &arguments.seconds.to_string()]);
    if let Some(target) = &arguments.target {
        command.args(["--target", target]);
    }
    for (name, value) in [("--seed", arguments.seed), ("--cases", arguments.cases)] {
        if let Some(value) = value {
            command.args([name, &value.to_string()]);
        }
    }
    steps::run(&mut command)
}
