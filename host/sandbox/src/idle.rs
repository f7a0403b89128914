//! Idle instances, to be used again.

use std::collections::VecDeque;

use parking_lot::{Mutex, MutexGuard};
use wasmtime::Store;

use crate::state::CallState;
use crate::wit::latest::Instance;

pub(crate) struct Warm {
    pub(crate) plugin: u64,
    pub(crate) store: Store<CallState>,
    pub(crate) instance: Instance,
    pub(crate) calls: u32,
}

/// The idle instances of all plugins, least recently used first. So few that a scan is cheapest.
pub(crate) struct Idle {
    instances: Mutex<VecDeque<Warm>>,
    capacity: usize,
}

impl Idle {
    pub(crate) fn new(capacity: u32) -> Self {
        Self { instances: Mutex::default(), capacity: usize::try_from(capacity).unwrap_or(usize::MAX) }
    }

    pub(crate) fn take(&self, plugin: u64) -> Option<Warm> {
        let mut instances = self.lock();
        let index = instances.iter().rposition(|warm| warm.plugin == plugin)?;
        instances.remove(index)
    }

    /// Adds an instance. If there are too many, drops the least recently used of any plugin.
    pub(crate) fn put(&self, warm: Warm) {
        let mut instances = self.lock();
        instances.push_back(warm);
        let retired = if instances.len() > self.capacity { instances.pop_front() } else { None };
        // Unmapping memory takes a while, so the lock is released first.
        drop(instances);
        drop(retired);
    }

    pub(crate) fn count(&self, plugin: u64) -> usize {
        self.lock().iter().filter(|warm| warm.plugin == plugin).count()
    }

    pub(crate) fn retire(&self, plugin: u64) {
        let mut instances = self.lock();
        let (retired, kept) = instances.drain(..).partition::<VecDeque<_>, _>(|warm| warm.plugin == plugin);
        *instances = kept;
        drop(instances);
        drop(retired);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Warm>> {
        self.instances.lock()
    }
}
