//! `cargo xtask test`: every test of the workspace, and a count at the end that tells skipped tests from passed ones.

use std::fmt;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use anyhow::{Context as _, ensure};
use gyre_controlplane::skip::SKIPS;
use gyre_controlplane::{Requirement, required, tools};

use crate::build;
use crate::control_plane;
use crate::steps::{self, Steps};

/// How many steps [`test()`] takes.
pub(crate) const STEPS: usize = 2;

/// What property tests draw their cases from, so that each run tries the same ones: a failure is that of the change, and stays until
/// it is mended. Another seed tries others.
const SEED: (&str, &str) = ("PROPTEST_RNG_SEED", "1");

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Arguments for the test programs: part of a test's name, --nocapture and the like.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
    arguments: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    test(&mut Steps::new(STEPS), &arguments.arguments)
}

/// Runs the tests as the next steps of a longer list.
pub(crate) fn test(steps: &mut Steps, arguments: &[String]) -> anyhow::Result<()> {
    steps.step("control plane tools", || match control_plane::tools() {
        Err(error) if may_be_skipped(&error) => {
            eprintln!("  {error:#}\n  Tests that need a cluster will be skipped.");
            Ok(())
        }
        result => result.map(drop),
    })?;

    let skips = tempfile::NamedTempFile::new().context("cannot make a file for the names of skipped tests")?;
    let mut tally = Tally::default();
    let result = steps.step("cargo test", || {
        let mut command = build::cargo(&["test", "--locked", "--workspace", "--no-fail-fast", "--"]);
        command.args(arguments).env(SKIPS, skips.path()).stdin(Stdio::null()).stdout(Stdio::piped());
        let (name, default) = SEED;
        let seed = std::env::var(name).unwrap_or_else(|_| default.to_owned());
        command.env(name, &seed);
        let line = steps::line(&command);
        eprintln!("  $ {name}={seed} {line}");
        let mut child = command.spawn().context("cannot run Cargo")?;
        for line in child.stdout.take().into_iter().flat_map(|stdout| BufReader::new(stdout).split(b'\n')) {
            let line = line.context("cannot read what the tests print")?;
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            tally.add(&line);
        }
        let status = child.wait()?;
        ensure!(status.success(), "`{line}` failed ({status})");
        Ok(())
    });

    // One line a skipped test. Such a test returns early, so the test runner has counted it as passed.
    let skipped = std::fs::read_to_string(skips.path()).context("cannot read which tests were skipped")?;
    tally.skip(skipped.lines().count());
    for line in skipped.lines() {
        eprintln!("{line}");
    }
    println!("{tally} in {}", steps.elapsed());
    result?;
    let is_complete = tally.skipped == 0;
    ensure!(is_complete || required() == Requirement::Optional, "{} tests were skipped, and CI=true", tally.skipped);
    Ok(())
}

fn may_be_skipped(error: &anyhow::Error) -> bool {
    let is_missing = error.downcast_ref::<tools::Error>().is_some_and(tools::Error::is_missing);
    is_missing && required() == Requirement::Optional
}

/// The sum of what the test programs report.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl Tally {
    /// Adds a line such as `test result: ok. 17 passed; 0 failed; …`; ignores every other.
    fn add(&mut self, line: &str) {
        let Some((_, counts)) = line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". ")) else { return };
        for count in counts.split("; ") {
            let mut words = count.split(' ');
            let (Some(Ok(number)), Some(what)) = (words.next().map(str::parse::<usize>), words.next()) else { continue };
            match what {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.skipped += number,
                _ => {}
            }
        }
    }

    /// Moves tests from those that passed.
    fn skip(&mut self, count: usize) {
        self.passed = self.passed.saturating_sub(count);
        self.skipped += count;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tests: {} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tally_is_the_sum_of_the_programs_less_what_was_skipped() {
        let mut tally = Tally::default();
        for line in [
            "running 3 tests",
            "test a ... ok",
            "test result: ok. 17 passed; 0 failed; 0 ignored; 0 measured; 2 filtered out; finished in 1.08s",
            "test result: FAILED. 3 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s",
            "test result: of another kind",
        ] {
            tally.add(line);
        }
        assert_eq!(tally, Tally { passed: 20, failed: 2, skipped: 1 });
        tally.skip(4);
        assert_eq!(tally.to_string(), "tests: 16 passed, 2 failed, 5 skipped");
    }
}
