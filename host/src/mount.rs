//! A mount: one plugin made live in one host, and what it sees of the cluster.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use gyre_core::grants::{Grants, Namespaces, Scope};
use gyre_core::manifest::Manifest;
use gyre_core::object::{GroupVersionKind, ObjectKey};
use gyre_core::plan::{PLUGIN_LABEL, Parent};
use gyre_core::queue::Priority;
use gyre_sandbox::{Limits, Plugin};
use kube::Client;
use tracing::{debug, error, info};

use crate::informer::{Informer, Informers, Notice, Origin};
use crate::kinds::{self, Resource};
use crate::memory::Memory;
use crate::object::{Object, SharedObject};
use crate::own_writes::OwnWrites;
use crate::store::Mark;
use crate::work::{MountName, WorkQueue};

/// One plugin made live in one host.
pub struct Mount {
    /// The plugin's name, unique among the mounts of a host.
    pub name: MountName,
    /// The plugin.
    pub plugin: Plugin,
    /// What each call may take.
    pub limits: Limits,
    /// The settings, as JSON.
    pub settings: Arc<[u8]>,
    /// What may be written.
    pub grants: Grants,
    namespaces: Namespaces,
    parents: OnceLock<View>,
    children: RwLock<BTreeMap<GroupVersionKind, Arc<View>>>,
    memories: Mutex<HashMap<ObjectKey, Memory>>,
    pub(crate) own_writes: OwnWrites,
    phase: Mutex<Phase>,
}

/// How far a mount has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Its kinds are looked up, or its caches are filled.
    #[default]
    Starting,
    /// The API server does not serve its parent kind yet.
    Waiting,
    /// It reconciles.
    Running,
    /// It cannot: the log says why.
    Refused,
}

/// What a mount sees of one kind: the caches of all its namespaces.
pub struct View {
    /// The kind.
    pub resource: Resource,
    informers: Vec<Arc<Informer>>,
}

impl View {
    fn new(informers: &Informers, resource: Resource, namespaces: &Namespaces, label_selector: Option<&str>) -> Self {
        let informers = match (namespaces, resource.scope) {
            (Namespaces::Only(names), Scope::Namespaced) => {
                names.iter().map(|name| informers.get(&resource, Some(name), label_selector)).collect()
            }
            _ => vec![informers.get(&resource, None, label_selector)],
        };
        Self { resource, informers }
    }

    /// The object of that namespace and name.
    pub fn get(&self, key: &ObjectKey) -> Option<SharedObject> {
        self.informer_of(key.namespace.as_deref())?.store().get(key)
    }

    /// The object of that UID.
    pub fn by_uid(&self, uid: &str) -> Option<SharedObject> {
        self.informers.iter().find_map(|informer| informer.store().by_uid(uid))
    }

    /// The objects that exist because of the owner of that UID.
    pub fn owned_by(&self, uid: &str) -> Vec<SharedObject> {
        self.informers.iter().flat_map(|informer| informer.store().owned_by(uid)).collect()
    }

    /// To be taken before a write is sent; see [`Informer::remember`].
    pub fn mark(&self, namespace: Option<&str>) -> Option<Mark> {
        self.informer_of(namespace).map(|informer| informer.store().mark())
    }

    /// Takes the answer to a write of our own; see [`Informer::remember`].
    pub fn remember(&self, object: &SharedObject, mark: Option<Mark>) {
        if let (Some(informer), Some(mark)) = (self.informer_of(object.namespace()), mark) {
            informer.remember(object, mark);
        }
    }

    fn informer_of(&self, namespace: Option<&str>) -> Option<&Arc<Informer>> {
        let serves = |informer: &&Arc<Informer>| {
            let watched = informer.target().namespace.as_deref();
            watched.is_none() || watched == namespace
        };
        self.informers.iter().find(serves)
    }

    async fn synced(&self) {
        for informer in &self.informers {
            informer.synced().await;
        }
    }

    fn subscribe(&self, subscriber: impl Fn(&Notice) + Clone + Send + Sync + 'static) {
        for informer in &self.informers {
            informer.subscribe(Box::new(subscriber.clone()));
        }
    }
}

impl Mount {
    /// A mount that does not see the cluster yet: see [`Mount::start`].
    pub fn new(plugin: Plugin, limits: Limits, settings: Arc<[u8]>, namespaces: Namespaces) -> Self {
        Self {
            name: plugin.manifest().name.as_str().into(),
            grants: Grants::new(plugin.manifest(), namespaces.clone()),
            plugin,
            limits,
            settings,
            namespaces,
            parents: OnceLock::new(),
            children: RwLock::default(),
            memories: Mutex::default(),
            own_writes: OwnWrites::default(),
            phase: Mutex::default(),
        }
    }

    /// What the plugin says of itself.
    pub fn manifest(&self) -> &Manifest {
        self.plugin.manifest()
    }

    /// The view of the parents; none before the kind is served.
    pub fn parents(&self) -> Option<&View> {
        self.parents.get()
    }

    /// The views of those child kinds that are served.
    pub fn children(&self) -> BTreeMap<GroupVersionKind, Arc<View>> {
        self.children.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How far it has come.
    pub fn phase(&self) -> Phase {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, phase: Phase) {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = phase;
    }

    /// What is remembered of a parent from its last reconcile.
    pub(crate) fn memory(&self, key: &ObjectKey) -> Memory {
        self.memories.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned().unwrap_or_default()
    }

    /// Remembers a reconcile of a parent.
    pub(crate) fn remember(&self, key: &ObjectKey, memory: Memory) {
        self.memories.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone(), memory);
    }

    /// Forgets a parent that is gone.
    pub(crate) fn forget(&self, key: &ObjectKey) {
        self.memories.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    /// Waits for the kinds to be served, fills the caches, and from then on queues each parent that something changed about.
    pub async fn start(self: Arc<Self>, client: Client, informers: Arc<Informers>, queue: Arc<WorkQueue>) {
        let manifest = self.manifest();
        let parents = self.find_parents(&client).await;
        if matches!(self.namespaces, Namespaces::Only(_)) && parents.scope == Scope::Cluster {
            error!(
                plugin = %self.name, kind = %manifest.parent,
                "not mounted: its objects are cluster-scoped, and this host is confined to namespaces (--namespace)"
            );
            self.enter(Phase::Refused);
            return;
        }
        let parents = self.parents.get_or_init(|| View::new(&informers, parents, &self.namespaces, None));
        for child in &manifest.children {
            match kinds::look_for(&client, &child.kind, &self.name).await {
                Some(resource) => {
                    let view = self.view_of_children(&informers, resource);
                    self.see_children(child.kind.clone(), view);
                }
                None => {
                    let (client, informers, queue) = (client.clone(), Arc::clone(&informers), Arc::clone(&queue));
                    tokio::spawn(Arc::clone(&self).start_late(client, informers, queue, child.kind.clone()));
                }
            }
        }
        let children = self.children();
        for view in children.values() {
            view.synced().await;
        }
        parents.synced().await;
        for view in children.values() {
            self.subscribe_to_children(view, &queue);
        }
        info!(plugin = %self.name, parent = %manifest.parent, "mounted");
        self.subscribe_to_parents(parents, &queue);
        self.enter(Phase::Running);
    }

    async fn find_parents(&self, client: &Client) -> Resource {
        let kind = &self.manifest().parent;
        if let Some(resource) = kinds::look_for(client, kind, &self.name).await {
            return resource;
        }
        self.enter(Phase::Waiting);
        let resource = kinds::wait_for(client, kind, &self.name).await;
        self.enter(Phase::Starting);
        resource
    }

    async fn start_late(
        self: Arc<Self>,
        client: Client,
        informers: Arc<Informers>,
        queue: Arc<WorkQueue>,
        kind: GroupVersionKind,
    ) {
        let resource = kinds::wait_for(&client, &kind, &self.name).await;
        let view = self.view_of_children(&informers, resource);
        // Before its cache is filled, plugins would take it for empty.
        view.synced().await;
        self.see_children(kind, Arc::clone(&view));
        self.subscribe_to_children(&view, &queue);
        // What was refused while the kind was not served can be done now.
        for informer in self.parents.get().iter().flat_map(|view| &view.informers) {
            for parent in informer.store().list() {
                queue.add(&self.name, parent.key(), Priority::Low);
            }
        }
    }

    fn view_of_children(&self, informers: &Informers, resource: Resource) -> Arc<View> {
        Arc::new(View::new(informers, resource, &self.namespaces, Some(PLUGIN_LABEL)))
    }

    fn see_children(&self, kind: GroupVersionKind, view: Arc<View>) {
        self.children.write().unwrap_or_else(PoisonError::into_inner).insert(kind, view);
    }

    fn subscribe_to_parents(self: &Arc<Self>, view: &View, queue: &Arc<WorkQueue>) {
        let (mount, queue) = (Arc::downgrade(self), Arc::clone(queue));
        view.subscribe(move |notice| {
            let Some(mount) = mount.upgrade() else { return };
            let (object, priority) = match notice {
                Notice::Stored { object, origin: Origin::List, .. } => (object, Priority::Low),
                Notice::Stored { object, origin: Origin::Watch, .. } | Notice::Deleted(object) => (object, Priority::Normal),
            };
            let is_held_back = matches!(notice, Notice::Stored { .. }) && mount.own_writes.holds_back(object);
            if !is_held_back {
                queue.add(&mount.name, object.key(), priority);
            }
        });
    }

    fn subscribe_to_children(self: &Arc<Self>, view: &View, queue: &Arc<WorkQueue>) {
        let (mount, queue) = (Arc::downgrade(self), Arc::clone(queue));
        view.subscribe(move |notice| {
            let Some(mount) = mount.upgrade() else { return };
            let (objects, priority) = match notice {
                Notice::Stored { object, previous, origin } => {
                    let priority = if *origin == Origin::List { Priority::Low } else { Priority::Normal };
                    ([Some(object), previous.as_ref()], priority)
                }
                Notice::Deleted(object) => ([Some(object), None], Priority::Normal),
            };
            // An object that changed its owner concerns both.
            for object in objects.into_iter().flatten() {
                mount.queue_owner_of(object, &queue, priority);
            }
        });
    }

    fn queue_owner_of(&self, child: &Object, queue: &WorkQueue, priority: Priority) {
        let parent = child.owner_uid().and_then(|uid| self.parents.get()?.by_uid(uid));
        match parent {
            Some(parent) => queue.add(&self.name, parent.key(), priority),
            // The garbage collector sees to those whose parent is gone; other children belong to other mounts.
            None => debug!(plugin = %self.name, child = %child.key(), "a child without a parent here"),
        }
    }

    /// The parent as the plan knows it.
    pub fn parent(&self, object: &Object) -> Parent {
        Parent { kind: self.manifest().parent.clone(), key: object.key(), uid: object.uid().to_owned() }
    }
}
