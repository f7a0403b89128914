//! `cargo xtask dev`: the echo plugins, live, on an in-memory cluster.

use std::convert::Infallible;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Context as _;

use crate::build::{self, Profile};
use crate::steps::{self, Steps};

/// The plugins, by package: their samples are applied too.
const PLUGINS: [&str; 2] = ["echo", "scheduled-echo"];

/// The time is that of two slow cores.
const FIRST_BUILD: &str = "The first build compiles about 400 crates, nearly all of them for the host. It takes up to 15 minutes on two cores, \
                           and Cargo shows how many crates are left. Later builds take seconds.";

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Exit once the samples are reconciled, instead of running until Ctrl-C.
    #[arg(long)]
    once: bool,
    /// Compile the host in release mode.
    #[arg(long)]
    release: bool,
    /// Further arguments of `gyre dev`.
    #[arg(last = true, value_name = "ARGUMENT")]
    arguments: Vec<String>,
}

/// Builds, and becomes `gyre dev`.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Infallible> {
    let profile = if arguments.release { Profile::Release } else { Profile::Debug };
    if !build::host_program(profile)?.exists() {
        eprintln!("{FIRST_BUILD}");
    }
    let mut steps = Steps::new(3);
    let plugins = steps.step("build the plugins", || build::plugins(&PLUGINS))?;
    let gyre = steps.step("build the host", || build::host(profile))?;
    let command = steps.step("run it", || Ok(command(&gyre, &plugins, arguments)))?;
    eprintln!("  $ {}", steps::line(&command));
    // It handles Ctrl-C, and its exit code is ours.
    Err({ command }.exec()).with_context(|| format!("cannot run {}", gyre.display()))
}

fn command(gyre: &PathBuf, plugins: &[PathBuf], arguments: &Arguments) -> Command {
    let mut command = Command::new(gyre);
    command.arg("dev");
    for plugin in plugins {
        command.arg(plugin);
    }
    for package in PLUGINS {
        command.arg("-f").arg(build::root().join("plugins").join(package).join("samples"));
    }
    if arguments.once {
        command.arg("--once");
    }
    command.args(&arguments.arguments);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_has_the_plugins_their_samples_and_the_arguments() {
        let arguments = Arguments { once: true, release: false, arguments: vec!["--log-level".to_owned(), "debug".to_owned()] };
        let command = command(&PathBuf::from("gyre"), &[PathBuf::from("echo.wasm")], &arguments);
        let arguments: Vec<&str> = command.get_args().filter_map(|argument| argument.to_str()).collect();
        assert_eq!(arguments[..2], ["dev", "echo.wasm"]);
        assert_eq!(arguments[arguments.len() - 3..], ["--once", "--log-level", "debug"]);
        let samples: Vec<&&str> = arguments.iter().filter(|argument| argument.ends_with("/samples")).collect();
        assert_eq!(samples.len(), PLUGINS.len());
        assert!(samples.iter().all(|folder| std::path::Path::new(folder).is_dir()), "{samples:?}");
    }
}
