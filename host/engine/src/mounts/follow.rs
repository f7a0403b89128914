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
    pub(crate) fn follow(self: &Arc<Self>, mount: &Arc<Mount>, queue: &Arc<WorkQueue>) {
        for view in self.children().values() {
            self.follow_children(view, mount, queue);
        }
        for kind in self.lookup.kinds() {
            for view in self.lookup.served(&kind).iter().flat_map(Served::views) {
                self.follow_reads(&kind, view, mount, queue);
            }
        }
        self.follow_parents(mount, queue);
    }

    pub(crate) fn await_kinds(self: &Arc<Self>, mount: &Arc<Mount>, services: &Arc<HostServices>) {
        for kind in self.unserved_kinds() {
            let waiting = wait_for(Arc::downgrade(self), Arc::downgrade(mount), Arc::clone(services), kind.clone());
            let task = tokio::spawn(waiting).abort_handle();
            self.add_awaited(kind, task);
        }
    }

    fn follow_parents(self: &Arc<Self>, mount: &Arc<Mount>, queue: &Arc<WorkQueue>) {
        let (live, mount, queue) = (Arc::downgrade(self), Arc::downgrade(mount), Arc::clone(queue));
        self.keep(self.parents.subscribe(move |notice| {
            let (Some(live), Some(mount)) = (live.upgrade(), mount.upgrade()) else { return };
            let object = notice.object();
            live.note_parent(notice);
            let is_held_back = matches!(notice, WatchEvent::Stored { .. }) && mount.own_writes.suppresses(object);
            if !is_held_back {
                mount.enqueue(&queue, object.key(), priority_of(notice));
            }
        }));
        self.fresh.follow_parents();
    }

    fn follow_children(self: &Arc<Self>, view: &View, mount: &Arc<Mount>, queue: &Arc<WorkQueue>) {
        let (live, mount, queue) = (Arc::downgrade(self), Arc::downgrade(mount), Arc::clone(queue));
        self.keep(view.subscribe(move |notice| {
            let (Some(live), Some(mount)) = (live.upgrade(), mount.upgrade()) else { return };
            // Only the resourceVersion changed, e.g. by managedFields, which are not cached.
            if notice.previous().is_some_and(|previous| previous.equal_ignoring_resource_version(notice.object())) {
                return;
            }
            // An object that changed its owner concerns both owners.
            for object in [Some(notice.object()), notice.previous()].into_iter().flatten() {
                match object.owner_uid().and_then(|uid| live.parents.by_uid(uid)) {
                    Some(parent) => mount.enqueue(&queue, parent.key(), priority_of(notice)),
                    // The garbage collector deletes orphans; other children belong to other mounts.
                    None => debug!(mount = %mount.name, child = %object.key(), "a child whose parent is not in the cache"),
                }
            }
        }));
    }

    fn follow_reads(&self, kind: &GroupVersionKind, view: &View, mount: &Arc<Mount>, queue: &Arc<WorkQueue>) {
        let (mount, queue, kind) = (Arc::downgrade(mount), Arc::clone(queue), kind.clone());
        self.keep(view.subscribe(move |notice| {
            let Some(mount) = mount.upgrade() else { return };
            for parent in mount.readers_concerned(&kind, notice) {
                mount.enqueue(&queue, parent, priority_of(notice));
            }
        }));
    }
}

fn priority_of(notice: &WatchEvent) -> Priority {
    match notice {
        WatchEvent::Stored { origin: Origin::List, .. } => Priority::Low,
        WatchEvent::Stored { origin: Origin::Watch, .. } | WatchEvent::Deleted(_) => Priority::Normal,
    }
}

async fn wait_for(live: Weak<ActiveProgram>, mount: Weak<Mount>, services: Arc<HostServices>, kind: GroupVersionKind) {
    let Some(name) = mount.upgrade().map(|mount| Arc::clone(&mount.name)) else { return };
    let resource = kinds::wait_for(&services.client, &kind, &name).await;
    let opened = live.upgrade().map(|live| live.open(&services.informers, resource));
    let Some(opened) = opened else { return };
    opened.synced().await;
    let (Some(live), Some(mount)) = (live.upgrade(), mount.upgrade()) else { return };
    live.publish(opened);
    live.fresh.forget_all();
    if let Some(view) = live.children().get(&kind) {
        live.follow_children(view, &mount, &services.queue);
    }
    for view in live.lookup.served(&kind).iter().flat_map(Served::views) {
        live.follow_reads(&kind, view, &mount, &services.queue);
    }
    live.remove_awaited(&kind);
    for parent in live.parents.list(None) {
        mount.enqueue(&services.queue, parent.key(), Priority::Low);
    }
}
