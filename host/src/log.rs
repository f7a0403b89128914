//! Logging.

use std::io::IsTerminal as _;

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use tracing_subscriber::EnvFilter;

/// What is logged, and how.
#[derive(Clone, Debug, Args)]
pub(crate) struct LogArguments {
    /// What to log: a level, or levels by module, e.g. "info,gyre=debug,plugin=trace".
    #[arg(id = "log_level", long = "log-level", value_name = "FILTER", env = "LOG_LEVEL", default_value = "info")]
    pub(crate) level: String,
    /// How to log.
    #[arg(id = "log_format", long = "log-format", value_name = "FORMAT", value_enum, default_value_t = LogFormat::Text)]
    format: LogFormat,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Logs to standard error from now on, what `filter` lets through.
///
/// Errors: a filter that is none.
pub(crate) fn start(arguments: &LogArguments, filter: &str) -> anyhow::Result<()> {
    let filter = EnvFilter::builder().parse(filter).map_err(|error| {
        anyhow!("--log-level (or LOG_LEVEL) is {filter:?}: {error}; use a level such as info, or info,gyre=debug")
    })?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    let result = match arguments.format {
        LogFormat::Text => builder.try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    result.map_err(|error| anyhow!("cannot start logging: {error}"))
}
