//! The types of values in a configuration file: their schemas, and how they are read.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use gyre_core::field_path::{FieldPath, PathError};
use gyre_core::object::GroupVersionKind;
use gyre_core::selector::Selector;
use gyre_core::{milliseconds, names};
use gyre_engine::program::ServiceAccount;
use schemars::{JsonSchema, Schema};
use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::quantity::{Bytes, parse_bytes, parse_duration};
use crate::plugins::source::PluginSource;

/// The keyword of the schema whose value is a [`Check`].
pub(super) const CHECK: &str = "x-gyre";
/// The keyword of the schema with the remedy for an invalid value. Editors show it, too.
pub(super) const REMEDY: &str = "errorMessage";

/// A check for which JSON Schema has no keyword.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Check {
    /// A quantity of bytes within these bounds.
    Bytes(u64, u64),
    /// A duration within these bounds.
    Milliseconds(u64, u64),
    Kind,
    ParentField,
    Selector,
    ServiceAccount,
    Source,
}

impl Check {
    /// Checks a value.
    ///
    /// # Errors
    /// The reason why the value is invalid, if it is known.
    pub(super) fn check(&self, value: &Value) -> Result<(), Option<String>> {
        let text = value.as_str().unwrap_or_default();
        let is_valid = match self {
            Self::Bytes(least, most) => bytes(value).is_some_and(|bytes| (*least..=*most).contains(&bytes)),
            Self::Milliseconds(least, most) => {
                let range = Duration::from_millis(*least)..=Duration::from_millis(*most);
                parse_duration(text).is_some_and(|duration| range.contains(&duration))
            }
            Self::Kind => Kind::try_from(text.to_owned()).is_ok(),
            Self::ParentField => {
                let reason = |error| value.is_string().then(|| format!("it {error}"));
                return FieldPath::parse(text).map(drop).map_err(reason);
            }
            Self::Selector => {
                let reason = |error| value.is_string().then(|| format!("it is no label selector: {error}"));
                return Selector::from_str(text).map(drop).map_err(reason);
            }
            Self::ServiceAccount => ServiceAccount::from_str(text).is_ok(),
            Self::Source => {
                return PluginSource::from_str(text).map(drop).map_err(|reason| value.is_string().then_some(reason));
            }
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

/// Names of namespaces, in which `*` stands for any characters.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(rename = "pattern", description = "", extend(
    "maxLength" = 63,
    "pattern" = "^[a-z0-9*]([-a-z0-9*]*[a-z0-9*])?$",
    "errorMessage" = "write the name of a namespace, in which * stands for any characters",
))]
pub(crate) struct Pattern(pub(crate) String);

impl List<Pattern> {
    pub(crate) fn patterns(&self) -> BTreeSet<String> {
        self.iter().map(|(_, Pattern(pattern))| pattern.clone()).collect()
    }
}

/// A path, relative to the directory of the file.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(inline, description = "", extend(
    "minLength" = 1,
    "errorMessage" = "write a path, relative to the directory of this file",
))]
pub(crate) struct FilePath(pub(crate) PathBuf);

/// A kind, as `Kind.version.group`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(rename = "kind", with = "String", description = "", extend(
    "pattern" = "^[A-Z][A-Za-z0-9]*\\.[a-z]([-a-z0-9]*[a-z0-9])?(\\.[-a-z0-9.]+)?$",
    "x-gyre" = Check::Kind,
    "errorMessage" = "write a kind as Kind.version.group, such as Job.v1.batch or ConfigMap.v1",
))]
pub(crate) struct Kind(pub(crate) GroupVersionKind);

impl TryFrom<String> for Kind {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let mut parts = text.splitn(3, '.');
        let (kind, version) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let group = parts.next();
        let is_valid =
            names::is_kind(kind) && names::is_dns_label_with_letter(version) && group.is_none_or(names::is_dns_subdomain);
        is_valid.then(|| Self(GroupVersionKind::new(group.unwrap_or_default(), version, kind))).ok_or("expected a kind")
    }
}

/// A field of parents, and all below it, as a JSON Pointer.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(rename = "parentField", with = "String", description = "", extend(
    "pattern" = "^(/([^/~]|~[01])+)+$",
    "x-gyre" = Check::ParentField,
    "errorMessage" = "write a JSON Pointer to labels, annotations, or a field besides metadata and status, such as /metadata/labels or /spec/replicas",
))]
pub(crate) struct ParentField(pub(crate) FieldPath);

impl TryFrom<String> for ParentField {
    type Error = PathError;

    fn try_from(pointer: String) -> Result<Self, Self::Error> {
        FieldPath::parse(&pointer).map(Self)
    }
}

/// Any text.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(inline, description = "", extend("errorMessage" = "write a text"))]
pub(crate) struct Plain(pub(crate) String);

/// A value that is written as a text.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(inline, with = "String", bound = "", description = "")]
pub(crate) struct Text<T>(pub(crate) T);

impl<'de, T: FromStr<Err: Display>> Deserialize<'de> for Text<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map(Self).map_err(de::Error::custom)
    }
}

/// A whole number, or `None` where a word stands for the absence of one.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(from = "Value")]
#[schemars(inline, description = "")]
pub(crate) struct Count(pub(crate) Option<u32>);

impl Count {
    pub(crate) fn whole(self) -> Option<usize> {
        self.0.map(|number| number as usize)
    }
}

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

/// A duration in Go's notation.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(inline, description = "")]
pub(crate) struct Time(pub(crate) Duration);

impl TryFrom<String> for Time {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        parse_duration(&text).map(Self).ok_or("expected a duration")
    }
}

/// A list in which invalid values have been removed; the others keep their indexes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(inline, with = "Vec<T>", description = "")]
pub(crate) struct List<T>(Vec<Option<T>>);

impl<T> FromIterator<T> for List<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Self(values.into_iter().map(Some).collect())
    }
}

impl<T> List<T> {
    /// The values with their indexes.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        self.0.iter().enumerate().filter_map(|(index, value)| Some((index, value.as_ref()?)))
    }
}

impl List<Label> {
    pub(crate) fn names(&self) -> BTreeSet<String> {
        self.iter().map(|(_, Label(name))| name.clone()).collect()
    }
}

pub(super) fn with(keywords: Value) -> impl FnMut(&mut Schema) {
    move |schema| {
        for (keyword, value) in keywords.as_object().into_iter().flatten() {
            schema.insert(keyword.clone(), value.clone());
        }
    }
}

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

pub(super) fn time(range: RangeInclusive<Duration>, default: Duration) -> impl FnMut(&mut Schema) {
    let (least, most) = (*range.start(), *range.end());
    with(json!({
        "type": "string",
        "pattern": "^([0-9]+(\\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$",
        CHECK: Check::Milliseconds(milliseconds::of(least), milliseconds::of(most)),
        REMEDY: format!("write a duration from {least:?} to {most:?}, such as 500ms, 2s or 1m"),
        "default": format!("{default:?}"),
    }))
}

pub(super) fn whole(range: RangeInclusive<u32>, default: usize) -> impl FnMut(&mut Schema) {
    let mut add_integer = with(integer(&range));
    move |schema| {
        add_integer(schema);
        schema.insert("default".to_owned(), json!(default));
    }
}

pub(super) fn whole_or(word: &str, range: RangeInclusive<u32>, default: impl Into<Value>) -> impl FnMut(&mut Schema) {
    with(json!({"anyOf": [integer(&range), {"const": word}], "default": default.into()}))
}

fn integer(range: &RangeInclusive<u32>) -> Value {
    json!({"type": "integer", "minimum": range.start(), "maximum": range.end()})
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns whether a standard validator accepts a text, without the keywords of gyre.
    fn accepts(mut keywords: impl FnMut(&mut Schema), text: &str) -> bool {
        let mut schema = Schema::default();
        keywords(&mut schema);
        jsonschema::draft202012::is_valid(schema.as_value(), &json!(text))
    }

    proptest! {
        #[test]
        fn the_schema_accepts_all_that_is_read(quantity in "[-+ .0-9numkKMGTPEie]{0,6}", duration in "[.0-9nuµmsh]{0,6}") {
            prop_assert!(parse_bytes(&quantity).is_none() || accepts(size(0..=u64::MAX, 0), &quantity), "{quantity:?}");
            let range = Duration::ZERO..=Duration::MAX;
            prop_assert!(parse_duration(&duration).is_none() || accepts(time(range, Duration::ZERO), &duration), "{duration:?}");
        }
    }
}
