//! The names of kinds and objects.

use std::fmt;

use serde::Serialize;

/// Names a kind of object, as objects themselves do.
///
/// ```
/// use gyre_sdk::Kind;
///
/// const JOB: Kind = Kind::new("batch/v1", "Job");
/// assert_eq!((JOB.group(), JOB.version(), JOB.kind), ("batch", "v1", "Job"));
/// assert_eq!(Kind::new("v1", "Pod").group(), "");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Kind {
    /// E.g. `v1` or `batch/v1`.
    pub api_version: &'static str,
    /// E.g. `Job`.
    pub kind: &'static str,
}

impl Kind {
    /// Names a kind by its `apiVersion` and `kind`.
    pub const fn new(api_version: &'static str, kind: &'static str) -> Self {
        Self { api_version, kind }
    }

    /// The API group; empty for the core group.
    pub fn group(self) -> &'static str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }

    /// The version within the group.
    pub fn version(self) -> &'static str {
        self.api_version.split_once('/').map_or(self.api_version, |(_, version)| version)
    }

    /// The object of this kind and name in the parent's namespace; or, for a kind without namespaces, in the cluster.
    pub fn named(self, name: impl Into<String>) -> ObjectRef {
        ObjectRef { kind: self, namespace: None, name: name.into() }
    }
}

/// `Job.v1.batch`, `ConfigMap.v1`: the notation that kubectl takes.
impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.kind, self.version())?;
        if self.group().is_empty() { Ok(()) } else { write!(formatter, ".{}", self.group()) }
    }
}

/// Names an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectRef {
    /// The object's kind.
    pub kind: Kind,
    /// None means the parent's namespace or, for a kind without namespaces, the cluster.
    pub namespace: Option<String>,
    /// The object's name.
    pub name: String,
}

impl ObjectRef {
    /// The same name in another namespace.
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }
}
