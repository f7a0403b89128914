//! How objects and kinds are named.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A group, version and kind. The core group is the empty string.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GroupVersionKind {
    /// E.g. `batch`; empty for the core group.
    pub group: String,
    /// E.g. `v1`.
    pub version: String,
    /// E.g. `Job`.
    pub kind: String,
}

impl GroupVersionKind {
    /// Names a kind.
    pub fn new(group: impl Into<String>, version: impl Into<String>, kind: impl Into<String>) -> Self {
        Self { group: group.into(), version: version.into(), kind: kind.into() }
    }

    /// Reads `apiVersion` (`v1`, `batch/v1`) and `kind` as objects carry them.
    pub fn from_api_version(api_version: &str, kind: &str) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self::new(group, version, kind)
    }

    /// The `apiVersion` that objects of this kind carry.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }
}

/// `Job.v1.batch`, `ConfigMap.v1`: the notation that kubectl takes.
impl fmt::Display for GroupVersionKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.kind, self.version)?;
        if self.group.is_empty() { Ok(()) } else { write!(formatter, ".{}", self.group) }
    }
}

/// The namespace and name of an object whose kind is known from the context.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ObjectKey {
    /// None for a cluster-scoped object.
    pub namespace: Option<String>,
    /// The object's name.
    pub name: String,
}

impl ObjectKey {
    /// Names an object.
    pub fn new(namespace: Option<impl Into<String>>, name: impl Into<String>) -> Self {
        Self { namespace: namespace.map(Into::into), name: name.into() }
    }
}

/// `namespace/name`, or the name alone.
impl fmt::Display for ObjectKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(formatter, "{namespace}/{}", self.name),
            None => formatter.write_str(&self.name),
        }
    }
}

/// A kind and a key: names one object of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ObjectRef {
    /// The object's kind.
    pub kind: GroupVersionKind,
    /// The object's namespace and name.
    pub key: ObjectKey,
}

/// `Job.v1.batch default/hello`.
impl fmt::Display for ObjectRef {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.kind, self.key)
    }
}
