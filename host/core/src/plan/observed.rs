//! The existing objects, as the caches hold them.

use std::collections::BTreeMap;

use super::desired::{Identity, identity};
use super::digest::AcceptedForm;
use crate::object::{GroupVersionKind, ObjectKey, ObjectRef};

/// A child as the cache holds it.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    /// Its kind, in the version that the cache watches.
    pub kind: &'a GroupVersionKind,
    /// Its namespace and name.
    pub key: &'a ObjectKey,
    /// Its UID.
    pub uid: &'a str,
    /// Its resourceVersion.
    pub resource_version: &'a str,
    /// The object, with or without `apiVersion` and `kind`, which items of lists lack.
    pub json: &'a [u8],
    /// The API server's form of the last write to this UID, if this process has seen it.
    pub accepted: Option<&'a AcceptedForm>,
}

/// The observed objects, in an order that does not depend on the input's.
pub(super) struct ByIdentity<'a> {
    objects: BTreeMap<Identity, Vec<&'a Observed<'a>>>,
}

impl<'a> ByIdentity<'a> {
    pub(super) fn new(observed: &'a [Observed<'a>]) -> Self {
        let mut objects: BTreeMap<Identity, Vec<&Observed<'_>>> = BTreeMap::new();
        for object in observed {
            let identity = identity(object.kind, object.key.namespace.as_deref(), &object.key.name);
            objects.entry(identity).or_default().push(object);
        }
        // An object may be in several caches: one for each declared version of its kind.
        for same in objects.values_mut() {
            same.sort_by_key(|object| (object.kind, object.uid, object.resource_version, object.json));
        }
        Self { objects }
    }

    /// The objects with this identity, first those in the child's own version.
    pub(super) fn find(&self, child: &ObjectRef) -> impl Iterator<Item = &'a Observed<'a>> + use<'a, '_> {
        let identity = identity(&child.kind, child.key.namespace.as_deref(), &child.key.name);
        let same = self.objects.get(&identity).map_or(&[][..], Vec::as_slice);
        let kind = child.kind.clone();
        let (same_version, others): (Vec<_>, Vec<_>) = same.iter().copied().partition(|object| *object.kind == kind);
        same_version.into_iter().chain(others)
    }

    /// All objects; those with one identity are together.
    pub(super) fn groups(&self) -> impl Iterator<Item = &[&'a Observed<'a>]> {
        self.objects.values().map(Vec::as_slice)
    }
}
