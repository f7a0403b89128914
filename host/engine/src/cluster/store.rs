//! The cache of one informer: raw objects, found by key, UID and owner UID.
//!
//! Three indexes point to the same objects and compare keys inside their JSON.
//!
//! A reader holds the lock only to clone an index, which copies no objects. Calls of plugins do not
//! even do that: they read a [`Snapshot`] from before the call, because their threads may have the
//! idle priority, and lose the CPU while they hold a lock.

use std::collections::HashSet;
use std::sync::Arc;

use gyre_core::object::ObjectKey;
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::cluster::object::{Object, SharedObject};
use crate::cluster::object_index::{Key, ObjectIndex};

/// The effect of a change on the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The store already has it, or a newer state.
    Nothing,
    /// It was stored.
    Stored {
        /// The previous object.
        previous: Option<SharedObject>,
    },
}

/// The objects of one informer.
#[derive(Default)]
pub struct Store {
    state: RwLock<StoreState>,
}

struct StoreState {
    by_key: ObjectIndex,
    /// By UID, namespace and name, because two objects could have the same UID.
    by_uid: ObjectIndex,
    /// By owner UID, namespace and name; only objects with an owner.
    by_owner: ObjectIndex,
    /// The highest version that the watch or its list has brought since the last list began.
    seen: u64,
    changes: u64,
    /// Grows when a list begins and when it ends: the answer to a write that was sent before may be
    /// older than the list.
    lists: u64,
    /// The objects of the current list.
    listing: Option<Vec<SharedObject>>,
}

impl Default for StoreState {
    fn default() -> Self {
        Self {
            by_key: ObjectIndex::by(key),
            by_uid: ObjectIndex::by(uid_key),
            by_owner: ObjectIndex::by(owner_key),
            seen: 0,
            changes: 0,
            lists: 0,
            listing: None,
        }
    }
}

/// Objects without a namespace come first; namespaces are never empty.
fn key(object: &Object) -> Key<'_> {
    [object.namespace().unwrap_or_default(), object.name(), ""]
}

fn uid_key(object: &Object) -> Key<'_> {
    let [namespace, name, _] = key(object);
    [object.uid(), namespace, name]
}

fn owner_key(object: &Object) -> Key<'_> {
    let [namespace, name, _] = key(object);
    [object.owner_uid().unwrap_or_default(), namespace, name]
}

/// The objects at one moment. Reading them takes no lock.
pub struct Snapshot(ObjectIndex);

impl Snapshot {
    /// Returns the object of that namespace and name.
    pub fn get(&self, key: &ObjectKey) -> Option<SharedObject> {
        if key.namespace.as_deref() == Some("") {
            return None;
        }
        self.0.get([key.namespace.as_deref().unwrap_or_default(), &key.name, ""]).cloned()
    }

    /// Returns all objects, by namespace and name.
    pub fn list(&self) -> Vec<SharedObject> {
        let mut objects = Vec::with_capacity(self.0.len());
        objects.extend(self.0.iter().cloned());
        objects
    }

    /// Returns the objects of a namespace, by name.
    pub fn list_in(&self, namespace: &str) -> Vec<SharedObject> {
        if namespace.is_empty() {
            return Vec::new();
        }
        self.0.starting_with(&[namespace]).inspect(|_| visits::count()).cloned().collect()
    }
}

/// When a write was sent, for [`Store::insert_written`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteEpoch {
    lists: u64,
}

impl Store {
    /// Returns the objects as they are now.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot(self.read().by_key.clone())
    }

    /// Returns the object of that namespace and name.
    pub fn get(&self, key: &ObjectKey) -> Option<SharedObject> {
        self.snapshot().get(key)
    }

    /// Returns the object of that UID.
    pub fn by_uid(&self, uid: &str) -> Option<SharedObject> {
        let by_uid = self.read().by_uid.clone();
        by_uid.starting_with(&[uid]).next().cloned()
    }

    /// Returns the objects of an owner, by namespace and name.
    pub fn owned_by(&self, uid: &str) -> Vec<SharedObject> {
        let by_owner = self.read().by_owner.clone();
        by_owner.starting_with(&[uid]).cloned().collect()
    }

    /// Returns all objects, by namespace and name.
    pub fn list(&self) -> Vec<SharedObject> {
        self.snapshot().list()
    }

    /// Returns the objects of a namespace, by name.
    pub fn list_in(&self, namespace: &str) -> Vec<SharedObject> {
        self.snapshot().list_in(namespace)
    }

    /// A number that grows with each change.
    pub fn version(&self) -> u64 {
        self.read().changes
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.read().by_key.len()
    }

    /// Returns whether the store is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The memory use in bytes, with objects and indexes.
    pub fn footprint(&self) -> usize {
        let [by_key, by_uid, by_owner] = {
            let state = self.read();
            [&state.by_key, &state.by_uid, &state.by_owner].map(Clone::clone)
        };
        let objects: usize = by_key.iter().map(|object| object.footprint() + 2 * size_of::<usize>()).sum();
        objects + by_key.footprint() + by_uid.footprint() + by_owner.footprint()
    }

    /// Stores an object from the watch.
    pub fn apply(&self, object: SharedObject) -> Change {
        let mut state = self.write();
        state.seen = state.seen.max(object.resource_version());
        state.put(object)
    }

    /// Deletes an object by its last state from the watch. Returns the stored object; a newer one
    /// stays.
    pub fn delete(&self, last: &Object) -> Option<SharedObject> {
        let mut state = self.write();
        state.seen = state.seen.max(last.resource_version());
        let found = state.by_key.get(key(last))?;
        if found.resource_version() > last.resource_version() {
            return None;
        }
        let found = Arc::clone(found);
        state.remove(&found);
        Some(found)
    }

    /// Begins a list, which replaces all objects at its end.
    ///
    /// Versions may go back, because the list may be of an etcd that was restored from a backup, or
    /// of another cluster.
    pub fn begin_list(&self) {
        let mut state = self.write();
        state.lists += 1;
        state.seen = 0;
        state.listing = Some(Vec::new());
    }

    /// Stores an object of the current list, even if the store has a newer version.
    ///
    /// # Assumptions
    ///
    /// The list shows a state after its request, and no answer to a write was stored since then.
    pub fn list_item(&self, object: SharedObject) -> Change {
        let mut state = self.write();
        state.seen = state.seen.max(object.resource_version());
        let change = state.replace(Arc::clone(&object));
        if let Some(listing) = &mut state.listing {
            listing.push(object);
        }
        change
    }

    /// Ends a list: removes and returns the objects that were not on it.
    pub fn end_list(&self) -> Vec<SharedObject> {
        let (listing, by_key) = {
            let mut state = self.write();
            let Some(listing) = state.listing.as_mut().map(std::mem::take) else { return Vec::new() };
            (listing, state.by_key.clone())
        };
        // Compared without the lock: `listing` is still `Some`, so `insert_written` changes
        // nothing, and only the calling watch could change the store.
        let listed: HashSet<Key<'_>> = listing.iter().map(|object| key(object)).collect();
        let gone: Vec<_> = by_key.iter().filter(|object| !listed.contains(&key(object))).cloned().collect();
        drop(by_key);
        let mut state = self.write();
        state.listing = None;
        state.lists += 1;
        for object in &gone {
            state.remove(object);
        }
        gone
    }

    /// Returns the epoch of a write; call this before the write is sent.
    pub fn write_epoch(&self) -> WriteEpoch {
        WriteEpoch { lists: self.read().lists }
    }

    /// Stores the answer to our own write, so that the next reconcile sees it before the watch
    /// brings it.
    ///
    /// # Guarantees
    ///
    /// Never overwrites a newer state or a deletion: the answer must be newer than everything from
    /// the watch, and no list may have begun or ended since the write was sent.
    pub fn insert_written(&self, object: SharedObject, epoch: WriteEpoch) -> Change {
        let mut state = self.write();
        if state.lists != epoch.lists || state.listing.is_some() || object.resource_version() <= state.seen {
            return Change::Nothing;
        }
        state.put(object)
    }

    /// Returns whether it shows this version of an object, or what has happened to it since.
    pub(crate) fn shows(&self, key: &ObjectKey, version: u64) -> bool {
        let state = self.read();
        let is_past = || state.listing.is_none() && state.seen >= version;
        let found = state.by_key.get([key.namespace.as_deref().unwrap_or_default(), &key.name, ""]);
        is_past() || found.is_some_and(|object| object.resource_version() >= version)
    }

    fn read(&self) -> RwLockReadGuard<'_, StoreState> {
        self.state.read()
    }

    /// Keeps all readers out until the guard is dropped.
    #[cfg(test)]
    pub(crate) fn block(&self) -> impl Drop {
        self.write()
    }

    fn write(&self) -> RwLockWriteGuard<'_, StoreState> {
        self.state.write()
    }
}

impl StoreState {
    fn put(&mut self, object: SharedObject) -> Change {
        let is_newer = |previous: &SharedObject| {
            // 0 is a version that is not a number. Kubernetes' own servers send no such version.
            let is_incomparable = object.resource_version() == 0;
            is_incomparable || previous.resource_version() < object.resource_version()
        };
        if self.by_key.get(key(&object)).is_none_or(is_newer) { self.replace(object) } else { Change::Nothing }
    }

    fn replace(&mut self, object: SharedObject) -> Change {
        let previous = self.by_key.get(key(&object)).cloned();
        if let Some(previous) = &previous {
            if previous.json() == object.json() {
                return Change::Nothing;
            }
            if uid_key(previous) != uid_key(&object) {
                self.by_uid.remove(uid_key(previous));
            }
            if previous.owner_uid() != object.owner_uid() {
                self.by_owner.remove(owner_key(previous));
            }
        }
        self.changes += 1;
        if object.owner_uid().is_some() {
            self.by_owner.insert(Arc::clone(&object));
        }
        self.by_uid.insert(Arc::clone(&object));
        self.by_key.insert(object);
        Change::Stored { previous }
    }

    fn remove(&mut self, object: &Object) {
        self.changes += 1;
        self.by_key.remove(key(object));
        self.by_uid.remove(uid_key(object));
        if object.owner_uid().is_some() {
            self.by_owner.remove(owner_key(object));
        }
    }
}

/// Counts the objects that a list in a namespace visits, but only in tests.
mod visits {
    #[cfg(test)]
    thread_local! {
        static COUNT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    }

    pub(super) fn count() {
        #[cfg(test)]
        COUNT.with(|count| count.set(count.get() + 1));
    }

    #[cfg(test)]
    pub(super) fn take() -> usize {
        COUNT.with(|count| count.replace(0))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn object_in(namespace: &str, name: &str) -> SharedObject {
        let metadata =
            format!(r#"{{"name":"{name}","namespace":"{namespace}","uid":"{namespace}-{name}","resourceVersion":"1"}}"#);
        Arc::new(Object::parse(format!(r#"{{"metadata":{metadata}}}"#)).unwrap())
    }

    fn object(name: &str, version: u64, owner: &str) -> SharedObject {
        let json = format!(
            r#"{{"metadata":{{"name":"{name}","namespace":"ns","uid":"uid-{name}","resourceVersion":"{version}","ownerReferences":[{{"uid":"{owner}","controller":true}}]}}}}"#
        );
        Arc::new(Object::parse(json).unwrap())
    }

    fn names(objects: &[SharedObject]) -> Vec<&str> {
        objects.iter().map(|object| object.name()).collect()
    }

    fn key(name: &str) -> ObjectKey {
        ObjectKey::new(Some("ns"), name)
    }

    #[test]
    fn objects_are_found_by_key_uid_and_owner() {
        let store = Store::default();
        for name in ["b", "a", "c"] {
            store.apply(object(name, 1, if name == "c" { "other" } else { "owner" }));
        }
        assert_eq!(store.get(&key("b")).unwrap().uid(), "uid-b");
        assert_eq!(store.by_uid("uid-c").unwrap().name(), "c");
        assert_eq!(names(&store.owned_by("owner")), ["a", "b"]);
        assert_eq!(names(&store.list()), ["a", "b", "c"]);
        store.delete(&object("b", 2, "owner"));
        assert_eq!(names(&store.owned_by("owner")), ["a"]);
        assert!(store.by_uid("uid-b").is_none());
    }

    #[test]
    fn a_list_of_one_namespace_visits_no_object_of_another() {
        let store = Store::default();
        for number in 0..1000 {
            store.apply(object_in("large", &number.to_string()));
        }
        for name in ["b", "a", "c"] {
            store.apply(object_in("small", name));
        }
        store.delete(&object_in("small", "c"));
        visits::take();
        assert_eq!((names(&store.list_in("small")), visits::take()), (vec!["a", "b"], 2));
        assert_eq!((store.list_in("absent").len(), visits::take()), (0, 0));
        assert_eq!((store.list_in("large").len(), visits::take()), (1000, 1000));
        assert_eq!((store.list().len(), store.len()), (1002, 1002));
    }

    #[test]
    fn a_store_without_objects_takes_no_room() {
        let store = Store::default();
        let objects = |number| [object_in(&format!("namespace-{number}"), "a"), object(&format!("n{number}"), 1, "owner")];
        let objects: Vec<SharedObject> = (0..1000).flat_map(objects).collect();
        objects.iter().for_each(|object| drop(store.apply(Arc::clone(object))));
        assert_eq!(store.len(), objects.len());
        objects.iter().for_each(|object| drop(store.delete(object)));
        assert_eq!((store.len(), store.footprint()), (0, 0));
    }

    #[test]
    fn objects_of_one_name_in_different_namespaces_or_in_none_are_distinguished() {
        let store = Store::default();
        let outside = Arc::new(Object::parse(r#"{"metadata":{"name":"a","uid":"outside","resourceVersion":"1"}}"#).unwrap());
        for object in [object_in("one", "a"), object_in("two", "a"), Arc::clone(&outside)] {
            assert_eq!(store.apply(object), Change::Stored { previous: None });
        }
        assert_eq!(store.get(&ObjectKey::new(Some("two"), "a")).unwrap().uid(), "two-a");
        assert_eq!(store.get(&ObjectKey::new(None::<&str>, "a")).unwrap().uid(), "outside");
        assert_eq!((store.get(&ObjectKey::new(Some(""), "a")), store.list_in("")), (None, vec![]));
        assert_eq!(store.delete(&outside).unwrap().uid(), "outside");
        assert_eq!((store.len(), store.get(&ObjectKey::new(None::<&str>, "a"))), (2, None));
    }

    #[test]
    fn an_object_that_changes_its_owner_leaves_the_old_one() {
        let store = Store::default();
        store.apply(object("a", 1, "owner"));
        store.apply(object("a", 2, "other"));
        assert!(store.owned_by("owner").is_empty());
        assert_eq!(names(&store.owned_by("other")), ["a"]);
    }

    #[test]
    fn older_states_change_nothing() {
        let store = Store::default();
        store.apply(object("a", 5, "owner"));
        assert_eq!(store.apply(object("a", 4, "owner")), Change::Nothing);
        assert_eq!(store.apply(object("a", 5, "owner")), Change::Nothing);
        assert_eq!(store.delete(&object("a", 4, "owner")), None);
        assert_eq!(store.len(), 1);
    }

    #[test]
    fn objects_missing_from_a_list_are_removed() {
        let store = Store::default();
        store.apply(object("a", 1, "owner"));
        store.apply(object("b", 2, "owner"));
        store.begin_list();
        assert_eq!(store.list_item(object("b", 2, "owner")), Change::Nothing);
        store.list_item(object("c", 3, "owner"));
        assert_eq!(names(&store.end_list()), ["a"]);
        assert_eq!(names(&store.list()), ["b", "c"]);
    }

    #[test]
    fn a_list_replaces_objects_with_newer_versions() {
        let store = Store::default();
        for (name, version) in [("a", 90), ("b", 91), ("gone", 92)] {
            store.apply(object(name, version, "owner"));
        }
        store.begin_list();
        let before = store.get(&key("a"));
        assert_eq!(store.list_item(object("a", 40, "other")), Change::Stored { previous: before });
        assert_eq!(store.list_item(object("b", 91, "owner")), Change::Nothing);
        assert_eq!(names(&store.end_list()), ["gone"]);
        assert_eq!((names(&store.owned_by("other")), names(&store.owned_by("owner"))), (vec!["a"], vec!["b"]));

        store.begin_list();
        store.list_item(object("a", 40, "other"));
        store.end_list();
        let epoch = store.write_epoch();
        assert!(matches!(store.insert_written(object("a", 41, "other"), epoch), Change::Stored { .. }));
        assert!(matches!(store.apply(object("a", 42, "other")), Change::Stored { .. }));
    }

    proptest! {
        #[test]
        fn after_a_list_the_store_holds_what_was_listed_and_follows_later_changes(
            before in any_objects(), listed in any_objects(), after in 1..20_u64,
        ) {
            let store = Store::default();
            before.iter().for_each(|(name, version)| drop(store.apply(object(name, *version, "owner"))));
            store.begin_list();
            listed.iter().for_each(|(name, version)| drop(store.list_item(object(name, *version, "owner"))));
            store.end_list();
            let held = |store: &Store| -> BTreeMap<String, u64> {
                store.list().iter().map(|object| (object.name().to_owned(), object.resource_version())).collect()
            };
            prop_assert_eq!(held(&store), listed.clone());
            let next = listed.values().max().map_or(1, |newest| newest + after);
            let epoch = store.write_epoch();
            store.insert_written(object("a", next, "owner"), epoch);
            store.apply(object("b", next + 1, "owner"));
            let mut expected = listed;
            expected.extend([("a".to_owned(), next), ("b".to_owned(), next + 1)]);
            prop_assert_eq!(held(&store), expected);
        }
    }

    fn any_objects() -> impl Strategy<Value = BTreeMap<String, u64>> {
        proptest::collection::btree_map("[a-d]", 1..100_u64, 0..4)
    }

    #[test]
    fn an_answer_never_brings_a_deleted_object_back() {
        let store = Store::default();
        let epoch = store.write_epoch();
        store.apply(object("a", 10, "owner"));
        store.delete(&object("a", 12, "owner"));
        assert_eq!(store.insert_written(object("a", 10, "owner"), epoch), Change::Nothing);

        let epoch = store.write_epoch();
        store.begin_list();
        store.end_list();
        assert_eq!(store.insert_written(object("a", 20, "owner"), epoch), Change::Nothing);

        let epoch = store.write_epoch();
        assert_eq!(store.insert_written(object("a", 20, "owner"), epoch), Change::Stored { previous: None });
        assert_eq!(store.apply(object("a", 20, "owner")), Change::Nothing);
    }
}
