//! The work queue: it decides which key is processed next, and which is due later.
//!
//! ```text
//!    absent     ── add ───────────────▶ queued
//!               ── add_after ─────────▶ delayed
//!    queued     ── take ──────────────▶ processing
//!    processing ── done ──────────────▶ queued      it changed during the run
//!                                     ▶ delayed     back-off, or again after a time
//!                                     ▶ parked      it failed too often
//!                                     ▶ absent      nothing is due
//!    delayed    ── its time, or add ──▶ queued
//!    parked     ── add ───────────────▶ queued
//! ```
//!
//! A key is in exactly one of these states per mount. It follows that:
//!
//! - A key is never processed twice at once. Changes during a run cause exactly one more run.
//! - No change is lost: every [`Queue::add`] is followed by a [`Queue::take`] of that key.
//! - A relist does not delay a fresh change: see [`Priority`].
//! - Mounts take turns, and none has more keys in progress than its workers.
//!
//! An absent key takes no memory. A key whose object is gone becomes absent at the end of a run, if
//! nothing is due. A mount without workers has no runs, so [`Queue::remove`] is needed.
//!
//! The semantics are those of client-go's `workqueue` and controller-runtime's `priorityqueue`.
//! What is absent: threads, locks, timers and waiting. The host takes keys until there are none,
//! then sleeps until [`Queue::next_wakeup`].

mod backoff;
mod mount;
mod time;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::hash::Hash;
use std::ops::Bound;
use std::time::Duration;

use mount::{Mount, Rank};

pub use time::Time;

/// The times that [`Priority::Low`] keys of a mount are passed over before they take a turn.
///
/// Without it, a mount that always changes would delay a relist for ever. With it, low keys get at
/// least one turn in nine, and a fresh change waits for at most one low key of each mount.
pub const PASSED_OVER_LIMIT: u32 = 8;

/// The time between attempts if no retry helps, but the cause may go away unseen: foreign objects,
/// CRD schemas and admission policies are in no cache of the host. Back-off would begin with dozens
/// of futile attempts. Five minutes is what a person will wait for, and no load.
pub const RECHECK: Duration = Duration::from_secs(5 * 60);

/// The priority of a key; the more urgent sorts first. A retry keeps the priority of its run, so
/// that 100,000 relisted keys that all fail stay behind a fresh change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// A change has just been seen.
    #[default]
    Normal,
    /// Relists and initial lists: mostly nothing to do.
    Low,
}

/// How failing keys are retried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The back-off after the first failure; it doubles with each further one.
    pub base_delay: Duration,
    /// The longest back-off.
    pub max_delay: Duration,
    /// The failed retries after which a key is parked until it changes; `None` is no limit.
    pub max_retries: Option<u32>,
    /// The seed of the jitter. Hosts with different seeds do not retry in step.
    pub seed: u64,
}

/// As client-go's `DefaultTypedControllerRateLimiter`, and so controller-runtime.
impl Default for Options {
    fn default() -> Self {
        Self { base_delay: Duration::from_millis(5), max_delay: Duration::from_secs(1000), max_retries: None, seed: 0 }
    }
}

impl Options {
    /// These options with those of a mount in their place, where it sets any.
    #[must_use]
    pub fn of_mount(&self, mount: MountOptions) -> Self {
        Self { max_retries: mount.max_retries.or(self.max_retries), ..self.clone() }
    }

    /// The back-off of `key` after `failures` consecutive failures, with its jitter.
    pub fn delay(&self, key: &impl Hash, failures: u32) -> Duration {
        backoff::delay(self, key, failures)
    }

    /// Returns whether `retry` parks a key that had failed `failures` times before, unless it
    /// changes meanwhile. The object's status has to report it before [`Queue::done`]. `self` must
    /// be the mount's options; see [`Self::of_mount`].
    pub fn parks(&self, retry: Retry, failures: u32) -> bool {
        let failed = matches!(retry, Retry::Backoff | Retry::BackoffAtLeast(_));
        failed && self.max_retries.is_some_and(|retries| failures >= retries)
    }
}

/// The options of a mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MountOptions {
    /// The most keys in progress at once. With 0 the mount is paused.
    pub workers: usize,
    /// Overrules [`Options::max_retries`] if it is set.
    pub max_retries: Option<u32>,
}

impl MountOptions {
    /// This number of workers, and all else as the host has it.
    pub fn workers(workers: usize) -> Self {
        Self { workers, max_retries: None }
    }
}

/// The result of [`Queue::add`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// The key is queued now and was not before.
    Queued,
    /// It was queued already, and is now at the higher of the two priorities.
    AlreadyQueued,
    /// It is in progress and will be queued when it is done.
    WhileProcessing,
    /// The mount does not exist; nothing was done.
    UnknownMount,
}

/// The result of [`Queue::add_after`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduled {
    /// The key will be queued at this time: the requested one, or an earlier one set before.
    At(Time),
    /// It is queued already, which is sooner.
    AlreadyQueued,
    /// It is in progress; the time takes effect when it is done.
    WhileProcessing,
    /// It is parked until it changes.
    Parked,
    /// The mount does not exist; nothing was done.
    UnknownMount,
}

/// The retry of a key whose run is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Success: nothing is due, and past failures are forgotten.
    Forget,
    /// Success: run again after this time; past failures are forgotten.
    After(Duration),
    /// Failure: retry with exponential back-off.
    Backoff,
    /// Failure: as [`Self::Backoff`], but not before this time (`Retry-After`).
    BackoffAtLeast(Duration),
    /// Nothing was tried: run after this time; past failures count as before.
    Postpone(Duration),
    /// Do not run again until it changes; past failures are forgotten.
    Never,
}

/// The state of a key after its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing is due.
    Idle,
    /// It changed during the run and is queued again.
    Queued,
    /// It will be queued at this time.
    At(Time),
    /// It failed too often and waits for a change.
    Parked {
        /// The number of consecutive failures.
        failures: u32,
    },
}

/// A key to work on. It is in progress until [`Queue::done`] is called for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken<M, K> {
    /// Its mount.
    pub mount: M,
    /// The key.
    pub key: K,
    /// The priority that it was queued at.
    pub priority: Priority,
    /// How long it was ready before it was taken.
    pub waited: Duration,
    /// The number of consecutive failures so far.
    pub failures: u32,
}

/// The state of a delayed key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delayed {
    /// The number of consecutive failures so far, even if it waits for another reason.
    pub failures: u32,
    /// The time at which it is due.
    pub until: Time,
}

/// The runs in progress: `workqueue_unfinished_work_seconds` and
/// `workqueue_longest_running_processor_seconds`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InProgress {
    /// Their number.
    pub count: usize,
    /// Their total duration so far.
    pub total: Duration,
    /// The duration of the longest so far.
    pub longest: Duration,
}

impl InProgress {
    fn and(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            total: self.total.saturating_add(other.total),
            longest: self.longest.max(other.longest),
        }
    }
}

/// The work queue of a host: `M` names a mount, `K` one of its keys.
#[derive(Debug)]
pub struct Queue<M, K> {
    options: Options,
    mounts: BTreeMap<M, Mount<K>>,
    /// The mount that had the last turn of [`Rank::Ahead`]. Turns go in the order of `M`.
    last_ahead: Option<M>,
    /// The same of [`Rank::Behind`].
    last_behind: Option<M>,
}

impl<M: Clone + Ord + Hash, K: Clone + Ord + Hash> Queue<M, K> {
    /// An empty queue without mounts.
    pub fn new(options: Options) -> Self {
        Self { options, mounts: BTreeMap::new(), last_ahead: None, last_behind: None }
    }

    /// Opens a mount or changes its options. Keys in progress are not interrupted: also after a
    /// removal they count against the workers, and are not taken again until they are done.
    pub fn add_mount(&mut self, mount: M, options: MountOptions) {
        self.mounts.entry(mount).or_default().open(options);
    }

    /// Forgets a mount with all its keys. Runs in progress may still end with [`Self::done`].
    pub fn remove_mount(&mut self, mount: &M) {
        if let Some(removed) = self.mounts.get_mut(mount) {
            removed.close();
        }
        self.drop_if_finished(mount);
    }

    /// Returns whether the mount exists and accepts keys.
    pub fn has_mount(&self, mount: &M) -> bool {
        self.mounts.get(mount).is_some_and(Mount::is_open)
    }

    /// Records that a key changed, so that it runs as soon as possible.
    ///
    /// - Queued: keeps its place; [`Priority::Normal`] raises a low one.
    /// - In progress: queued again, once, when it is done.
    /// - Delayed: queued now, at the given priority. The count of failures stays.
    /// - Parked: queued now, without past failures.
    pub fn add(&mut self, mount: &M, key: K, priority: Priority, now: Time) -> Added {
        match self.open_mount(mount) {
            Some(mount) => mount.add(key, priority, now),
            None => Added::UnknownMount,
        }
    }

    /// Requests a run after a time even if the key does not change.
    ///
    /// Only the earliest requested time counts, and an earlier run cancels it. A request during a
    /// run takes effect when the run is done, unless the key is parked then. A new key gets
    /// [`Priority::Normal`].
    pub fn add_after(&mut self, mount: &M, key: K, delay: Duration, now: Time) -> Scheduled {
        match self.open_mount(mount) {
            Some(mount) => mount.add_after(key, delay, now),
            None => Scheduled::UnknownMount,
        }
    }

    /// Takes the next key, or `None` if nothing is ready or the workers for it are busy.
    ///
    /// Normal comes before low (within [`PASSED_OVER_LIMIT`]); within a priority mounts take turns;
    /// within a mount the key that was ready first comes first.
    pub fn take(&mut self, now: Time) -> Option<Taken<M, K>> {
        for mount in self.mounts.values_mut() {
            mount.promote(now);
        }
        let (rank, mount) = match self.next_turn(Rank::Ahead) {
            Some(mount) => (Rank::Ahead, mount),
            None => (Rank::Behind, self.next_turn(Rank::Behind)?),
        };
        match rank {
            Rank::Ahead => self.last_ahead = Some(mount.clone()),
            Rank::Behind => self.last_behind = Some(mount.clone()),
        }
        let priority = self.mounts.get(&mount)?.offer()?.priority;
        if priority == Priority::Normal {
            self.mounts.values_mut().for_each(Mount::pass_over);
        }
        let work = self.mounts.get_mut(&mount)?.take(priority, now)?;
        Some(Taken { mount, key: work.key, priority, waited: work.waited, failures: work.failures })
    }

    /// Ends a run. If the key changed meanwhile, it is queued again at once and not parked.
    pub fn done(&mut self, mount: &M, key: &K, retry: Retry, now: Time) -> Next {
        let Some(keys) = self.mounts.get_mut(mount) else { return Next::Idle };
        let options = &self.options;
        let backoff = |failures| backoff::delay(options, &(mount, key), failures);
        let next = keys.done(key, retry, options, backoff, now);
        self.drop_if_finished(mount);
        next
    }

    /// Forgets a key whose object is gone, also in progress. Returns whether it was there.
    pub fn remove(&mut self, mount: &M, key: &K) -> bool {
        let was_there = self.mounts.get_mut(mount).is_some_and(|mount| mount.remove(key));
        self.drop_if_finished(mount);
        was_there
    }

    /// Forgets the keys of a mount for which `is_there` is false, as [`Self::remove`] does.
    pub fn retain(&mut self, mount: &M, is_there: impl Fn(&K) -> bool) {
        if let Some(mount) = self.mounts.get_mut(mount) {
            mount.retain(is_there);
        }
        self.drop_if_finished(mount);
    }

    /// The number of keys of a mount, in all states.
    pub fn entries_of(&self, mount: &M) -> usize {
        self.mounts.get(mount).map_or(0, Mount::entries)
    }

    /// The time of the earliest delayed key, at least `now`, or `None` if nothing is delayed.
    pub fn next_wakeup(&self, now: Time) -> Option<Time> {
        self.mounts.values().filter_map(Mount::earliest_due).min().map(|earliest| earliest.max(now))
    }

    /// Returns whether [`Self::take`] would return a key.
    pub fn is_ready(&self, now: Time) -> bool {
        self.mounts.values().any(|mount| mount.is_ready(now))
    }

    /// Returns whether the mount has queued keys, and workers. They may all be busy.
    pub fn has_backlog_of(&self, mount: &M) -> bool {
        self.mounts.get(mount).is_some_and(Mount::has_backlog)
    }

    /// The number of keys of a mount that are delayed because their last run did not succeed: it
    /// failed, or was postponed.
    pub fn retries_of(&self, mount: &M) -> usize {
        self.mounts.get(mount).map_or(0, Mount::retries)
    }

    /// The number of queued keys of a priority (`workqueue_depth`). A delayed key that is due
    /// counts only once [`Self::take`], or another change of its mount, has queued it.
    pub fn depth(&self, priority: Priority) -> usize {
        self.mounts.values().map(|mount| mount.depth(priority)).sum()
    }

    /// The number of queued keys of a mount.
    pub fn depth_of(&self, mount: &M) -> usize {
        self.depth_at(mount, Priority::Normal) + self.depth_at(mount, Priority::Low)
    }

    /// The number of queued keys of a mount at a priority.
    pub fn depth_at(&self, mount: &M, priority: Priority) -> usize {
        self.mounts.get(mount).map_or(0, |mount| mount.depth(priority))
    }

    /// The number of keys in progress.
    pub fn processing(&self) -> usize {
        self.mounts.values().map(Mount::processing).sum()
    }

    /// The number of delayed keys.
    pub fn delayed(&self) -> usize {
        self.mounts.values().map(Mount::delayed).sum()
    }

    /// The delayed keys of a mount, the earliest first, at most `limit`.
    pub fn delayed_keys<'queue>(
        &'queue self,
        mount: &M,
        limit: usize,
    ) -> impl Iterator<Item = (&'queue K, Delayed)> + use<'queue, M, K> {
        self.mounts.get(mount).into_iter().flat_map(Mount::delayed_keys).take(limit)
    }

    /// The parked keys of a mount, with the number of their failures.
    pub fn parked<'queue>(&'queue self, mount: &M) -> impl Iterator<Item = (&'queue K, u32)> + use<'queue, M, K> {
        self.mounts.get(mount).into_iter().flat_map(Mount::parked)
    }

    /// The number of parked keys of a mount.
    pub fn parked_len(&self, mount: &M) -> usize {
        self.mounts.get(mount).map_or(0, Mount::parked_len)
    }

    /// The start of the longest run in progress.
    pub fn oldest_processing_since(&self) -> Option<Time> {
        self.mounts.values().filter_map(Mount::oldest_processing_since).min()
    }

    /// The runs in progress of all mounts.
    pub fn in_progress(&self, now: Time) -> InProgress {
        self.mounts.values().map(|mount| mount.in_progress(now)).fold(InProgress::default(), InProgress::and)
    }

    /// The runs in progress of a mount.
    pub fn in_progress_of(&self, mount: &M, now: Time) -> InProgress {
        self.mounts.get(mount).map_or_else(InProgress::default, |mount| mount.in_progress(now))
    }

    fn open_mount(&mut self, mount: &M) -> Option<&mut Mount<K>> {
        self.mounts.get_mut(mount).filter(|mount| mount.is_open())
    }

    fn next_turn(&self, rank: Rank) -> Option<M> {
        let last = match rank {
            Rank::Ahead => &self.last_ahead,
            Rank::Behind => &self.last_behind,
        };
        let after = last.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        self.mounts
            .range::<M, _>((after, Bound::Unbounded))
            .chain(&self.mounts)
            .find(|(_, mount)| mount.offer().is_some_and(|offer| offer.rank == rank))
            .map(|(name, _)| name.clone())
    }

    fn drop_if_finished(&mut self, mount: &M) {
        if self.mounts.get(mount).is_some_and(Mount::is_finished) {
            self.mounts.remove(mount);
        }
    }
}
