//! The mounts of a host: it mounts, replaces and unmounts as the wanted programs change.

pub(crate) mod active_program;
pub(crate) mod call_guard;
pub(crate) mod former;
pub(crate) mod fresh;
pub mod inventory;
pub(crate) mod lifecycle;
pub(crate) mod members;
pub mod mount;
pub(crate) mod observer;
pub(crate) mod parent_state;
pub(crate) mod release;
pub(crate) mod services;
mod subscribe;
pub(crate) mod trail;
pub(crate) mod unreachable;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::Instant;
use tracing::info;

use crate::mounts::inventory::Entry;
use crate::mounts::lifecycle::Companion;
use crate::mounts::mount::Mount;
use crate::mounts::release::release;
use crate::mounts::services::HostServices;
use crate::program::{MountName, Program, Programs};

/// The configured mounts of a host, and those that are being unmounted.
pub struct Mounts {
    state: Mutex<MountTable>,
    companion: Companion,
}

#[derive(Default)]
struct MountTable {
    mounted: BTreeMap<MountName, Mounted>,
    /// The tasks that remove finalizers after an unmount, by name.
    unmounting: BTreeMap<String, Unmounting>,
}

struct Unmounting {
    task: JoinHandle<()>,
    /// Set when the task has done its work.
    is_done: Arc<AtomicBool>,
}

impl Unmounting {
    fn spawn(work: impl Future<Output = ()> + Send + 'static) -> Self {
        let is_done = Arc::<AtomicBool>::default();
        let done = Arc::clone(&is_done);
        let task = tokio::spawn(async move {
            work.await;
            done.store(true, Ordering::Relaxed);
        });
        Self { task, is_done }
    }

    fn has_panicked(&self) -> bool {
        self.task.is_finished() && !self.is_done.load(Ordering::Relaxed)
    }
}

/// Whether mounts remain in the inventory that are no longer configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    Nothing,
    Waits,
}

struct Mounted {
    mount: Arc<Mount>,
    program: Arc<Program>,
    programs: watch::Sender<Arc<Program>>,
    task: AbortHandle,
}

impl Drop for Mounted {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Mounts {
    pub(crate) fn new(companion: Companion) -> Self {
        Self { state: Mutex::default(), companion }
    }

    pub(crate) fn get(&self, name: &MountName) -> Option<Arc<Mount>> {
        self.state().mounted.get(name).map(|mounted| Arc::clone(&mounted.mount))
    }

    pub(crate) fn all(&self) -> Vec<(Arc<Mount>, Arc<Program>)> {
        self.state().mounted.values().map(|mounted| (Arc::clone(&mounted.mount), Arc::clone(&mounted.program))).collect()
    }

    pub(crate) fn unmounting(&self) -> Vec<String> {
        let state = self.state();
        state.unmounting.iter().filter(|(_, leaving)| !leaving.task.is_finished()).map(|(name, _)| name.clone()).collect()
    }

    /// Returns the tasks that have ended although their work is not done, e.g. by a panic.
    pub(crate) fn ended_tasks(&self) -> Vec<String> {
        let state = self.state();
        let has_ended = |mounted: &Mounted| {
            mounted.task.is_finished() || mounted.mount.active().is_some_and(|active| active.has_ended_task())
        };
        let mounted = state.mounted.iter().filter(|(_, mounted)| has_ended(mounted));
        let unmounting = state.unmounting.iter().filter(|(_, leaving)| leaving.has_panicked());
        let ended = mounted.map(|(name, _)| format!("a task of the mount {name}"));
        ended.chain(unmounting.map(|(name, _)| format!("the clean-up of the removed mount {name}"))).collect()
    }

    /// Mounts and unmounts as `programs` changes. Mounts that are only in the inventory are
    /// released after `patience`.
    pub(crate) async fn follow_programs(
        self: Arc<Self>,
        mut programs: Programs,
        services: Arc<HostServices>,
        patience: Duration,
    ) {
        let until = Instant::now() + patience;
        loop {
            let wanted = Arc::clone(&programs.borrow_and_update());
            let left = self.bring_to(&wanted, &services, until).await;
            let changed = async {
                if programs.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            match left {
                Left::Nothing => changed.await,
                Left::Waits => tokio::select! {
                    biased;
                    () = changed => {}
                    () = tokio::time::sleep_until(until) => {}
                },
            }
        }
    }

    pub(crate) fn stop(&self) {
        let mut state = self.state();
        state.mounted.clear();
        std::mem::take(&mut state.unmounting).into_values().for_each(|leaving| leaving.task.abort());
    }

    async fn bring_to(&self, wanted: &[Program], services: &Arc<HostServices>, patient_until: Instant) -> Left {
        let mut left = Left::Nothing;
        services.inventory.want(wanted);
        let is_wanted = |mounted: &Mounted| {
            wanted.iter().any(|program| program.name == mounted.mount.name && identity(program) == identity(&mounted.program))
        };
        let unwanted: Vec<Mounted> =
            self.state().mounted.extract_if(.., |_, mounted| !is_wanted(mounted)).map(|(_, mounted)| mounted).collect();
        for mounted in unwanted {
            self.unmount(mounted, services);
        }
        for (name, entry) in services.inventory.all() {
            let is_seen_to = {
                let state = self.state();
                state.mounted.contains_key(&*name) || state.unmounting.contains_key(&name)
            };
            if !is_seen_to && !services.inventory.is_wanted(&name, &entry) {
                let is_taken = wanted.iter().any(|program| *program.name == *name);
                let patience = patient_until.saturating_duration_since(Instant::now());
                if !is_taken && !patience.is_zero() {
                    info!(mount = name, ?patience, "mounted before, but not in the plugin directory: left unchanged for now");
                    left = Left::Waits;
                    continue;
                }
                info!(mount = name, "no longer mounted, according to the inventory");
                self.release_unmounted(name, entry, None, services);
            }
        }
        for program in wanted {
            self.mount(program, services);
        }
        left
    }

    fn mount(&self, program: &Program, services: &Arc<HostServices>) {
        let mut state = self.state();
        if let Some(mounted) = state.mounted.get_mut(&program.name) {
            if !mounted.program.is_same(program) {
                mounted.program = Arc::new(program.clone());
                mounted.programs.send_replace(Arc::clone(&mounted.program));
            }
            return;
        }
        let program = Arc::new(program.clone());
        let name = Arc::clone(&program.name);
        let (programs, receiver) = watch::channel(Arc::clone(&program));
        let mount = Arc::new(Mount::new(Arc::clone(&name)));
        let running = Arc::clone(&mount).run(receiver, Arc::clone(services), self.companion);
        let leading = Arc::clone(&mount).lead(Arc::clone(services));
        // A mount that returns waits until its finalizers are removed.
        let leaving = state.unmounting.remove(&*name);
        let task = tokio::spawn(async move {
            if let Some(leaving) = leaving {
                let _ = leaving.task.await;
            }
            tokio::join!(running, leading);
        });
        state.mounted.insert(name, Mounted { mount, program, programs, task: task.abort_handle() });
    }

    fn unmount(&self, mounted: Mounted, services: &Arc<HostServices>) {
        let Mounted { mount, program, .. } = &mounted;
        let entry = services.inventory.all_of(program);
        self.release_unmounted(mount.name.to_string(), entry, Some(Arc::clone(mount)), services);
    }

    fn release_unmounted(&self, name: String, entry: Entry, mount: Option<Arc<Mount>>, services: &Arc<HostServices>) {
        let (services, mount_name) = (Arc::clone(services), name.clone());
        let leaving = Unmounting::spawn(async move {
            if let Some(mount) = mount {
                services.queue.remove_mount(&mount.name);
                mount.retire().await;
                services.events.remove_mount(&mount.name);
            }
            // Replicas that share mounts must agree on who does it.
            services.leadable.add(&mount_name);
            let releaser = services.releaser(&mount_name, entry.impersonate.as_ref()).await;
            release(&releaser, &mount_name, &entry, &services.inventory).await;
            services.inventory.remove(&mount_name);
            services.leadable.remove(&mount_name);
        });
        self.state().unmounting.insert(name, leaving);
    }

    fn state(&self) -> MutexGuard<'_, MountTable> {
        self.state.lock()
    }
}

/// The identity of a mount: a plugin with another name or parent kind is another mount.
fn identity(program: &Program) -> (&str, &str, &str) {
    let manifest = program.manifest();
    (&manifest.name, &manifest.parent.group, &manifest.parent.kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_unmount_that_panics_is_distinguished_from_one_that_is_done() {
        let mut done = Unmounting::spawn(async {});
        let mut panicking = Unmounting::spawn(async { std::panic::resume_unwind(Box::new("a defect")) });
        let waiting = Unmounting::spawn(std::future::pending());
        let _ = (&mut done.task).await;
        let _ = (&mut panicking.task).await;
        assert_eq!([&done, &panicking, &waiting].map(Unmounting::has_panicked), [false, true, false]);
    }
}
