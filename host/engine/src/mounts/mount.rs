//! A mount: one active program in one host, which may be replaced, and the state of its parents.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::future::BoxFuture;
use gyre_core::deletion_guard::{DeletionGuard, HeldDeletions};
use gyre_core::object::{GroupVersionKind, ObjectKey};
use gyre_core::parent_deletion::ParentDeletions;
use gyre_core::queue::{self, MountOptions, Priority, Time};
use gyre_core::reads::{Labels, Read, ReadIndex};
use gyre_core::terminating::TerminatingNamespaces;
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

/// A plugin with its configuration, running in a host under its own name.
pub struct Mount {
    /// The mount's name, unique in a host.
    pub name: MountName,
    active: RwLock<Option<Arc<ActiveProgram>>>,
    phase: Mutex<Phase>,
    lead: Mutex<Lead>,
    /// In boxes, because the nodes of the map are half empty.
    states: Mutex<BTreeMap<ObjectKey, Box<ParentState>>>,
    readers: Mutex<ReadIndex<ObjectKey>>,
    observer: RwLock<Option<Arc<dyn Observer>>>,
    pub(crate) own_writes: OwnWrites,
    /// The writes of members' statuses.
    pub(crate) member_writes: OwnWrites,
    pub(crate) terminating: Mutex<TerminatingNamespaces>,
    pub(crate) deletion_guard: Mutex<DeletionGuard<ObjectKey>>,
    pub(crate) parent_deletions: Mutex<ParentDeletions>,
    /// Reconciles hold it from the decision of the guard until they end.
    pub(crate) decided: Arc<()>,
    pub(crate) running: Running,
    /// Reconciles hold it for reading.
    in_flight: Arc<tokio::sync::RwLock<()>>,
    /// Publications hold it for reading. Separate, so that no reconcile waits for them.
    publishing: Arc<tokio::sync::RwLock<()>>,
}

impl WriteAccess for Mount {
    fn write_permit(&self) -> BoxFuture<'_, Option<WritePermit>> {
        Box::pin(async {
            let publishing = Arc::clone(&self.publishing).read_owned().await;
            let active = self.active().filter(|_| self.leads() == Lead::Yes)?;
            Some(WritePermit { client: active.client.clone(), publishing })
        })
    }
}

/// The phase of a mount.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// It looks up kinds, or fills caches.
    #[default]
    Starting,
    /// The API server does not serve this kind yet, or not with the status subresource: that of the
    /// parents, or that of their groups.
    Waiting(GroupVersionKind),
    /// It reconciles.
    Running,
    /// It cannot run, for this reason.
    Refused(String),
    /// It is being unmounted.
    Unmounting,
}

/// Whether this host works for the mount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lead {
    /// It has no claim to the mount.
    #[default]
    No,
    /// It has the claim.
    Yes,
    /// It is about to hand the mount over to another replica.
    Ending,
}

impl Phase {
    /// Returns the phase as one word.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Starting => "Starting",
            Self::Waiting(_) => "Waiting",
            Self::Running => "Running",
            Self::Refused(_) => "Refused",
            Self::Unmounting => "Leaving",
        }
    }
}

impl Mount {
    /// A mount without a program.
    pub fn new(name: MountName) -> Self {
        Self {
            name,
            active: RwLock::default(),
            phase: Mutex::default(),
            lead: Mutex::default(),
            states: Mutex::default(),
            readers: Mutex::default(),
            observer: RwLock::default(),
            own_writes: OwnWrites::default(),
            member_writes: OwnWrites::default(),
            terminating: Mutex::default(),
            deletion_guard: Mutex::default(),
            parent_deletions: Mutex::default(),
            decided: Arc::default(),
            running: Running::default(),
            in_flight: Arc::default(),
            publishing: Arc::default(),
        }
    }

    /// The active program; `None` before the first caches have synced, and after the unmount.
    pub(crate) fn active(&self) -> Option<Arc<ActiveProgram>> {
        self.active.read().clone()
    }

    /// Returns the kinds that the API server does not serve, and for which the mount waits.
    pub(crate) fn awaited_kinds(&self) -> Vec<GroupVersionKind> {
        let of_parents = match self.phase() {
            Phase::Waiting(kind) => Some(kind),
            _ => None,
        };
        let others = self.active().into_iter().flat_map(|active| active.awaited_kinds());
        of_parents.into_iter().chain(others).collect()
    }

    pub(super) fn set_active(&self, active: Arc<ActiveProgram>) {
        *self.active.write() = Some(active);
    }

    pub(super) async fn idle(&self) {
        drop(self.in_flight.write().await);
    }

    /// Returns the phase.
    pub fn phase(&self) -> Phase {
        self.phase.lock().clone()
    }

    pub(super) fn enter(&self, phase: Phase) {
        *self.phase.lock() = phase;
    }

    /// Waits for work in progress before the claim goes to another replica.
    pub(crate) async fn drain(&self, queue: &WorkQueue) {
        self.set_lead(Lead::Ending, queue);
        drop(self.in_flight.write().await);
        drop(self.publishing.write().await);
    }

    pub(super) fn set_lead(&self, lead: Lead, queue: &WorkQueue) {
        *self.lead.lock() = lead;
        if lead == Lead::Yes {
            self.deletion_guard.lock().resume(queue.now());
        }
        if let Some(active) = self.active() {
            queue.set_options(&self.name, self.queue_options(&active));
        }
        if lead == Lead::No {
            self.forget_what_is_gone(queue);
        }
    }

    /// Queues a parent that a change concerns.
    ///
    /// # Guarantees
    ///
    /// A parent that is gone leaves no state behind: without the lead, no worker forgets it, so
    /// this does. It must be called after a parent is deleted from the cache.
    pub(crate) fn enqueue(&self, queue: &WorkQueue, parent: ObjectKey, priority: Priority) {
        queue.add(&self.name, parent.clone(), priority);
        if self.leads() != Lead::Yes {
            self.forget_if_gone(queue, &parent);
        }
    }

    pub(crate) fn forget_if_gone(&self, queue: &WorkQueue, parent: &ObjectKey) {
        if self.active().is_some_and(|active| !active.has_parent(parent)) {
            self.forget(parent, queue.now());
            queue.remove(&self.name, parent);
            // A new parent of that name may have come meanwhile, and its key was removed.
            if self.active().is_some_and(|active| active.has_parent(parent)) {
                queue.add(&self.name, parent.clone(), Priority::Normal);
            }
        }
    }

    pub(super) fn forget_what_is_gone(&self, queue: &WorkQueue) {
        let Some(active) = self.active() else { return };
        let is_there = |parent: &ObjectKey| active.has_parent(parent);
        let mut gone: BTreeSet<ObjectKey> = self.readers().readers().filter(|parent| !is_there(parent)).cloned().collect();
        {
            let states = self.states.lock();
            gone.extend(states.keys().filter(|parent| !is_there(parent)).cloned());
        }
        gone.extend(self.own_writes.written().into_iter().filter(|parent| !is_there(parent)));
        gone.extend(active.call_guard.held().into_iter().filter(|parent| !is_there(parent)));
        gone.iter().for_each(|parent| self.forget(parent, queue.now()));
        queue.retain(&self.name, is_there);
    }

    /// The options of the mount in the queue: without the lead, it has no workers.
    pub(super) fn queue_options(&self, active: &ActiveProgram) -> MountOptions {
        let options = active.program.queue_options();
        let lead = *self.lead.lock();
        let workers = match lead {
            Lead::No | Lead::Ending => 0,
            Lead::Yes => options.workers,
        };
        MountOptions { workers, ..options }
    }

    /// Returns whether this host works for the mount.
    pub fn leads(&self) -> Lead {
        *self.lead.lock()
    }

    /// Waits for work in progress. Nothing is written on the mount's behalf afterwards.
    pub(crate) async fn retire(&self) -> Option<Arc<ActiveProgram>> {
        self.enter(Phase::Unmounting);
        let active = self.active.write().take();
        drop(self.in_flight.write().await);
        drop(self.publishing.write().await);
        active
    }

    pub(crate) async fn begin_reconcile(&self) -> OwnedRwLockReadGuard<()> {
        Arc::clone(&self.in_flight).read_owned().await
    }

    pub(crate) fn parent_state(&self, key: &ObjectKey) -> ParentState {
        self.states.lock().get(key).map(|state| (**state).clone()).unwrap_or_default()
    }

    pub(crate) fn set_parent_state(&self, key: &ObjectKey, state: ParentState) {
        self.states.lock().insert(key.clone(), Box::new(state));
    }

    /// Queues all parents, even unchanged ones. Changes come first.
    pub(crate) fn call_again(&self, queue: &WorkQueue) {
        let Some(active) = self.active() else { return };
        for state in self.states.lock().values_mut() {
            state.inputs = None;
        }
        for parent in active.parents.list(None).iter().filter(|parent| active.selects(parent)) {
            self.enqueue(queue, parent.key(), Priority::Low);
        }
    }

    pub(crate) fn observer(&self) -> Option<Arc<dyn Observer>> {
        self.observer.read().clone()
    }

    pub(crate) fn set_observer(&self, observer: Option<Arc<dyn Observer>>) {
        *self.observer.write() = observer;
    }

    pub(crate) fn forget(&self, key: &ObjectKey, now: Time) {
        self.states.lock().remove(key);
        self.readers().remove(key);
        if let Some(observer) = self.observer() {
            observer.forgotten(key, now);
        }
        self.own_writes.forget(key);
        self.deletion_guard.lock().forget(key);
        if let Some(active) = self.active() {
            active.call_guard.forget(key, now);
        }
    }

    /// The held deletions by kind. They are empty unless this host leads the mount, because another
    /// host decides about them then.
    pub(crate) fn held_deletions(&self) -> Vec<(GroupVersionKind, HeldDeletions)> {
        if self.leads() != Lead::Yes {
            return Vec::new();
        }
        self.deletion_guard.lock().held().map(|(kind, held)| (kind.clone(), held)).collect()
    }

    /// The number of reconciles in progress about whose deletions the guard has decided.
    pub(crate) fn decided_runs(&self) -> usize {
        Arc::strong_count(&self.decided).saturating_sub(1)
    }

    pub(crate) fn remembered(&self) -> usize {
        self.states.lock().len()
    }

    /// Records the reads of a call: from now on, changes of their answers concern the parent.
    pub(crate) fn has_read(&self, parent: &ObjectKey, reads: BTreeSet<Read>) {
        self.readers().replace(parent, reads);
    }

    pub(crate) fn count_reads(&self) -> (usize, usize) {
        self.readers().len()
    }

    pub(crate) fn readers_concerned(&self, kind: &GroupVersionKind, event: &WatchEvent) -> BTreeSet<ObjectKey> {
        let (object, previous) = (event.object(), event.previous());
        if previous.is_some_and(|previous| previous.equal_ignoring_resource_version(object)) {
            return BTreeSet::new();
        }
        let labels = |label: &str| object.label(label);
        let labels_before = |label: &str| previous.and_then(|previous| previous.label(label));
        let (before, now): (Option<Labels<'_, '_>>, Option<Labels<'_, '_>>) = match event {
            WatchEvent::Stored { previous, .. } => (previous.is_some().then_some(&labels_before), Some(&labels)),
            WatchEvent::Deleted(_) => (Some(&labels), None),
        };
        self.readers().affected_by(kind, &object.key(), before, now)
    }

    pub(crate) fn retries(&self, hosts: &queue::Options) -> queue::Options {
        self.active().map_or_else(|| hosts.clone(), |active| hosts.of_mount(active.program.queue_options()))
    }

    /// Keeps everybody from the recorded reads until the guard is dropped.
    #[cfg(test)]
    pub(crate) fn block_readers(&self) -> impl Drop {
        self.readers()
    }

    fn readers(&self) -> MutexGuard<'_, ReadIndex<ObjectKey>> {
        self.readers.lock()
    }
}

#[cfg(test)]
mod tests {
    use gyre_core::deletion_guard::{Circumstances, Limits, Release};
    use gyre_core::queue::Options;

    use super::*;
    use crate::telemetry::metrics::Metrics;

    #[tokio::test]
    async fn held_deletions_are_reported_only_while_the_mount_leads() {
        let queue = WorkQueue::new(Options::default(), Arc::new(Metrics::default()));
        let mount = Mount::new("mount".into());
        let kind = GroupVersionKind::new("", "v1", "ConfigMap");
        let limits = Limits { children: 0, percent: 0 };
        let circumstances = Circumstances { limits, release: Release::No, has_backlog: false, now: Time::default() };
        let unwanted = BTreeMap::from([(kind, 3)]);
        let parent = ObjectKey::new(Some("default"), "parent");
        mount.deletion_guard.lock().decide(&parent, &unwanted, &circumstances, |_| 3);
        // A host that leads again still holds them.
        for (lead, kinds) in [(Lead::No, 0), (Lead::Yes, 1), (Lead::Ending, 0), (Lead::No, 0), (Lead::Yes, 1)] {
            mount.set_lead(lead, &queue);
            assert_eq!(mount.held_deletions().len(), kinds, "{lead:?}");
        }
    }
}
