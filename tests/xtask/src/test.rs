//! `cargo xtask test`: every test of the workspace, what each suite took, and a count at the end that tells skipped tests from passed ones.
//!
//! ```text
//! cargo build --all-targets ──▶ suites (a test program each) ──▶ two lanes: what computes │ what waits ──▶ times, tally
//! ```
//!
//! The test programs are run from here, as Cargo runs one after another: those that mostly wait run beside the others.

mod suites;
mod summary;
mod times;

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};
use gyre_controlplane::skip::SKIPS;
use gyre_controlplane::{Requirement, required, tools};
use parking_lot::Mutex;

pub(crate) use self::suites::Suite;
use self::summary::{Finished, Summary};
use crate::build;
use crate::control_plane;
use crate::steps::{self, Steps};

/// The number of steps to build and run the tests.
pub(crate) const STEPS: usize = 3;

/// The seed of property tests, so that each run tries the same cases: a failure is that of the change, and stays until
/// it is mended. Another seed tries others.
const SEED: (&str, &str) = ("PROPTEST_RNG_SEED", "1");

/// Suites that wait for processes and clusters more than they compute. They run one after another, beside all others. `gyre e2e` is
/// not one of them: beside `gyre e2e-devcluster` on two cores, plugins missed the deadlines of their calls.
const WAITING: [&str; 1] = ["gyre-chart-tests chart"];

/// The name of the suite of the examples in the documentation, which `cargo test --doc` compiles and runs.
const EXAMPLES: &str = "documentation";

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Arguments of the test programs, such as a part of a test's name, or --nocapture.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
    arguments: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let mut steps = Steps::new(STEPS);
    let tests = build(&mut steps, "build the tests", &[])?;
    run_built(&mut steps, &tests, &arguments.arguments, &[])
}

/// Makes everything that the tests run, as the first of the next [`STEPS`] steps. `environment` is added to that of Cargo.
pub(crate) fn build(steps: &mut Steps, name: &str, environment: &[(&str, &str)]) -> anyhow::Result<Vec<Suite>> {
    steps.step("control plane tools", || match control_plane::tools() {
        Err(error) if may_be_skipped(&error) => {
            eprintln!("  {error:#}\n  Tests that need a cluster will be skipped.");
            Ok(())
        }
        result => result.map(drop),
    })?;
    steps.step(name, || suites::build(environment))
}

/// Runs the tests that [`build()`] made with the same `environment`, as the last of its steps.
pub(crate) fn run_built(
    steps: &mut Steps,
    suites: &[Suite],
    arguments: &[String],
    environment: &[(&str, &str)],
) -> anyhow::Result<()> {
    let skips = tempfile::NamedTempFile::new().context("cannot make a file for the names of skipped tests")?;
    let (seed, default_seed) = SEED;
    let seed = (seed, std::env::var(seed).unwrap_or_else(|_| default_seed.to_owned()));
    let skips_path = skips.path().to_str().context("the path of the temporary folder is not UTF-8")?;
    let set = [(seed.0, seed.1.as_str()), (SKIPS, skips_path)];
    let (threads, arguments) = threads(arguments)?;
    let tests = Tests { suites, threads, arguments: &arguments, building: environment, running: &set };
    let mut summary = Summary::default();
    let result = steps.step("run the tests", || {
        eprintln!("  {}={}, {threads} tests of a suite at a time", seed.0, seed.1);
        summary = tests.run()?;
        let failed = summary.failed();
        ensure!(failed.is_empty(), "these suites failed: {}", failed.join(", "));
        Ok(())
    });

    // One line a skipped test. Such a test returns early, so the test runner has counted it as passed.
    let skipped = std::fs::read_to_string(skips.path()).context("cannot read which tests were skipped")?;
    summary.tally.skip(skipped.lines().count());
    for line in skipped.lines() {
        eprintln!("{line}");
    }
    println!("{summary}\n{} in {}", summary.tally, steps.elapsed());
    result?;
    let is_complete = summary.tally.skipped == 0;
    ensure!(is_complete || required() == Requirement::Optional, "{} tests were skipped, and CI=true", summary.tally.skipped);
    Ok(())
}

fn may_be_skipped(error: &anyhow::Error) -> bool {
    let is_missing = error.downcast_ref::<tools::Error>().is_some_and(tools::Error::is_missing);
    is_missing && required() == Requirement::Optional
}

/// Returns the number of tests of a suite that run at a time, and the other arguments.
fn threads(arguments: &[String]) -> anyhow::Result<(usize, Vec<String>)> {
    let mut threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let (mut others, mut words) = (Vec::new(), arguments.iter());
    while let Some(word) = words.next() {
        let number = match word.strip_prefix("--test-threads") {
            Some("") => words.next().map(String::as_str),
            Some(number) => number.strip_prefix('='),
            None => {
                others.push(word.clone());
                continue;
            }
        };
        let number = number.and_then(|number| number.parse::<usize>().ok()).filter(|number| *number > 0);
        threads = number.context("--test-threads needs a number from 1 on")?;
    }
    Ok((threads, others))
}

/// The suites to run, and the way to run them.
struct Tests<'a> {
    suites: &'a [Suite],
    threads: usize,
    arguments: &'a [String],
    building: &'a [(&'a str, &'a str)],
    running: &'a [(&'a str, &'a str)],
}

impl Tests<'_> {
    /// Runs all suites, whatever becomes of each. Errors: one cannot be run at all.
    fn run(&self) -> anyhow::Result<Summary> {
        let (waiting, computing): (Vec<&Suite>, Vec<&Suite>) =
            self.suites.iter().partition(|suite| WAITING.contains(&suite.name.as_str()));
        let summary = Mutex::new(Summary::default());
        let add = |finished: Finished| summary.lock().add(finished);
        let lane = |suites: Vec<&Suite>| -> anyhow::Result<()> {
            for suite in suites {
                if let Some(finished) = self.run_suite(suite)? {
                    add(finished);
                }
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let beside = scope.spawn(|| lane(waiting));
            let result = lane(computing).and_then(|()| self.run_examples().map(add));
            match beside.join() {
                Ok(beside) => result.and(beside),
                Err(_) => bail!("the thread that runs {} panicked", WAITING.join(" and ")),
            }
        })?;
        Ok(summary.into_inner())
    }

    /// Runs a suite, unless the arguments choose none of its tests.
    fn run_suite(&self, suite: &Suite) -> anyhow::Result<Option<Finished>> {
        let listed = suite.list(self.arguments)?;
        if listed.is_empty() {
            return Ok(None);
        }
        let mut finished = Finished::new(&suite.name);
        let run = suite.run(&listed, self.threads, self.arguments, self.running, |line| {
            print(&suite.name, line);
            finished.tally.add(line);
        })?;
        Ok(Some(Finished { took: run.took, tests: run.tests, has_failed: !run.status.success(), ..finished }))
    }

    /// The examples in the documentation; what each took is not known, as most are compiled together.
    fn run_examples(&self) -> anyhow::Result<Finished> {
        let mut command = build::cargo(&["test", "--locked", "--workspace", "--doc", "--no-fail-fast", "--"]);
        command.args(self.arguments).envs(self.building.iter().copied()).envs(self.running.iter().copied());
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let begin = Instant::now();
        let mut child = command.spawn().with_context(|| format!("cannot run `{}`", steps::line(&command)))?;
        let mut finished = Finished::new(EXAMPLES);
        for line in child.stdout.take().into_iter().flat_map(|stdout| BufReader::new(stdout).split(b'\n')) {
            let line = line.context("cannot read what the tests print")?;
            let line = String::from_utf8_lossy(&line);
            print(EXAMPLES, &line);
            finished.tally.add(&line);
        }
        let status = child.wait()?;
        Ok(Finished { took: begin.elapsed(), has_failed: !status.success(), ..finished })
    }
}

/// Passes on what a suite prints. Two suites may print at the same time: each line says whose it is.
fn print(suite: &str, line: &str) {
    if !line.is_empty() {
        // Nobody may be there to read, which is no reason to stop.
        let _ = writeln!(std::io::stdout(), "{suite} | {line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_threads_is_taken_from_the_arguments() {
        let check = |arguments: &[&str]| threads(&arguments.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert_eq!(check(&["--test-threads=3", "queue"]).unwrap(), (3, vec!["queue".to_owned()]));
        assert_eq!(check(&["queue", "--test-threads", "7", "--exact"]).unwrap().0, 7);
        assert_eq!(check(&["--nocapture"]).unwrap().1, ["--nocapture"]);
        for wrong in ["--test-threads", "--test-threads=0", "--test-threads=many"] {
            assert!(check(&[wrong]).unwrap_err().to_string().contains("needs a number"), "{wrong}");
        }
    }
}
