//! Records what calls have read, and finds the readers that a change affects.
//!
//! A plugin is called again when an answer to its reads would differ: also when a missing object
//! appears, or a list changes. Children are not recorded: their changes queue the owner anyway.
//!
//! ```text
//!   a call reads ──▶ (a snapshot of the caches answers)       a change ──▶ affected_by ──▶ queue
//!   it ends      ──▶ replace: from now on, only the reads of this call count
//!                    (and if the caches differ from the snapshot by then, it is queued again)
//! ```

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::object::{GroupVersionKind, ObjectKey};
use crate::selector::Selector;

/// One read of the caches.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Read {
    /// One object, whether or not it existed.
    Get {
        /// Its kind, in the version that the manifest declares.
        kind: GroupVersionKind,
        /// Its namespace and name.
        key: ObjectKey,
    },
    /// All matching objects.
    List {
        /// Their kind, in the version that the manifest declares.
        kind: GroupVersionKind,
        /// Their namespace; `None` is all namespaces, or cluster-scoped objects.
        namespace: Option<String>,
        /// The label selector.
        selector: Selector,
    },
}

impl Read {
    /// The kind that was read.
    pub fn kind(&self) -> &GroupVersionKind {
        match self {
            Self::Get { kind, .. } | Self::List { kind, .. } => kind,
        }
    }
}

/// The value of each label of an object.
pub type Labels<'borrow, 'object> = &'borrow dyn Fn(&str) -> Option<Cow<'object, str>>;

/// An index of the reads. `R` is a reader: a parent and its mount. A change costs one look-up by
/// key, and one match per different selector, however many readers there are.
#[derive(Debug)]
pub struct ReadIndex<R> {
    kinds: HashMap<GroupVersionKind, OfKind<R>>,
    readers: BTreeMap<R, BTreeSet<Arc<Read>>>,
}

/// The readers of one kind. No group of readers is empty.
#[derive(Debug)]
struct OfKind<R> {
    gets: HashMap<ObjectKey, Audience<R>>,
    lists: HashMap<Option<String>, BTreeMap<Selector, Audience<R>>>,
}

#[derive(Debug)]
struct Audience<R> {
    /// Shared with the readers, of whom thousands may list the same.
    read: Arc<Read>,
    readers: BTreeSet<R>,
}

impl<R> Default for ReadIndex<R> {
    fn default() -> Self {
        Self { kinds: HashMap::new(), readers: BTreeMap::new() }
    }
}

impl<R> Default for OfKind<R> {
    fn default() -> Self {
        Self { gets: HashMap::new(), lists: HashMap::new() }
    }
}

impl<R: Clone + Ord> ReadIndex<R> {
    /// Adds a read.
    pub fn add(&mut self, reader: &R, read: Read) {
        if self.readers.get(reader).is_some_and(|reads| reads.contains(&read)) {
            return;
        }
        let read = self.index(reader, read);
        self.readers.entry(reader.clone()).or_default().insert(read);
    }

    /// Replaces the reads of a reader by those of the call that ended.
    pub fn replace(&mut self, reader: &R, reads: BTreeSet<Read>) {
        let earlier = self.readers.remove(reader).unwrap_or_default();
        let (still, gone): (BTreeSet<_>, BTreeSet<_>) = earlier.into_iter().partition(|read| reads.contains(&**read));
        for read in &gone {
            self.unindex(reader, read);
        }
        if !still.is_empty() {
            self.readers.insert(reader.clone(), still);
        }
        for read in reads {
            self.add(reader, read);
        }
    }

    /// Removes a reader.
    pub fn remove(&mut self, reader: &R) {
        self.replace(reader, BTreeSet::new());
    }

    /// The readers that a change of an object affects: those with a get of the key, or a list that
    /// the labels matched before or match now. `None` is an object that does not exist.
    pub fn affected_by(
        &self,
        kind: &GroupVersionKind,
        key: &ObjectKey,
        before: Option<Labels<'_, '_>>,
        now: Option<Labels<'_, '_>>,
    ) -> BTreeSet<R> {
        let Some(of_kind) = self.kinds.get(kind) else { return BTreeSet::new() };
        let of_namespace = of_kind.lists.get(&key.namespace).filter(|_| key.namespace.is_some());
        let lists = of_namespace.into_iter().chain(of_kind.lists.get(&None)).flatten();
        let listed = lists.filter(|(selector, _)| {
            before.is_some_and(|labels| selector.matches(labels)) || now.is_some_and(|labels| selector.matches(labels))
        });
        let audiences = of_kind.gets.get(key).into_iter().chain(listed.map(|(_, audience)| audience));
        audiences.flat_map(|audience| &audience.readers).cloned().collect()
    }

    /// The reads of a reader, in order.
    pub fn reads_of(&self, reader: &R) -> impl Iterator<Item = &Read> {
        self.readers.get(reader).into_iter().flatten().map(Arc::as_ref)
    }

    /// All readers of a kind, for when it begins or ceases to be served.
    pub fn readers_of_kind(&self, kind: &GroupVersionKind) -> BTreeSet<R> {
        let audiences = self
            .kinds
            .get(kind)
            .into_iter()
            .flat_map(|of_kind| of_kind.gets.values().chain(of_kind.lists.values().flat_map(BTreeMap::values)));
        audiences.flat_map(|audience| &audience.readers).cloned().collect()
    }

    /// All readers.
    pub fn readers(&self) -> impl Iterator<Item = &R> {
        self.readers.keys()
    }

    /// The number of readers, and of all their reads.
    pub fn len(&self) -> (usize, usize) {
        (self.readers.len(), self.readers.values().map(BTreeSet::len).sum())
    }

    fn index(&mut self, reader: &R, read: Read) -> Arc<Read> {
        let of_kind = self.kinds.entry(read.kind().clone()).or_default();
        let read = Arc::new(read);
        let audience = || Audience { read: read.clone(), readers: BTreeSet::new() };
        let audience = match &*read {
            Read::Get { key, .. } => of_kind.gets.entry(key.clone()).or_insert_with(audience),
            Read::List { namespace, selector, .. } => {
                let lists = of_kind.lists.entry(namespace.clone()).or_default();
                lists.entry(selector.clone()).or_insert_with(audience)
            }
        };
        audience.readers.insert(reader.clone());
        audience.read.clone()
    }

    fn unindex(&mut self, reader: &R, read: &Read) {
        let Some(of_kind) = self.kinds.get_mut(read.kind()) else { return };
        match read {
            Read::Get { key, .. } => {
                if of_kind.gets.get_mut(key).is_some_and(|audience| audience.is_left_empty_by(reader)) {
                    of_kind.gets.remove(key);
                }
            }
            Read::List { namespace, selector, .. } => {
                let Some(lists) = of_kind.lists.get_mut(namespace) else { return };
                if lists.get_mut(selector).is_some_and(|audience| audience.is_left_empty_by(reader)) {
                    lists.remove(selector);
                }
                if lists.is_empty() {
                    of_kind.lists.remove(namespace);
                }
            }
        }
        if of_kind.gets.is_empty() && of_kind.lists.is_empty() {
            self.kinds.remove(read.kind());
        }
    }
}

impl<R: Ord> Audience<R> {
    fn is_left_empty_by(&mut self, reader: &R) -> bool {
        self.readers.remove(reader);
        self.readers.is_empty()
    }
}

#[cfg(test)]
mod tests;
