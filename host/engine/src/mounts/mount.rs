//! A mount: one program made live in one host, and what is remembered of its parents. The program may change while the mount stays.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::future::BoxFuture;
use gyre_core::object::{GroupVersionKind, ObjectKey};
use gyre_core::queue::{self, MountOptions, Priority, Time};
use gyre_core::reads::{Labels, Read, ReadIndex};
use parking_lot::{Mutex, MutexGuard, RwLock};
use tokio::sync::OwnedRwLockReadGuard;

use crate::call::running::Running;
use crate::cluster::informer::WatchEvent;
use crate::mounts::active_program::ActiveProgram;
use crate::mounts::observer::Observer;
use crate::mounts::parent_state::ParentState;
use crate::program::MountName;
use crate::work::WorkQueue;
use crate::writes::events::{WriteAccess, WritePermit};
use crate::writes::own_writes::OwnWrites;

/// See the module's documentation.
pub struct Mount {
    /// The mount's name, unique in a host.
    pub name: MountName,
    live: RwLock<Option<Arc<ActiveProgram>>>,
    phase: Mutex<Phase>,
    lead: Mutex<Lead>,
    memories: Mutex<BTreeMap<ObjectKey, ParentState>>,
    readers: Mutex<ReadIndex<ObjectKey>>,
    observer: RwLock<Option<Arc<dyn Observer>>>,
    pub(crate) own_writes: OwnWrites,
    /// The calls into its plugin.
    pub(crate) running: Running,
    /// Reconciles hold it for reading.
    in_flight: Arc<tokio::sync::RwLock<()>>,
    /// Publications of Events hold it for reading. It is a lock of its own, so that no reconcile waits for a publication.
    publishing: Arc<tokio::sync::RwLock<()>>,
}

impl WriteAccess for Mount {
    fn write_permit(&self) -> BoxFuture<'_, Option<WritePermit>> {
        Box::pin(async {
            let publishing = Arc::clone(&self.publishing).read_owned().await;
            let live = self.live().filter(|_| self.leads() == Lead::Yes)?;
            Some(WritePermit { client: live.client.clone(), publishing })
        })
    }
}

/// The phase of a mount.
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
    Unmounting,
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
            Self::Unmounting => "Leaving",
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
            observer: RwLock::default(),
            own_writes: OwnWrites::default(),
            running: Running::default(),
            in_flight: Arc::default(),
            publishing: Arc::default(),
        }
    }

    /// The active program; none before its caches are filled, and after it was unmounted.
    pub(crate) fn live(&self) -> Option<Arc<ActiveProgram>> {
        self.live.read().clone()
    }

    /// Makes this program the active one.
    pub(super) fn set_live(&self, live: Arc<ActiveProgram>) {
        *self.live.write() = Some(live);
    }

    /// Waits for the reconciles in flight.
    pub(super) async fn idle(&self) {
        drop(self.in_flight.write().await);
    }

    /// The phase.
    pub fn phase(&self) -> Phase {
        self.phase.lock().clone()
    }

    /// From now on it is there.
    pub(super) fn enter(&self, phase: Phase) {
        *self.phase.lock() = phase;
    }

    /// Begins no more work, and waits for what is in progress: the claim is about to go to another replica.
    pub(crate) async fn drain(&self, queue: &WorkQueue) {
        self.set_lead(Lead::Ending, queue);
        drop(self.in_flight.write().await);
        drop(self.publishing.write().await);
    }

    /// From now on it works, or rests.
    pub(super) fn set_lead(&self, lead: Lead, queue: &WorkQueue) {
        *self.lead.lock() = lead;
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
    pub(super) fn forget_what_is_gone(&self, queue: &WorkQueue) {
        let Some(live) = self.live() else { return };
        let is_there = |parent: &ObjectKey| live.parents.get(parent).is_some();
        let mut gone: BTreeSet<ObjectKey> = self.readers().readers().filter(|parent| !is_there(parent)).cloned().collect();
        {
            let memories = self.memories.lock();
            gone.extend(memories.keys().filter(|parent| !is_there(parent)).cloned());
        }
        gone.extend(self.own_writes.written().into_iter().filter(|parent| !is_there(parent)));
        gone.extend(live.call_guard.held().into_iter().filter(|parent| !is_there(parent)));
        gone.iter().for_each(|parent| self.forget(parent, queue.now()));
        queue.retain(&self.name, is_there);
    }

    /// How the queue is to treat the mount, which has no workers while another leads it.
    pub(super) fn queue_options(&self, live: &ActiveProgram) -> MountOptions {
        let options = live.program.queue_options();
        let lead = *self.lead.lock();
        let workers = match lead {
            Lead::No | Lead::Ending => 0,
            Lead::Yes => options.workers,
        };
        MountOptions { workers, ..options }
    }

    /// Whether this host works for it.
    pub fn leads(&self) -> Lead {
        *self.lead.lock()
    }

    /// Ends what is live, and waits for what is in flight. Nothing is written on its behalf after that.
    pub(crate) async fn retire(&self) -> Option<Arc<ActiveProgram>> {
        self.enter(Phase::Unmounting);
        let live = self.live.write().take();
        drop(self.in_flight.write().await);
        drop(self.publishing.write().await);
        live
    }

    /// Held by a reconcile from start to end.
    pub(crate) async fn begin_reconcile(&self) -> OwnedRwLockReadGuard<()> {
        Arc::clone(&self.in_flight).read_owned().await
    }

    /// The state of a parent after its last reconcile.
    pub(crate) fn parent_state(&self, key: &ObjectKey) -> ParentState {
        self.memories.lock().get(key).cloned().unwrap_or_default()
    }

    /// Stores the state of a parent after a reconcile.
    pub(crate) fn set_parent_state(&self, key: &ObjectKey, memory: ParentState) {
        self.memories.lock().insert(key.clone(), memory);
    }

    /// Queues each parent, also those that have not changed. Changes come first.
    pub(crate) fn call_again(&self, queue: &WorkQueue) {
        let Some(live) = self.live() else { return };
        for memory in self.memories.lock().values_mut() {
            memory.inputs = None;
        }
        for parent in live.parents.list(None).iter().filter(|parent| live.selects(parent)) {
            self.enqueue(queue, parent.key(), Priority::Low);
        }
    }

    /// The observer of its parents; none: there is none.
    pub(crate) fn observer(&self) -> Option<Arc<dyn Observer>> {
        self.observer.read().clone()
    }

    /// Sets the observer of its parents.
    pub(crate) fn set_observer(&self, observer: Option<Arc<dyn Observer>>) {
        *self.observer.write() = observer;
    }

    /// Forgets a parent that is gone.
    pub(crate) fn forget(&self, key: &ObjectKey, now: Time) {
        self.memories.lock().remove(key);
        self.readers().remove(key);
        if let Some(observer) = self.observer() {
            observer.forgotten(key, now);
        }
        self.own_writes.forget(key);
        if let Some(live) = self.live() {
            live.call_guard.forget(key, now);
        }
    }

    /// Of how many parents something is remembered from their last reconcile.
    pub(crate) fn remembered(&self) -> usize {
        self.memories.lock().len()
    }

    /// A call about a parent is about to read something: from now on a change to it concerns the parent.
    pub(crate) fn reads(&self, parent: &ObjectKey, read: &Read) {
        // Before the lock is taken: the thread may have the idle priority.
        let read = read.clone();
        self.readers().add(parent, read);
    }

    /// The last call about a parent read exactly this.
    pub(crate) fn has_read(&self, parent: &ObjectKey, reads: BTreeSet<Read>) {
        self.readers().replace(parent, reads);
    }

    /// The number of parents with reads, and of all reads.
    pub(crate) fn count_reads(&self) -> (usize, usize) {
        self.readers().len()
    }

    /// The parents whose last call would be answered otherwise now.
    pub(crate) fn readers_concerned(&self, kind: &GroupVersionKind, notice: &WatchEvent) -> BTreeSet<ObjectKey> {
        let (object, previous) = (notice.object(), notice.previous());
        if previous.is_some_and(|previous| previous.equal_ignoring_resource_version(object)) {
            return BTreeSet::new();
        }
        let labels = |label: &str| object.label(label);
        let labels_before = |label: &str| previous.and_then(|previous| previous.label(label));
        let (before, now): (Option<Labels<'_, '_>>, Option<Labels<'_, '_>>) = match notice {
            WatchEvent::Stored { previous, .. } => (previous.is_some().then_some(&labels_before), Some(&labels)),
            WatchEvent::Deleted(_) => (Some(&labels), None),
        };
        self.readers().affected_by(kind, &object.key(), before, now)
    }

    /// The retries of the mount's failing parents.
    pub(crate) fn retries(&self, hosts: &queue::Options) -> queue::Options {
        self.live().map_or_else(|| hosts.clone(), |live| hosts.of_mount(live.program.queue_options()))
    }

    fn readers(&self) -> MutexGuard<'_, ReadIndex<ObjectKey>> {
        self.readers.lock()
    }
}
