//! Parsers for the values of arguments.

use std::fmt::Display;
use std::ops::{Bound, RangeBounds, RangeInclusive};
use std::str::FromStr;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use gyre_core::{milliseconds, names};

use crate::config::quantity::parse_duration;

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct WrongArguments(pub(crate) String);

#[derive(Debug, thiserror::Error)]
#[error("{command} needs {argument}")]
pub(crate) struct MissingArgument {
    pub(crate) command: &'static str,
    pub(crate) argument: &'static str,
}

/// Returns whether this process runs in a Pod: the kubelet sets this variable in every container.
pub(crate) fn is_in_pod() -> bool {
    std::env::var_os("KUBERNETES_SERVICE_HOST").is_some_and(|host| !host.is_empty())
}

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

pub(crate) fn milliseconds(range: RangeInclusive<Duration>) -> impl Fn(&str) -> Result<Duration, String> + Clone + Send + Sync {
    let number = whole(milliseconds::of(*range.start())..=milliseconds::of(*range.end()));
    move |text| number(text).map(Duration::from_millis)
}

pub(crate) fn mebibytes(range: RangeInclusive<u64>) -> impl Fn(&str) -> Result<usize, String> + Clone + Send + Sync {
    let number = whole((*range.start() >> 20) as usize..=(*range.end() >> 20) as usize);
    move |text| number(text).map(|mebibytes| mebibytes << 20)
}

pub(crate) fn one_of<T>(words: &'static [(&'static str, &'static str, T)]) -> impl TypedValueParser<Value = T>
where
    T: Clone + Send + Sync + 'static,
{
    let known = PossibleValuesParser::new(words.iter().map(|(word, help, _)| PossibleValue::new(*word).help(*help)));
    known.try_map(|text| {
        let found = words.iter().find(|(word, _, _)| *word == text);
        found.map(|(_, _, value)| value.clone()).ok_or("expected one of the words above")
    })
}

const LONGEST: Duration = Duration::from_secs(i32::MAX as u64);

/// Parses a duration for clap. Without a unit, it is in seconds, as in variables of echoperator.
pub(crate) fn period(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().map(Duration::from_secs);
    let found = seconds.or_else(|| parse_duration(text)).filter(|found| (Duration::from_millis(1)..=LONGEST).contains(found));
    found.ok_or_else(|| "expected a duration such as 15s, 1500ms or 1m".to_owned())
}

pub(crate) fn label(text: &str) -> Result<String, String> {
    let remedy = "expected lower-case letters, digits and hyphens, at most 63";
    if names::is_dns_label(text) { Ok(text.to_owned()) } else { Err(remedy.to_owned()) }
}
