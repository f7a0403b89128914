//! The summary of a run of the tests: the time of each suite, the slowest tests, and how many
//! passed.

use std::fmt;
use std::time::Duration;

use crate::steps;

/// The number of the slowest tests that are named.
const SLOWEST: usize = 10;

/// A suite that has run.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) name: String,
    pub(super) took: Duration,
    /// Each test with the time that it took; empty where that is not known.
    pub(super) tests: Vec<(String, Duration)>,
    pub(super) tally: Tally,
    pub(super) has_failed: bool,
}

impl Finished {
    pub(super) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), took: Duration::ZERO, tests: Vec::new(), tally: Tally::default(), has_failed: false }
    }
}

/// All of them. Displayed without the tally, which is another line.
#[derive(Debug, Default)]
pub(super) struct Summary {
    suites: Vec<Finished>,
    pub(super) tally: Tally,
}

impl Summary {
    pub(super) fn add(&mut self, suite: Finished) {
        self.tally.passed += suite.tally.passed;
        self.tally.failed += suite.tally.failed;
        self.tally.skipped += suite.tally.skipped;
        self.suites.push(suite);
    }

    /// The suites that failed, by name.
    pub(super) fn failed(&self) -> Vec<&str> {
        self.suites.iter().filter(|suite| suite.has_failed).map(|suite| suite.name.as_str()).collect()
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut suites: Vec<&Finished> = self.suites.iter().collect();
        suites.sort_by_key(|suite| std::cmp::Reverse(suite.took));
        writeln!(f, "time of each suite:")?;
        for suite in suites {
            writeln!(f, "{:>10}  {}, {} tests", steps::seconds(suite.took), suite.name, suite.tally.count())?;
        }
        let mut tests: Vec<(&str, &(String, Duration))> =
            self.suites.iter().flat_map(|suite| suite.tests.iter().map(|test| (suite.name.as_str(), test))).collect();
        tests.sort_by_key(|(_, (_, took))| std::cmp::Reverse(*took));
        write!(f, "slowest tests:")?;
        for (suite, (test, took)) in tests.into_iter().take(SLOWEST) {
            write!(f, "\n{:>10}  {suite}: {test}", steps::seconds(*took))?;
        }
        Ok(())
    }
}

/// The sum of what the test programs report.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    passed: usize,
    failed: usize,
    pub(super) skipped: usize,
}

impl Tally {
    /// Adds a line such as `test result: ok. 17 passed; 0 failed; …`; ignores every other.
    pub(super) fn add(&mut self, line: &str) {
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
    pub(super) fn skip(&mut self, count: usize) {
        self.passed = self.passed.saturating_sub(count);
        self.skipped += count;
    }

    fn count(&self) -> usize {
        self.passed + self.failed + self.skipped
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

    #[test]
    fn the_summary_has_the_time_of_each_suite_and_the_ten_slowest_tests() {
        let mut summary = Summary::default();
        let quick = |number: u64| (format!("quick_{number}"), Duration::from_millis(number));
        let mut sim = Finished { took: Duration::from_secs(3), ..Finished::new("gyre-sim") };
        sim.tests = (0..20).map(quick).collect();
        sim.tally.add("test result: ok. 20 passed; 0 failed");
        let mut e2e = Finished { took: Duration::from_secs(90), has_failed: true, ..Finished::new("gyre e2e") };
        e2e.tests = vec![("slow".to_owned(), Duration::from_secs(61))];
        e2e.tally.add("test result: FAILED. 0 passed; 1 failed");
        summary.add(sim);
        summary.add(e2e);
        let text = summary.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[..3], ["time of each suite:", "    90.0 s  gyre e2e, 1 tests", "     3.0 s  gyre-sim, 20 tests"]);
        assert_eq!(lines[3..5], ["slowest tests:", "    61.0 s  gyre e2e: slow"]);
        assert_eq!(lines.len(), 4 + SLOWEST, "{text}");
        assert_eq!(lines[5], "     0.0 s  gyre-sim: quick_19");
        assert_eq!(summary.failed(), ["gyre e2e"]);
        assert_eq!(summary.tally.to_string(), "tests: 20 passed, 1 failed, 0 skipped");
    }
}
