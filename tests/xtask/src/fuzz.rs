//! `cargo xtask fuzz`: fuzzes the embedded API server and the host.

use crate::{build, steps};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// What is fuzzed: requests to the embedded API server, or what the host reads: objects that it watches, answers of plugins,
    /// configuration files, recordings of calls [default: everything, one target after another].
    #[arg(long, value_parser = ["server", "watch", "answers", "configuration", "recordings"])]
    target: Option<String>,
    /// For how many seconds, shared by the targets.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// The seed of the first case; each further one has the next [default: from the time].
    #[arg(long)]
    seed: Option<u64>,
    /// How many cases of each target, instead of a time: a failure names the target and the seed with which `--cases 1` runs it again.
    #[arg(long)]
    cases: Option<u64>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    // Not optimised further: the server is in every build, and this one notices when a number overflows.
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
