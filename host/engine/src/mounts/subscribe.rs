//! The subscriptions that queue the parents that a change concerns.

use std::sync::{Arc, Weak};

use gyre_core::object::GroupVersionKind;
use gyre_core::queue::Priority;
use tracing::debug;

use crate::cluster::informer::{Origin, WatchEvent};
use crate::cluster::kinds;
use crate::cluster::lookup::Served;
use crate::cluster::view::View;
use crate::mounts::active_program::ActiveProgram;
use crate::mounts::mount::Mount;
use crate::mounts::services::HostServices;
use crate::work::WorkQueue;

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
    }

    pub(crate) fn await_kinds(self: &Arc<Self>, mount: &Arc<Mount>, services: &Arc<HostServices>) {
        for kind in self.unserved_kinds() {
            let waiting = wait_for(Arc::downgrade(self), Arc::downgrade(mount), Arc::clone(services), kind.clone());
            let task = tokio::spawn(waiting).abort_handle();
            self.add_awaited(kind, task);
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
            let is_own_write = match event {
                WatchEvent::Stored { origin: Origin::Watch, .. } => mount.own_writes.suppresses(object),
                WatchEvent::Stored { origin: Origin::List, .. } => {
                    mount.own_writes.listed(&object.key());
                    false
                }
                WatchEvent::Deleted(_) => false,
            };
            if !is_own_write {
                mount.enqueue(&queue, object.key(), priority_of(event));
            }
        }));
        self.fresh.record_parents_seen();
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
    active.publish(opened);
    active.fresh.forget_all();
    if let Some(view) = active.children().get(&kind) {
        active.subscribe_to_children(view, &mount, &services.queue);
    }
    for view in active.lookup.served(&kind).iter().flat_map(Served::views) {
        active.subscribe_to_reads(&kind, view, &mount, &services.queue);
    }
    active.remove_awaited(&kind);
    for parent in active.parents.list(None) {
        mount.enqueue(&services.queue, parent.key(), Priority::Low);
    }
}
