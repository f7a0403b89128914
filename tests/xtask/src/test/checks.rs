//! The checks of CI besides the tests: the format, the lints, the dependencies and the
//! documentation.

use std::process::Stdio;

use crate::build;
use crate::steps::{self, Steps};

/// The place of a check in a run: what is quick to fail comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    BeforeTests,
    AfterTests,
}

/// A Cargo command that must succeed.
pub(super) struct Check {
    name: &'static str,
    pub(super) order: Order,
    /// A subcommand that Cargo itself does not have, with how to install it: without it, the check
    /// is left out.
    needs: Option<(&'static str, &'static str)>,
    arguments: &'static [&'static str],
    environment: &'static [(&'static str, &'static str)],
}

/// All checks.
pub(super) const ALL: [Check; 5] = [
    Check { name: "format", order: Order::BeforeTests, needs: None, arguments: &["fmt", "--all", "--check"], environment: &[] },
    // The workflow of CI also checks advisories, whose database is not everywhere at hand.
    Check {
        name: "licenses, duplicates and sources of dependencies",
        order: Order::BeforeTests,
        needs: Some(("deny", "cargo install --locked cargo-deny")),
        arguments: &["deny", "--offline", "--locked", "check", "--deny", "warnings", "bans", "licenses", "sources"],
        environment: &[],
    },
    Check {
        name: "lints",
        order: Order::BeforeTests,
        needs: None,
        arguments: &["clippy", "--locked", "--workspace", "--all-targets", "--", "--deny", "warnings"],
        environment: &[],
    },
    // The tests never build this program. With all packages selected, its dependencies have the
    // features that they have above, so Cargo checks them only once.
    Check {
        name: "lints of the program that runs in a cluster",
        order: Order::BeforeTests,
        needs: None,
        arguments: &["clippy", "--locked", "--workspace", "--no-default-features", "--all-targets", "--", "--deny", "warnings"],
        environment: &[],
    },
    Check {
        name: "documentation",
        order: Order::AfterTests,
        needs: None,
        arguments: &["doc", "--locked", "--workspace", "--no-deps", "--document-private-items"],
        environment: &[("RUSTDOCFLAGS", "--deny warnings")],
    },
];

impl Check {
    /// Runs it as a step.
    pub(super) fn run(&self, steps: &mut Steps) -> anyhow::Result<()> {
        let mut command = build::cargo(self.arguments);
        command.envs(self.environment.iter().copied());
        steps.step(self.name, || match self.needs {
            Some((subcommand, install)) if !has(subcommand) => {
                eprintln!("  LEFT OUT: there is no cargo-{subcommand}; `{install}` installs it");
                Ok(())
            }
            _ => steps::run(&mut command),
        })
    }
}

/// Returns whether Cargo finds a subcommand.
fn has(subcommand: &str) -> bool {
    let mut command = build::cargo(&[subcommand, "--version"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
