//! A view: the objects of one kind in all namespaces of a mount.

use std::sync::Arc;

use gyre_core::grants::{Namespaces, Scope};
use gyre_core::object::ObjectKey;

use crate::client::lists::Lists;
use crate::clock::Moment;
use crate::cluster::informer::{Informer, Informers, Subscription, WatchEvent, WatchScope};
use crate::cluster::kinds::Resource;
use crate::cluster::object::SharedObject;
use crate::cluster::store::WriteEpoch;

pub(crate) struct View {
    pub(crate) resource: Resource,
    informers: Vec<Arc<Informer>>,
}

impl View {
    /// The objects in these namespaces that match `scope`, whose namespace is ignored.
    pub(crate) fn new(informers: &Informers, resource: Resource, namespaces: &Namespaces, interest: WatchScope<'_>) -> Self {
        let get = |namespace: Option<&str>| informers.get(&resource, WatchScope { namespace, ..interest });
        let informers = match (namespaces, resource.scope) {
            (Namespaces::Only(names), Scope::Namespaced) => names.iter().map(|name| get(Some(name))).collect(),
            _ => vec![get(None)],
        };
        Self { resource, informers }
    }

    pub(crate) fn get(&self, key: &ObjectKey) -> Option<SharedObject> {
        self.informer_of(key.namespace.as_deref())?.store().get(key)
    }

    pub(crate) fn by_uid(&self, uid: &str) -> Option<SharedObject> {
        self.informers.iter().find_map(|informer| informer.store().by_uid(uid))
    }

    pub(crate) fn owned_by(&self, uid: &str) -> Vec<SharedObject> {
        self.informers.iter().flat_map(|informer| informer.store().owned_by(uid)).collect()
    }

    pub(crate) fn list(&self, namespace: Option<&str>) -> Vec<SharedObject> {
        match namespace {
            Some(namespace) => {
                self.informer_of(Some(namespace)).map(|informer| informer.store().list_in(namespace)).unwrap_or_default()
            }
            None => self.informers.iter().flat_map(|informer| informer.store().list()).collect(),
        }
    }

    pub(crate) fn version(&self) -> u64 {
        self.informers.iter().map(|informer| informer.store().version()).fold(0, u64::wrapping_add)
    }

    pub(crate) fn len(&self) -> usize {
        self.informers.iter().map(|informer| informer.store().len()).sum()
    }

    pub(crate) fn write_epoch(&self, namespace: Option<&str>) -> Option<WriteEpoch> {
        self.informer_of(namespace).map(|informer| informer.store().write_epoch())
    }

    pub(crate) fn insert_written(&self, object: &SharedObject, epoch: Option<WriteEpoch>) {
        if let (Some(informer), Some(epoch)) = (self.informer_of(object.namespace()), epoch) {
            informer.insert_written(object, epoch);
        }
    }

    /// When the list behind a namespace's cache was requested.
    pub(crate) fn listed(&self, namespace: Option<&str>) -> Option<Moment> {
        self.informer_of(namespace)?.lists().asked()
    }

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

    pub(crate) async fn synced(&self) {
        for informer in &self.informers {
            informer.synced().await;
        }
    }

    pub(crate) fn subscribe(&self, subscriber: impl Fn(&WatchEvent) + Clone + Send + Sync + 'static) -> Vec<Subscription> {
        self.informers.iter().map(|informer| informer.subscribe(subscriber.clone())).collect()
    }
}
