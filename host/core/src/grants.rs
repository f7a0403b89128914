//! Grants: the kinds and namespaces that a mount may write and read. The manifest declares them, and the configuration limits them.

use std::collections::BTreeSet;

use crate::manifest::{ChildKind, Manifest, Propagation};
use crate::object::GroupVersionKind;

/// Whether the objects of a kind live in namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// They do.
    Namespaced,
    /// They do not.
    Cluster,
}

/// The namespaces that a mount may write to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Namespaces {
    /// Every namespace, and objects that have none.
    All,
    /// These namespaces, and no object outside of a namespace: what a Role in each of them can give.
    Only(BTreeSet<String>),
}

/// The kinds that the operator's configuration allows a mount to write. Versions are not compared: an object is the same in all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kinds {
    /// All that the manifest declares.
    Declared,
    /// Of those that the manifest declares, only these.
    Only(BTreeSet<GroupVersionKind>),
}

impl Kinds {
    /// Whether a kind is among them, if it is declared.
    pub fn allow(&self, kind: &GroupVersionKind) -> bool {
        match self {
            Self::Declared => true,
            Self::Only(kinds) => kinds.iter().any(|allowed| allowed.group == kind.group && allowed.kind == kind.kind),
        }
    }
}

/// Whether an object without a controller that has the name of a child becomes the child.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Adoption {
    /// It does: it is brought to what the plugin wants.
    Allowed,
    /// It stays as it is, and the child is refused.
    #[default]
    Refused,
}

/// The namespaces that a plugin may read from. A namespace that its manifest names is granted by mounting it, unless the mount is
/// confined to others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ReadNamespaces {
    /// That of the parent, and those that the manifest names.
    #[default]
    OfParent,
    /// All that the mount's own [`Namespaces`] allow.
    All,
}

/// The kinds and namespaces that a mount may read, among those that the manifest declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadGrants {
    /// The kinds.
    pub kinds: Kinds,
    /// The namespaces, for kinds that have them.
    pub namespaces: ReadNamespaces,
}

impl Default for ReadGrants {
    fn default() -> Self {
        Self { kinds: Kinds::Declared, namespaces: ReadNamespaces::default() }
    }
}

/// The namespaces that the children of one parent may be written to, within the mount's own [`Namespaces`]. Kinds that live outside of
/// namespaces are not concerned: for them the grant of the kind is the grant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WriteNamespaces {
    /// The namespace of the parent. A cluster-scoped parent has none, and its children may be in every namespace.
    #[default]
    OfParent,
    /// The namespace of the parent, and these. Children of a cluster-scoped parent may be in these alone.
    Named(BTreeSet<String>),
    /// All.
    All,
}

/// The reason why a child may not be written to its namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outside {
    /// The mount's own [`Namespaces`] do not include it.
    OfMount,
    /// The mount's [`WriteNamespaces`] do not include it for this parent.
    OfWriteNamespaces,
}

/// The kinds and namespaces that a mount may write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grants {
    children: Vec<ChildKind>,
    namespaces: Namespaces,
    write_namespaces: WriteNamespaces,
    kinds: Kinds,
    adoption: Adoption,
}

impl Grants {
    /// All child kinds of the manifest for parents in these namespaces, each child in the namespace of its parent, without adoption.
    pub fn new(manifest: &Manifest, namespaces: Namespaces) -> Self {
        Self {
            children: manifest.children.clone(),
            namespaces,
            write_namespaces: WriteNamespaces::default(),
            kinds: Kinds::Declared,
            adoption: Adoption::Refused,
        }
    }

    /// The same for another version of the plugin: the part of its declarations that the operator allows.
    #[must_use]
    pub fn for_manifest(self, manifest: &Manifest) -> Self {
        Self { children: manifest.children.clone(), ..self }
    }

    /// Narrowed to these kinds.
    #[must_use]
    pub fn with_kinds(self, kinds: Kinds) -> Self {
        Self { kinds, ..self }
    }

    /// With children in these namespaces.
    #[must_use]
    pub fn with_write_namespaces(self, write_namespaces: WriteNamespaces) -> Self {
        Self { write_namespaces, ..self }
    }

    /// With or without adoption.
    #[must_use]
    pub fn with_adoption(self, adoption: Adoption) -> Self {
        Self { adoption, ..self }
    }

    /// How children of this kind, in this version, are written; none: they may not be.
    pub fn child(&self, kind: &GroupVersionKind) -> Option<&ChildKind> {
        self.children.iter().find(|child| child.kind == *kind && self.allows_kind(kind))
    }

    /// All child kinds that may be written, in the manifest's order.
    pub fn children(&self) -> impl Iterator<Item = &ChildKind> {
        self.children.iter().filter(|child| self.allows_kind(&child.kind))
    }

    /// Whether the manifest declares children of this kind, in this version, whatever the operator allows.
    pub fn declares(&self, kind: &GroupVersionKind) -> bool {
        self.children.iter().any(|child| child.kind == *kind)
    }

    /// Whether the operator's configuration allows this kind, declared or not. Children of a kind that an upgraded plugin no
    /// longer declares are deleted if this is so.
    pub fn allows_kind(&self, kind: &GroupVersionKind) -> bool {
        self.kinds.allow(kind)
    }

    /// Whether a child in `namespace` may be written for a parent in `parent_namespace`. None stands for objects that live outside of
    /// namespaces.
    ///
    /// # Errors
    ///
    /// Which part of the configuration does not grant it.
    pub fn check_namespace(&self, parent_namespace: Option<&str>, namespace: Option<&str>) -> Result<(), Outside> {
        if !self.allows_deletion_in(namespace) {
            return Err(Outside::OfMount);
        }
        let Some(namespace) = namespace else { return Ok(()) };
        let is_granted = match (&self.write_namespaces, parent_namespace) {
            (WriteNamespaces::All, _) | (WriteNamespaces::OfParent, None) => true,
            (_, Some(parent)) if parent == namespace => true,
            (WriteNamespaces::OfParent, Some(_)) => false,
            (WriteNamespaces::Named(names), _) => names.contains(namespace),
        };
        if is_granted { Ok(()) } else { Err(Outside::OfWriteNamespaces) }
    }

    /// Whether children that a parent owns in `namespace` may be deleted: wherever the mount's own [`Namespaces`] reach, so that children
    /// from before [`WriteNamespaces`] were narrowed do not stay behind. None stands for objects that live outside of namespaces.
    pub fn allows_deletion_in(&self, namespace: Option<&str>) -> bool {
        match (&self.namespaces, namespace) {
            (Namespaces::All, _) => true,
            (Namespaces::Only(namespaces), Some(namespace)) => namespaces.contains(namespace),
            (Namespaces::Only(_), None) => false,
        }
    }

    /// The namespaces that children may be written to, within those of the mount.
    pub fn write_namespaces(&self) -> &WriteNamespaces {
        &self.write_namespaces
    }

    /// How objects of this kind, in whatever version, are deleted; in the background if the manifest does not declare it (any more).
    pub fn propagation(&self, kind: &GroupVersionKind) -> Propagation {
        self.children
            .iter()
            .find(|child| child.kind.group == kind.group && child.kind.kind == kind.kind)
            .map_or(Propagation::Background, |child| child.propagation)
    }

    /// Whether objects that nobody controls are adopted.
    pub fn adoption(&self) -> Adoption {
        self.adoption
    }
}
