//! A mount: one program made live in one host, and what is remembered of its parents. The program may change while the mount stays.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use gyre_core::object::{GroupVersionKind, ObjectKey};
use gyre_core::queue::{self, MountOptions, Priority, Time};
use gyre_core::reads::{Labels, Read, Readers};
use tokio::sync::{OwnedRwLockReadGuard, watch};
use tracing::{error, info};

use crate::cluster::informer::Notice;
use crate::cluster::kinds::{self, Resource, StatusSubresource};
use crate::mounts::inventory::Entry;
use crate::mounts::live::{Ground, Live};
use crate::mounts::release::release;
use crate::program::Program;
use crate::reconcile::memory::Memory;
use crate::reconcile::running::Running;
use crate::shadow::{self, Shadow};
use crate::work::{MountName, WorkQueue};
use crate::writes::own_writes::OwnWrites;

/// See the module's documentation.
pub struct Mount {
    /// The mount's name, unique in a host.
    pub name: MountName,
    live: RwLock<Option<Arc<Live>>>,
    phase: Mutex<Phase>,
    lead: Mutex<Lead>,
    memories: Mutex<HashMap<ObjectKey, Memory>>,
    readers: Mutex<Readers<ObjectKey>>,
    /// What its plugin is compared with.
    shadow: RwLock<Option<Arc<Shadow>>>,
    pub(crate) own_writes: OwnWrites,
    /// The calls into its plugin.
    pub(crate) running: Running,
    /// Reconciles hold it for reading.
    in_flight: Arc<tokio::sync::RwLock<()>>,
}

/// How far a mount has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Its kinds are looked up, or its caches are filled.
    #[default]
    Starting,
    /// The API server does not serve its parent kind yet, or not as its plugin brings it.
    Waiting,
    /// It reconciles.
    Running,
    /// It cannot, and why.
    Refused(String),
    /// It is being unmounted.
    Leaving,
}

/// Whether this host works for the mount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lead {
    /// It has no claim to it.
    #[default]
    No,
    /// It does.
    Yes,
    /// It is about to leave it to another replica.
    Ending,
}

impl Phase {
    /// One word.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Starting => "Starting",
            Self::Waiting => "Waiting",
            Self::Running => "Running",
            Self::Refused(_) => "Refused",
            Self::Leaving => "Leaving",
        }
    }
}

impl Mount {
    /// A mount without a program, until it is run.
    pub fn new(name: MountName) -> Self {
        Self {
            name,
            live: RwLock::default(),
            phase: Mutex::default(),
            lead: Mutex::default(),
            memories: Mutex::default(),
            readers: Mutex::default(),
            shadow: RwLock::default(),
            own_writes: OwnWrites::default(),
            running: Running::default(),
            in_flight: Arc::default(),
        }
    }

    /// What is live; none before its caches are filled, and after it was unmounted.
    pub(crate) fn live(&self) -> Option<Arc<Live>> {
        self.live.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How far it has come.
    pub fn phase(&self) -> Phase {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn enter(&self, phase: Phase) {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = phase;
    }

    /// Makes each program live that it is given, until there are no more. While the next one is prepared, the old one works on.
    pub(crate) async fn run(self: Arc<Self>, mut programs: watch::Receiver<Arc<Program>>, ground: Arc<Ground>) {
        loop {
            let program = Arc::clone(&programs.borrow_and_update());
            tokio::select! {
                biased;
                changed = programs.changed() => match changed {
                    Ok(()) => continue,
                    Err(_) => return,
                },
                () = self.take_up(Arc::clone(&program), &ground) => {}
            }
            let changed = tokio::select! {
                biased;
                changed = programs.changed() => changed,
                ((), ()) = async { tokio::join!(self.leave_behind(&ground), shadow::follow(&self, &program, &ground)) } => {
                    programs.changed().await
                }
            };
            self.set_shadow(None);
            if changed.is_err() {
                return;
            }
        }
    }

    /// Lets the parents go that were this mount's before its program changed, and are not any more.
    async fn leave_behind(&self, ground: &Ground) {
        let Some((name, entry)) = ground.inventory.left(&self.name) else { return };
        // What the old program is still about may hold them again.
        drop(self.in_flight.write().await);
        let releaser = ground.releaser(&self.name, entry.impersonate.as_ref()).await;
        release(&releaser, &name, &entry, &ground.inventory).await;
        ground.inventory.remove(&name);
    }

    /// Makes a program live.
    async fn take_up(self: &Arc<Self>, program: Arc<Program>, ground: &Arc<Ground>) {
        let old = self.live();
        // What only its shadow would do otherwise is no reason to begin anew.
        if old.as_ref().is_some_and(|old| old.program.does_the_same(&program)) {
            return;
        }
        let parents = self.find_parents(&program, ground).await;
        let former = ground
            .inventory
            .kinds(&self.name)
            .into_iter()
            .chain(old.iter().flat_map(|old| old.children().into_keys()))
            .collect();
        let live = match Live::prepare(Arc::clone(&program), ground, parents, &former, &ground.claims.of(&self.name)).await {
            Ok(live) => Arc::new(live),
            Err(reason) => {
                error!(plugin = %self.name, "not mounted: {reason}");
                self.enter(Phase::Refused(reason.to_string()));
                ground.offers.pass(&self.name);
                return;
            }
        };
        ground.inventory.record(&self.name, Entry::of(&program, live.children().into_keys()));
        *self.live.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&live));
        ground.queue.add_mount(&self.name, self.queue_options(&live));
        let manifest = program.manifest();
        info!(
            plugin = %self.name, version = manifest.version, digest = %program.plugin.digest(), parent = %manifest.parent,
            "{}", if old.is_some() { "the new program has taken over" } else { "mounted" }
        );
        // From now on the changes come here; the old program's subscriptions end with the last call that it is in.
        live.follow(self, &ground.queue);
        live.find_fresh(&ground.client, &ground.claims.of(&self.name));
        // The program before it may have looked elsewhere, and what went before this one followed was told to nobody.
        self.forget_what_is_gone(&ground.queue);
        live.await_kinds(self, ground);
        self.enter(Phase::Running);
        ground.offers.add(&self.name);
    }

    /// Works while the claim to the mount is held, and rests while it is not. Never ends.
    pub(crate) async fn lead(self: Arc<Self>, ground: Arc<Ground>) {
        let claim = ground.claims.of(&self.name);
        loop {
            claim.held().await;
            self.set_lead(Lead::Yes, &ground.queue);
            claim.lost().await;
            self.set_lead(Lead::No, &ground.queue);
        }
    }

    /// Begins no more work, and waits for what is in progress: the claim is about to go to another replica.
    pub(crate) async fn drain(&self, queue: &WorkQueue) {
        self.set_lead(Lead::Ending, queue);
        drop(self.in_flight.write().await);
    }

    fn set_lead(&self, lead: Lead, queue: &WorkQueue) {
        *self.lead.lock().unwrap_or_else(PoisonError::into_inner) = lead;
        if let Some(live) = self.live() {
            queue.set_options(&self.name, self.queue_options(&live));
        }
        if lead == Lead::No {
            self.forget_what_is_gone(queue);
        }
    }

    /// Queues a parent that something changed about.
    ///
    /// # Guarantees
    ///
    /// While this host leads, a parent that is gone is forgotten when a worker takes its key. While another leads, nobody takes keys, and
    /// the parent is forgotten here. Whoever deletes a parent from the cache calls this afterwards, so nothing stays of a parent that
    /// goes meanwhile; [`Self::forget_what_is_gone`] sees to those that went just before the claim was lost.
    pub(crate) fn enqueue(&self, queue: &WorkQueue, parent: ObjectKey, priority: Priority) {
        queue.add(&self.name, parent.clone(), priority);
        if self.leads() != Lead::Yes {
            self.forget_if_gone(queue, &parent);
        }
    }

    /// Forgets a parent that the cache does not hold.
    pub(crate) fn forget_if_gone(&self, queue: &WorkQueue, parent: &ObjectKey) {
        if self.live().is_some_and(|live| live.parents.get(parent).is_none()) {
            self.forget(parent, queue.now());
            queue.remove(&self.name, parent);
            // Another parent of its name may have come meanwhile, and then it is its key that was removed.
            if self.live().is_some_and(|live| live.parents.get(parent).is_some()) {
                queue.add(&self.name, parent.clone(), Priority::Normal);
            }
        }
    }

    /// Forgets all parents that the cache does not hold.
    fn forget_what_is_gone(&self, queue: &WorkQueue) {
        let Some(live) = self.live() else { return };
        let is_there = |parent: &ObjectKey| live.parents.get(parent).is_some();
        let mut gone: BTreeSet<ObjectKey> = self.readers().readers().filter(|parent| !is_there(parent)).cloned().collect();
        {
            let memories = self.memories.lock().unwrap_or_else(PoisonError::into_inner);
            gone.extend(memories.keys().filter(|parent| !is_there(parent)).cloned());
        }
        gone.extend(self.own_writes.written().into_iter().filter(|parent| !is_there(parent)));
        gone.extend(live.probation.held().into_iter().filter(|parent| !is_there(parent)));
        gone.iter().for_each(|parent| self.forget(parent, queue.now()));
        queue.retain(&self.name, is_there);
    }

    /// How the queue is to treat the mount, which has no workers while another leads it.
    fn queue_options(&self, live: &Live) -> MountOptions {
        let options = live.program.queue_options();
        let lead = *self.lead.lock().unwrap_or_else(PoisonError::into_inner);
        let workers = match lead {
            Lead::No | Lead::Ending => 0,
            Lead::Yes => options.workers,
        };
        MountOptions { workers, ..options }
    }

    async fn find_parents(&self, program: &Program, ground: &Ground) -> Resource {
        let kind = &program.manifest().parent;
        let found = kinds::look_for(&ground.client, kind, &self.name).await;
        let brings_status = kinds::give_status(&program.manifest().crds, kind);
        let lacks_status = |resource: &Resource| brings_status && resource.status == StatusSubresource::Absent;
        if let Some(resource) = found.filter(|resource| !lacks_status(resource)) {
            return resource;
        }
        let before = self.phase();
        self.enter(Phase::Waiting);
        ground.offers.pass(&self.name);
        let mut resource = kinds::wait_for(&ground.client, kind, &self.name).await;
        if lacks_status(&resource) {
            resource = kinds::wait_for_status(&ground.client, resource, &self.name).await;
        }
        self.enter(before);
        resource
    }

    /// Whether this host works for it.
    pub fn leads(&self) -> Lead {
        *self.lead.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends what is live, and waits for the reconciles in flight. Nothing is written on its behalf after that.
    pub(crate) async fn retire(&self) -> Option<Arc<Live>> {
        self.enter(Phase::Leaving);
        let live = self.live.write().unwrap_or_else(PoisonError::into_inner).take();
        drop(self.in_flight.write().await);
        live
    }

    /// Held by a reconcile from start to end.
    pub(crate) async fn enter_flight(&self) -> OwnedRwLockReadGuard<()> {
        Arc::clone(&self.in_flight).read_owned().await
    }

    /// What is remembered of a parent from its last reconcile.
    pub(crate) fn memory(&self, key: &ObjectKey) -> Memory {
        self.memories.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned().unwrap_or_default()
    }

    /// Remembers a reconcile of a parent.
    pub(crate) fn remember(&self, key: &ObjectKey, memory: Memory) {
        self.memories.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone(), memory);
    }

    /// Has the plugin called about each parent once more, also where nothing has changed. Fresh changes come first.
    pub(crate) fn call_again(&self, queue: &WorkQueue) {
        let Some(live) = self.live() else { return };
        for memory in self.memories.lock().unwrap_or_else(PoisonError::into_inner).values_mut() {
            memory.inputs = None;
        }
        for parent in live.parents.list(None).iter().filter(|parent| live.selects(parent)) {
            self.enqueue(queue, parent.key(), Priority::Low);
        }
    }

    /// What its plugin is compared with; none: with nothing.
    pub(crate) fn shadow(&self) -> Option<Arc<Shadow>> {
        self.shadow.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// From now on its plugin is compared with that.
    pub(crate) fn set_shadow(&self, shadow: Option<Arc<Shadow>>) {
        *self.shadow.write().unwrap_or_else(PoisonError::into_inner) = shadow;
    }

    /// Forgets a parent that is gone.
    pub(crate) fn forget(&self, key: &ObjectKey, now: Time) {
        self.memories.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
        self.readers().remove(key);
        if let Some(shadow) = self.shadow() {
            shadow.forget(key, now);
        }
        self.own_writes.forget(key);
        if let Some(live) = self.live() {
            live.probation.forget(key, now);
        }
    }

    /// Of how many parents something is remembered from their last reconcile.
    pub(crate) fn remembered(&self) -> usize {
        self.memories.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// A call about a parent is about to read something: from now on a change to it concerns the parent.
    pub(crate) fn reads(&self, parent: &ObjectKey, read: &Read) {
        self.readers().add(parent, read.clone());
    }

    /// The last call about a parent read exactly this.
    pub(crate) fn has_read(&self, parent: &ObjectKey, reads: BTreeSet<Read>) {
        self.readers().replace(parent, reads);
    }

    /// How many parents have read something, and how much in sum.
    pub(crate) fn count_reads(&self) -> (usize, usize) {
        self.readers().len()
    }

    /// The parents whose last call would be answered otherwise now.
    pub(crate) fn readers_concerned(&self, kind: &GroupVersionKind, notice: &Notice) -> BTreeSet<ObjectKey> {
        let (object, previous) = (notice.object(), notice.previous());
        if previous.is_some_and(|previous| previous.says_the_same_as(object)) {
            return BTreeSet::new();
        }
        let labels = |label: &str| object.label(label);
        let labels_before = |label: &str| previous.and_then(|previous| previous.label(label));
        let (before, now): (Option<Labels<'_, '_>>, Option<Labels<'_, '_>>) = match notice {
            Notice::Stored { previous, .. } => (previous.is_some().then_some(&labels_before), Some(&labels)),
            Notice::Deleted(_) => (Some(&labels), None),
        };
        self.readers().concerned(kind, &object.key(), before, now)
    }

    /// How the mount's failing parents are retried.
    pub(crate) fn retries(&self, hosts: &queue::Options) -> queue::Options {
        self.live().map_or_else(|| hosts.clone(), |live| hosts.of_mount(live.program.queue_options()))
    }

    fn readers(&self) -> MutexGuard<'_, Readers<ObjectKey>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
