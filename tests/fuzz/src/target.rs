//! What is fuzzed, and what all targets have in common.

use std::collections::BTreeMap;
use std::fmt;

use clap::ValueEnum;

use crate::host::{answers, configuration, recordings, watch};
use crate::server::case;

/// What is fuzzed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Target {
    /// Requests to the embedded API server.
    Server,
    /// Objects of an API server, through the host's watch into its store.
    Watch,
    /// Answers of plugins, into plans, statuses and events.
    Answers,
    /// Configuration files.
    Configuration,
    /// Recordings of calls.
    Recordings,
}

impl Target {
    /// Its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Watch => "watch",
            Self::Answers => "answers",
            Self::Configuration => "configuration",
            Self::Recordings => "recordings",
        }
    }

    /// Runs the case that follows from `seed`.
    pub(crate) fn run(self, seed: u64, log: &mut dyn Log) -> Result<Tally, Failure> {
        match self {
            Self::Server => case::run(seed, log),
            Self::Watch => watch::run(seed, log),
            Self::Answers => answers::run(seed, log),
            Self::Configuration => configuration::run(seed, log),
            Self::Recordings => recordings::run(seed, log),
        }
    }
}

/// What is wrong.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) String);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How often each kind of outcome occurred.
pub(crate) type Tally = BTreeMap<String, u64>;

/// Is told of each step before it is taken: one that does not return can be named then.
pub(crate) trait Log {
    fn step(&mut self, describe: &dyn Fn() -> String);
}

/// Fails the case with this text if the law does not hold.
pub(crate) fn law(holds: bool, describe: impl FnOnce() -> String) -> Result<(), Failure> {
    if holds { Ok(()) } else { Err(Failure(describe())) }
}

/// Counts an outcome.
pub(crate) fn count(tally: &mut Tally, outcome: &str) {
    *tally.entry(outcome.to_owned()).or_default() += 1;
}

/// The beginning of a text, for messages.
pub(crate) fn shown(text: &str) -> String {
    const MOST: usize = 1_000;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}… ({} bytes)", text.get(..end).unwrap_or_default(), text.len()),
        None => text.to_owned(),
    }
}
