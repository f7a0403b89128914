//! Objects in the author's own types: only the fields that are named are read, which is what keeps a plugin fast and small.

use serde::Deserialize;

use crate::labels::Labels;

/// An object as the cluster holds it. What `Spec` and `Status` do not name is ignored.
#[derive(Clone, Debug, Deserialize)]
pub struct Object<Spec, Status = NoStatus> {
    /// Its metadata.
    pub metadata: Metadata,
    /// Its spec.
    pub spec: Spec,
    /// Its status; none until it is written for the first time.
    pub status: Option<Status>,
}

/// The part of an object's metadata on which an answer may depend.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// The name.
    pub name: String,
    /// None for a cluster-scoped object.
    pub namespace: Option<String>,
    /// Distinguishes the object from an earlier one of the same name.
    #[serde(default)]
    pub uid: String,
    /// The number of changes of the spec.
    #[serde(default)]
    pub generation: i64,
    /// The labels.
    #[serde(default)]
    pub labels: Labels,
    /// The annotations.
    #[serde(default)]
    pub annotations: Labels,
    /// The time at which its deletion was requested, in RFC 3339.
    pub deletion_timestamp: Option<String>,
}

/// The type of a status that is not read. It accepts every status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct NoStatus {}
