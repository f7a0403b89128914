//! The output formats of commands.

use clap::ValueEnum;

/// The output format of differences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
}
