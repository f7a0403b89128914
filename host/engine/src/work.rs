//! The work queue of `gyre-core` under a lock, with a clock and wakeups.

use std::sync::Arc;

use gyre_core::object::ObjectKey;
use gyre_core::queue::{MountOptions, Next, Options, Priority, Queue, Retry, Taken, Time};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use tokio::time::Instant;

use crate::program::MountName;
use crate::telemetry::metrics::Metrics;

/// A queue of keys by mount, with a clock and wakeups.
pub struct WorkQueue {
    queue: Mutex<Queue<MountName, ObjectKey>>,
    ready: Notify,
    /// Notified when a mount has no backlog; spurious notifications are possible.
    caught_up: Notify,
    started: Instant,
    metrics: Arc<Metrics>,
}

impl WorkQueue {
    /// An empty queue whose time begins now.
    pub fn new(options: Options, metrics: Arc<Metrics>) -> Self {
        Self {
            queue: Mutex::new(Queue::new(options)),
            ready: Notify::new(),
            caught_up: Notify::new(),
            started: Instant::now(),
            metrics,
        }
    }

    /// Adds a mount, so that its keys can be added.
    pub fn add_mount(&self, mount: &MountName, options: MountOptions) {
        self.metrics.mounted(mount);
        self.set_options(mount, options);
    }

    /// Sets the options of a mount.
    pub fn set_options(&self, mount: &MountName, options: MountOptions) {
        self.metrics.workers(mount, options.workers);
        let mut queue = self.lock();
        queue.add_mount(mount.clone(), options);
        self.update_gauges(&queue, mount);
        drop(queue);
        self.ready.notify_one();
    }

    /// Calls `inspect` with the queue and its time.
    pub fn inspect<T>(&self, inspect: impl FnOnce(&Queue<MountName, ObjectKey>, Time) -> T) -> T {
        let queue = self.lock();
        inspect(&queue, self.now())
    }

    /// Removes a mount with all its keys.
    pub fn remove_mount(&self, mount: &MountName) {
        let mut queue = self.lock();
        queue.remove_mount(mount);
        self.caught_up.notify_waiters();
        self.metrics.unmounted(mount);
    }

    /// Adds a key whose object changed.
    pub fn add(&self, mount: &MountName, key: ObjectKey, priority: Priority) {
        let mut queue = self.lock();
        queue.add(mount, key, priority, self.now());
        self.metrics.added(mount);
        self.update_gauges(&queue, mount);
        drop(queue);
        self.ready.notify_one();
    }

    /// Forgets a key whose object is gone.
    pub fn remove(&self, mount: &MountName, key: &ObjectKey) {
        let mut queue = self.lock();
        if queue.remove(mount, key) {
            self.update_gauges(&queue, mount);
        }
    }

    /// Keeps only the keys of a mount for which `is_there` is true.
    pub fn retain(&self, mount: &MountName, is_there: impl Fn(&ObjectKey) -> bool) {
        let mut queue = self.lock();
        queue.retain(mount, is_there);
        self.update_gauges(&queue, mount);
    }

    /// Waits for a key to work on. Safe to cancel.
    pub async fn take(&self) -> Taken<MountName, ObjectKey> {
        loop {
            let next = {
                let mut queue = self.lock();
                let now = self.now();
                if let Some(taken) = queue.take(now) {
                    self.metrics.taken(&taken.mount, taken.waited);
                    self.update_gauges(&queue, &taken.mount);
                    if queue.is_ready(now) {
                        // One notification may stand for many keys.
                        self.ready.notify_one();
                    }
                    return taken;
                }
                queue.next_wakeup(now).map(|time| time.saturating_since(now))
            };
            match next {
                Some(delay) => tokio::select! {
                    biased;
                    () = self.ready.notified() => {}
                    () = tokio::time::sleep(delay) => {}
                },
                None => self.ready.notified().await,
            }
        }
    }

    /// Ends the work on a key.
    pub fn done(&self, mount: &MountName, key: &ObjectKey, retry: Retry) -> Next {
        let mut queue = self.lock();
        let next = queue.done(mount, key, retry, self.now());
        self.update_gauges(&queue, mount);
        drop(queue);
        self.ready.notify_one();
        next
    }

    /// Sets gauges from the queue: separate counters would drift when a mount changes.
    fn update_gauges(&self, queue: &Queue<MountName, ObjectKey>, mount: &MountName) {
        if !queue.has_backlog_of(mount) {
            self.caught_up.notify_waiters();
        }
        if queue.has_mount(mount) {
            for priority in [Priority::Normal, Priority::Low] {
                self.metrics.depth(mount, priority, queue.depth_at(mount, priority));
            }
            self.metrics.active(mount, queue.in_progress_of(mount, self.now()).count);
            self.metrics.parked(mount, queue.parked_len(mount));
        }
    }

    /// Returns whether the mount has workers, and keys that wait.
    pub fn has_backlog_of(&self, mount: &MountName) -> bool {
        self.lock().has_backlog_of(mount)
    }

    /// Waits until some mount has no backlog; may end early, see [`Self::has_backlog_of`].
    pub fn caught_up(&self) -> Notified<'_> {
        self.caught_up.notified()
    }

    /// Returns the time since the queue was created.
    pub fn now(&self) -> Time {
        Time::from_duration(self.started.elapsed())
    }

    fn lock(&self) -> MutexGuard<'_, Queue<MountName, ObjectKey>> {
        self.queue.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::metrics::Form;

    fn gauges(metrics: &Metrics) -> Vec<String> {
        let text = metrics.encode(Form::Text).unwrap();
        let gauges = ["workqueue_depth{", "controller_runtime_active_workers{", "gyre_parked_objects{"];
        let is_low = |line: &str| line.contains("priority=\"-100\"");
        let lines = text.lines().filter(|line| gauges.iter().any(|gauge| line.starts_with(gauge)) && !is_low(line));
        lines.map(|line| format!("{} {}", line.split('{').next().unwrap(), line.rsplit(' ').next().unwrap())).collect()
    }

    #[tokio::test]
    async fn gauges_hold_when_a_mount_changes_and_goes_while_its_keys_are_worked_on() {
        let metrics = Arc::new(Metrics::default());
        let queue = WorkQueue::new(Options::default(), Arc::clone(&metrics));
        let mount: MountName = "mount".into();
        let options = || MountOptions { max_retries: Some(0), ..MountOptions::workers(4) };
        let say = |active: usize, depth: usize, parked: usize| {
            vec![
                format!("controller_runtime_active_workers {active}"),
                format!("workqueue_depth {depth}"),
                format!("gyre_parked_objects {parked}"),
            ]
        };
        queue.add_mount(&mount, options());
        let keys = ["a", "b"].map(|name| ObjectKey::new(Some("default"), name));
        for key in &keys {
            queue.add(&mount, key.clone(), Priority::Normal);
        }
        let first = queue.take().await;
        assert_eq!(gauges(&metrics), say(1, 1, 0));
        queue.add_mount(&mount, options());
        assert_eq!(gauges(&metrics), say(1, 1, 0), "another program, with a key in progress");
        queue.done(&mount, &first.key, Retry::Backoff);
        assert_eq!(gauges(&metrics), say(0, 1, 1));
        let second = queue.take().await;
        queue.remove_mount(&mount);
        queue.done(&mount, &second.key, Retry::Forget);
        assert!(gauges(&metrics).is_empty(), "{:?}", gauges(&metrics));
    }
}
