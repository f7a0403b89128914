//! The manifest of a plugin, in the host's own form. The WIT contract documents each field.

mod validate;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::validate::{Error, Violation, validate_all};
use crate::groups::{self, Grouping, Members};
use crate::object::GroupVersionKind;

/// How an existing child is changed to the desired state. The order is from weak to strong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// Never: it is created once.
    CreateOnly,
    /// Server-side apply.
    Apply,
    /// Deletion and creation if it differs from what is desired.
    Recreate,
}

impl Strategy {
    /// The name in the contract.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CreateOnly => "create-only",
            Self::Apply => "apply",
            Self::Recreate => "recreate",
        }
    }
}

/// The deletion of the objects that a deleted object owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Propagation {
    /// They are deleted after it.
    Background,
    /// They are deleted before it.
    Foreground,
    /// They stay.
    Orphan,
}

/// A kind that the plugin makes children of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildKind {
    /// The kind.
    pub kind: GroupVersionKind,
    /// How its objects are changed.
    pub strategy: Strategy,
    /// The strongest strategy that a single child may name; `None` is that of the kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strongest_strategy: Option<Strategy>,
    /// How its objects are deleted.
    pub propagation: Propagation,
    /// Whether its objects stay when their parent is deleted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outlives_parent: bool,
}

impl ChildKind {
    /// A kind of which no child has a stronger strategy, and whose objects' dependents are deleted
    /// after them.
    pub fn new(kind: GroupVersionKind, strategy: Strategy) -> Self {
        Self { kind, strategy, strongest_strategy: None, propagation: Propagation::Background, outlives_parent: false }
    }

    /// Returns whether a child of this kind may have this strategy. Every weaker one is allowed,
    /// because the host then does less to an object that exists.
    pub fn allows(&self, strategy: Strategy) -> bool {
        strategy <= self.strongest()
    }

    /// The strongest strategy that a child of this kind may have.
    pub fn strongest(&self) -> Strategy {
        self.strongest_strategy.map_or(self.strategy, |strongest| strongest.max(self.strategy))
    }
}

/// A kind that the plugin may read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadKind {
    /// The kind.
    pub kind: GroupVersionKind,
    /// The only namespace to read; `None` is that of the parent and, if granted, all.
    pub namespace: Option<String>,
    /// Only matching objects are visible.
    pub label_selector: Option<String>,
    /// Only metadata is read.
    pub metadata_only: bool,
}

/// The manifest of a plugin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Its name, a DNS label.
    pub name: String,
    /// The plugin's version, for people.
    pub version: String,
    /// One sentence, for people.
    pub description: String,
    /// The kind whose objects are reconciled: a plugin that groups parents reconciles
    /// [`groups::kind`].
    pub parent: GroupVersionKind,
    /// The members of groups, if the plugin groups parents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub members: Option<Members>,
    /// The kinds of its children.
    pub children: Vec<ChildKind>,
    /// The other kinds that it reads.
    pub reads: Vec<ReadKind>,
    /// The fields of parents that the plugin may set: JSON Pointers, see
    /// [`FieldPath`](crate::field_path::FieldPath).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parent_fields: Vec<String>,
    /// Whether the plugin may delete parents.
    #[serde(default)]
    pub deletes_parent: bool,
    /// Whether the plugin finalizes parents.
    pub finalizes: bool,
    /// A JSON Schema; `None` if there are no settings.
    pub settings_schema: Option<Value>,
    /// The CustomResourceDefinitions of the plugin.
    pub crds: Vec<Value>,
}

impl Manifest {
    /// A manifest without children, reads and settings.
    pub fn new(name: impl Into<String>, version: impl Into<String>, parent: GroupVersionKind) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            description: String::new(),
            parent,
            members: None,
            children: Vec::new(),
            reads: Vec::new(),
            parent_fields: Vec::new(),
            deletes_parent: false,
            finalizes: false,
            settings_schema: None,
            crds: Vec::new(),
        }
    }

    /// The manifest of a plugin that calls its parents in groups.
    #[must_use]
    pub fn grouped(mut self, grouping: Grouping) -> Self {
        let kind = std::mem::replace(&mut self.parent, groups::kind());
        self.members = Some(Members { kind, grouping });
        self.crds.push(groups::definition());
        self
    }

    /// The kind of the objects for which users mount the plugin: the members, if it groups them.
    pub fn users_kind(&self) -> &GroupVersionKind {
        self.members.as_ref().map_or(&self.parent, |members| &members.kind)
    }

    /// Returns what the plugin reconciles, e.g. `Echo.v1.example.com`, or `Tenant.v1.example.com in
    /// groups by /spec/pool`.
    pub fn reconciled(&self) -> String {
        let kind = self.users_kind();
        match self.members.as_ref().map(|members| &members.grouping) {
            None => kind.to_string(),
            Some(Grouping::All) => format!("all {kind} together"),
            Some(Grouping::ByField(pointer)) => format!("{kind} in groups by {pointer}"),
        }
    }

    /// The kinds of the objects whose status the plugin writes: of its parents and, if it groups
    /// them, of the groups.
    pub fn parent_kinds(&self) -> impl Iterator<Item = &GroupVersionKind> {
        self.members.iter().map(|members| &members.kind).chain([&self.parent])
    }

    /// Returns whether an object of the parent kind is a child of this plugin, and so no parent.
    /// Else a copy would have copies, without end. `maker` is the object's [`PLUGIN_LABEL`].
    ///
    /// An object without the label, but with a [`DIGEST_ANNOTATION`], is a child whose label
    /// somebody has removed.
    ///
    /// [`PLUGIN_LABEL`]: crate::plan::PLUGIN_LABEL
    /// [`DIGEST_ANNOTATION`]: crate::plan::DIGEST_ANNOTATION
    pub fn is_child(&self, maker: Option<&str>, has_digest: impl FnOnce() -> bool) -> bool {
        self.children.iter().any(|child| child.kind.is_same(self.users_kind()))
            && maker.map_or_else(has_digest, |maker| maker == self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_plugin_made_is_no_parent_of_the_plugin_also_without_its_label() {
        let secret = |version: &str| GroupVersionKind::new("", version, "Secret");
        let child = |kind| ChildKind {
            kind,
            strategy: Strategy::Apply,
            strongest_strategy: None,
            propagation: Propagation::Background,
            outlives_parent: false,
        };
        let of = |children: Vec<ChildKind>| Manifest { children, ..Manifest::new("replicator", "1", secret("v1")) };
        let copies = of(vec![child(GroupVersionKind::new("", "v1", "ConfigMap")), child(secret("v2"))]);
        for (maker, has_digest, is_child) in [
            (Some("replicator"), true, true),
            // People who may change an object can opt it out.
            (Some("replicator"), false, true),
            (None, true, true),
            (None, false, false),
            // The children of other plugins may be parents.
            (Some("website"), true, false),
        ] {
            assert_eq!(copies.is_child(maker, || has_digest), is_child, "{maker:?} {has_digest}");
            assert!(!of(Vec::new()).is_child(maker, || has_digest), "without children of its kind, all may be parents");
        }
    }
}
