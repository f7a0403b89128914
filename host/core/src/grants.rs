//! Grants: the kinds and namespaces that a mount may write and read. The manifest declares them,
//! and the configuration limits them.

use std::collections::BTreeSet;

use crate::field_path::FieldPath;
use crate::manifest::{ChildKind, Manifest, Propagation};
use crate::object::GroupVersionKind;

/// Whether the objects of a kind have namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// They have.
    Namespaced,
    /// They have not.
    Cluster,
}

/// The namespaces that a mount may write to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Namespaces {
    /// Every namespace, and cluster-scoped objects.
    All,
    /// These namespaces, and no cluster-scoped object: what a Role in each of them can allow.
    Only(BTreeSet<String>),
}

impl Namespaces {
    /// The places to look for objects of this scope. `None` is all namespaces; cluster-scoped
    /// objects have no other place.
    pub fn places(&self, scope: Scope) -> Vec<Option<&str>> {
        match (self, scope) {
            (Self::Only(names), Scope::Namespaced) => names.iter().map(|name| Some(name.as_str())).collect(),
            _ => vec![None],
        }
    }

    /// Returns whether they include a namespace.
    pub fn contain(&self, namespace: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.contains(namespace),
        }
    }
}

/// The kinds that the configuration allows a mount to write, whatever their versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kinds {
    /// All that the manifest declares.
    Declared,
    /// Only these of the declared ones.
    Only(BTreeSet<GroupVersionKind>),
}

impl Kinds {
    /// Returns whether a declared kind is allowed.
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
    /// It does, and is changed to what the plugin wants.
    Allowed,
    /// It stays as it is, and the child is refused.
    #[default]
    Refused,
}

/// Whether the plugin of a mount may delete parents, if its manifest declares it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ParentDeletions {
    /// It may.
    Granted,
    /// The parents stay, and the plugin's wish is refused.
    #[default]
    NotGranted,
}

/// The fields of parents that a mount may set, among those that the manifest declares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ParentFields {
    /// None.
    #[default]
    NotGranted,
    /// All that the manifest declares.
    Declared,
    /// These, and all below them.
    Only(BTreeSet<FieldPath>),
}

/// The namespaces that a plugin may read. Mounting it grants those that its manifest names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ReadNamespaces {
    /// The namespace of the parent, and those that the manifest names.
    #[default]
    OfParent,
    /// The same, and those that match one of these patterns; see [`match_any`].
    Named(BTreeSet<String>),
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

/// The namespaces that a parent's namespaced children may be written to, within the mount's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WriteNamespaces {
    /// The namespace of the parent. If the parent is cluster-scoped, the namespaces that are its
    /// children.
    #[default]
    OfParent,
    /// The same, and those that match one of these patterns; see [`match_any`].
    Named(BTreeSet<String>),
    /// All.
    All,
}

/// Returns whether a namespace matches one of these patterns, in which `*` stands for any number of
/// characters.
pub fn match_any(patterns: &BTreeSet<String>, namespace: &str) -> bool {
    patterns.iter().any(|pattern| matches(pattern, namespace))
}

/// Returns whether a namespace matches this pattern; see [`match_any`].
pub fn matches(pattern: &str, namespace: &str) -> bool {
    let Some((first, others)) = pattern.split_once('*') else { return pattern == namespace };
    let (middle, last) = others.rsplit_once('*').unwrap_or(("", others));
    let Some(rest) = namespace.strip_prefix(first).and_then(|rest| rest.strip_suffix(last)) else { return false };
    middle.split('*').try_fold(rest, |rest, part| Some(rest.split_once(part)?.1)).is_some()
}

/// Why a child may not be written to its namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outside {
    /// The mount's [`Namespaces`] exclude it.
    OfMount,
    /// The mount's [`WriteNamespaces`] exclude it for this parent.
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
    declares_parent_deletions: bool,
    parent_deletions: ParentDeletions,
    declared_parent_fields: Vec<FieldPath>,
    parent_fields: ParentFields,
}

impl Grants {
    /// All child kinds of the manifest, each child in its parent's namespace, without adoption.
    pub fn new(manifest: &Manifest, namespaces: Namespaces) -> Self {
        Self {
            children: manifest.children.clone(),
            namespaces,
            write_namespaces: WriteNamespaces::default(),
            kinds: Kinds::Declared,
            adoption: Adoption::Refused,
            declares_parent_deletions: manifest.deletes_parent,
            parent_deletions: ParentDeletions::NotGranted,
            declared_parent_fields: declared_parent_fields(manifest),
            parent_fields: ParentFields::NotGranted,
        }
    }

    /// The same grants for another version of the plugin.
    #[must_use]
    pub fn for_manifest(self, manifest: &Manifest) -> Self {
        Self {
            children: manifest.children.clone(),
            declares_parent_deletions: manifest.deletes_parent,
            declared_parent_fields: declared_parent_fields(manifest),
            ..self
        }
    }

    /// The same for a mount in these namespaces.
    #[must_use]
    pub fn with_namespaces(self, namespaces: Namespaces) -> Self {
        Self { namespaces, ..self }
    }

    /// The same with these kinds.
    #[must_use]
    pub fn with_kinds(self, kinds: Kinds) -> Self {
        Self { kinds, ..self }
    }

    /// The same with these namespaces for children.
    #[must_use]
    pub fn with_write_namespaces(self, write_namespaces: WriteNamespaces) -> Self {
        Self { write_namespaces, ..self }
    }

    /// The same with or without adoption.
    #[must_use]
    pub fn with_adoption(self, adoption: Adoption) -> Self {
        Self { adoption, ..self }
    }

    /// The same with or without deletions of parents.
    #[must_use]
    pub fn with_parent_deletions(self, parent_deletions: ParentDeletions) -> Self {
        Self { parent_deletions, ..self }
    }

    /// The same with these fields of parents.
    #[must_use]
    pub fn with_parent_fields(self, parent_fields: ParentFields) -> Self {
        Self { parent_fields, ..self }
    }

    /// Returns whether the manifest declares a field of parents.
    pub(crate) fn declares_parent_field(&self, path: &[&str]) -> bool {
        self.declared_parent_fields.iter().any(|declared| declared.covers(path))
    }

    /// Returns whether the configuration grants a field of parents.
    pub(crate) fn allows_parent_field(&self, path: &[&str]) -> bool {
        match &self.parent_fields {
            ParentFields::NotGranted => false,
            ParentFields::Declared => true,
            ParentFields::Only(paths) => paths.iter().any(|granted| granted.covers(path)),
        }
    }

    /// Returns whether any field of a parent may be set.
    pub fn allows_parent_fields(&self) -> bool {
        self.parent_fields != ParentFields::NotGranted && !self.declared_parent_fields.is_empty()
    }

    /// Returns whether the manifest declares deletions of parents.
    pub fn declares_parent_deletions(&self) -> bool {
        self.declares_parent_deletions
    }

    /// Returns whether parents may be deleted: the manifest declares it, and it is granted.
    pub fn allows_parent_deletions(&self) -> bool {
        self.declares_parent_deletions && self.parent_deletions == ParentDeletions::Granted
    }

    /// Returns how children of this kind and version are written, or `None` if they may not be.
    pub fn child(&self, kind: &GroupVersionKind) -> Option<&ChildKind> {
        self.children.iter().find(|child| child.kind == *kind && self.allows_kind(kind))
    }

    /// The child kinds that may be written, in the manifest's order.
    pub fn children(&self) -> impl Iterator<Item = &ChildKind> {
        self.children.iter().filter(|child| self.allows_kind(&child.kind))
    }

    /// Returns whether the manifest declares children of this kind and version.
    pub fn declares(&self, kind: &GroupVersionKind) -> bool {
        self.children.iter().any(|child| child.kind == *kind)
    }

    /// Returns whether the configuration allows this kind, declared or not: undeclared children of
    /// an allowed kind are deleted after an upgrade.
    pub fn allows_kind(&self, kind: &GroupVersionKind) -> bool {
        self.kinds.allow(kind)
    }

    /// Checks that a parent may have a child in `namespace`; `None` is cluster-scoped. `is_own`
    /// says whether a namespace is a child of the parent.
    ///
    /// # Errors
    ///
    /// The part of the configuration that excludes it.
    pub fn check_namespace(
        &self,
        parent_namespace: Option<&str>,
        namespace: Option<&str>,
        is_own: impl FnOnce(&str) -> bool,
    ) -> Result<(), Outside> {
        if !self.allows_deletion_in(namespace) {
            return Err(Outside::OfMount);
        }
        let Some(namespace) = namespace else { return Ok(()) };
        let is_parents = || parent_namespace.map_or_else(|| is_own(namespace), |parent| parent == namespace);
        let is_granted = match &self.write_namespaces {
            WriteNamespaces::All => true,
            WriteNamespaces::OfParent => is_parents(),
            WriteNamespaces::Named(names) => match_any(names, namespace) || is_parents(),
        };
        if is_granted { Ok(()) } else { Err(Outside::OfWriteNamespaces) }
    }

    /// Returns whether owned children in `namespace` may be deleted: in all of the mount's
    /// [`Namespaces`], so that none stay when [`WriteNamespaces`] are narrowed.
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

    /// Returns whether objects of this kind stay when their parent is deleted, in any version.
    pub fn outlives_parent(&self, kind: &GroupVersionKind) -> bool {
        self.children.iter().any(|child| child.outlives_parent && child.kind.is_same(kind))
    }

    /// Returns how objects of this kind are deleted, in any version: by default in the background.
    pub fn propagation(&self, kind: &GroupVersionKind) -> Propagation {
        self.children
            .iter()
            .find(|child| child.kind.group == kind.group && child.kind.kind == kind.kind)
            .map_or(Propagation::Background, |child| child.propagation)
    }

    /// Returns whether objects without a controller are adopted.
    pub fn adoption(&self) -> Adoption {
        self.adoption
    }
}

fn declared_parent_fields(manifest: &Manifest) -> Vec<FieldPath> {
    manifest.parent_fields.iter().filter_map(|pointer| FieldPath::parse(pointer).ok()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The definition, which takes exponential time.
    fn matches_by_definition(pattern: &str, name: &str) -> bool {
        match (pattern.chars().next(), name.chars().next()) {
            (None, None) => true,
            (Some('*'), _) => {
                matches_by_definition(&pattern[1..], name) || (!name.is_empty() && matches_by_definition(pattern, &name[1..]))
            }
            (Some(one), Some(other)) if one == other => matches_by_definition(&pattern[1..], &name[1..]),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn a_star_stands_for_any_characters(pattern in "[ab*]{0,7}", name in "[ab]{0,7}") {
            prop_assert_eq!(matches(&pattern, &name), matches_by_definition(&pattern, &name));
        }
    }
}
