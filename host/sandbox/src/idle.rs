//! Instances that wait to serve again.

use std::collections::VecDeque;

use parking_lot::{Mutex, MutexGuard};
use wasmtime::Store;

use crate::state::State;
use crate::wit::latest::Instance;

/// An instance that served and may serve again.
pub(crate) struct Warm {
    /// The plugin.
    pub(crate) plugin: u64,
    pub(crate) store: Store<State>,
    pub(crate) instance: Instance,
    /// The number of calls that it has served.
    pub(crate) calls: u32,
}

/// The idle instances of all plugins, least recently used first. There are few: a scan is cheaper than a map.
pub(crate) struct Idle {
    instances: Mutex<VecDeque<Warm>>,
    capacity: usize,
}

impl Idle {
    pub(crate) fn new(capacity: u32) -> Self {
        Self { instances: Mutex::default(), capacity: usize::try_from(capacity).unwrap_or(usize::MAX) }
    }

    /// The one that this plugin used last.
    pub(crate) fn take(&self, plugin: u64) -> Option<Warm> {
        let mut instances = self.lock();
        let index = instances.iter().rposition(|warm| warm.plugin == plugin)?;
        instances.remove(index)
    }

    /// Keeps one; the least recently used of any plugin makes room.
    pub(crate) fn put(&self, warm: Warm) {
        let mut instances = self.lock();
        instances.push_back(warm);
        let retired = if instances.len() > self.capacity { instances.pop_front() } else { None };
        // Unmapping its memory takes a while.
        drop(instances);
        drop(retired);
    }

    /// The number of idle instances of this plugin.
    pub(crate) fn count(&self, plugin: u64) -> usize {
        self.lock().iter().filter(|warm| warm.plugin == plugin).count()
    }

    /// Retires all of a plugin that is gone.
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
