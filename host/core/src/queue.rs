//! The work queue: which key is worked on next, and which is due later.
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
//! A key is in exactly one of these states, per mount. What follows from it:
//!
//! - A key is never worked on twice at once. A change during a run is remembered, and causes exactly one more run.
//! - No change is lost: every [`Queue::add`] is followed by a [`Queue::take`] of that key.
//! - A relist does not delay a fresh change: see [`Priority`].
//! - Mounts take turns, and none has more keys in progress than its workers.
//!
//! Keys that are neither queued, delayed, parked nor in progress take no memory. A key whose object is gone leaves the queue when it is taken
//! and nothing is due; where nobody takes keys, as in a mount without workers, [`Queue::remove`] takes it out.
//!
//! The semantics are those of client-go's `workqueue` and of controller-runtime's `priorityqueue`, in one state machine to which
//! time is passed. What is absent: threads, locks, timers and waiting. The host takes until there is nothing, and sleeps until
//! [`Queue::next_wakeup`].

mod backoff;
mod mount;
mod time;

#[cfg(test)]
mod laws;
#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::hash::Hash;
use std::ops::Bound;
use std::time::Duration;

use mount::{Mount, Rank};

pub use time::Time;

/// How often the [`Priority::Low`] entries of a mount are passed over by others before they take a turn.
///
/// Without such a limit a mount that changes without pause would keep a relist waiting for ever. With it, low entries get at
/// least one turn in nine, and a fresh change waits for at most one low entry of each mount, however many are queued. (What is in
/// progress is not interrupted: if all workers of its mount are busy, it waits for the first to be done.)
pub const PASSED_OVER_LIMIT: u32 = 8;

/// The priority of a key. The more urgent sorts first.
///
/// A retry or a later run keeps the priority of the run that asked for it, so that 100,000 relisted keys which all fail, or all
/// want to run again in an hour, are still behind a fresh change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// A change has just been seen.
    #[default]
    Normal,
    /// Relists and initial lists: mostly nothing to do.
    Low,
}

/// The retries of failing keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The back-off after the first failure; it doubles with each further one.
    pub base_delay: Duration,
    /// No back-off is longer.
    pub max_delay: Duration,
    /// After this many retries that failed too the key is parked until it changes; none: it is retried for ever. Mounts may have
    /// limits of their own.
    pub max_retries: Option<u32>,
    /// What the jitter derives from, beside the key. Hosts with different seeds do not retry in step.
    pub seed: u64,
}

/// 5 ms to 1000 s, as client-go's `DefaultTypedControllerRateLimiter` and therefore controller-runtime have it
/// (`NewTypedItemExponentialFailureRateLimiter(5*time.Millisecond, 1000*time.Second)`), and no limit to the number of retries.
impl Default for Options {
    fn default() -> Self {
        Self { base_delay: Duration::from_millis(5), max_delay: Duration::from_secs(1000), max_retries: None, seed: 0 }
    }
}

impl Options {
    /// The options of a mount, in which its own come before those of the host.
    #[must_use]
    pub fn of_mount(&self, mount: MountOptions) -> Self {
        Self { max_retries: mount.max_retries.or(self.max_retries), ..self.clone() }
    }

    /// How long `key` waits after that many failures in a row, with its jitter.
    pub fn delay(&self, key: &impl Hash, failures: u32) -> Duration {
        backoff::delay(self, key, failures)
    }

    /// Whether a run that ends like this parks its key, which had failed `failures` times in a row before, unless the key changed
    /// meanwhile. It is known before [`Queue::done`], so that the status can say it while the key is still in progress. To be asked
    /// of the options of the key's mount.
    pub fn parks(&self, retry: Retry, failures: u32) -> bool {
        let failed = matches!(retry, Retry::Backoff | Retry::BackoffAtLeast(_));
        failed && self.max_retries.is_some_and(|retries| failures >= retries)
    }
}

/// The options of a mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MountOptions {
    /// So many of its keys are in progress at once. With 0, it is paused: its keys are kept and not taken.
    pub workers: usize,
    /// As [`Options::max_retries`], which it overrules; none: as the host has it.
    pub max_retries: Option<u32>,
}

impl MountOptions {
    /// So many workers, and all else as the host has it.
    pub fn workers(workers: usize) -> Self {
        Self { workers, max_retries: None }
    }
}

/// The result of [`Queue::add`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// The key is queued now, and was not before.
    Queued,
    /// It was queued already; if it was at a lower priority, it is at this one now.
    AlreadyQueued,
    /// It is in progress, and will be queued when it is done.
    WhileProcessing,
    /// The mount does not exist, and nothing was done.
    UnknownMount,
}

/// The result of [`Queue::add_after`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduled {
    /// The key will be queued at that time, which is the one asked for or an earlier one that was set before.
    At(Time),
    /// It is queued already, which is sooner.
    AlreadyQueued,
    /// It is in progress, and the time will count when it is done.
    WhileProcessing,
    /// It is parked and stays so until it changes.
    Parked,
    /// The mount does not exist, and nothing was done.
    UnknownMount,
}

/// The retry of a key whose run is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Success: nothing is due, and past failures are forgotten.
    Forget,
    /// Success: to be run again after that time, and past failures are forgotten.
    After(Duration),
    /// Failure: to be retried with exponential back-off.
    Backoff,
    /// Failure: as [`Self::Backoff`], but not before that time (`Retry-After`).
    BackoffAtLeast(Duration),
    /// Neither success nor failure, as nothing was tried: to be run after that time, and past failures count as before.
    Postpone(Duration),
    /// Not to be run again until it changes; past failures are forgotten.
    Never,
}

/// The state of a key after its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing is due.
    Idle,
    /// It changed during the run and is queued again.
    Queued,
    /// It will be queued at that time.
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
    /// The mount that it is for.
    pub mount: M,
    /// The key.
    pub key: K,
    /// The priority that it was queued at.
    pub priority: Priority,
    /// The time for which it was ready before it was taken.
    pub waited: Duration,
    /// The number of consecutive failures so far.
    pub failures: u32,
}

/// The reason of a delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delayed {
    /// How often it failed in a row; 0: it does not wait because of a failure.
    pub failures: u32,
    /// The time at which it is due.
    pub until: Time,
}

/// The runs in progress at a moment: `workqueue_unfinished_work_seconds` and `workqueue_longest_running_processor_seconds`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InProgress {
    /// The number of them.
    pub count: usize,
    /// The total time that they have taken so far.
    pub total: Duration,
    /// The time that the longest has taken so far.
    pub longest: Duration,
}

/// The work queue of a host: `M` names a mount, `K` one of its keys.
#[derive(Debug)]
pub struct Queue<M, K> {
    options: Options,
    mounts: BTreeMap<M, Mount<K>>,
    /// Who had the last turn among those that are ahead. Turns are taken in the order of `M`.
    last_ahead: Option<M>,
    /// Who had the last turn among those that are behind.
    last_behind: Option<M>,
}

impl<M: Clone + Ord + Hash, K: Clone + Ord + Hash> Queue<M, K> {
    /// An empty queue without mounts.
    pub fn new(options: Options) -> Self {
        Self { options, mounts: BTreeMap::new(), last_ahead: None, last_behind: None }
    }

    /// Makes keys of that mount welcome. For a mount that is here already, sets its options: what is in progress is let be, and with
    /// fewer workers nothing is taken until enough of it is done; a key that failed too often is parked when it fails again.
    ///
    /// A mount that is removed and added again may still have runs in progress from before. Their keys are not taken until they
    /// are done, and count against the workers.
    pub fn add_mount(&mut self, mount: M, options: MountOptions) {
        self.mounts.entry(mount).or_default().open(options);
    }

    /// Forgets a mount with all its keys. [`Self::done`] may still be called for those in progress, and changes nothing but that
    /// they are no longer in progress.
    pub fn remove_mount(&mut self, mount: &M) {
        if let Some(removed) = self.mounts.get_mut(mount) {
            removed.close();
        }
        self.drop_if_finished(mount);
    }

    /// Says that a key changed: it is to be run as soon as may be.
    ///
    /// - Queued: stays in its place. At [`Priority::Normal`] it is lifted if it was low; it is never lowered.
    /// - In progress: queued again, once, when it is done.
    /// - Delayed: queued now, at the given priority. The count of failures is kept, so that if it fails again the back-off goes on
    ///   from where it was.
    /// - Parked: queued now, with a clean record.
    pub fn add(&mut self, mount: &M, key: K, priority: Priority, now: Time) -> Added {
        match self.open_mount(mount) {
            Some(mount) => mount.add(key, priority, now),
            None => Added::UnknownMount,
        }
    }

    /// Says that a key is to be run after a time even if it does not change.
    ///
    /// Of several such times the earliest counts, and a key that is queued is earlier still: each run decides anew whether
    /// another is due. Asked for during a run, it counts when that is done, unless the key is parked then. A key that is new to
    /// the queue is queued at [`Priority::Normal`] when the time comes.
    pub fn add_after(&mut self, mount: &M, key: K, delay: Duration, now: Time) -> Scheduled {
        match self.open_mount(mount) {
            Some(mount) => mount.add_after(key, delay, now),
            None => Scheduled::UnknownMount,
        }
    }

    /// The key to work on next; none if nothing is ready or all workers of the mounts that it is ready for are busy.
    ///
    /// Normal comes before low (within [`PASSED_OVER_LIMIT`]); within a priority mounts take turns; within a mount the key that
    /// was ready first comes first.
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

    /// Ends a run. A change during the run outweighs `retry`: the key is queued again at once, and not parked.
    ///
    /// Does nothing for a key that is not in progress.
    pub fn done(&mut self, mount: &M, key: &K, retry: Retry, now: Time) -> Next {
        let Some(processing) = self.mounts.get_mut(mount) else { return Next::Idle };
        let options = &self.options;
        let backoff = |failures| backoff::delay(options, &(mount, key), failures);
        let next = processing.done(key, retry, options, backoff, now);
        self.drop_if_finished(mount);
        next
    }

    /// Forgets one key: its object is gone. A run in progress goes on, and its result no longer matters. Returns whether the key was there.
    pub fn remove(&mut self, mount: &M, key: &K) -> bool {
        let was_there = self.mounts.get_mut(mount).is_some_and(|mount| mount.remove(key));
        self.drop_if_finished(mount);
        was_there
    }

    /// Forgets the keys of that mount for which `is_there` is false, as [`Self::remove`] does.
    pub fn retain(&mut self, mount: &M, is_there: impl Fn(&K) -> bool) {
        if let Some(mount) = self.mounts.get_mut(mount) {
            mount.retain(is_there);
        }
        self.drop_if_finished(mount);
    }

    /// The number of keys of that mount, in all states.
    pub fn entries_of(&self, mount: &M) -> usize {
        self.mounts.get(mount).map_or(0, Mount::entries)
    }

    /// When the host should look again if nothing else happens: the time of the earliest delayed key, `now` if that is past, and
    /// none if nothing is delayed.
    pub fn next_wakeup(&self, now: Time) -> Option<Time> {
        self.mounts.values().filter_map(Mount::earliest).min().map(|earliest| earliest.max(now))
    }

    /// Whether [`Self::take`] would give something.
    pub fn is_ready(&self, now: Time) -> bool {
        self.mounts.values().any(|mount| mount.is_ready(now))
    }

    /// Whether keys of that mount are queued, and it has workers. They may all be busy.
    pub fn has_backlog_of(&self, mount: &M) -> bool {
        self.mounts.get(mount).is_some_and(Mount::has_backlog)
    }

    /// How many keys are queued at that priority (`workqueue_depth`). Delayed keys are not, until [`Self::take`] finds them due.
    pub fn depth(&self, priority: Priority) -> usize {
        self.mounts.values().map(|mount| mount.depth(priority)).sum()
    }

    /// Whether keys of that mount are welcome.
    pub fn has_mount(&self, mount: &M) -> bool {
        self.mounts.get(mount).is_some_and(Mount::is_open)
    }

    /// The number of queued keys of that mount.
    pub fn depth_of(&self, mount: &M) -> usize {
        self.depth_at(mount, Priority::Normal) + self.depth_at(mount, Priority::Low)
    }

    /// The number of queued keys of a mount at that priority.
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

    /// The keys of that mount that wait for a time, those first that are due first, but no more than `limit`.
    pub fn delayed_keys<'queue>(
        &'queue self,
        mount: &M,
        limit: usize,
    ) -> impl Iterator<Item = (&'queue K, Delayed)> + use<'queue, M, K> {
        self.mounts.get(mount).into_iter().flat_map(Mount::delayed_keys).take(limit)
    }

    /// The keys of that mount that failed too often and wait for a change, with how often they failed.
    pub fn parked<'queue>(&'queue self, mount: &M) -> impl Iterator<Item = (&'queue K, u32)> + use<'queue, M, K> {
        self.mounts.get(mount).into_iter().flat_map(Mount::parked)
    }

    /// The number of them.
    pub fn parked_len(&self, mount: &M) -> usize {
        self.mounts.get(mount).map_or(0, Mount::parked_len)
    }

    /// Since when the longest run in progress is.
    pub fn oldest_processing_since(&self) -> Option<Time> {
        self.mounts.values().filter_map(Mount::oldest_processing_since).min()
    }

    /// The runs in progress, of all mounts.
    pub fn in_progress(&self, now: Time) -> InProgress {
        self.mounts.values().map(|mount| mount.in_progress(now)).fold(InProgress::default(), InProgress::and)
    }

    /// The runs in progress, of that mount.
    pub fn in_progress_of(&self, mount: &M, now: Time) -> InProgress {
        self.mounts.get(mount).map_or_else(InProgress::default, |mount| mount.in_progress(now))
    }

    fn open_mount(&mut self, mount: &M) -> Option<&mut Mount<K>> {
        self.mounts.get_mut(mount).filter(|mount| mount.is_open())
    }

    /// The first mount after the one that had the last turn, and then from the start, that has something of that rank.
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

impl InProgress {
    fn and(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            total: self.total.saturating_add(other.total),
            longest: self.longest.max(other.longest),
        }
    }
}
