//! In which form commands print.

use clap::ValueEnum;

/// The form of what differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
}
