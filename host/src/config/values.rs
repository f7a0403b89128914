//! Parsers for the values of arguments.

use std::fmt::Display;
use std::ops::{Bound, RangeBounds, RangeInclusive};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use gyre_core::names;

use crate::config::quantity::{Bytes, parse_bytes, parse_duration};

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

/// The default folder of a cache of gyre, or `None` without a home.
pub(crate) fn cache_folder(name: &str) -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")))?;
    Some(cache.join("gyre").join(name))
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

/// Parses a duration, such as `500ms` or `2s`, within these bounds.
pub(crate) fn duration(range: RangeInclusive<Duration>) -> impl Fn(&str) -> Result<Duration, String> + Clone + Send + Sync {
    move |text| {
        let found = parse_duration(text).filter(|found| range.contains(found));
        let (least, most) = (range.start(), range.end());
        found.ok_or_else(|| {
            format!("expected a duration {}from {least:?} to {most:?}, such as 500ms, 2s or 10m", with_unit(text))
        })
    }
}

/// Parses a quantity of bytes, such as `64Mi`, within these bounds.
pub(crate) fn size(range: RangeInclusive<u64>) -> impl Fn(&str) -> Result<usize, String> + Clone + Send + Sync {
    move |text| {
        let found = parse_bytes(text).filter(|found| range.contains(found)).and_then(|found| usize::try_from(found).ok());
        let (least, most) = (Bytes(*range.start()), Bytes(*range.end()));
        found.ok_or_else(|| format!("expected a quantity of bytes {}from {least} to {most}, such as 64Mi", with_unit(text)))
    }
}

/// The addition to an error about a plain number, which earlier versions accepted.
fn with_unit(text: &str) -> &'static str {
    if text.parse::<f64>().is_ok() { "with a unit, " } else { "" }
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

/// Parses a duration of at least a millisecond.
pub(crate) fn period(text: &str) -> Result<Duration, String> {
    let found = parse_duration(text).filter(|found| (Duration::from_millis(1)..=LONGEST).contains(found));
    let expected = if with_unit(text).is_empty() { "a duration" } else { "a duration with a unit," };
    found.ok_or_else(|| format!("expected {expected} such as 15s, 1500ms or 1m"))
}

pub(crate) fn label(text: &str) -> Result<String, String> {
    let remedy = "expected lower-case letters, digits and hyphens, at most 63";
    if names::is_dns_label(text) { Ok(text.to_owned()) } else { Err(remedy.to_owned()) }
}
