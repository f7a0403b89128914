//! `cargo xtask tools`.

use anyhow::Context as _;
use gyre_controlplane::go_tools::{ALL, GoTool};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Programs to build [default: all].
    #[arg(value_name = "NAME", value_parser = ALL.map(|tool| tool.name))]
    names: Vec<String>,
}

/// Builds the programs that are not cached yet, and prints where they are.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let is_wanted = |tool: &&GoTool| arguments.names.is_empty() || arguments.names.iter().any(|name| name == tool.name);
    for tool in ALL.iter().filter(is_wanted) {
        let program = tool.find_or_build(&mut |line| eprintln!("  {line}"));
        let program = program.with_context(|| format!("cannot build {}", tool.name))?;
        println!("{:<24} {}", tool.name, program.display());
    }
    Ok(())
}
