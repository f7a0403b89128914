//! The cache of one informer: raw objects, found by key, by UID and by the UID of their owner.
//!
//! The three indexes hold pointers to the same objects and hash them by what lies in their text, so that an object costs
//! little more than its JSON. The index by key has a table for each namespace, so that a list of one namespace visits no object of
//! another one.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use gyre_core::object::ObjectKey;
use hashbrown::HashTable;
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::cluster::object::{Object, SharedObject};

/// The effect of a change on the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The store has it already, or something newer.
    Nothing,
    /// It is new, or newer than what was there.
    Stored {
        /// The previous object.
        previous: Option<SharedObject>,
    },
}

/// See the module's documentation.
#[derive(Default)]
pub struct Store {
    state: RwLock<State>,
}

#[derive(Default)]
struct State {
    /// By namespace, and in it by name. A namespace without objects has no entry.
    by_key: HashTable<Namespace>,
    by_uid: Index,
    /// An owner's objects lie side by side: several entries hash alike.
    by_owner: Index,
    hasher: RandomState,
    /// The newest resource version that the watch has delivered.
    seen: u64,
    /// Counts the changes.
    changes: u64,
    /// Counts the lists: an answer to a write that was sent before a list is older than what the list brought.
    lists: u64,
    listing: Option<Vec<SharedObject>>,
}

type Index = HashTable<SharedObject>;

/// A table whose capacity is more than this many times its length shrinks to twice its length. A shrinking copies the table, so it has to
/// be rare: with this factor a removal takes amortized constant time.
const SPARSE: usize = 8;

/// The objects of one namespace.
struct Namespace {
    /// None: objects that live outside of namespaces.
    name: Option<Box<str>>,
    /// By name.
    objects: Index,
}

/// The time at which a write was sent, for [`Store::insert_written`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteEpoch {
    lists: u64,
}

impl Store {
    /// The object of that namespace and name.
    pub fn get(&self, key: &ObjectKey) -> Option<SharedObject> {
        let state = self.read();
        state.find(key.namespace.as_deref(), &key.name).cloned()
    }

    /// The object of that UID.
    pub fn by_uid(&self, uid: &str) -> Option<SharedObject> {
        let state = self.read();
        state.by_uid.find(state.hasher.hash_one(uid), |object| object.uid() == uid).cloned()
    }

    /// The objects that exist because of the owner of that UID, by namespace and name.
    pub fn owned_by(&self, uid: &str) -> Vec<SharedObject> {
        let state = self.read();
        let candidates = state.by_owner.iter_hash(state.hasher.hash_one(uid));
        let mut objects: Vec<_> = candidates.filter(|object| object.owner_uid() == Some(uid)).cloned().collect();
        sort(&mut objects);
        objects
    }

    /// All objects, by namespace and name.
    pub fn list(&self) -> Vec<SharedObject> {
        let mut objects: Vec<_> = self.read().all().cloned().collect();
        sort(&mut objects);
        objects
    }

    /// The objects of a namespace, by name.
    pub fn list_in(&self, namespace: &str) -> Vec<SharedObject> {
        let state = self.read();
        let visited = state.namespace(Some(namespace)).map(|found| &found.objects).into_iter().flatten();
        let mut objects: Vec<_> = visited.inspect(|_| visits::count()).cloned().collect();
        sort(&mut objects);
        objects
    }

    /// Moves with each change, and never back.
    pub fn version(&self) -> u64 {
        self.read().changes
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        // Each object is in this index once.
        self.read().by_uid.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The memory that the store takes in bytes: texts, objects, counters and index slots.
    pub fn footprint(&self) -> usize {
        let state = self.read();
        let objects: usize = state.all().map(|object| object.footprint() + 2 * size_of::<usize>()).sum();
        let namespace =
            |namespace: &Namespace| namespace.name.as_ref().map_or(0, |name| name.len()) + namespace.objects.allocation_size();
        let by_key = state.by_key.allocation_size() + state.by_key.iter().map(namespace).sum::<usize>();
        objects + by_key + state.by_uid.allocation_size() + state.by_owner.allocation_size()
    }

    /// Takes an object from the watch.
    pub fn apply(&self, object: SharedObject) -> Change {
        let mut state = self.write();
        state.seen = state.seen.max(object.resource_version());
        state.put(object)
    }

    /// Takes a deletion from the watch: the last state of the object. What was there is returned; a newer object of that name is left.
    pub fn delete(&self, last: &Object) -> Option<SharedObject> {
        let mut state = self.write();
        state.seen = state.seen.max(last.resource_version());
        let found = state.find(last.namespace(), last.name())?;
        if found.resource_version() > last.resource_version() {
            return None;
        }
        let found = Arc::clone(found);
        state.remove(&found);
        Some(found)
    }

    /// A list begins: what it does not bring is gone at its end.
    pub fn begin_list(&self) {
        let mut state = self.write();
        state.lists += 1;
        state.listing = Some(Vec::new());
    }

    /// Takes an object of the list that is under way.
    pub fn list_item(&self, object: SharedObject) -> Change {
        let mut state = self.write();
        state.seen = state.seen.max(object.resource_version());
        let change = state.put(Arc::clone(&object));
        if let Some(listing) = &mut state.listing {
            listing.push(object);
        }
        change
    }

    /// The list is whole: returns the objects that it no longer had, by namespace and name.
    pub fn end_list(&self) -> Vec<SharedObject> {
        let mut state = self.write();
        let Some(listing) = state.listing.take() else { return Vec::new() };
        state.lists += 1;
        let mut listed: std::collections::HashSet<(Option<&str>, &str)> =
            std::collections::HashSet::with_capacity(listing.len());
        listed.extend(listing.iter().map(|object| (object.namespace(), object.name())));
        let mut gone: Vec<_> =
            state.all().filter(|object| !listed.contains(&(object.namespace(), object.name()))).cloned().collect();
        sort(&mut gone);
        for object in &gone {
            state.remove(object);
        }
        gone
    }

    /// To be taken before a write is sent, for [`Store::insert_written`].
    pub fn write_epoch(&self) -> WriteEpoch {
        WriteEpoch { lists: self.read().lists }
    }

    /// Takes the answer to a write of our own, so that the next reconcile sees it before the watch brings it.
    ///
    /// # Guarantees
    ///
    /// An object that the watch has already brought further, or seen deleted, is not brought back: an answer counts only if it is
    /// newer than all that the watch has delivered, and if no list began or ended since the write was sent.
    pub fn insert_written(&self, object: SharedObject, epoch: WriteEpoch) -> Change {
        let mut state = self.write();
        if state.lists != epoch.lists || state.listing.is_some() || object.resource_version() <= state.seen {
            return Change::Nothing;
        }
        state.put(object)
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read()
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write()
    }
}

impl State {
    fn all(&self) -> impl Iterator<Item = &SharedObject> {
        self.by_key.iter().flat_map(|namespace| &namespace.objects)
    }

    fn namespace(&self, name: Option<&str>) -> Option<&Namespace> {
        self.by_key.find(self.hasher.hash_one(name), |namespace| namespace.name.as_deref() == name)
    }

    fn find(&self, namespace: Option<&str>, name: &str) -> Option<&SharedObject> {
        self.namespace(namespace)?.objects.find(self.hasher.hash_one(name), |object| object.name() == name)
    }

    fn put(&mut self, object: SharedObject) -> Change {
        let previous = self.find(object.namespace(), object.name()).cloned();
        if let Some(previous) = &previous {
            // Servers that do not count their versions (none of Kubernetes' own) get the benefit of the doubt.
            let uncounted = object.resource_version() == 0 && previous.json() != object.json();
            if previous.resource_version() >= object.resource_version() && !uncounted {
                return Change::Nothing;
            }
            self.remove(previous);
        }
        self.changes += 1;
        let Self { by_key, by_uid, by_owner, hasher, .. } = self;
        let name = object.namespace();
        let has_name = |namespace: &Namespace| namespace.name.as_deref() == name;
        let mut namespace = by_key
            .entry(hasher.hash_one(name), has_name, namespace_hash(hasher))
            .or_insert_with(|| Namespace { name: name.map(Into::into), objects: Index::new() });
        insert(&mut namespace.get_mut().objects, Arc::clone(&object), name_hash(hasher));
        insert(by_uid, Arc::clone(&object), uid_hash(hasher));
        if object.owner_uid().is_some() {
            insert(by_owner, object, owner_hash(hasher));
        }
        Change::Stored { previous }
    }

    fn remove(&mut self, object: &SharedObject) {
        self.changes += 1;
        let Self { by_key, by_uid, by_owner, hasher, .. } = self;
        let name = object.namespace();
        if let Ok(mut namespace) = by_key.find_entry(hasher.hash_one(name), |namespace| namespace.name.as_deref() == name) {
            take(&mut namespace.get_mut().objects, object, name_hash(hasher));
            if namespace.get().objects.is_empty() {
                namespace.remove();
                shrink(by_key, namespace_hash(hasher));
            }
        }
        take(by_uid, object, uid_hash(hasher));
        if object.owner_uid().is_some() {
            take(by_owner, object, owner_hash(hasher));
        }
    }
}

fn namespace_hash(hasher: &RandomState) -> impl Fn(&Namespace) -> u64 {
    |namespace| hasher.hash_one(namespace.name.as_deref())
}

fn name_hash(hasher: &RandomState) -> impl Fn(&SharedObject) -> u64 {
    |object| hasher.hash_one(object.name())
}

fn uid_hash(hasher: &RandomState) -> impl Fn(&SharedObject) -> u64 {
    |object| hasher.hash_one(object.uid())
}

/// Of objects that have an owner.
fn owner_hash(hasher: &RandomState) -> impl Fn(&SharedObject) -> u64 {
    |object| hasher.hash_one(object.owner_uid().unwrap_or_default())
}

fn insert(index: &mut Index, object: SharedObject, hash: impl Fn(&SharedObject) -> u64) {
    index.insert_unique(hash(&object), object, hash);
}

/// Removes an object from an index, which then shrinks if it is sparse.
fn take(index: &mut Index, object: &SharedObject, hash: impl Fn(&SharedObject) -> u64) {
    if let Ok(entry) = index.find_entry(hash(object), |candidate| Arc::ptr_eq(candidate, object)) {
        entry.remove();
    }
    shrink(index, hash);
}

/// Gives back the memory of a table that is sparse (see [`SPARSE`]): a table never shrinks by itself.
fn shrink<T>(table: &mut HashTable<T>, hash: impl Fn(&T) -> u64) {
    if table.len() < table.capacity() / SPARSE {
        table.shrink_to(2 * table.len(), hash);
    }
}

fn sort(objects: &mut [SharedObject]) {
    objects.sort_unstable_by(|left, right| (left.namespace(), left.name()).cmp(&(right.namespace(), right.name())));
}

/// Counts the objects that lists of one namespace visit, for tests.
mod visits {
    #[cfg(test)]
    thread_local! {
        static COUNT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    }

    pub(super) fn count() {
        #[cfg(test)]
        COUNT.with(|count| count.set(count.get() + 1));
    }

    /// How many there were on this thread since this was last asked.
    #[cfg(test)]
    pub(super) fn take() -> usize {
        COUNT.with(|count| count.replace(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An object of another namespace than `ns`.
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
    fn an_index_shrinks_when_its_objects_go() {
        let store = Store::default();
        let names: Vec<String> = (0..10_000).map(|number| format!("n{number}")).collect();
        names.iter().for_each(|name| drop(store.apply(object(name, 1, "owner"))));
        let (last, rest) = names.split_last().unwrap();
        for name in rest {
            store.delete(&object(name, 2, "owner"));
        }
        let state = store.read();
        let objects = &state.namespace(Some("ns")).unwrap().objects;
        for index in [objects, &state.by_uid, &state.by_owner] {
            assert_eq!(index.len(), 1);
            assert!(index.capacity() < 2 * SPARSE, "{}", index.capacity());
        }
        assert_eq!(store.get(&key(last)).unwrap().name(), last);
    }

    #[test]
    fn the_table_of_namespaces_shrinks_when_namespaces_become_empty() {
        let store = Store::default();
        let objects: Vec<SharedObject> = (0..1000).map(|number| object_in(&format!("namespace-{number}"), "a")).collect();
        objects.iter().for_each(|object| drop(store.apply(Arc::clone(object))));
        let (last, rest) = objects.split_last().unwrap();
        rest.iter().for_each(|object| drop(store.delete(object)));
        let state = store.read();
        assert_eq!(state.by_key.len(), 1);
        assert!(state.by_key.capacity() < 2 * SPARSE, "{}", state.by_key.capacity());
        assert_eq!(state.find(last.namespace(), "a").unwrap().namespace(), last.namespace());
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
    fn a_namespace_without_objects_takes_no_room() {
        let store = Store::default();
        store.apply(object("a", 1, "owner"));
        let before = store.footprint();
        for number in 0..1000 {
            let last = object_in(&format!("namespace-{number}"), "a");
            store.apply(Arc::clone(&last));
            store.delete(&last);
        }
        assert_eq!(store.read().by_key.len(), 1);
        assert_eq!(store.footprint(), before);
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
    fn what_a_list_does_not_bring_is_gone() {
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
