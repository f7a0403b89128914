//! The types of the values in a configuration file: how each is written, for the schema, and how it is read.

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use gyre_core::names;
use gyre_core::object::GroupVersionKind;
use gyre_core::selector::Selector;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::quantity::{Bytes, parse_bytes, parse_duration};
use crate::program::ServiceAccount;

/// The keyword of the schema whose value is a [`Check`].
pub(super) const CHECK: &str = "x-gyre";
/// The keyword of the schema that says what to do about a value that is refused. Editors show it, too.
pub(super) const REMEDY: &str = "errorMessage";

/// What JSON Schema has no keyword for.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Check {
    /// A quantity of bytes, from and to.
    Bytes(u64, u64),
    /// A duration, from and to.
    Milliseconds(u64, u64),
    Kind,
    Selector,
    ServiceAccount,
}

impl Check {
    /// Checks a value.
    ///
    /// # Errors
    ///
    /// What is wrong, where there is more to say than that the value is not valid.
    pub(super) fn check(&self, value: &Value) -> Result<(), Option<String>> {
        let text = value.as_str().unwrap_or_default();
        let is_valid = match self {
            Self::Bytes(least, most) => bytes(value).is_some_and(|bytes| (*least..=*most).contains(&bytes)),
            Self::Milliseconds(least, most) => {
                let range = Duration::from_millis(*least)..=Duration::from_millis(*most);
                parse_duration(text).is_some_and(|duration| range.contains(&duration))
            }
            Self::Kind => Kind::from_str(text).is_ok(),
            Self::Selector => {
                let reason = |error| value.is_string().then(|| format!("it is no label selector: {error}"));
                return Selector::from_str(text).map(drop).map_err(reason);
            }
            Self::ServiceAccount => ServiceAccount::from_str(text).is_ok(),
        };
        if is_valid { Ok(()) } else { Err(None) }
    }
}

fn bytes(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => parse_bytes(&number.to_string()),
        Value::String(text) => parse_bytes(text),
        _ => None,
    }
}

/// A name such as a namespace has.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(rename = "label", description = "", extend(
    "maxLength" = 63,
    "pattern" = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
    "errorMessage" = "write lower-case letters, digits and hyphens, at most 63",
))]
pub(crate) struct Label(pub(crate) String);

/// A path, relative to the folder of the file.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(inline, description = "", extend(
    "minLength" = 1,
    "errorMessage" = "write a path, relative to the folder of this file",
))]
pub(crate) struct FilePath(pub(crate) PathBuf);

/// A kind, as `Kind.version.group`.
#[derive(Clone, Debug)]
pub(crate) struct Kind(pub(crate) GroupVersionKind);

impl FromStr for Kind {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.splitn(3, '.');
        let (kind, version) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let group = parts.next();
        let is_valid =
            names::is_kind(kind) && names::is_dns_label_with_letter(version) && group.is_none_or(names::is_dns_subdomain);
        is_valid.then(|| Self(GroupVersionKind::new(group.unwrap_or_default(), version, kind))).ok_or("expected a kind")
    }
}

/// A duration in Go's notation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Time(pub(crate) Duration);

impl FromStr for Time {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse_duration(text).map(Self).ok_or("expected a duration")
    }
}

/// What is written as a text.
#[derive(Clone, Debug)]
pub(crate) struct Text<T>(pub(crate) T);

impl<'de, T: FromStr<Err: std::fmt::Display>> Deserialize<'de> for Text<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map(Self).map_err(de::Error::custom)
    }
}

impl<T> JsonSchema for Text<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        String::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

/// A whole number; none: the word that stands for none is written.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(from = "Value")]
#[schemars(inline, description = "")]
pub(crate) struct Count(pub(crate) Option<u32>);

impl From<Value> for Count {
    /// JSON has one type of numbers: 4.0 is whole, too.
    fn from(value: Value) -> Self {
        Self(value.as_f64().map(|number| number as u32))
    }
}

/// A quantity of bytes.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(try_from = "Value")]
#[schemars(inline, description = "")]
pub(crate) struct Size(pub(crate) usize);

impl TryFrom<Value> for Size {
    type Error = &'static str;

    fn try_from(value: Value) -> Result<Self, Self::Error> {
        bytes(&value).and_then(|bytes| usize::try_from(bytes).ok()).map(Self).ok_or("expected a quantity of bytes")
    }
}

/// A list in which a value that is wrong has left its place empty: the others keep their indexes.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct List<T>(Vec<Option<T>>);

impl<T> List<T> {
    /// The values, each with its index.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        self.0.iter().enumerate().filter_map(|(index, value)| Some((index, value.as_ref()?)))
    }
}

impl<T: JsonSchema> JsonSchema for List<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Vec::<T>::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Vec::<T>::json_schema(generator)
    }
}

/// Adds keywords to a schema.
pub(super) fn with(keywords: Value) -> impl FnMut(&mut Schema) {
    move |schema| {
        for (keyword, value) in keywords.as_object().into_iter().flatten() {
            schema.insert(keyword.clone(), value.clone());
        }
    }
}

/// The schema of a quantity of bytes.
pub(super) fn size(range: RangeInclusive<u64>, default: usize) -> impl FnMut(&mut Schema) {
    let (least, most) = (*range.start(), *range.end());
    with(json!({
        "type": ["integer", "string"],
        "pattern": "^\\s*[-+]?[0-9.]*([numkMGTPE]|[KMGTPE]i|[eE][-+]?[0-9]+)?\\s*$",
        CHECK: Check::Bytes(least, most),
        REMEDY: format!("write a quantity of bytes from {} to {}, such as 64Mi", Bytes(least), Bytes(most)),
        "default": Bytes(default as u64).to_string(),
    }))
}

/// The schema of a duration.
pub(super) fn time(range: RangeInclusive<Duration>, default: Duration) -> impl FnMut(&mut Schema) {
    let (least, most) = (range.start(), range.end());
    let milliseconds = |duration: &Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    with(json!({
        "type": "string",
        "pattern": "^([0-9]+(\\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$",
        CHECK: Check::Milliseconds(milliseconds(least), milliseconds(most)),
        REMEDY: format!("write a duration from {least:?} to {most:?}, such as 500ms, 2s or 1m"),
        "default": format!("{default:?}"),
    }))
}

/// The schema of a whole number.
pub(super) fn whole(range: RangeInclusive<u32>, default: usize) -> impl FnMut(&mut Schema) {
    with(json!({"type": "integer", "minimum": range.start(), "maximum": range.end(), "default": default}))
}

/// The schema of a whole number, or a word that stands for none.
pub(super) fn whole_or(word: &str, range: RangeInclusive<u32>, default: impl Into<Value>) -> impl FnMut(&mut Schema) {
    let whole = json!({"type": "integer", "minimum": range.start(), "maximum": range.end()});
    with(json!({"anyOf": [whole, {"const": word}], "default": default.into()}))
}

/// The schema of a list of kinds.
pub(super) fn kinds(schema: &mut Schema) {
    with(json!({
        "items": {
            "type": "string",
            "pattern": "^[A-Z][A-Za-z0-9]*\\.[a-z]([-a-z0-9]*[a-z0-9])?(\\.[-a-z0-9.]+)?$",
            CHECK: Check::Kind,
            REMEDY: "write a kind as Kind.version.group, such as Job.v1.batch or ConfigMap.v1",
        },
        REMEDY: "write a list of kinds, such as Job.v1.batch",
    }))(schema);
}

/// The schema of a label selector.
pub(super) fn selector(schema: &mut Schema) {
    with(json!({CHECK: Check::Selector, REMEDY: "write one as kubectl get -l takes, e.g. app=web,tier in (a,b)"}))(schema);
}

/// The schema of a service account.
pub(super) fn service_account(schema: &mut Schema) {
    with(json!({
        "pattern": "^[^/]+/[^/]+$",
        CHECK: Check::ServiceAccount,
        REMEDY: "write the namespace and the name of a service account, as in team-a/echo",
    }))(schema);
}

/// The rule of what can have settings.
pub(super) fn settings_once(schema: &mut Schema) {
    with(json!({"allOf": [{
        "not": {"required": ["settings", "settingsFrom"]},
        REMEDY: "there are settings and settingsFrom; keep one of the two",
    }]}))(schema);
}
