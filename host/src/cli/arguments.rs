//! What arguments may be, and what is said of those that are not.

use std::fmt::Display;
use std::ops::{Bound, RangeBounds};
use std::str::FromStr;
use std::time::Duration;

use clap::CommandFactory as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use gyre_core::names;
use jiff::Timestamp;

use super::Gyre;
use crate::config::parse_duration;

/// Arguments that are right one by one, and wrong together: the exit code is that of wrong arguments.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct WrongArguments(pub(crate) String);

/// A whole number within bounds, for clap.
pub(crate) fn whole<N, R>(range: R) -> impl Fn(&str) -> Result<N, String> + Clone + Send + Sync + 'static
where
    N: FromStr + PartialOrd + Display + Clone + Send + Sync + 'static,
    R: RangeBounds<N> + Clone + Send + Sync + 'static,
{
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| match (range.start_bound(), range.end_bound()) {
            (Bound::Included(least), Bound::Included(most)) => format!("expected a whole number from {least} to {most}"),
            (Bound::Included(least), _) => format!("expected a whole number, {least} or more"),
            _ => "expected a whole number".to_owned(),
        })
    }
}

/// The longest that a Lease can say.
const LONGEST: Duration = Duration::from_secs(i32::MAX as u64);

/// A length of time with its unit, for clap; a number alone is one of seconds, as variables of echoperator have it.
pub(crate) fn period(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().map(Duration::from_secs);
    let found = seconds.or_else(|| parse_duration(text)).filter(|found| (Duration::from_millis(1)..=LONGEST).contains(found));
    found.ok_or_else(|| "expected a duration such as 15s, 1500ms or 1m".to_owned())
}

/// The name of something that is a DNS label, such as a namespace, for clap.
pub(crate) fn label(text: &str) -> Result<String, String> {
    let remedy = "expected lower-case letters, digits and hyphens, at most 63";
    if names::is_dns_label(text) { Ok(text.to_owned()) } else { Err(remedy.to_owned()) }
}

/// A time of day, for clap.
pub(crate) fn time(text: &str) -> Result<Timestamp, String> {
    text.parse().map_err(|_| "expected a time such as 2026-01-01T09:00:00Z".to_owned())
}

/// Says that an argument of a command is missing, as clap does, and ends the process.
pub(crate) fn missing(command: &str, argument: &str) -> ! {
    let message = format!("the following required arguments were not provided:\n  {argument}");
    let mut all = Gyre::command();
    all.build();
    match all.find_subcommand_mut(command) {
        Some(command) => command.error(ErrorKind::MissingRequiredArgument, message).exit(),
        None => all.error(ErrorKind::MissingRequiredArgument, message).exit(),
    }
}

/// A value that is refused may come from a variable of the environment, of which clap says nothing.
pub(super) fn named_by_variable(mut error: clap::Error) -> clap::Error {
    let (Some(ContextValue::String(argument)), Some(ContextValue::String(value))) =
        (error.get(ContextKind::InvalidArg), error.get(ContextKind::InvalidValue))
    else {
        return error;
    };
    let mut commands = Gyre::command();
    commands.build();
    let arguments = commands.get_subcommands().flat_map(clap::Command::get_arguments);
    let variable = arguments
        .filter(|known| known.to_string() == *argument)
        .filter_map(clap::Arg::get_env)
        .find(|variable| std::env::var_os(variable).is_some_and(|set| set == value.as_str()));
    if let Some(variable) = variable {
        let told = format!("it is what the environment variable {} says", variable.display());
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![told.into()]));
    }
    error
}
