//! A view: what a mount sees of one kind, through the caches of all the namespaces that it may look into.

use std::sync::Arc;

use gyre_core::grants::{Namespaces, Scope};
use gyre_core::object::ObjectKey;

use crate::client::lists::Lists;
use crate::clock::Moment;
use crate::cluster::informer::{Informer, Informers, Subscription, WatchEvent, WatchScope};
use crate::cluster::kinds::Resource;
use crate::cluster::object::SharedObject;
use crate::cluster::store::WriteEpoch;

/// See the module's documentation.
pub(crate) struct View {
    /// The kind.
    pub(crate) resource: Resource,
    informers: Vec<Arc<Informer>>,
}

impl View {
    /// The kind's objects in these namespaces, of which `interest` says which; its namespace is set here.
    pub(crate) fn new(informers: &Informers, resource: Resource, namespaces: &Namespaces, interest: WatchScope<'_>) -> Self {
        let get = |namespace: Option<&str>| informers.get(&resource, WatchScope { namespace, ..interest });
        let informers = match (namespaces, resource.scope) {
            (Namespaces::Only(names), Scope::Namespaced) => names.iter().map(|name| get(Some(name))).collect(),
            _ => vec![get(None)],
        };
        Self { resource, informers }
    }

    /// The object of that namespace and name.
    pub(crate) fn get(&self, key: &ObjectKey) -> Option<SharedObject> {
        self.informer_of(key.namespace.as_deref())?.store().get(key)
    }

    /// The object of that UID.
    pub(crate) fn by_uid(&self, uid: &str) -> Option<SharedObject> {
        self.informers.iter().find_map(|informer| informer.store().by_uid(uid))
    }

    /// The objects that exist because of the owner of that UID.
    pub(crate) fn owned_by(&self, uid: &str) -> Vec<SharedObject> {
        self.informers.iter().flat_map(|informer| informer.store().owned_by(uid)).collect()
    }

    /// The objects of a namespace, or all, by namespace and name.
    pub(crate) fn list(&self, namespace: Option<&str>) -> Vec<SharedObject> {
        match namespace {
            Some(namespace) => {
                self.informer_of(Some(namespace)).map(|informer| informer.store().list_in(namespace)).unwrap_or_default()
            }
            None => self.informers.iter().flat_map(|informer| informer.store().list()).collect(),
        }
    }

    /// Moves with each change.
    pub(crate) fn version(&self) -> u64 {
        self.informers.iter().map(|informer| informer.store().version()).fold(0, u64::wrapping_add)
    }

    /// The number of objects.
    pub(crate) fn len(&self) -> usize {
        self.informers.iter().map(|informer| informer.store().len()).sum()
    }

    /// To be taken before a write is sent; see [`Informer::insert_written`].
    pub(crate) fn write_epoch(&self, namespace: Option<&str>) -> Option<WriteEpoch> {
        self.informer_of(namespace).map(|informer| informer.store().write_epoch())
    }

    /// Takes the answer to a write of our own; see [`Informer::insert_written`].
    pub(crate) fn insert_written(&self, object: &SharedObject, epoch: Option<WriteEpoch>) {
        if let (Some(informer), Some(epoch)) = (self.informer_of(object.namespace()), epoch) {
            informer.insert_written(object, epoch);
        }
    }

    /// When the list was asked for that the cache of a namespace is made of. See [`Lists::asked`](crate::client::lists::Lists::asked).
    pub(crate) fn listed(&self, namespace: Option<&str>) -> Option<Moment> {
        self.informer_of(namespace)?.lists().asked()
    }

    /// When each of the caches was listed.
    pub(crate) fn lists(&self) -> impl Iterator<Item = &Arc<Lists>> {
        self.informers.iter().map(|informer| informer.lists())
    }

    fn informer_of(&self, namespace: Option<&str>) -> Option<&Arc<Informer>> {
        let serves = |informer: &&Arc<Informer>| {
            let watched = informer.target().namespace.as_deref();
            watched.is_none() || watched == namespace
        };
        self.informers.iter().find(serves)
    }

    /// Waits until all caches are filled.
    pub(crate) async fn synced(&self) {
        for informer in &self.informers {
            informer.synced().await;
        }
    }

    /// Tells `subscriber` of everything that is there, and then of each change, until the subscriptions are dropped.
    pub(crate) fn subscribe(&self, subscriber: impl Fn(&WatchEvent) + Clone + Send + Sync + 'static) -> Vec<Subscription> {
        self.informers.iter().map(|informer| informer.subscribe(subscriber.clone())).collect()
    }
}
