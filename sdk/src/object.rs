//! Objects in the author's types. Only declared fields are read, for speed and size.

use serde::Deserialize;

use crate::labels::Labels;

/// An object. Fields that `Spec` and `Status` do not declare are ignored.
#[derive(Clone, Debug, Deserialize)]
pub struct Object<Spec, Status = NoStatus> {
    /// The metadata.
    pub metadata: Metadata,
    /// The spec.
    pub spec: Spec,
    /// The status, `None` until it is first written.
    pub status: Option<Status>,
}

/// The metadata that a response may depend on.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// The name.
    pub name: String,
    /// The namespace, `None` for a cluster-scoped object.
    pub namespace: Option<String>,
    /// The UID, which distinguishes the object from an earlier one of the same name.
    #[serde(default)]
    pub uid: String,
    /// The generation, which each change of the spec increments.
    #[serde(default)]
    pub generation: i64,
    /// The labels.
    #[serde(default)]
    pub labels: Labels,
    /// The annotations.
    #[serde(default)]
    pub annotations: Labels,
    /// The time of its creation, in RFC 3339:
    /// [`clock::parse_rfc3339`](crate::clock::parse_rfc3339).
    pub creation_timestamp: Option<String>,
    /// The time of the request to delete it, in RFC 3339.
    pub deletion_timestamp: Option<String>,
}

/// The type of a status that is not read, which accepts any value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct NoStatus {}
