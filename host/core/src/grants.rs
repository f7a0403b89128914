//! What a mount may write: what the plugin's manifest asks for, within what the operator's configuration allows.

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

/// Whether an object that nobody controls and that bears the name of a child becomes the child.
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

/// What a mount may read, of what the manifest declares.
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

/// What a mount may write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grants {
    children: Vec<ChildKind>,
    namespaces: Namespaces,
    kinds: Kinds,
    adoption: Adoption,
}

impl Grants {
    /// All child kinds of the manifest in these namespaces, without adoption.
    pub fn new(manifest: &Manifest, namespaces: Namespaces) -> Self {
        Self { children: manifest.children.clone(), namespaces, kinds: Kinds::Declared, adoption: Adoption::Refused }
    }

    /// The same for another version of the plugin: what the operator allows, of what that declares.
    #[must_use]
    pub fn for_manifest(self, manifest: &Manifest) -> Self {
        Self { children: manifest.children.clone(), ..self }
    }

    /// Narrowed to these kinds.
    #[must_use]
    pub fn with_kinds(self, kinds: Kinds) -> Self {
        Self { kinds, ..self }
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

    /// Whether objects in this namespace may be written; none asks for objects that live outside of namespaces.
    pub fn allows_namespace(&self, namespace: Option<&str>) -> bool {
        match (&self.namespaces, namespace) {
            (Namespaces::All, _) => true,
            (Namespaces::Only(namespaces), Some(namespace)) => namespaces.contains(namespace),
            (Namespaces::Only(_), None) => false,
        }
    }

    /// The namespaces that may be written to.
    pub fn namespaces(&self) -> &Namespaces {
        &self.namespaces
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
