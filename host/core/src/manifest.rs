//! What a plugin says of itself. The WIT contract documents each field; this is the host's own form of it, whatever the
//! contract's version.

mod validate;

use serde::Serialize;
use serde_json::Value;

pub use self::validate::{Error, Violation};
use crate::object::GroupVersionKind;

/// The way in which an existing child is changed to the desired state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// Changed in place with server-side apply.
    Apply,
    /// Deleted and created again when it differs from what is desired.
    Recreate,
    /// Created once, and never touched again while it exists.
    CreateOnly,
}

/// The treatment of the objects that a deleted child owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum Propagation {
    /// They are deleted after it.
    Background,
    /// They are deleted before it.
    Foreground,
    /// They stay.
    Orphan,
}

/// A kind that the plugin makes children of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChildKind {
    /// The kind.
    pub kind: GroupVersionKind,
    /// The way in which its objects are changed.
    pub strategy: Strategy,
    /// The way in which its objects are deleted.
    pub propagation: Propagation,
}

/// A kind that the plugin may read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReadKind {
    /// The kind.
    pub kind: GroupVersionKind,
    /// The one namespace to read from; none: that of the parent and, if granted, all.
    pub namespace: Option<String>,
    /// Only objects that match are visible.
    pub label_selector: Option<String>,
    /// Only metadata is read.
    pub metadata_only: bool,
}

/// The description of a plugin by itself.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Manifest {
    /// A DNS label.
    pub name: String,
    /// The plugin's version, for people.
    pub version: String,
    /// One sentence, for people.
    pub description: String,
    /// The kind whose objects are reconciled.
    pub parent: GroupVersionKind,
    /// The kinds of its children.
    pub children: Vec<ChildKind>,
    /// The other kinds that it reads.
    pub reads: Vec<ReadKind>,
    /// Whether parents must be finalized by the plugin.
    pub finalizes: bool,
    /// A JSON Schema; none: no settings.
    pub settings_schema: Option<Value>,
    /// CustomResourceDefinitions that the plugin brings.
    pub crds: Vec<Value>,
}
