//! Logging.

use std::borrow::Cow;
use std::io::IsTerminal as _;

use anyhow::{Context as _, anyhow};
use clap::{Args, ValueEnum};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _, fmt};

use crate::telemetry::traces::Traces;

/// What is logged, and how.
#[derive(Clone, Debug, Args)]
pub(crate) struct LogArguments {
    /// What to log: a level, or levels by module, e.g. "info,gyre=debug,plugin=trace" [default: info; of `gyre dev`, what goes wrong
    /// and what plugins log].
    #[arg(id = "log_level", long = "log-level", value_name = "FILTER", env = "LOG_LEVEL", value_parser = level)]
    level: Option<String>,
    /// How to log [default: text; JSON where ENV says that this is not "local"].
    #[arg(id = "log_format", long = "log-format", value_name = "FORMAT", value_enum)]
    format: Option<LogFormat>,
    /// Where this runs, as echoperator has it: "local", "production" or the like.
    #[arg(id = "log_environment", long = "log-environment", value_name = "NAME", env = "ENV", hide = true)]
    environment: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// A filter, for clap; an empty one says nothing. To [`EnvFilter`], a word that is no level is a module, of which all is logged, and of the
/// others nothing.
fn level(text: &str) -> Result<String, String> {
    const EXPECTED: &str = "expected a level such as info, or levels by module such as info,gyre=debug";
    let is_module = |directive: &str| directive.contains(['=', '[']) || directive.contains("::");
    let is_level = |directive: &str| directive.parse::<LevelFilter>().is_ok();
    let directives = text.split(',').map(str::trim);
    if let Some(unknown) = directives.filter(|word| !word.is_empty()).find(|word| !is_module(word) && !is_level(word)) {
        return Err(format!("{EXPECTED}: {unknown:?} is no level"));
    }
    match EnvFilter::builder().parse(with_quiet(text)) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(format!("{EXPECTED}: {error}")),
    }
}

/// What fails of a watch we say ourselves, and in plainer words. What the filter says of it goes before.
fn with_quiet(filter: &str) -> String {
    format!("kube_runtime=error,{filter}")
}

/// Logs to standard error from now on, what the arguments or else `default` let through; and traces, if there is something that sends
/// them.
///
/// Errors: a filter that is none.
pub(crate) fn start(arguments: &LogArguments, default: &str, traces: Option<&Traces>) -> anyhow::Result<()> {
    let filter = arguments.level.as_deref().filter(|level| !level.is_empty()).unwrap_or(default);
    let is_local = arguments.environment.as_deref().is_none_or(|name| name.is_empty() || name == "local");
    let format = arguments.format.unwrap_or(if is_local { LogFormat::Text } else { LogFormat::Json });
    let filter = EnvFilter::builder().parse(with_quiet(filter)).context("the filter of the log")?;
    let lines = fmt::layer().with_ansi(std::io::stderr().is_terminal()).with_writer(std::io::stderr);
    let lines = match format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    let all = tracing_subscriber::registry().with(lines.with_filter(filter)).with(traces.map(Traces::layer));
    all.try_init().map_err(|error| anyhow!("cannot start logging: {error}"))
}

/// With control characters as Rust writes them: in text, a line break would begin a line that looks like one of the host's.
pub(crate) fn without_control(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        if letter.is_control() { plain.extend(letter.escape_default()) } else { plain.push(letter) }
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_plugin_stays_one() {
        assert_eq!(without_control("two \"words\" – ü"), "two \"words\" – ü");
        assert_eq!(without_control("a\n2026-01-01 ERROR\r\t\u{1b}[31m\u{85}"), "a\\n2026-01-01 ERROR\\r\\t\\u{1b}[31m\\u{85}");
    }
}
