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
    /// Its status; none as long as nobody has written one.
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
    /// Tells an object from an earlier one of the same name.
    #[serde(default)]
    pub uid: String,
    /// Counts the changes of the spec.
    #[serde(default)]
    pub generation: i64,
    /// The labels.
    #[serde(default)]
    pub labels: Labels,
    /// The annotations.
    #[serde(default)]
    pub annotations: Labels,
    /// Since when the object is being deleted, in RFC 3339.
    pub deletion_timestamp: Option<String>,
}

/// The status of an object of which nobody reads any. Whatever there is fits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct NoStatus {}
