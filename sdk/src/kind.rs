//! The names of kinds and objects.

use std::fmt;

use serde::Serialize;

/// The name of a kind.
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
    /// The `apiVersion`, e.g. `v1` or `batch/v1`.
    pub api_version: &'static str,
    /// The `kind`, e.g. `Job`.
    pub kind: &'static str,
}

impl Kind {
    /// Returns the kind with this `apiVersion` and `kind`.
    pub const fn new(api_version: &'static str, kind: &'static str) -> Self {
        Self { api_version, kind }
    }

    /// Returns the API group, which is empty for the core group.
    pub fn group(self) -> &'static str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }

    /// Returns the version within the group.
    pub fn version(self) -> &'static str {
        self.api_version.split_once('/').map_or(self.api_version, |(_, version)| version)
    }

    /// Returns a reference to the object of this name in the parent's namespace or, for a
    /// cluster-scoped kind, in the cluster.
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

/// A reference to an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectRef {
    /// The kind.
    pub kind: Kind,
    /// The namespace. `None` means the parent's or, for a cluster-scoped kind, none.
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
}

impl ObjectRef {
    /// Returns a reference to the same name in another namespace.
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }
}
