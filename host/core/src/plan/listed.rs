//! The list of children on their parent, for children that no ownerReference can name.
//!
//! ```text
//!   parent                                                  child, in another namespace or none
//!   finalizers: [gyre.dev/site]                             labels:
//!   annotations:                                              gyre.dev/plugin: site
//!     children.gyre.dev/site: {"ConfigMap":{"b":["a"]}} ─┐    gyre.dev/owner-uid: <the parent's>
//!                                                        └──▶ ConfigMap b/a
//! ```
//!
//! Anyone who may create an object sets its labels, and anyone who may change the parent writes the
//! list. Only both together prove ownership, because only the host, and users who may change both
//! objects, can write both.
//!
//! The list is written with the finalizer, before a child that is not on it is created. An entry is
//! removed once the API server says that the child is gone.

use std::collections::{BTreeMap, BTreeSet};

use crate::grants::{Namespaces, Scope};
use crate::names::is_dns_label;
use crate::object::{GroupVersionKind, ObjectKey};

/// The most bytes of a list: half of what the API server allows for all annotations of an object.
/// `kubectl apply` keeps the whole object in one of the others.
pub const LARGEST_LIST: usize = 128 * 1024;

/// The most namespaces of a kind that are looked at one by one. For more, one list of all
/// namespaces is cheaper.
const ONE_BY_ONE: usize = 16;

/// The prefix of the annotation's name. The plugin's name follows it.
pub const LIST_ANNOTATION_PREFIX: &str = "children.gyre.dev/";

/// The bytes around a name in the list: quotes, colon, brackets and comma.
const AROUND: usize = 6;

/// The annotation with a plugin's list: two plugins may reconcile the same parent.
pub fn list_annotation(plugin: &str) -> String {
    format!("{LIST_ANNOTATION_PREFIX}{plugin}")
}

type Names = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

/// The children that a parent lists, whatever their versions.
#[derive(Clone, Debug, Default)]
pub struct ChildList {
    /// `Kind` or `Kind.group`, then the namespace (empty if none), then the names.
    names: Names,
    size: usize,
    is_missing: bool,
}

impl PartialEq for ChildList {
    /// Ignores `size`, which depends on how a list was made.
    fn eq(&self, other: &Self) -> bool {
        (&self.names, self.is_missing) == (&other.names, other.is_missing)
    }
}

impl Eq for ChildList {}

impl ChildList {
    /// Reads the list. An annotation that is not a list, because somebody edited it, lists nothing.
    /// With the host's finalizer but no annotation, the list is missing.
    pub fn read(annotation: Option<&str>, has_finalizer: bool) -> Self {
        let Some(text) = annotation else { return Self { is_missing: has_finalizer, ..Self::default() } };
        let names: Names = serde_json::from_str(text).unwrap_or_default();
        let mut list = Self::default();
        for (kind, namespaces) in &names {
            for (namespace, names) in namespaces {
                names.iter().for_each(|name| list.put(kind, namespace, name));
            }
        }
        list
    }

    /// Returns whether the parent has the finalizer but no list, e.g. after an upgrade. Until it
    /// has one, objects with the right labels are its children, but none is waited for, and only
    /// wanted ones get on the list: a forged child gains nothing but its deletion.
    pub fn is_missing(&self) -> bool {
        self.is_missing
    }

    /// Returns whether an object is on the list.
    pub fn contains(&self, kind: &GroupVersionKind, key: &ObjectKey) -> bool {
        let namespaces = self.names.get(&kind_name(kind));
        let names = namespaces.and_then(|namespaces| namespaces.get(key.namespace.as_deref().unwrap_or_default()));
        names.is_some_and(|names| names.contains(&key.name))
    }

    /// Adds an object.
    pub fn insert(&mut self, kind: &GroupVersionKind, key: &ObjectKey) {
        self.put(&kind_name(kind), key.namespace.as_deref().unwrap_or_default(), &key.name);
    }

    /// Adds an object if it fits in [`LARGEST_LIST`] bytes, and returns whether it is listed.
    pub(super) fn insert_within_bounds(&mut self, kind: &GroupVersionKind, key: &ObjectKey) -> bool {
        let longest =
            kind.kind.len() + kind.group.len() + key.namespace.as_ref().map_or(0, String::len) + key.name.len() + 3 * AROUND;
        if !self.contains(kind, key) && self.size + longest > LARGEST_LIST {
            return false;
        }
        self.insert(kind, key);
        true
    }

    /// The entries of both lists.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut union = Self { is_missing: false, ..self.clone() };
        other.entries().for_each(|(kind, namespace, name)| union.put(kind, namespace, name));
        union
    }

    /// The entries of this list that `other` does not have.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        let mut rest = Self::default();
        for (kind, namespace, name) in self.entries().filter(|(kind, namespace, name)| !other.has(kind, namespace, name)) {
            rest.put(kind, namespace, name);
        }
        rest
    }

    /// The places to look for listed objects of this kind, in any version, within the namespaces of
    /// the mount; `None` is all of them, or a cluster-scoped kind. If the list is missing, they may
    /// be anywhere.
    pub fn places<'a>(&'a self, kind: &GroupVersionKind, scope: Scope, within: &'a Namespaces) -> Vec<Option<&'a str>> {
        if self.is_missing {
            return within.places(scope);
        }
        let Some(namespaces) = self.names.get(&kind_name(kind)) else { return Vec::new() };
        if scope == Scope::Cluster {
            return vec![None];
        }
        // People can write the list, and a namespace becomes a part of a URL.
        let may_exist = |name: &&str| is_dns_label(name) && within.contain(name);
        let places: Vec<&str> = namespaces.keys().map(String::as_str).filter(may_exist).collect();
        match within {
            Namespaces::All if places.len() > ONE_BY_ONE => vec![None],
            _ => places.into_iter().map(Some).collect(),
        }
    }

    /// Returns whether it lists objects of this kind, in any version.
    pub fn has_kind(&self, kind: &GroupVersionKind) -> bool {
        self.names.contains_key(&kind_name(kind))
    }

    /// This list without the objects of this kind.
    #[must_use]
    pub fn without_kind(&self, kind: &GroupVersionKind) -> Self {
        let mut rest = self.clone();
        rest.names.remove(&kind_name(kind));
        rest
    }

    /// An upper bound of the bytes of the text.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The value of the annotation. The same list always gives the same text.
    pub fn to_text(&self) -> String {
        serde_json::to_string(&self.names).unwrap_or_default()
    }

    fn entries(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.names.iter().flat_map(|(kind, namespaces)| {
            namespaces.iter().flat_map(move |(namespace, names)| {
                names.iter().map(move |name| (kind.as_str(), namespace.as_str(), name.as_str()))
            })
        })
    }

    fn has(&self, kind: &str, namespace: &str, name: &str) -> bool {
        self.names.get(kind).and_then(|namespaces| namespaces.get(namespace)).is_some_and(|names| names.contains(name))
    }

    fn put(&mut self, kind: &str, namespace: &str, name: &str) {
        let Self { names, size, .. } = self;
        *size += if names.is_empty() { 2 } else { 0 };
        let namespaces = names.entry(kind.to_owned()).or_default();
        *size += if namespaces.is_empty() { kind.len() + AROUND } else { 0 };
        let names = namespaces.entry(namespace.to_owned()).or_default();
        *size += if names.is_empty() { namespace.len() + AROUND } else { 0 };
        *size += if names.insert(name.to_owned()) { name.len() + 3 } else { 0 };
    }
}

fn kind_name(kind: &GroupVersionKind) -> String {
    if kind.group.is_empty() { kind.kind.clone() } else { format!("{}.{}", kind.kind, kind.group) }
}
