//! `cargo xtask ci`: what must pass before a change is merged.

use crate::steps::{self, Steps};
use crate::{build, test};

pub(crate) fn run() -> anyhow::Result<()> {
    let mut steps = Steps::new(4 + test::STEPS);
    steps.step("formatting", || steps::run(&mut build::cargo(&["fmt", "--all", "--check"])))?;
    steps.step("lints", || {
        let arguments = ["clippy", "--locked", "--workspace", "--all-targets", "--", "--deny", "warnings"];
        steps::run(&mut build::cargo(&arguments))
    })?;
    // Nothing else builds it: wherever the tests are built, somebody wants the tools.
    steps.step("lints of the program that runs in a cluster", || {
        let arguments = ["clippy", "--locked", "--package", "gyre", "--no-default-features", "--", "--deny", "warnings"];
        steps::run(&mut build::cargo(&arguments))
    })?;
    steps.step("documentation", || {
        let mut command = build::cargo(&["doc", "--locked", "--workspace", "--no-deps", "--document-private-items"]);
        steps::run(command.env("RUSTDOCFLAGS", "--deny warnings"))
    })?;
    let suites = test::build(&mut steps, "build the tests", &[])?;
    test::run_built(&mut steps, &suites, &[], &[])
}
