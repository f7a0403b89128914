//! A view: the objects of one kind in all namespaces of a mount.

mod catch_up;

use std::sync::Arc;

use gyre_core::grants::{Namespaces, Scope};
use gyre_core::object::ObjectKey;
use kube::{Api, Client};

pub(crate) use self::catch_up::CATCH_UP_PAUSE;
use self::catch_up::CatchUp;
use crate::client::answered;
use crate::client::lists::Lists;
use crate::clock::Moment;
use crate::cluster::informer::{Informer, Informers, Subscription, WatchEvent, WatchScope};
use crate::cluster::kinds::Resource;
use crate::cluster::object::{Object, Received, SharedObject};
use crate::cluster::store::{Snapshot, WriteEpoch};
use crate::leadership::claim::Claim;

pub(crate) struct View {
    pub(crate) resource: Resource,
    informers: Vec<Arc<Informer>>,
    has_all_namespaces: bool,
    /// The versions that it has to show; `None` if it does not matter.
    catch_up: Option<CatchUp>,
}

/// The objects of a view at one moment. Reading them takes no lock.
pub(crate) struct ViewSnapshot(Vec<(Arc<Informer>, Snapshot)>);

impl ViewSnapshot {
    pub(crate) fn get(&self, key: &ObjectKey) -> Option<SharedObject> {
        self.of(key.namespace.as_deref())?.get(key)
    }

    pub(crate) fn list(&self, namespace: Option<&str>) -> Vec<SharedObject> {
        match namespace {
            Some(name) => self.of(namespace).map(|objects| objects.list_in(name)).unwrap_or_default(),
            None => self.0.iter().flat_map(|(_, objects)| objects.list()).collect(),
        }
    }

    fn of(&self, namespace: Option<&str>) -> Option<&Snapshot> {
        self.0.iter().find(|(informer, _)| informer.covers(namespace)).map(|(_, objects)| objects)
    }
}

/// A cached object compared with the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Same,
    /// The cache was behind.
    Changed,
    /// It is deleted or being deleted, which the cache did not show.
    Gone,
}

impl View {
    /// A view of the objects in these namespaces that match `scope`, whose namespace is ignored.
    pub(crate) fn new(informers: &Informers, resource: Resource, namespaces: &Namespaces, scope: WatchScope<'_>) -> Self {
        let get = |namespace: Option<&str>| informers.get(&resource, WatchScope { namespace, ..scope });
        let informers = match (namespaces, resource.scope) {
            (Namespaces::Only(names), Scope::Namespaced) => names.iter().map(|name| get(Some(name))).collect(),
            _ => vec![get(None)],
        };
        let has_all_namespaces = resource.scope == Scope::Cluster || *namespaces == Namespaces::All;
        Self { resource, informers, has_all_namespaces, catch_up: None }
    }

    /// Keeps track of what the view has to show: see [`Self::is_caught_up`].
    pub(crate) fn catching_up(self) -> Self {
        Self { catch_up: Some(CatchUp::default()), ..self }
    }

    /// Returns whether the view shows all that this host, and hosts before, have written.
    ///
    /// # Errors
    /// Those of requests, which are sent after a claim was obtained, and if the view lacks a write.
    pub(crate) async fn is_caught_up(&self, client: &Client, claim: &Claim) -> Result<bool, kube::Error> {
        match &self.catch_up {
            Some(catch_up) => catch_up.is_caught_up(self, client, claim).await,
            None => Ok(true),
        }
    }

    /// Returns whether it shows this version of an object, or what has happened to it since.
    fn shows(&self, key: &ObjectKey, version: u64) -> bool {
        self.informer_of(key.namespace.as_deref()).is_some_and(|informer| informer.store().shows(key, version))
    }

    fn label_selector(&self) -> Option<&str> {
        self.informers.first()?.target().label_selector.as_deref()
    }

    fn watched_namespaces(&self) -> impl Iterator<Item = Option<&str>> {
        self.informers.iter().map(|informer| informer.target().namespace.as_deref())
    }

    pub(crate) fn get(&self, key: &ObjectKey) -> Option<SharedObject> {
        self.informer_of(key.namespace.as_deref())?.store().get(key)
    }

    pub(crate) fn by_uid(&self, uid: &str) -> Option<SharedObject> {
        self.informers.iter().find_map(|informer| informer.store().by_uid(uid))
    }

    /// Returns whether an object with this UID exists; `None` if it is not here, and other
    /// namespaces are not cached.
    pub(crate) fn exists(&self, uid: &str) -> Option<bool> {
        let is_here = self.by_uid(uid).is_some();
        (is_here || self.has_all_namespaces).then_some(is_here)
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
        if let Some(catch_up) = &self.catch_up
            && !self.shows(&object.key(), object.resource_version())
        {
            catch_up.await_version(object.key(), object.resource_version());
        }
    }

    /// Notes that a write of this host has no answer, so that it may have arrived.
    pub(crate) fn doubt(&self, key: &ObjectKey) {
        if let Some(catch_up) = &self.catch_up {
            catch_up.await_result(key.clone());
        }
    }

    /// Compares a cached object with the API server, and updates the cache if it has changed.
    pub(crate) async fn compare(&self, client: &Client, cached: &Object) -> Result<Comparison, kube::Error> {
        let epoch = self.write_epoch(cached.namespace());
        let api: Api<Received> = self.resource.api(client, cached.namespace());
        let found = answered(api.get_opt(cached.name())).await?;
        let found = found.and_then(|found| found.object.ok());
        let goes_on = |found: &SharedObject| found.uid() == cached.uid() && (cached.is_deleting() || !found.is_deleting());
        Ok(match found.filter(goes_on) {
            None => Comparison::Gone,
            Some(found) if found.resource_version() == cached.resource_version() => Comparison::Same,
            Some(found) => {
                self.insert_written(&found, epoch);
                Comparison::Changed
            }
        })
    }

    /// When the list behind a namespace's cache was requested.
    pub(crate) fn listed(&self, namespace: Option<&str>) -> Option<Moment> {
        self.informer_of(namespace)?.lists().asked()
    }

    pub(crate) fn lists(&self) -> impl Iterator<Item = &Arc<Lists>> {
        self.informers.iter().map(|informer| informer.lists())
    }

    /// Returns the objects as they are now.
    pub(crate) fn snapshot(&self) -> ViewSnapshot {
        ViewSnapshot(self.informers.iter().map(|informer| (Arc::clone(informer), informer.store().snapshot())).collect())
    }

    fn informer_of(&self, namespace: Option<&str>) -> Option<&Arc<Informer>> {
        self.informers.iter().find(|informer| informer.covers(namespace))
    }

    /// Returns whether the API server no longer serves the kind as it did.
    pub(crate) fn is_outdated(&self) -> bool {
        self.informers.iter().any(|informer| informer.is_outdated())
    }

    /// Has the kind looked up: an answer to a write shows that it may be served in another way.
    pub(crate) fn doubt_kind(&self) {
        self.informers.iter().for_each(|informer| informer.health().doubt_kind());
    }

    pub(crate) fn informers(&self) -> &[Arc<Informer>] {
        &self.informers
    }

    /// Waits until the first lists are complete, or the view is outdated.
    pub(crate) async fn synced(&self) {
        for informer in &self.informers {
            informer.synced().await;
        }
    }

    pub(crate) fn subscribe(&self, subscriber: impl Fn(&WatchEvent) + Clone + Send + Sync + 'static) -> Vec<Subscription> {
        self.informers.iter().map(|informer| informer.subscribe(subscriber.clone())).collect()
    }
}
