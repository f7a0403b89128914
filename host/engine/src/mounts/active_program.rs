//! A running program: its clients and its views of the cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gyre_core::grants::{Namespaces, Scope};
use gyre_core::object::{GroupVersionKind, ObjectKey};
use gyre_core::plan::{PLUGIN_LABEL, Parent};
use gyre_core::status::StatusCapabilities;
use gyre_sandbox::Bytes;
use kube::api::ListParams;
use kube::{Api, Client};
use parking_lot::{Mutex, RwLock};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tracing::debug;

use crate::client::lists::Lists;
use crate::client::{self, answered};
use crate::clock::Moment;
use crate::cluster::informer::{Informers, Origin, Subscription, WatchEvent, WatchScope};
use crate::cluster::kinds::{self, Resource, StatusSubresource};
use crate::cluster::lookup::{ReadCache, Served};
use crate::cluster::object::{Object, Received};
use crate::cluster::view::{View, ViewSnapshot};
use crate::error::error_chain;
use crate::leadership::claim::Claim;
use crate::mounts::call_guard::CallGuard;
use crate::mounts::former::{self, Found, UnprunedKind};
use crate::mounts::fresh::{Discovery, FreshParents};
use crate::mounts::members::{self, Members};
use crate::mounts::services::HostServices;
use crate::program::Program;
use crate::writes::finalizers;

/// A program with its caches, active or still in preparation.
pub(crate) struct ActiveProgram {
    pub(crate) id: u64,
    pub(crate) program: Arc<Program>,
    /// The fields of the host that the parents' status can hold.
    pub(crate) status_capabilities: StatusCapabilities,
    /// The client for writes, as the mount's service account, if any.
    pub(crate) client: Client,
    /// The client for reads past the caches, as the host.
    pub(crate) reads: Client,
    pub(crate) call_guard: CallGuard,
    pub(crate) parents: View,
    /// The members of groups, if the plugin groups its parents: [`Self::parents`] are the groups.
    pub(crate) members: Option<Members>,
    pub(crate) fresh: Arc<FreshParents>,
    pub(crate) lookup: ReadCache,
    /// The served kinds, including those that an earlier program declared.
    children: RwLock<BTreeMap<GroupVersionKind, Arc<View>>>,
    /// Each with the task that tries to list it.
    unpruned: Mutex<BTreeMap<GroupVersionKind, (UnprunedKind, Option<AbortHandle>)>>,
    subscriptions: Mutex<Vec<Subscription>>,
    awaited: Mutex<Vec<(GroupVersionKind, AbortHandle)>>,
    published: Notify,
    finding: Mutex<Option<AbortHandle>>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// Roles in namespaces cannot grant access to cluster-scoped parents.
    #[error("its parents ({0}) are cluster-scoped, but the mount is restricted to namespaces")]
    Confined(GroupVersionKind),
}

impl ActiveProgram {
    /// Opens all views, and fills the caches. The second resource is that of the members, if the
    /// plugin groups its parents. Kinds that are not served are awaited later, see
    /// [`mod@super::subscribe`].
    pub(crate) async fn prepare(
        program: Arc<Program>,
        services: &HostServices,
        (parents, members): (Resource, Option<Resource>),
        former_kinds: &BTreeSet<GroupVersionKind>,
        claim: &Claim,
    ) -> Result<Self, Error> {
        if matches!(program.namespaces, Namespaces::Only(_)) && parents.scope == Scope::Cluster {
            return Err(Error::Confined(parents.kind()));
        }
        static IDS: AtomicU64 = AtomicU64::new(0);
        let (lookup, fresh) = (ReadCache::new(Arc::clone(&program)), Arc::new(FreshParents::new(claim.clone())));
        let mut opened = Vec::new();
        for kind in declared_children(&program).into_iter().chain(lookup.kinds()).collect::<BTreeSet<_>>() {
            if let Some(resource) = kinds::look_for(&services.client, &kind, &program.name).await {
                opened.push(Opened::new((&program, &lookup, &fresh), &services.informers, resource));
            }
        }
        let mut unpruned = BTreeMap::new();
        for kind in program.undeclared(former_kinds) {
            let Some(resource) = kinds::look_for(&services.client, &kind, &program.name).await else { continue };
            match former::look_for_objects(&services.client, &program, &resource).await {
                Ok(Found::Objects) => opened.push(Opened::former((&program, &fresh), &services.informers, resource)),
                Ok(Found::Nothing) => {}
                Err(error) => drop(unpruned.insert(kind, (UnprunedKind::new(&program, resource, &error), None))),
            }
        }
        if claim.check().is_ok() {
            // Children first: those that are missing were then missing before the parents were
            // listed. The lists of a standby are older than the claim anyway.
            let children: Vec<&Arc<View>> = opened.iter().filter_map(|opened| opened.children.as_ref()).collect();
            for view in &children {
                view.synced().await;
            }
            fresh.record_cached_children(children.iter().flat_map(|view| view.lists()).map(|lists| lists.asked()));
        }
        let declared = program.manifest().members.clone();
        let members = match declared.zip(members) {
            Some((declared, resource)) => Some(Members::open(&services.informers, &program, declared, resource).await),
            None => None,
        };
        let status_capabilities =
            StatusCapabilities::of(program.manifest(), &parents.kind(), parents.status == StatusSubresource::Served);
        let active = Self {
            id: IDS.fetch_add(1, Ordering::Relaxed),
            status_capabilities,
            members,
            client: client::for_program(&services.connection, claim, &program),
            reads: client::fenced(&services.connection, claim),
            parents: view_for(&program, &services.informers, parents, WatchScope::default()),
            fresh,
            lookup,
            call_guard: CallGuard::new(program.policy.quarantine_after),
            program,
            children: RwLock::default(),
            unpruned: Mutex::new(unpruned),
            subscriptions: Mutex::default(),
            awaited: Mutex::default(),
            published: Notify::new(),
            finding: Mutex::default(),
        };
        active.parents.synced().await;
        for opened in opened {
            opened.synced().await;
            active.publish(opened);
        }
        let declared = declared_children(&active.program);
        let mut children = active.children.write();
        // An empty kind is no longer looked for.
        let has_ours = |view: &View| view.is_outdated() || view.list(None).iter().any(|object| active.is_ours(object));
        children.retain(|kind, view| declared.contains(kind) || has_ours(view));
        drop(children);
        Ok(active)
    }

    /// Returns whether an object of the parent kind is a parent for this mount.
    pub(crate) fn selects(&self, object: &Object) -> bool {
        match &self.members {
            None => members::selects(&self.program, object),
            Some(members) => members.is_group(object),
        }
    }

    /// Returns whether the plugin is called about a parent: not about a group without members, or
    /// whose members the mount does not select.
    pub(crate) fn is_callable(&self, object: &Object) -> bool {
        self.selects(object) && self.members.as_ref().is_none_or(|members| members.has_group(object.name()))
    }

    /// Returns the objects that users write: the parents, or the members of their groups.
    pub(crate) fn users_objects(&self) -> &View {
        self.members.as_ref().map_or(&self.parents, |members| &members.view)
    }

    /// Returns whether there is, or should be, a parent of this name.
    pub(crate) fn has_parent(&self, key: &ObjectKey) -> bool {
        self.parents.get(key).is_some() || self.has_group(key)
    }

    /// Returns whether the parents of this mount make up a group of this name.
    pub(crate) fn has_group(&self, key: &ObjectKey) -> bool {
        self.members.as_ref().is_some_and(|members| members.has_group(&key.name))
    }

    /// Returns whether the caches show all that this host, and hosts before, have written, as far
    /// as the plugin could allocate by it.
    ///
    /// # Errors
    /// Those of requests.
    pub(crate) async fn is_caught_up(&self, claim: &Claim) -> Result<bool, kube::Error> {
        let Some(members) = &self.members else { return Ok(true) };
        let children = self.children();
        for view in [&members.view, &self.parents].into_iter().chain(children.values().map(|view| &**view)) {
            if !view.is_caught_up(&self.reads, claim).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the views of the kinds of children that are served.
    pub(crate) fn children(&self) -> BTreeMap<GroupVersionKind, Arc<View>> {
        let children = self.children.read();
        let served = children.iter().filter(|(_, view)| !view.is_outdated());
        served.map(|(kind, view)| (kind.clone(), Arc::clone(view))).collect()
    }

    /// Waits until the API server serves one of its kinds no longer or in another way, so that the
    /// program must be prepared again.
    pub(crate) async fn outdated(&self) {
        loop {
            let views: Vec<Arc<View>> = self.children.read().values().cloned().chain(self.lookup.all_views()).collect();
            let of_members = self.members.iter().flat_map(|members| members.view.informers());
            let informers = views.iter().flat_map(|view| view.informers()).chain(self.parents.informers()).chain(of_members);
            let outdated: Vec<_> = informers.map(|informer| Box::pin(informer.outdated())).collect();
            if outdated.is_empty() {
                return self.published.notified().await;
            }
            tokio::select! {
                biased;
                _ = futures::future::select_all(outdated) => return,
                () = self.published.notified() => {}
            }
        }
    }

    pub(crate) fn is_outdated(&self) -> bool {
        self.parents.is_outdated()
            || self.members.as_ref().is_some_and(|members| members.view.is_outdated())
            || self.children.read().values().any(|view| view.is_outdated())
            || self.lookup.all_views().iter().any(|view| view.is_outdated())
    }

    /// The kinds of which the mount may have children: those that are declared and served, and
    /// those that an earlier program declared.
    pub(crate) fn child_kinds(&self) -> BTreeSet<GroupVersionKind> {
        self.children().into_keys().chain(self.unpruned.lock().keys().cloned()).collect()
    }

    pub(crate) fn unpruned_kinds(&self) -> Vec<UnprunedKind> {
        self.unpruned.lock().values().map(|(unpruned, _)| unpruned.clone()).collect()
    }

    pub(super) fn update_unpruned(&self, unpruned: UnprunedKind) {
        self.unpruned.lock().entry(unpruned.resource.kind()).and_modify(|(present, _)| *present = unpruned);
    }

    pub(super) fn add_pruning(&self, kind: &GroupVersionKind, task: AbortHandle) {
        self.unpruned.lock().entry(kind.clone()).and_modify(|(_, present)| *present = Some(task));
    }

    pub(super) fn remove_unpruned(&self, kind: &GroupVersionKind) {
        self.unpruned.lock().remove(kind);
    }

    /// The Secrets that are visible as parents, children or reads; see [`secrets`].
    pub(crate) fn secrets(&self) -> Vec<ViewSnapshot> {
        let is_secret = |kind: &GroupVersionKind| kind.group.is_empty() && kind.kind == "Secret";
        let mut found = Vec::new();
        let mut add = |view: &View| found.push(view.snapshot());
        if is_secret(&self.program.manifest().parent) {
            add(&self.parents);
        }
        if let Some(members) = self.members.as_ref().filter(|members| is_secret(members.kind())) {
            add(&members.view);
        }
        for (_, view) in self.children().iter().filter(|(kind, _)| is_secret(kind)) {
            add(view);
        }
        for kind in self.lookup.kinds().iter().filter(|kind| is_secret(kind)) {
            self.lookup.served(kind).iter().flat_map(Served::views).for_each(|view| add(view));
        }
        found
    }

    pub(crate) fn parent(&self, object: &Object) -> Parent {
        let manifest = self.program.manifest();
        Parent {
            kind: manifest.parent.clone(),
            key: object.key(),
            uid: object.uid().to_owned(),
            children: finalizers::child_list(object, &manifest.name),
        }
    }

    pub(crate) fn awaited_kinds(&self) -> Vec<GroupVersionKind> {
        self.awaited.lock().iter().map(|(kind, _)| kind.clone()).collect()
    }

    /// Returns whether one of its tasks has ended before its work was done.
    pub(crate) fn has_ended_task(&self) -> bool {
        // An awaited or unpruned kind is removed before its task ends. The other task never ends.
        let has_ended = |task: &Option<AbortHandle>| task.as_ref().is_some_and(AbortHandle::is_finished);
        has_ended(&self.finding.lock())
            || self.awaited.lock().iter().any(|(_, task)| task.is_finished())
            || self.unpruned.lock().values().any(|(_, task)| has_ended(task))
    }

    pub(super) fn open(&self, informers: &Informers, resource: Resource) -> Opened {
        Opened::new((&self.program, &self.lookup, &self.fresh), informers, resource)
    }

    pub(super) fn open_former(&self, informers: &Informers, resource: Resource) -> Opened {
        Opened::former((&self.program, &self.fresh), informers, resource)
    }

    pub(super) fn add_awaited(&self, kind: GroupVersionKind, task: AbortHandle) {
        self.awaited.lock().push((kind, task));
    }

    pub(super) fn remove_awaited(&self, kind: &GroupVersionKind) {
        self.awaited.lock().retain(|(awaited, _)| awaited != kind);
    }

    pub(crate) fn unserved_kinds(&self) -> BTreeSet<GroupVersionKind> {
        let children = self.children();
        let missing = declared_children(&self.program).into_iter().filter(|kind| !children.contains_key(kind));
        let unread = self.lookup.kinds().into_iter().filter(|kind| self.lookup.served(kind).is_none());
        missing.chain(unread).collect()
    }

    pub(crate) fn is_ours(&self, object: &Object) -> bool {
        object.label(PLUGIN_LABEL).as_deref() == Some(&*self.program.manifest().name)
    }

    /// Publishes a kind to reconciles. Its caches must have synced, or it would seem empty.
    pub(super) fn publish(&self, opened: Opened) {
        let Opened { kind, read, children, ends } = opened;
        self.add_subscriptions(ends);
        if let Some(served) = read {
            self.lookup.publish(kind.clone(), served);
        }
        if let Some(view) = children {
            self.children.write().insert(kind, view);
        }
        self.published.notify_one();
    }

    pub(super) fn add_subscriptions(&self, subscriptions: Vec<Subscription>) {
        self.subscriptions.lock().extend(subscriptions);
    }

    pub(super) fn track_freshness(&self, event: &WatchEvent) {
        let object = event.object();
        let previous = event.previous().map(|previous| previous.uid());
        match event {
            WatchEvent::Stored { .. } if previous == Some(object.uid()) => {}
            WatchEvent::Stored { origin, .. } => {
                previous.iter().for_each(|uid| self.fresh.forget(uid));
                let found = match origin {
                    Origin::Watch => Discovery::ByWatch(object.resource_version()),
                    Origin::List => Discovery::InList,
                };
                self.fresh.record_parent(object.uid(), found, self.parents.listed(object.namespace()));
            }
            WatchEvent::Deleted(_) => self.fresh.forget(object.uid()),
        }
    }

    /// When the claim is obtained, requests a version of the parents' kind, if the caches are
    /// older. Parents with a later version were created under the claim.
    pub(crate) fn find_fresh(&self, client: &Client, claim: &Claim) {
        let (fresh, client, claim, resource) =
            (Arc::clone(&self.fresh), client.clone(), claim.clone(), self.parents.resource.clone());
        let namespace = match &self.program.namespaces {
            Namespaces::Only(names) => names.first().cloned(),
            Namespaces::All => None,
        };
        let lists: Vec<Arc<Lists>> = self.parents.lists().map(Arc::clone).collect();
        let finding = tokio::spawn(async move {
            loop {
                claim.held().await;
                if lists.iter().any(|list| fresh.needs_version(list.asked())) {
                    let asked = Moment::now();
                    let api: Api<Received> = resource.api(&client, namespace.as_deref());
                    match answered(api.list(&ListParams::default().limit(1))).await {
                        Ok(list) => {
                            let version = list.metadata.resource_version.and_then(|version| version.parse().ok());
                            version.into_iter().for_each(|version| fresh.record_version(asked, version));
                        }
                        Err(error) => {
                            debug!(kind = %resource.kind(), error = %error_chain(&error), "parents are read from the API server before objects are created for them")
                        }
                    }
                }
                claim.lost().await;
            }
        });
        *self.finding.lock() = Some(finding.abort_handle());
    }
}

impl Drop for ActiveProgram {
    fn drop(&mut self) {
        let awaiting = self.awaited.get_mut().iter().map(|(_, task)| task);
        let pruning = self.unpruned.get_mut().values().filter_map(|(_, task)| task.as_ref());
        awaiting.chain(pruning).chain(self.finding.get_mut().iter()).for_each(AbortHandle::abort);
    }
}

/// The Secrets in these views.
pub(crate) fn secrets<'a>(views: impl IntoIterator<Item = &'a ViewSnapshot>) -> Vec<Bytes> {
    let objects = views.into_iter().flat_map(|view| view.list(None));
    objects.map(|object| Bytes::from(object.shared_json())).collect()
}

fn declared_children(program: &Program) -> BTreeSet<GroupVersionKind> {
    program.manifest().children.iter().map(|child| child.kind.clone()).collect()
}

pub(super) struct Opened {
    pub(super) kind: GroupVersionKind,
    read: Option<Served>,
    children: Option<Arc<View>>,
    ends: Vec<Subscription>,
}

impl Opened {
    fn new(
        (program, lookup, fresh): (&Program, &ReadCache, &Arc<FreshParents>),
        informers: &Informers,
        resource: Resource,
    ) -> Self {
        let kind = resource.kind();
        let read = lookup.kinds().contains(&kind).then(|| lookup.open(informers, &resource));
        if declared_children(program).contains(&kind) {
            return Self { read, ..Self::former((program, fresh), informers, resource) };
        }
        Self { kind, read, children: None, ends: Vec::new() }
    }

    /// The children of a kind that an earlier program declared.
    fn former((program, fresh): (&Program, &Arc<FreshParents>), informers: &Informers, resource: Resource) -> Self {
        let (kind, scope) = (resource.kind(), WatchScope { label_selector: Some(PLUGIN_LABEL), ..WatchScope::default() });
        let children = Arc::new(view_for(program, informers, resource, scope));
        let ends = forget_whose_children_go(&children, fresh);
        Self { kind, read: None, children: Some(children), ends }
    }

    pub(super) async fn synced(&self) {
        for view in self.read.iter().flat_map(Served::views).chain(&self.children) {
            view.synced().await;
        }
    }
}

/// A view of parents or children. A plugin that groups parents may allocate, so it sees all that
/// was written.
fn view_for(program: &Program, informers: &Informers, resource: Resource, scope: WatchScope<'_>) -> View {
    let view = View::new(informers, resource, &program.namespaces, scope);
    if program.manifest().members.is_some() { view.catching_up() } else { view }
}

fn forget_whose_children_go(children: &View, fresh: &Arc<FreshParents>) -> Vec<Subscription> {
    let fresh = Arc::clone(fresh);
    children.subscribe(move |event| {
        let owner = match event {
            WatchEvent::Deleted(last) => last.owner_uid(),
            WatchEvent::Stored { object, previous: Some(previous), .. } if previous.uid() == object.uid() => {
                previous.owner_uid().filter(|before| object.owner_uid() != Some(*before))
            }
            WatchEvent::Stored { previous, .. } => previous.as_ref().and_then(|previous| previous.owner_uid()),
        };
        owner.into_iter().for_each(|uid| fresh.forget(uid));
    })
}
