//! The names of objects and kinds.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A group, version and kind.
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
    /// The kind with these names.
    pub fn new(group: impl Into<String>, version: impl Into<String>, kind: impl Into<String>) -> Self {
        Self { group: group.into(), version: version.into(), kind: kind.into() }
    }

    /// Parses `apiVersion` (`v1`, `batch/v1`) and `kind`, as in objects.
    pub fn from_api_version(api_version: &str, kind: &str) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self::new(group, version, kind)
    }

    /// Returns whether both are the same kind, in any version.
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.group, &self.kind) == (&other.group, &other.kind)
    }

    /// Returns whether this is the kind Namespace, in any version.
    pub fn is_namespace(&self) -> bool {
        self.group.is_empty() && self.kind == "Namespace"
    }

    /// The `apiVersion` in objects of this kind.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }
}

/// `Job.v1.batch`, `ConfigMap.v1`: the notation of kubectl.
impl fmt::Display for GroupVersionKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.kind, self.version)?;
        if self.group.is_empty() { Ok(()) } else { write!(formatter, ".{}", self.group) }
    }
}

/// The namespace and name of an object whose kind is known.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ObjectKey {
    /// `None` if it is cluster-scoped.
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
}

impl ObjectKey {
    /// The key of an object.
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

/// A kind and a key: one object of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ObjectRef {
    /// The kind.
    pub kind: GroupVersionKind,
    /// The namespace and name.
    pub key: ObjectKey,
}

/// `Job.v1.batch default/hello`.
impl fmt::Display for ObjectRef {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.kind, self.key)
    }
}

/// Kinds as text, e.g. `Job.v1.batch`, for serde's `with`.
pub mod kind_text {
    use super::{Deserialize as _, Deserializer, GroupVersionKind, Serializer};

    /// Writes a kind.
    ///
    /// # Errors
    ///
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(kind: &GroupVersionKind, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(kind)
    }

    /// Reads a kind.
    ///
    /// # Errors
    ///
    /// If there is no version.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<GroupVersionKind, D::Error> {
        let text = String::deserialize(deserializer)?;
        let mut parts = text.splitn(3, '.');
        match (parts.next(), parts.next(), parts.next()) {
            (Some(kind), Some(version), group) => Ok(GroupVersionKind::new(group.unwrap_or_default(), version, kind)),
            _ => Err(serde::de::Error::custom(format!("expected a kind such as Job.v1.batch, not {text:?}"))),
        }
    }
}

/// References as one object, e.g. `{"kind": "Job.v1.batch", "namespace": "a", "name": "b"}`.
pub(crate) mod flat_reference {
    use super::{Deserialize, Deserializer, GroupVersionKind, ObjectKey, ObjectRef, Serialize, Serializer, kind_text};

    #[derive(Serialize, Deserialize)]
    struct Flat {
        #[serde(with = "kind_text")]
        kind: GroupVersionKind,
        namespace: Option<String>,
        name: String,
    }

    pub(crate) fn serialize<S: Serializer>(reference: &ObjectRef, serializer: S) -> Result<S::Ok, S::Error> {
        let ObjectRef { kind, key: ObjectKey { namespace, name } } = reference.clone();
        Flat { kind, namespace, name }.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ObjectRef, D::Error> {
        let Flat { kind, namespace, name } = Flat::deserialize(deserializer)?;
        Ok(ObjectRef { kind, key: ObjectKey { namespace, name } })
    }
}
