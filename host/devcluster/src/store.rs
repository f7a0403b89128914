//! The objects, their revisions, and the changes that watches read. Pure data: no clock, no
//! randomness, no locks.
//!
//! One counter numbers all changes, like etcd's revision; an object's `resourceVersion` is the
//! number of its last change. Each kind has a table and a history. Histories are bounded in changes
//! per kind and in bytes altogether. Reads of the past (pages, lists at an exact revision) undo the
//! history; if it does not reach back, they are [`Forgotten`], which clients see as 410 Gone.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::ops::Bound;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde_json::Value;

use crate::object;

/// The group and plural of a kind, under which objects of all versions are stored.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Resource {
    /// API group; empty for the core group.
    pub group: Arc<str>,
    /// Plural, e.g. `jobs`.
    pub plural: Arc<str>,
}

impl Resource {
    /// The resource `plural` of `group`.
    pub fn new(group: &str, plural: &str) -> Self {
        Self { group: group.into(), plural: plural.into() }
    }
}

/// Namespace (or an empty text) and name, ordered by the path in etcd, which separates by slashes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Key {
    /// Namespace.
    pub namespace: Arc<str>,
    /// Name.
    pub name: Arc<str>,
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.namespace == other.namespace {
            return self.name.cmp(&other.name);
        }
        self.namespace.bytes().chain(*b"/").cmp(other.namespace.bytes().chain(*b"/"))
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Key {
    /// The object `name` in `namespace`.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

/// An object as of one revision.
#[derive(Debug)]
pub struct Stored {
    /// The object, in its storage version.
    pub value: Value,
    /// Its resourceVersion.
    pub revision: u64,
    footprint: usize,
    json: OnceLock<Bytes>,
}

impl Stored {
    fn new(value: Value, revision: u64) -> Arc<Self> {
        let footprint = object::footprint(&value);
        Arc::new(Self { value, revision, footprint, json: OnceLock::new() })
    }

    /// Returns its JSON, which all lists and watches share.
    pub fn json(&self) -> &Bytes {
        self.json.get_or_init(|| Bytes::from(to_json(&self.value)))
    }
}

/// Returns an object's JSON with `apiVersion` and `kind` first, which lists cut off.
pub(crate) fn to_json(value: &Value) -> String {
    let Some(object) = value.as_object() else { return value.to_string() };
    let is_first = |field: &str| matches!(field, "apiVersion" | "kind");
    let first = ["apiVersion", "kind"].into_iter().filter_map(|field| object.get_key_value(field));
    let mut text = String::from("{");
    for (field, value) in first.chain(object.iter().filter(|(field, _)| !is_first(field))) {
        if text.len() > 1 {
            text.push(',');
        }
        text.push_str(&Value::from(field.as_str()).to_string());
        text.push(':');
        text.push_str(&value.to_string());
    }
    text.push('}');
    text
}

/// A change of an object.
#[derive(Clone, Debug)]
pub struct Change {
    /// The number of the change.
    pub revision: u64,
    /// The key of the object.
    pub key: Key,
    /// The object before; `None` if it was created.
    pub before: Option<Arc<Stored>>,
    /// The object after. After a deletion, it has the revision of the deletion.
    pub after: Arc<Stored>,
    /// Says if the object still exists.
    pub presence: Presence,
}

impl Change {
    /// Returns the approximate size of states that no existing object or later change shares.
    fn footprint(&self) -> usize {
        let before = self.before.as_ref().map_or(0, |before| before.footprint);
        let last = if self.presence == Presence::Deleted { self.after.footprint } else { 0 };
        size_of::<Self>() + before + last
    }
}

/// The limits of the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryLimits {
    /// The maximum number of changes per kind.
    pub changes: usize,
    /// The approximate maximum size of all histories, without the existing objects.
    pub bytes: usize,
}

/// The existence of an object after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It was created or changed.
    Present,
    /// It was deleted.
    Deleted,
}

/// The error that the history no longer reaches back to a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too old resource version: {asked} ({oldest})")]
pub struct Forgotten {
    /// The requested revision.
    pub asked: u64,
    /// The oldest available revision.
    pub oldest: u64,
}

/// The limit of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The maximum number of objects.
    pub objects: usize,
    /// The approximate maximum size in bytes.
    pub bytes: usize,
}

impl Limit {
    /// A limit of the number of objects only.
    pub fn objects(objects: usize) -> Self {
        Self { objects, bytes: usize::MAX }
    }
}

/// A part of a kind's objects.
#[derive(Debug)]
pub struct Page {
    /// The objects, in order.
    pub objects: Vec<(Key, Arc<Stored>)>,
    /// Whether no objects follow.
    pub is_last: bool,
}

fn pair<'a>(entry: Option<(&'a Key, &'a Arc<Stored>)>) -> (Option<&'a Key>, Option<&'a Arc<Stored>>) {
    entry.map_or((None, None), |(key, object)| (Some(key), Some(object)))
}

#[derive(Debug, Default)]
struct Table {
    objects: BTreeMap<Key, Arc<Stored>>,
    history: VecDeque<Change>,
    /// The last change that may be forgotten.
    forgotten: u64,
    changed: u64,
    is_ended: bool,
}

/// The tables kept for kinds that are no longer served, whose watches must send the last deletions.
const ENDED_TABLES: usize = 8;

/// The objects of a cluster at one time, for [`Store::restore_backup`].
#[derive(Clone, Debug)]
pub struct Backup {
    revision: u64,
    objects: HashMap<Resource, BTreeMap<Key, Arc<Stored>>>,
}

/// The objects of a cluster, with their history.
#[derive(Debug)]
pub struct Store {
    revision: u64,
    /// How often a backup was restored, which ends all watches.
    restores: u64,
    tables: HashMap<Resource, Table>,
    history_limits: HistoryLimits,
    /// The approximate size of all histories.
    history_bytes: usize,
    /// The changes in all histories by number, to find the oldest one.
    history_order: BTreeMap<u64, Resource>,
    /// Kinds that are no longer served, in the order in which they ended.
    ended: VecDeque<Resource>,
    by_uid: HashMap<Arc<str>, (Resource, Key)>,
    by_owner: HashMap<Arc<str>, BTreeSet<(Resource, Key)>>,
    /// Changes that the controllers have not seen.
    unseen: Vec<(Resource, Key)>,
}

impl Store {
    /// An empty store.
    pub fn new(history_limits: HistoryLimits) -> Self {
        Self {
            revision: 1,
            restores: 0,
            tables: HashMap::new(),
            history_limits,
            history_bytes: 0,
            history_order: BTreeMap::new(),
            ended: VecDeque::new(),
            by_uid: HashMap::new(),
            by_owner: HashMap::new(),
            unseen: Vec::new(),
        }
    }

    /// Returns the number of the last change of any kind.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Returns the number of the last change of a kind.
    pub fn changed(&self, resource: &Resource) -> u64 {
        self.tables.get(resource).map_or(0, |table| table.changed)
    }

    pub(crate) fn oldest(&self, resource: &Resource) -> u64 {
        self.tables.get(resource).map_or(0, |table| table.forgotten)
    }

    /// Returns an object.
    pub fn get(&self, resource: &Resource, key: &Key) -> Option<&Arc<Stored>> {
        self.tables.get(resource)?.objects.get(key)
    }

    /// Returns the objects of a kind or those in a namespace, in order.
    pub fn list<'a>(
        &'a self,
        resource: &Resource,
        namespace: Option<&'a str>,
    ) -> impl Iterator<Item = (&'a Key, &'a Arc<Stored>)> {
        let start = namespace.map_or(Bound::Unbounded, |namespace| Bound::Included(Key::new(namespace, "")));
        let objects = self.tables.get(resource).map(|table| table.objects.range((start, Bound::Unbounded)));
        objects.into_iter().flatten().take_while(move |(key, _)| namespace.is_none_or(|namespace| *key.namespace == *namespace))
    }

    /// Returns the objects of a kind as of `revision`, in order, after the key `start` if given: at
    /// most `limit`, but at least one. Costs as much as the page and the changes since.
    ///
    /// # Errors
    ///
    /// If the history does not reach back to `revision`.
    pub fn page_at(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        revision: u64,
        start: Option<&Key>,
        limit: Limit,
    ) -> Result<Page, Forgotten> {
        let Some(table) = self.tables.get(resource) else { return Ok(Page { objects: Vec::new(), is_last: true }) };
        let lower = match (start, namespace) {
            (Some(start), _) => Bound::Excluded(start.clone()),
            (None, Some(namespace)) => Bound::Included(Key::new(namespace, "")),
            (None, None) => Bound::Unbounded,
        };
        let is_in_namespace = |key: &Key| namespace.is_none_or(|namespace| *key.namespace == *namespace);
        let mut past: BTreeMap<&Key, Option<&Arc<Stored>>> = BTreeMap::new();
        if revision < table.changed {
            if revision < table.forgotten {
                return Err(Forgotten { asked: revision, oldest: table.forgotten });
            }
            let is_inside = |key: &Key| is_in_namespace(key) && start.is_none_or(|start| key > start);
            for change in table.history.iter().rev().take_while(|change| change.revision > revision) {
                if is_inside(&change.key) {
                    past.insert(&change.key, change.before.as_ref());
                }
            }
        }
        let mut present = table.objects.range((lower, Bound::Unbounded)).take_while(|(key, _)| is_in_namespace(key)).peekable();
        let mut past = past.into_iter().peekable();
        let mut page = Page { objects: Vec::new(), is_last: false };
        let mut bytes = 0_usize;
        loop {
            let (key, object) = match (present.peek(), past.peek()) {
                (None, None) => {
                    page.is_last = true;
                    return Ok(page);
                }
                (Some((now, _)), Some((then, _))) if now < then => pair(present.next()),
                (Some((now, _)), Some((then, _))) => {
                    if now == then {
                        present.next();
                    }
                    past.next().map_or((None, None), |(key, object)| (Some(key), object))
                }
                (Some(_), None) => pair(present.next()),
                (None, Some(_)) => past.next().map_or((None, None), |(key, object)| (Some(key), object)),
            };
            let (Some(key), Some(object)) = (key, object) else { continue };
            if page.objects.len() == limit.objects || bytes >= limit.bytes {
                return Ok(page);
            }
            bytes = bytes.saturating_add(object.footprint);
            page.objects.push((key.clone(), Arc::clone(object)));
        }
    }

    /// Returns the number of objects of a kind, or of those in a namespace.
    pub fn count(&self, resource: &Resource, namespace: Option<&str>) -> usize {
        match namespace {
            None => self.tables.get(resource).map_or(0, |table| table.objects.len()),
            Some(_) => self.list(resource, namespace).count(),
        }
    }

    /// Returns the changes of a kind after `revision`, oldest first.
    ///
    /// # Errors
    ///
    /// If the history does not reach back to `revision`.
    pub fn changes_since(&self, resource: &Resource, revision: u64) -> Result<impl Iterator<Item = &Change>, Forgotten> {
        let table = self.tables.get(resource);
        if let Some(table) = table
            && revision < table.forgotten
        {
            return Err(Forgotten { asked: revision, oldest: table.forgotten });
        }
        let changes = table.map(|table| {
            let first = table.history.partition_point(|change| change.revision <= revision);
            table.history.range(first..)
        });
        Ok(changes.into_iter().flatten())
    }

    /// Creates or replaces an object. Sets its resourceVersion to the number of this change.
    pub fn put(&mut self, resource: &Resource, key: &Key, mut value: Value) -> Arc<Stored> {
        self.revision += 1;
        object::set_resource_version(&mut value, self.revision);
        let stored = Stored::new(value, self.revision);
        let table = self.tables.entry(resource.clone()).or_default();
        let before = table.objects.insert(key.clone(), Arc::clone(&stored));
        if let Some(before) = &before {
            self.forget_indexes(resource, key, &before.value);
        }
        self.add_indexes(resource, key, &stored);
        self.record(resource, key, before, &stored, Presence::Present);
        stored
    }

    /// Deletes an object. Returns its last state, with the revision of the deletion.
    pub fn remove(&mut self, resource: &Resource, key: &Key) -> Option<Arc<Stored>> {
        let last = self.get(resource, key)?.value.clone();
        self.remove_as(resource, key, last)
    }

    /// Deletes an object whose last state is `value`.
    pub fn remove_as(&mut self, resource: &Resource, key: &Key, mut value: Value) -> Option<Arc<Stored>> {
        let before = self.tables.get_mut(resource)?.objects.remove(key)?;
        self.revision += 1;
        object::set_resource_version(&mut value, self.revision);
        let stored = Stored::new(value, self.revision);
        self.forget_indexes(resource, key, &before.value);
        self.record(resource, key, Some(before), &stored, Presence::Deleted);
        Some(stored)
    }

    fn record(&mut self, resource: &Resource, key: &Key, before: Option<Arc<Stored>>, after: &Arc<Stored>, presence: Presence) {
        let table = self.tables.entry(resource.clone()).or_default();
        table.changed = self.revision;
        let change = Change { revision: self.revision, key: key.clone(), before, after: Arc::clone(after), presence };
        self.history_bytes = self.history_bytes.saturating_add(change.footprint());
        self.history_order.insert(change.revision, resource.clone());
        table.history.push_back(change);
        if table.history.len() > self.history_limits.changes {
            self.forget_oldest(resource);
        }
        while self.history_bytes > self.history_limits.bytes
            && let Some(oldest) = self.history_order.values().next().cloned()
        {
            self.forget_oldest(&oldest);
        }
        self.unseen.push((resource.clone(), key.clone()));
    }

    fn forget_oldest(&mut self, resource: &Resource) {
        let Some(table) = self.tables.get_mut(resource) else { return };
        let Some(change) = table.history.pop_front() else { return };
        table.forgotten = change.revision;
        self.history_bytes = self.history_bytes.saturating_sub(change.footprint());
        self.history_order.remove(&change.revision);
    }

    fn forget_history(&mut self, resource: &Resource) {
        while self.tables.get(resource).is_some_and(|table| !table.history.is_empty()) {
            self.forget_oldest(resource);
        }
    }

    fn add_indexes(&mut self, resource: &Resource, key: &Key, stored: &Stored) {
        if let Some(uid) = object::uid(&stored.value) {
            self.by_uid.insert(uid.into(), (resource.clone(), key.clone()));
        }
        for owner in object::owner_uids(&stored.value) {
            self.by_owner.entry(owner.into()).or_default().insert((resource.clone(), key.clone()));
        }
    }

    fn forget_indexes(&mut self, resource: &Resource, key: &Key, value: &Value) {
        if let Some(uid) = object::uid(value) {
            self.by_uid.remove(uid);
        }
        for owner in object::owner_uids(value) {
            if let Some(owned) = self.by_owner.get_mut(owner) {
                owned.remove(&(resource.clone(), key.clone()));
                if owned.is_empty() {
                    self.by_owner.remove(owner);
                }
            }
        }
    }

    /// Forgets all histories, as etcd's compaction does: earlier watches and pages get 410.
    pub fn compact(&mut self) {
        self.history_order.clear();
        self.history_bytes = 0;
        for table in self.tables.values_mut() {
            table.history.clear();
            table.forgotten = self.revision;
        }
    }

    /// Returns a backup of all objects.
    pub fn backup(&self) -> Backup {
        let objects = self.tables.iter().map(|(resource, table)| (resource.clone(), table.objects.clone())).collect();
        Backup { revision: self.revision, objects }
    }

    /// Restores a backup, as if an older etcd were behind the API server: revisions go back, and
    /// the history is lost.
    ///
    /// # Assumptions
    ///
    /// The definitions of kinds have not changed since the backup.
    pub fn restore_backup(&mut self, backup: &Backup) {
        self.restores += 1;
        self.revision = backup.revision;
        self.compact();
        self.by_uid.clear();
        self.by_owner.clear();
        let resources: BTreeSet<Resource> = self.tables.keys().chain(backup.objects.keys()).cloned().collect();
        for resource in resources {
            let restored = backup.objects.get(&resource).cloned().unwrap_or_default();
            for (key, stored) in &restored {
                self.add_indexes(&resource, key, stored);
            }
            let table = self.tables.entry(resource.clone()).or_default();
            let before = std::mem::replace(&mut table.objects, restored);
            (table.changed, table.forgotten) = (backup.revision, backup.revision);
            let keys: BTreeSet<&Key> = before.keys().chain(table.objects.keys()).collect();
            self.unseen.extend(keys.into_iter().map(|key| (resource.clone(), key.clone())));
        }
    }

    pub(crate) fn restores(&self) -> u64 {
        self.restores
    }

    /// Begins the history of a newly served kind. Objects of an earlier definition stay.
    pub fn begin(&mut self, resource: &Resource) {
        let revision = self.revision;
        let begun = || Table { forgotten: revision, ..Table::default() };
        if !self.tables.entry(resource.clone()).or_insert_with(begun).is_ended {
            return;
        }
        self.forget_history(resource);
        self.ended.retain(|ended| ended != resource);
        if let Some(table) = self.tables.get_mut(resource) {
            (table.forgotten, table.is_ended) = (revision, false);
        }
    }

    /// Ends a kind that is no longer served. Its history stays for a while, for the last deletions.
    pub fn end(&mut self, resource: &Resource) {
        let Some(table) = self.tables.get_mut(resource) else { return };
        if !std::mem::replace(&mut table.is_ended, true) {
            self.ended.push_back(resource.clone());
        }
        while self.ended.len() > ENDED_TABLES
            && let Some(oldest) = self.ended.pop_front()
        {
            self.forget_history(&oldest);
            // Remaining objects come back when a definition of the same name does.
            if self.tables.get(&oldest).is_some_and(|table| table.objects.is_empty()) {
                self.tables.remove(&oldest);
            }
        }
    }

    pub(crate) fn has_ended(&self, resource: &Resource) -> bool {
        self.tables.get(resource).is_some_and(|table| table.is_ended)
    }

    /// Returns the number of kinds that have a table.
    pub fn table_count(&self) -> usize {
        self.tables.len()
    }

    /// Returns about how many bytes the history takes beyond the existing objects.
    pub fn history_bytes(&self) -> usize {
        self.history_bytes
    }

    /// Returns the resource and the key of the object with this UID.
    pub fn find_uid(&self, uid: &str) -> Option<&(Resource, Key)> {
        self.by_uid.get(uid)
    }

    /// Returns the objects with an ownerReference to this UID, in order.
    pub fn owned_by(&self, uid: &str) -> impl Iterator<Item = &(Resource, Key)> {
        self.by_owner.get(uid).into_iter().flatten()
    }

    /// Returns the keys that changed since the last call, with repetitions.
    pub fn take_unseen(&mut self) -> Vec<(Resource, Key)> {
        std::mem::take(&mut self.unseen)
    }
}

#[cfg(test)]
mod tests;
