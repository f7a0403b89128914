//! The subscriptions that queue the parents that a change concerns.

use std::sync::{Arc, Weak};
use std::time::Duration;

use gyre_core::object::{GroupVersionKind, ObjectKey};
use gyre_core::queue::Priority;
use tracing::{debug, info};

use crate::cluster::informer::{Origin, WatchEvent};
use crate::cluster::kinds;
use crate::cluster::lookup::Served;
use crate::cluster::view::View;
use crate::error::error_chain;
use crate::mounts::active_program::{ActiveProgram, Opened};
use crate::mounts::former::{Found, UnprunedKind, look_for_objects};
use crate::mounts::inventory::Entry;
use crate::mounts::mount::Mount;
use crate::mounts::services::HostServices;
use crate::work::WorkQueue;

/// The interval of attempts to list a former kind. A person applies rules and waits.
const PRUNE_AGAIN_AFTER: Duration = Duration::from_secs(60);

impl ActiveProgram {
    /// Queues all parents, and those that a change concerns from now on.
    pub(crate) fn subscribe_all(self: &Arc<Self>, mount: &Arc<Mount>, queue: &Arc<WorkQueue>) {
        for view in self.children().values() {
            self.subscribe_to_children(view, mount, queue);
        }
        for kind in self.lookup.kinds() {
            for view in self.lookup.served(&kind).iter().flat_map(Served::views) {
                self.subscribe_to_reads(&kind, view, mount, queue);
            }
        }
        self.subscribe_to_parents(mount, queue);
        self.subscribe_to_members(mount, queue);
    }

    pub(crate) fn await_kinds(self: &Arc<Self>, mount: &Arc<Mount>, services: &Arc<HostServices>) {
        for kind in self.unserved_kinds() {
            let waiting = wait_for(Arc::downgrade(self), Arc::downgrade(mount), Arc::clone(services), kind.clone());
            let task = tokio::spawn(waiting).abort_handle();
            self.add_awaited(kind, task);
        }
    }

    /// Prunes the kinds that could not be listed, once they can be.
    pub(crate) fn await_pruning(self: &Arc<Self>, mount: &Arc<Mount>, services: &Arc<HostServices>) {
        for unpruned in self.unpruned_kinds() {
            let kind = unpruned.resource.kind();
            let pruning = prune_later(Arc::downgrade(self), Arc::downgrade(mount), Arc::clone(services), unpruned);
            self.add_pruning(&kind, tokio::spawn(pruning).abort_handle());
        }
    }

    /// Publishes a kind after the mount has begun to work, and subscribes to its children.
    pub(super) fn publish_late(self: &Arc<Self>, opened: Opened, mount: &Arc<Mount>, queue: &Arc<WorkQueue>) {
        let kind = opened.kind.clone();
        self.publish(opened);
        self.fresh.forget_all();
        if let Some(view) = self.children().get(&kind) {
            self.subscribe_to_children(view, mount, queue);
        }
    }

    fn subscribe_to_parents(self: &Arc<Self>, mount: &Arc<Mount>, queue: &Arc<WorkQueue>) {
        let (active, mount, queue) = (Arc::downgrade(self), Arc::downgrade(mount), Arc::clone(queue));
        self.add_subscriptions(self.parents.subscribe(move |event| {
            let (Some(active), Some(mount)) = (active.upgrade(), mount.upgrade()) else { return };
            let object = event.object();
            active.track_freshness(event);
            if let (WatchEvent::Stored { previous: None, origin: Origin::Watch, .. }, Some(namespace)) =
                (event, object.namespace())
            {
                mount.terminating.lock().forget(namespace);
            }
            if !mount.own_writes.is_own(event) {
                mount.enqueue(&queue, object.key(), priority_of(event));
            }
        }));
        self.fresh.record_parents_seen();
    }

    fn subscribe_to_members(self: &Arc<Self>, mount: &Arc<Mount>, queue: &Arc<WorkQueue>) {
        let Some(members) = &self.members else { return };
        let (active, mount_of, queue_of) = (Arc::downgrade(self), Arc::downgrade(mount), Arc::clone(queue));
        self.add_subscriptions(members.view.subscribe(move |event| {
            let (Some(active), Some(mount)) = (active.upgrade(), mount_of.upgrade()) else { return };
            let Some(members) = &active.members else { return };
            let is_unchanged =
                || event.previous().is_some_and(|previous| previous.equal_ignoring_resource_version(event.object()));
            let is_own = mount.member_writes.is_own(event);
            if is_unchanged() {
                return;
            }
            let concerned: Vec<ObjectKey> = members.concerned(event).collect();
            // Our write was about the group that the member has left: the one that it has joined
            // must be called.
            if !is_own || concerned.len() > 1 {
                concerned.into_iter().for_each(|group| mount.enqueue(&queue_of, group, priority_of(event)));
            }
        }));
        if let Some(group) = members.group_of_all() {
            mount.enqueue(queue, ObjectKey { namespace: None, name: group.name }, Priority::Low);
        }
    }

    fn subscribe_to_children(self: &Arc<Self>, view: &View, mount: &Arc<Mount>, queue: &Arc<WorkQueue>) {
        let (active, mount, queue) = (Arc::downgrade(self), Arc::downgrade(mount), Arc::clone(queue));
        self.add_subscriptions(view.subscribe(move |event| {
            let (Some(active), Some(mount)) = (active.upgrade(), mount.upgrade()) else { return };
            // Only the resourceVersion changed, e.g. by managedFields, which are not cached.
            if event.previous().is_some_and(|previous| previous.equal_ignoring_resource_version(event.object())) {
                return;
            }
            // An object that changed its owner concerns both owners.
            for object in [Some(event.object()), event.previous()].into_iter().flatten() {
                match object.owner_uid().and_then(|uid| active.parents.by_uid(uid)) {
                    Some(parent) => mount.enqueue(&queue, parent.key(), priority_of(event)),
                    // The garbage collector deletes orphans; other children belong to other mounts.
                    None => debug!(mount = %mount.name, child = %object.key(), "a child whose parent is not in the cache"),
                }
            }
        }));
    }

    fn subscribe_to_reads(&self, kind: &GroupVersionKind, view: &View, mount: &Arc<Mount>, queue: &Arc<WorkQueue>) {
        let (mount, queue, kind) = (Arc::downgrade(mount), Arc::clone(queue), kind.clone());
        self.add_subscriptions(view.subscribe(move |event| {
            let Some(mount) = mount.upgrade() else { return };
            for parent in mount.readers_concerned(&kind, event) {
                mount.enqueue(&queue, parent, priority_of(event));
            }
        }));
    }
}

fn priority_of(event: &WatchEvent) -> Priority {
    match event {
        WatchEvent::Stored { origin: Origin::List, .. } => Priority::Low,
        WatchEvent::Stored { origin: Origin::Watch, .. } | WatchEvent::Deleted(_) => Priority::Normal,
    }
}

async fn wait_for(active: Weak<ActiveProgram>, mount: Weak<Mount>, services: Arc<HostServices>, kind: GroupVersionKind) {
    let Some(name) = mount.upgrade().map(|mount| Arc::clone(&mount.name)) else { return };
    let resource = kinds::wait_for(&services.client, &kind, &name).await;
    let opened = active.upgrade().map(|active| active.open(&services.informers, resource));
    let Some(opened) = opened else { return };
    opened.synced().await;
    let (Some(active), Some(mount)) = (active.upgrade(), mount.upgrade()) else { return };
    active.publish_late(opened, &mount, &services.queue);
    for view in active.lookup.served(&kind).iter().flat_map(Served::views) {
        active.subscribe_to_reads(&kind, view, &mount, &services.queue);
    }
    active.remove_awaited(&kind);
    for parent in active.parents.list(None) {
        mount.enqueue(&services.queue, parent.key(), Priority::Low);
    }
}

async fn prune_later(active: Weak<ActiveProgram>, mount: Weak<Mount>, services: Arc<HostServices>, mut unpruned: UnprunedKind) {
    let Some(program) = active.upgrade().map(|active| Arc::clone(&active.program)) else { return };
    let found = loop {
        tokio::time::sleep(PRUNE_AGAIN_AFTER).await;
        match look_for_objects(&services.client, &program, &unpruned.resource).await {
            Ok(found) => break found,
            Err(error) if error_chain(&error) == unpruned.error => {}
            Err(error) => {
                unpruned = UnprunedKind::new(&program, unpruned.resource, &error);
                active.upgrade().iter().for_each(|active| active.update_unpruned(unpruned.clone()));
            }
        }
    };
    let kind = unpruned.resource.kind();
    let open = |active: Arc<ActiveProgram>| active.open_former(&services.informers, unpruned.resource.clone());
    let opened = active.upgrade().filter(|_| found == Found::Objects).map(open);
    if let Some(opened) = &opened {
        opened.synced().await;
    }
    let (Some(active), Some(mount)) = (active.upgrade(), mount.upgrade()) else { return };
    if mount.active().is_none_or(|now| !Arc::ptr_eq(&now, &active)) {
        return;
    }
    info!(mount = %mount.name, %kind, "the objects of a former kind can be listed now, and are pruned");
    if let Some(opened) = opened {
        active.publish_late(opened, &mount, &services.queue);
    }
    active.remove_unpruned(&kind);
    services.inventory.record(&mount.name, Entry::of(&active.program, active.child_kinds().into_iter()));
    for parent in active.parents.list(None) {
        mount.enqueue(&services.queue, parent.key(), Priority::Low);
    }
}
