//! `cargo xtask fuzz`: what nobody meant, sent to the embedded API server.

use crate::{build, steps};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// For how many seconds.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// The seed of the first case; each further one has the next [default: from the time].
    #[arg(long)]
    seed: Option<u64>,
    /// How many cases, instead of a time: a failure names the seed with which `--cases 1` runs it again.
    #[arg(long)]
    cases: Option<u64>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    // Not optimised further: the server is in every build, and this one notices when a number overflows.
    let mut command = build::cargo(&["run", "--locked", "--package", "gyre-fuzz", "--"]);
    command.args(["--seconds", &arguments.seconds.to_string()]);
    for (name, value) in [("--seed", arguments.seed), ("--cases", arguments.cases)] {
        if let Some(value) = value {
            command.args([name, &value.to_string()]);
        }
    }
    steps::run(&mut command)
}
