//! The target of a watch: kind, namespace, selector and projection.

use gyre_core::object::GroupVersionKind;

/// The target of a watch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// The kind.
    pub kind: GroupVersionKind,
    /// One namespace; all of them, or a cluster-scoped kind, if `None`.
    pub namespace: Option<String>,
    /// Only objects that match; all if `None`.
    pub label_selector: Option<String>,
    /// The part of each object.
    pub projection: Projection,
}

/// The part of an object that is watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Projection {
    /// All of it.
    #[default]
    Whole,
    /// `apiVersion`, `kind` and `metadata`.
    Metadata,
}
