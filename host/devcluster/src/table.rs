//! Tables, as `kubectl get` shows them.

use jiff::Timestamp;
use serde_json::Value;

use crate::kinds::Kind;

/// A column beside the name.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its heading.
    pub name: String,
    /// `string`, `integer`, `number`, `boolean` or `date`.
    pub kind: String,
    /// E.g. `name`; mostly empty.
    pub format: String,
    /// What it shows.
    pub description: String,
    /// Above 0: only with `-o wide`.
    pub priority: i64,
    /// Where in an object it is found, e.g. `.spec.message`.
    pub json_path: String,
}

/// What of its object each row carries: `?includeObject=`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IncludeObject {
    /// Its metadata, as `PartialObjectMetadata`.
    #[default]
    Metadata,
    /// All of it.
    Object,
    /// Nothing.
    None,
}

/// Whether a table comes with its column definitions; the later events of a watch do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Headings {
    /// It does.
    Shown,
    /// It does not.
    Omitted,
}

/// A `Table` of `objects` at `now`; `metadata` is that of the list or of the one object.
pub(crate) fn render(
    _kind: &Kind,
    _metadata: &Value,
    _objects: &[&Value],
    _include: IncludeObject,
    _headings: Headings,
    _now: Timestamp,
) -> Value {
    Value::Null
}

pub(crate) fn partial(value: &Value) -> Value {
    value.clone()
}
