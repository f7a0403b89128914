//! Logging.

use std::io::IsTerminal as _;

use anyhow::{Context as _, anyhow};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _, fmt};

use crate::telemetry::traces::Traces;

/// The format of log lines.
#[derive(Clone, Copy, Debug)]
pub enum LogFormat {
    /// Text for people.
    Text,
    /// One JSON object per line.
    Json,
}

/// Checks a log filter. To [`EnvFilter`], a word that is no level is a module, and would silence
/// all others; here it is an error.
pub fn check_filter(text: &str) -> Result<(), String> {
    const EXPECTED: &str = "expected a level such as info, or levels by target such as info,gyre=debug";
    let is_module = |directive: &str| directive.contains(['=', '[']) || directive.contains("::");
    let is_level = |directive: &str| directive.parse::<LevelFilter>().is_ok();
    let directives = text.split(',').map(str::trim);
    if let Some(unknown) = directives.filter(|word| !word.is_empty()).find(|word| !is_module(word) && !is_level(word)) {
        return Err(format!("{EXPECTED}: {unknown:?} is not a level"));
    }
    match EnvFilter::builder().parse(with_quiet(text)) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("{EXPECTED}: {error}")),
    }
}

/// The host reports failed watches itself; the user's filter takes precedence.
fn with_quiet(filter: &str) -> String {
    format!("kube_runtime=error,{filter}")
}

/// Starts logging to standard error, and traces, if there is an exporter. Fails if the filter is
/// invalid.
pub fn start(filter: &str, format: LogFormat, traces: Option<&Traces>) -> anyhow::Result<()> {
    let filter = EnvFilter::builder().parse(with_quiet(filter)).context("the log filter is invalid")?;
    let lines = fmt::layer().with_ansi(std::io::stderr().is_terminal()).with_writer(std::io::stderr);
    let lines = match format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    let all = tracing_subscriber::registry().with(lines.with_filter(filter)).with(traces.map(Traces::layer));
    all.try_init().map_err(|error| anyhow!("cannot start logging: {error}"))
}
