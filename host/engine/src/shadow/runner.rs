//! A running shadow: it compares one parent after the other.

use std::any::Any;
use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use gyre_core::object::{GroupVersionKind, ObjectKey};
use gyre_core::plan::{RELEASE_ANNOTATION, is_released};
use gyre_core::quarantine::{CallEnd, Change, Extent};
use gyre_core::queue::{Options, Time};
use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio::task::yield_now;
use tokio::time::sleep;
use tracing::{error, error_span, info, warn};

use super::compare::{Comparison, Pair, Side};
use super::queue::ComparisonQueue;
use crate::call::Ask;
use crate::call::threads::Priority;
use crate::cluster::kinds;
use crate::leadership::claim::Claim;
use crate::mounts::active_program::{self, ActiveProgram};
use crate::mounts::call_guard::Admitted;
use crate::mounts::mount::{Lead, Mount};
use crate::mounts::observer::Observer;
use crate::mounts::services::HostServices;
use crate::program::Program;
use crate::reconcile::call_context::log;
use crate::telemetry::metrics::Shadowed;
use crate::writes::finalizers;

/// The delay before a comparison that the host could not make is retried.
const AGAIN_AFTER: Duration = Duration::from_secs(1);
/// How often a completely quarantined shadow is checked. The first probe comes after 30 s.
const ALL_HELD_PAUSE: Duration = Duration::from_secs(5);

/// A shadow, and its differences so far. A change of either program discards them.
pub(crate) struct Shadow {
    pub(super) mounted: Arc<ActiveProgram>,
    pub(super) program: Arc<Program>,
    pub(super) active: OnceLock<Arc<ActiveProgram>>,
    pub(super) since: Timestamp,
    comparisons: Mutex<ComparisonQueue>,
    added: Notify,
}

enum Candidate {
    Pair(Box<Pair>),
    Later,
    Nothing,
}

impl Shadow {
    fn new(mounted: Arc<ActiveProgram>, program: Arc<Program>, since: Timestamp) -> Self {
        Self { mounted, program, active: OnceLock::new(), since, comparisons: Mutex::default(), added: Notify::new() }
    }

    pub(crate) fn of(mount: &Mount) -> Option<Arc<Self>> {
        let observer: Arc<dyn Any + Send + Sync> = mount.observer()?;
        observer.downcast().ok()
    }

    fn add(&self, parent: &ObjectKey) {
        self.comparisons().add(parent);
        self.added.notify_one();
    }

    fn forget(&self, parent: &ObjectKey, now: Time) {
        self.comparisons().forget(parent);
        if let Some(active) = self.active.get() {
            active.call_guard.forget(parent, now);
        }
    }

    pub(crate) fn moment(&self) -> Shadowed {
        self.comparisons().moment()
    }

    /// Compares one parent after the other, at first all. Never returns.
    async fn compare_parents(&self, active: &Arc<ActiveProgram>, mount: &Mount, services: &HostServices) {
        // Only the leader compares; a new leader calls its plugin about all parents.
        if mount.leads() == Lead::Yes {
            let parents = self.mounted.parents.list(None);
            parents.iter().filter(|parent| self.mounted.is_callable(parent)).for_each(|parent| self.add(&parent.key()));
        }
        let mut held_in_a_row = 0;
        loop {
            let key = self.next().await;
            let Ok(admitted) = active.call_guard.admit(&key, services.queue.now()) else {
                self.add(&key);
                held_in_a_row += 1;
                if held_in_a_row >= self.moment().waiting {
                    held_in_a_row = 0;
                    sleep(ALL_HELD_PAUSE).await;
                } else {
                    yield_now().await;
                }
                continue;
            };
            held_in_a_row = 0;
            self.compare(active, key, admitted, mount, services).await;
        }
    }

    async fn next(&self) -> ObjectKey {
        loop {
            if let Some(next) = self.comparisons().next() {
                return next;
            }
            self.added.notified().await;
        }
    }

    pub(super) fn comparisons(&self) -> MutexGuard<'_, ComparisonQueue> {
        self.comparisons.lock()
    }

    async fn compare(
        &self,
        active: &Arc<ActiveProgram>,
        key: ObjectKey,
        admitted: Admitted,
        mount: &Mount,
        services: &HostServices,
    ) {
        let compared = match self.pair(active, &key, mount, services) {
            Candidate::Pair(pair) => services.caller.run(Priority::Idle, move || pair.compare()).await,
            Candidate::Later => Ok(None),
            Candidate::Nothing => {
                drop(admitted);
                return self.forget(&key, services.queue.now());
            }
        };
        let Comparison { end, outcome, lines } = match compared {
            Ok(Some(comparison)) => comparison,
            undone => {
                drop(admitted);
                if let Err(error) = undone {
                    return error!(mount = %mount.name, object = %key, "the comparison with the shadow failed: {error}");
                }
                sleep(AGAIN_AFTER).await;
                return self.add(&key);
            }
        };
        error_span!("shadow", mount = %mount.name, object = %key).in_scope(|| log(&lines));
        services.metrics.shadowed(&mount.name, outcome.word());
        self.comparisons().record(&key, outcome);
        for change in admitted.ended(end.unwrap_or(CallEnd::HostFault), services.queue.now()).changes {
            match change {
                Change::Quarantined(Extent::Mount) => {
                    warn!(mount = %mount.name, "the shadow keeps failing by its own fault: it is only probed from now on")
                }
                Change::Recovered(Extent::Mount) => info!(mount = %mount.name, "the shadow answers again"),
                Change::Quarantined(Extent::Scope) | Change::Recovered(Extent::Scope) => {}
            }
        }
        if self.mounted.parents.get(&key).is_none() {
            self.forget(&key, services.queue.now());
        }
    }

    fn pair(&self, active: &Arc<ActiveProgram>, key: &ObjectKey, mount: &Mount, services: &HostServices) -> Candidate {
        let parent = self.mounted.parents.get(key).filter(|parent| self.mounted.is_callable(parent));
        let Some(parent) = parent else { return Candidate::Nothing };
        let has_finalizer = finalizers::has_finalizer(&parent, &self.mounted.program.manifest().name);
        let ask = match parent.is_deleting() {
            false => Ask::Reconcile,
            true if has_finalizer && !is_released(parent.annotation(RELEASE_ANNOTATION).as_deref()) => Ask::Finalize,
            true => return Candidate::Nothing,
        };
        let is_same_version = self.mounted.program.manifest().parent == active.program.manifest().parent;
        let shadowed = if is_same_version { Some(Arc::clone(&parent)) } else { active.parents.get(key) };
        // The caches of two versions may differ in age.
        let Some(shadowed) = shadowed else { return Candidate::Later };
        let state = mount.parent_state(key);
        let state = if state.uid == parent.uid() { state } else { Default::default() };
        let retries = mount.retries(&Options::default());
        let queue_now = services.queue.now();
        let held = self.mounted.call_guard.holds(key, queue_now);
        Candidate::Pair(Box::new(Pair {
            held,
            digests: services.digests.known(),
            ask,
            has_finalizer,
            now: services.caller.clock.now(),
            retries,
            state,
            mounted: Side::new(&self.mounted, parent),
            shadow: Side::new(active, shadowed),
        }))
    }
}

impl Observer for Shadow {
    fn called(&self, parent: &ObjectKey) {
        self.add(parent);
    }

    fn forgotten(&self, parent: &ObjectKey, now: Time) {
        self.forget(parent, now);
    }
}

pub(crate) fn run_shadow<'a>(mount: &'a Mount, program: &'a Program, services: &'a HostServices) -> BoxFuture<'a, ()> {
    Box::pin(async move {
        // A defect of the host here must not affect the mount.
        if AssertUnwindSafe(compare_all(mount, program, services)).catch_unwind().await.is_err() {
            error!(mount = %mount.name, "the host panicked: the shadow has stopped. This is a defect of gyre; its log says where");
            mount.set_observer(None);
        }
    })
}

async fn compare_all(mount: &Mount, program: &Program, services: &HostServices) {
    let Some(wanted) = &program.shadow else { return };
    let Some(mounted) = mount.active().filter(|active| active.program.same_except_shadow(program)) else { return };
    services.metrics.has_shadow(&mount.name);
    loop {
        let shadow = Arc::new(Shadow::new(Arc::clone(&mounted), Arc::clone(wanted), services.caller.clock.now()));
        mount.set_observer(Some(Arc::clone(&shadow) as Arc<dyn Observer>));
        let active = match prepare(wanted, &mounted, mount, services).await {
            Ok(active) => Arc::new(active),
            Err(reason) => return error!(mount = %mount.name, "no shadow: {reason}"),
        };
        let _ = shadow.active.set(Arc::clone(&active));
        let manifest = wanted.manifest();
        info!(
            mount = %mount.name, version = manifest.version, digest = %wanted.plugin.digest(), artifact = wanted.artifact_digest(),
            "shadowed"
        );
        tokio::select! {
            () = shadow.compare_parents(&active, mount, services) => {}
            // Refused steps may succeed then.
            () = one_served(active.unserved_kinds(), mount, services) => {}
        }
    }
}

async fn prepare(
    wanted: &Arc<Program>,
    mounted: &ActiveProgram,
    mount: &Mount,
    services: &HostServices,
) -> Result<ActiveProgram, active_program::Error> {
    let parents = kinds::wait_for(&services.client, &wanted.manifest().parent, &mount.name).await;
    let members = match &wanted.manifest().members {
        Some(members) => Some(kinds::wait_for(&services.client, &members.kind, &mount.name).await),
        None => None,
    };
    let former = services.inventory.kinds(&mount.name).into_iter().chain(mounted.children().into_keys()).collect();
    ActiveProgram::prepare(Arc::clone(wanted), services, (parents, members), &former, &Claim::never()).await
}

async fn one_served(kinds: BTreeSet<GroupVersionKind>, mount: &Mount, services: &HostServices) {
    let waiting = kinds.iter().map(|kind| Box::pin(kinds::wait_for(&services.client, kind, &mount.name)));
    let waiting: Vec<_> = waiting.collect();
    if waiting.is_empty() {
        std::future::pending::<()>().await;
    }
    futures::future::select_all(waiting).await;
}
