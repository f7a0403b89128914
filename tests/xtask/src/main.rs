//! The commands for developers: see `cargo xtask --help`.
//!
//! ```text
//! test ▶ control plane tools ──▶ test programs ──▶ their runs ──▶ summary   (CI=true: format, lints and documentation, too)
//! dev ─▶ plugins, host ──▶ gyre dev: cluster, CRDs, samples, and what happens to them
//! release ▶ programs, plugins, chart, packages ──▶ a folder with all files of a release
//! ```
//!
//! Each command is a module. [`steps`] prints what a command does, and [`toolchain`] installs the
//! missing parts of Rust first. The checks of the source tree (`tidy`) are tests, so `cargo test`
//! runs them.
//!
//! What is absent: commands that a plain `cargo` command replaces, and dependencies that take long
//! to build.

mod build;
mod control_plane;
mod dev;
mod dump_kinds;
mod fuzz;
mod interrupt;
mod release;
mod steps;
mod test;
#[cfg(test)]
mod tidy;
mod toolchain;
mod tools;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

const EXAMPLES: &str = "\
Examples:
  cargo xtask dev                    run the echo plugins on an in-memory cluster
  cargo xtask dev -- --log-level debug
  cargo xtask test --quick           run what takes seconds, before a commit
  cargo xtask test                   run the tests, before a change is submitted
  cargo xtask test --all             run every scenario on a real API server, too, before a release
  cargo xtask test -- queue          run the tests whose names contain \"queue\"
  cargo xtask control-plane --run    run a Kubernetes control plane and nothing else
  cargo xtask release --dry-run      build everything that a release has, and upload nothing
  CI=true cargo xtask test           run what CI runs: with the format, lints and documentation; no test may be skipped

Environment:
  KUBEBUILDER_ASSETS=DIRECTORY       use etcd, kube-apiserver and kubectl from there instead of building them
  USE_EXISTING_CLUSTER=true          use the cluster of the current kubeconfig
  CI=true                            fail if a test is skipped";

/// Build, test and run gyre for development.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", after_help = EXAMPLES)]
struct Xtask {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Build the programs of a Kubernetes control plane and print where they are. Needs Go.
    ControlPlane(control_plane::Arguments),
    /// Run the tests; print the time of each suite, the slowest tests, and the number of skipped
    /// tests.
    Test(test::Arguments),
    /// Build the other Go programs that tests use, actionlint and alerttest, and print where they
    /// are. Needs Go.
    Tools(tools::Arguments),
    /// Run the echo plugins on an in-memory cluster until Ctrl-C.
    Dev(dev::Arguments),
    /// Run the benchmarks in release mode.
    Bench(BenchArguments),
    /// Fuzz the in-memory API server (devcluster) and the inputs of the host, and print how to
    /// repeat failures.
    Fuzz(fuzz::Arguments),
    /// Read the built-in kinds from a real API server, and write them into the source tree of the
    /// in-memory API server (devcluster).
    ///
    /// Run this after the version of Kubernetes in tests/controlplane/go.mod has changed, and
    /// commit the changes in host/devcluster/src. The command starts its own control plane, which
    /// needs Go. A second run changes nothing.
    DumpKinds(dump_kinds::Arguments),
    /// Build everything that a release has into target/release-artifacts: programs, plugins, chart,
    /// packages, bills of materials, checksums. Print what this machine cannot build.
    Release(release::Arguments),
}

#[derive(Debug, clap::Args)]
struct BenchArguments {
    /// Arguments of gyre-bench.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
    arguments: Vec<String>,
}

/// One line for an error, without a backtrace whatever `RUST_BACKTRACE` says: the step that failed
/// has said the rest.
fn main() -> ExitCode {
    match run(&Xtask::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: &Task) -> anyhow::Result<()> {
    match task {
        Task::Dev(_) | Task::Bench(_) | Task::Release(_) => toolchain::ensure(toolchain::Use::Plugins)?,
        Task::Test(_) => toolchain::ensure(toolchain::Use::Everything)?,
        Task::ControlPlane(_) | Task::Tools(_) | Task::Fuzz(_) | Task::DumpKinds(_) => {}
    }
    match task {
        Task::ControlPlane(arguments) => control_plane::run(arguments),
        Task::Tools(arguments) => tools::run(arguments),
        Task::Test(arguments) => test::run(arguments),
        Task::Dev(arguments) => dev::run(arguments).map(|never| match never {}),
        Task::Bench(BenchArguments { arguments }) => {
            // The benchmarks start hosts, which lie beside them.
            let gyre = build::host(build::Profile::Release)?;
            steps::run(&mut build::cargo(&["build", "--locked", "--release", "--package", "gyre-bench", "--bins"]))?;
            steps::run(
                build::cargo(&["run", "--locked", "--release", "--package", "gyre-bench", "--"])
                    .env("GYRE", gyre)
                    .args(arguments),
            )
        }
        Task::Fuzz(arguments) => fuzz::run(arguments),
        Task::DumpKinds(arguments) => dump_kinds::run(arguments),
        Task::Release(arguments) => release::run(arguments),
    }
}
