//! `cargo xtask test`: builds and runs the tests, and prints the time of each suite and a count
//! that tells skipped tests from passed ones.
//!
//! ```text
//! format, lints (CI=true) ─▶ cargo build ─▶ suites (a test program each) ─▶ two lanes: what computes │ what waits ─▶ times, tally
//! ```
//!
//! Cargo runs test programs one after another. Here, those that mostly wait run beside the others.

mod checks;
mod selection;
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

use self::checks::Check;
use self::selection::{Extent, Part};
use self::suites::Suite;
use self::summary::{Finished, Summary};
use crate::build;
use crate::control_plane;
use crate::steps::{self, Steps};

/// The seed of property tests, so that each run tries the same cases: a failure is that of the
/// change, and stays until it is mended. Another seed tries others.
const SEED: (&str, &str) = ("PROPTEST_RNG_SEED", "1");

/// Suites that wait for processes and clusters more than they compute. They run one after another,
/// beside all others. `gyre e2e` is not one of them: beside another suite on two cores, plugins
/// missed the deadlines of their calls.
const WAITING: [&str; 1] = ["gyre-chart-tests chart"];

/// The name of the suite of the examples in the documentation, which `cargo test --doc` compiles
/// and runs.
const EXAMPLES: &str = "documentation";

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Run only what takes seconds: unit tests, the laws of gyre-core, the contract suite on
    /// devcluster, one scenario for each area.
    #[arg(long)]
    quick: bool,
    /// Run every scenario on a real API server, too, as before a release.
    #[arg(long, conflicts_with = "quick")]
    all: bool,
    /// Run only this part, for build servers that run the parts in parallel.
    #[arg(long, value_name = "PART")]
    part: Option<Part>,
    /// Arguments of the test programs, such as a part of a test's name, or --nocapture.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
    arguments: Vec<String>,
}

impl Arguments {
    /// Returns the extent of the run: a test that is named runs wherever it can.
    fn extent(&self) -> Extent {
        let is_named = self.arguments.iter().any(|argument| !argument.starts_with('-'));
        match (self.quick, self.all || is_named) {
            (true, _) => Extent::Quick,
            (false, true) => Extent::All,
            (false, false) => Extent::Ordinary,
        }
    }

    /// Returns the checks of the run: all of them on a build server, unless it runs another part.
    fn checks(&self) -> &'static [Check] {
        match self.part {
            Some(Part::Checks) => &checks::ALL,
            None if required() == Requirement::Required => &checks::ALL,
            _ => &[],
        }
    }
}

/// Runs the tests. With `CI=true`, it checks the format, the lints and the documentation as well.
///
/// # Errors
///
/// The steps that failed. A step that fails does not keep the others from running, unless they
/// depend on it.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let extent = arguments.extent();
    let checks = arguments.checks();
    let has_tests = arguments.part != Some(Part::Checks);
    let mut steps = Steps::new(checks.len() + if has_tests { 3 } else { 0 });
    let mut failed = Vec::new();
    let (first, last): (Vec<&Check>, Vec<&Check>) = checks.iter().partition(|check| check.order == checks::Order::BeforeTests);
    for check in first {
        failed.extend(check.run(&mut steps).err());
    }
    if has_tests {
        steps.step("control plane tools", || prepare_control_plane(extent))?;
        let suites = steps.step("build the tests", || suites::build(extent))?;
        failed.extend(run_suites(&mut steps, &suites, arguments).err());
    }
    for check in last {
        failed.extend(check.run(&mut steps).err());
    }
    let failed: Vec<String> = failed.iter().map(|error| format!("{error:#}")).collect();
    ensure!(failed.is_empty(), "{}", failed.join("\nerror: "));
    Ok(())
}

/// Builds the control plane and the registry, if the run needs them.
fn prepare_control_plane(extent: Extent) -> anyhow::Result<()> {
    match control_plane::tools().and_then(|_| control_plane::registry()) {
        _ if extent == Extent::Quick => Ok(()),
        Err(error) if may_be_skipped(&error) => {
            eprintln!("  {error:#}\n  Tests that need it will be skipped.");
            Ok(())
        }
        result => result.map(drop),
    }
}

fn run_suites(steps: &mut Steps, suites: &[Suite], arguments: &Arguments) -> anyhow::Result<()> {
    let (extent, part) = (arguments.extent(), arguments.part);
    let skips = tempfile::NamedTempFile::new().context("cannot make a file for the names of skipped tests")?;
    let (seed, default_seed) = SEED;
    let seed = (seed, std::env::var(seed).unwrap_or_else(|_| default_seed.to_owned()));
    let skips_path = skips.path().to_str().context("the path of the temporary folder is not UTF-8")?;
    let environment = [(seed.0, seed.1.as_str()), (SKIPS, skips_path)];
    let (threads, arguments) = threads(&arguments.arguments)?;
    let tests = Tests { suites, extent, part, threads, arguments: &arguments, environment: &environment };
    let mut summary = Summary::default();
    let result = steps.step("run the tests", || {
        eprintln!("  {}={}, {threads} tests of a suite at a time", seed.0, seed.1);
        summary = tests.run()?;
        let failed = summary.failed();
        ensure!(failed.is_empty(), "these suites failed: {}", failed.join(", "));
        Ok(())
    });

    // One line a skipped test. Such a test returns early, so the test runner has counted it as
    // passed.
    let skipped = std::fs::read_to_string(skips.path()).context("cannot read which tests were skipped")?;
    summary.tally.skip(skipped.lines().count());
    for line in skipped.lines() {
        eprintln!("{line}");
    }
    println!("{summary}");
    if let Some(omission) = extent.omission() {
        println!("{omission}");
    }
    println!("{} in {}", summary.tally, steps.elapsed());
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
    extent: Extent,
    /// The part that runs, or `None` for all.
    part: Option<Part>,
    threads: usize,
    arguments: &'a [String],
    environment: &'a [(&'a str, &'a str)],
}

impl Tests<'_> {
    /// Runs all suites, whatever becomes of each. Errors: one cannot be run at all.
    fn run(&self) -> anyhow::Result<Summary> {
        let is_run = |suite: &&Suite| self.part.is_none_or(|part| part.has_suite(&suite.name));
        let (waiting, mut computing): (Vec<&Suite>, Vec<&Suite>) =
            self.suites.iter().filter(is_run).partition(|suite| WAITING.contains(&suite.name.as_str()));
        computing.sort_by_key(|suite| selection::place(&suite.name));
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
            let result = lane(computing).and_then(|()| match self.extent {
                Extent::Ordinary | Extent::All if self.part.is_none_or(|part| part.has_suite(EXAMPLES)) => {
                    self.run_examples().map(add)
                }
                _ => Ok(()),
            });
            match beside.join() {
                Ok(beside) => result.and(beside),
                Err(_) => bail!("the thread that runs {} panicked", WAITING.join(" and ")),
            }
        })?;
        Ok(summary.into_inner())
    }

    /// Runs a suite. Returns `None` if the run has none of its tests.
    fn run_suite(&self, suite: &Suite) -> anyhow::Result<Option<Finished>> {
        let Some(selection) = self.extent.select(&suite.name) else { return Ok(None) };
        let arguments = [self.arguments, &selection.arguments].concat();
        let environment = [self.environment, &selection.environment].concat();
        let listed = suite.list(&arguments)?;
        if listed.is_empty() {
            return Ok(None);
        }
        let mut finished = Finished::new(&suite.name);
        let run = suite.run(&listed, self.threads, &arguments, &environment, |line| {
            print(&suite.name, line);
            finished.tally.add(line);
        })?;
        Ok(Some(Finished { took: run.took, tests: run.tests, has_failed: !run.status.success(), ..finished }))
    }

    /// The examples in the documentation; what each took is not known, as most are compiled
    /// together.
    fn run_examples(&self) -> anyhow::Result<Finished> {
        let mut command = build::cargo(&["test", "--locked", "--workspace", "--doc", "--no-fail-fast", "--"]);
        command.args(self.arguments).envs(self.environment.iter().copied());
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

/// Passes on what a suite prints. Two suites may print at the same time: each line says whose it
/// is.
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
