//! Paths into an object.

use std::cmp::Ordering;
use std::fmt;

use serde_json::Value;

use super::text;

/// A step of a path. Ordered as in `FieldsV1`: fields, keys, values, indices.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PathElement {
    /// `f:`: a field of an object.
    Field(String),
    /// `k:`: the item of a list with these values of its key fields, sorted by name.
    Key(Vec<(String, Literal)>),
    /// `v:`: the item of a set with this value.
    Value(Literal),
    /// `i:`: the item of a list at this index.
    Index(i64),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Path(pub(super) Vec<PathElement>);

impl Path {
    pub(super) fn to(&self, element: &PathElement) -> Self {
        Self(self.0.iter().chain([element]).cloned().collect())
    }
}

/// E.g. `.spec.containers[name="a"].image`.
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|element| element.fmt(f))
    }
}

#[derive(Clone, Debug)]
pub(super) struct Literal(pub(super) Value);

impl Ord for Literal {
    fn cmp(&self, other: &Self) -> Ordering {
        text::compare(&self.0, &other.0)
    }
}

impl PartialOrd for Literal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Literal {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Literal {}

impl PathElement {
    pub(super) fn field(name: impl Into<String>) -> Self {
        Self::Field(name.into())
    }

    /// Parses a key of `FieldsV1`. Returns `None` for an unknown prefix, and an error for an
    /// invalid key.
    pub(super) fn parse(key: &str) -> Result<Option<Self>, String> {
        let kind = match key.as_bytes() {
            [_] | [] => return Err("key must be 2 characters long:".to_owned()),
            [kind, b':', ..] => *kind,
            _ => return Err(format!("missing colon: {key}")),
        };
        let Some(rest) = key.get(2..) else { return Err(format!("missing colon: {key}")) };
        Ok(match kind {
            b'f' => Some(Self::Field(rest.to_owned())),
            b'v' => Some(Self::Value(Literal(serde_json::from_str(rest).map_err(|error| error.to_string())?))),
            b'i' => Some(Self::Index(rest.parse().map_err(|_| format!("strconv.Atoi: parsing {rest:?}: invalid syntax"))?)),
            b'k' => {
                let fields: serde_json::Map<String, Value> = serde_json::from_str(rest).map_err(|error| error.to_string())?;
                let mut fields: Vec<_> = fields.into_iter().map(|(name, value)| (name, Literal(value))).collect();
                fields.sort();
                Some(Self::Key(fields))
            }
            _ => None,
        })
    }

    pub(super) fn to_key(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Key(fields) => {
                let fields: Vec<_> = fields
                    .iter()
                    .map(|(name, value)| format!("{}:{}", text::json_string(name), text::json(&value.0)))
                    .collect();
                format!("k:{{{}}}", fields.join(","))
            }
            Self::Value(value) => format!("v:{}", text::json(&value.0)),
            Self::Index(index) => format!("i:{index}"),
        }
    }
}

/// E.g. `.spec`, `[name="a"]`, `[="a"]`, `[0]`.
impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(fields) => {
                let fields: Vec<_> = fields.iter().map(|(name, value)| format!("{name}={}", text::shown(&value.0))).collect();
                write!(f, "[{}]", fields.join(","))
            }
            Self::Value(value) => write!(f, "[={}]", text::shown(&value.0)),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}
