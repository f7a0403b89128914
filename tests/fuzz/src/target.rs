//! The targets of fuzzing.

use clap::ValueEnum;

use crate::host::{answers, artifacts, configuration, recordings, watch};
use crate::outcome::{Failure, Log, Tally};
use crate::server::case;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Target {
    /// Requests to the in-memory API server (devcluster).
    Server,
    /// Objects of an API server, through the host's watch into its store.
    Watch,
    /// Answers of plugins, into plans, statuses and events.
    Answers,
    /// Configuration files.
    Configuration,
    /// Recordings of calls.
    Recordings,
    /// Artifacts of registries: manifests, credentials, signatures, and clients of registries.
    Artifacts,
}

impl Target {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Watch => "watch",
            Self::Answers => "answers",
            Self::Configuration => "configuration",
            Self::Recordings => "recordings",
            Self::Artifacts => "artifacts",
        }
    }

    pub(crate) fn run(self, seed: u64, log: &mut dyn Log) -> Result<Tally, Failure> {
        match self {
            Self::Server => case::run(seed, log),
            Self::Watch => watch::run(seed, log),
            Self::Answers => answers::run(seed, log),
            Self::Configuration => configuration::run(seed, log),
            Self::Recordings => recordings::run(seed, log),
            Self::Artifacts => artifacts::run(seed, log),
        }
    }
}
