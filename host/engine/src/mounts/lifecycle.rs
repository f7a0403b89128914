//! The life of a mount: it activates one program after the other, and works while it leads.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use gyre_core::object::GroupVersionKind;
use tokio::sync::watch;
use tracing::{error, info};

use crate::cluster::kinds::{self, Resource, StatusSubresource};
use crate::mounts::active_program::ActiveProgram;
use crate::mounts::inventory::Entry;
use crate::mounts::mount::{Lead, Mount, Phase};
use crate::mounts::release::release;
use crate::mounts::services::HostServices;
use crate::program::Program;

pub(crate) type Companion = for<'a> fn(&'a Mount, &'a Program, &'a HostServices) -> BoxFuture<'a, ()>;

/// How often a mount tries again that was refused because of a changed kind.
const TRY_AGAIN_AFTER: Duration = Duration::from_secs(15);

impl Mount {
    /// Activates each program. The old one works on while the next one is prepared.
    pub(crate) async fn run(
        self: Arc<Self>,
        mut programs: watch::Receiver<Arc<Program>>,
        services: Arc<HostServices>,
        companion: Companion,
    ) {
        loop {
            let program = Arc::clone(&programs.borrow_and_update());
            tokio::select! {
                biased;
                changed = programs.changed() => match changed {
                    Ok(()) => continue,
                    Err(_) => return,
                },
                () = self.activate(Arc::clone(&program), &services) => {}
            }
            let companions = async {
                tokio::join!(self.release_out_of_scope(&services), companion(&self, &program, &services));
                std::future::pending::<()>().await;
            };
            let goes_on = tokio::select! {
                biased;
                changed = programs.changed() => changed.is_ok(),
                () = self.kinds_change() => true,
                () = companions => true,
            };
            self.set_observer(None);
            if !goes_on {
                return;
            }
        }
    }

    /// Releases the parents that a changed program no longer covers.
    async fn release_out_of_scope(&self, services: &HostServices) {
        let Some((name, entry)) = services.inventory.left(&self.name) else { return };
        // Reconciles of the old program may add finalizers again.
        self.idle().await;
        let releaser = services.releaser(&self.name, entry.impersonate.as_ref()).await;
        release(&releaser, &name, &entry, &services.inventory).await;
        services.inventory.remove(&name);
    }

    async fn activate(self: &Arc<Self>, program: Arc<Program>, services: &Arc<HostServices>) {
        let old = self.active();
        // A change of the shadow alone does not restart the mount.
        if old.as_ref().is_some_and(|old| old.program.same_except_shadow(&program) && !old.is_outdated()) {
            return;
        }
        let parents = self.find_parents(&program, &program.manifest().parent, services).await;
        let members = match &program.manifest().members {
            Some(members) => Some(self.find_parents(&program, &members.kind, services).await),
            None => None,
        };
        let former =
            services.inventory.kinds(&self.name).into_iter().chain(old.iter().flat_map(|old| old.child_kinds())).collect();
        let active = match ActiveProgram::prepare(
            Arc::clone(&program),
            services,
            (parents, members),
            &former,
            &services.claims.of(&self.name),
        )
        .await
        {
            Ok(active) => Arc::new(active),
            Err(reason) => {
                error!(mount = %self.name, "not mounted: {reason}");
                self.enter(Phase::Refused(reason.to_string()));
                services.leadable.mark_unleadable(&self.name);
                return;
            }
        };
        services.inventory.record(&self.name, Entry::of(&program, active.child_kinds().into_iter()));
        // Otherwise a worker could ask the guard about the new program in the pass of the old one.
        self.deletion_guard.lock().begin(services.queue.now());
        self.set_active(Arc::clone(&active));
        services.queue.add_mount(&self.name, self.queue_options(&active));
        let manifest = program.manifest();
        info!(
            mount = %self.name, version = manifest.version, digest = %program.plugin.digest(),
            artifact = program.artifact_digest(), parent = %manifest.parent,
            "{}", match &old {
                None => "mounted",
                Some(old) if old.program.same_except_shadow(&program) => "mounted again, because a kind has changed",
                Some(_) => "the new plugin and configuration are active",
            }
        );
        active.subscribe_all(self, &services.queue);
        active.find_fresh(&services.client, &services.claims.of(&self.name));
        // Deletions before the subscription were reported to nobody.
        self.forget_what_is_gone(&services.queue);
        active.await_kinds(self, services);
        active.await_pruning(self, services);
        self.enter(Phase::Running);
        services.leadable.add(&self.name);
    }

    /// Waits until a kind of the active program is no longer served as it was.
    async fn kinds_change(&self) {
        match self.active() {
            Some(active) => active.outdated().await,
            None => std::future::pending().await,
        }
        if matches!(self.phase(), Phase::Refused(_)) {
            tokio::time::sleep(TRY_AGAIN_AFTER).await;
        }
    }

    pub(crate) async fn lead(self: Arc<Self>, services: Arc<HostServices>) {
        let claim = services.claims.of(&self.name);
        loop {
            claim.held().await;
            services.digests.doubt();
            self.set_lead(Lead::Yes, &services.queue);
            claim.lost().await;
            self.set_lead(Lead::No, &services.queue);
        }
    }

    async fn find_parents(&self, program: &Program, kind: &GroupVersionKind, services: &HostServices) -> Resource {
        let found = kinds::look_for(&services.client, kind, &self.name).await;
        let brings_status = kinds::give_status(&program.manifest().crds, kind);
        let lacks_status = |resource: &Resource| brings_status && resource.status == StatusSubresource::Absent;
        if let Some(resource) = found.filter(|resource| !lacks_status(resource)) {
            return resource;
        }
        let before = self.phase();
        self.enter(Phase::Waiting(kind.clone()));
        services.leadable.mark_unleadable(&self.name);
        let mut resource = kinds::wait_for(&services.client, kind, &self.name).await;
        if lacks_status(&resource) {
            resource = kinds::wait_for_status(&services.client, resource, &self.name).await;
        }
        self.enter(before);
        resource
    }
}
