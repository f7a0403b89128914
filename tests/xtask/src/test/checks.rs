//! The checks of CI besides the tests: the format, the lints and the documentation.

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
    arguments: &'static [&'static str],
    environment: &'static [(&'static str, &'static str)],
}

/// All checks.
pub(super) const ALL: [Check; 4] = [
    Check { name: "format", order: Order::BeforeTests, arguments: &["fmt", "--all", "--check"], environment: &[] },
    Check {
        name: "lints",
        order: Order::BeforeTests,
        arguments: &["clippy", "--locked", "--workspace", "--all-targets", "--", "--deny", "warnings"],
        environment: &[],
    },
    // The tests never build this program. With all packages selected, its dependencies have the
    // features that they have above, so Cargo checks them only once.
    Check {
        name: "lints of the program that runs in a cluster",
        order: Order::BeforeTests,
        arguments: &["clippy", "--locked", "--workspace", "--no-default-features", "--all-targets", "--", "--deny", "warnings"],
        environment: &[],
    },
    Check {
        name: "documentation",
        order: Order::AfterTests,
        arguments: &["doc", "--locked", "--workspace", "--no-deps", "--document-private-items"],
        environment: &[("RUSTDOCFLAGS", "--deny warnings")],
    },
];

impl Check {
    /// Runs it as a step.
    pub(super) fn run(&self, steps: &mut Steps) -> anyhow::Result<()> {
        let mut command = build::cargo(self.arguments);
        command.envs(self.environment.iter().copied());
        steps.step(self.name, || steps::run(&mut command))
    }
}
