//! The keys of one mount.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::{Added, Delayed, InProgress, MountOptions, Next, Options, PASSED_OVER_LIMIT, Priority, Retry, Scheduled, Time};

/// A number that grows with each entry. It orders queued keys, and others of the same time.
type Position = u64;

/// The keys of one mount, with an index for each state, so that nothing is searched.
#[derive(Debug)]
pub(super) struct Mount<K> {
    admission: Admission,
    options: MountOptions,
    /// The number of normal keys of all mounts that were taken while a low key of this one was
    /// ready.
    passed_over: u32,
    next_position: Position,
    entries: BTreeMap<K, Entry>,
    // The indexes. Only `insert_entry` and `remove_entry` change them and `entries`, except that
    // `close` empties them and `promote` pops the key that it then removes.
    normal: BTreeMap<Position, K>,
    low: BTreeMap<Position, K>,
    delayed: BTreeMap<(Time, Position), K>,
    /// The keys of `delayed` whose last run did not succeed.
    retries: BTreeSet<Position>,
    processing: BTreeSet<(Time, Position)>,
    parked: BTreeSet<K>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Admission {
    Open,
    /// The mount was removed and stays only until its runs are done.
    Closed,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    failures: u32,
    state: KeyState,
}

#[derive(Clone, Copy, Debug)]
enum KeyState {
    Queued { priority: Priority, since: Time, position: Position },
    Delayed { priority: Priority, until: Time, position: Position, cause: DelayCause },
    Processing { run: Run, since: Time, position: Position },
    Parked,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DelayCause {
    /// Somebody asked for a run at this time.
    Requested,
    /// The last run failed or was postponed.
    Retry,
}

#[derive(Clone, Copy, Debug)]
struct Run {
    priority: Priority,
    validity: Validity,
    again: Rerun,
}

/// Whether the result of a run counts for its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Validity {
    Valid,
    /// The mount or the key was removed meanwhile. If it is back, it is another one.
    Orphaned,
}

#[derive(Clone, Copy, Debug)]
enum Rerun {
    No,
    /// The key changed during the run.
    Now {
        priority: Priority,
        since: Time,
    },
    /// Run the key at this time at the latest.
    At(Time),
}

impl Run {
    fn orphan(&mut self) {
        self.validity = Validity::Orphaned;
        self.again = Rerun::No;
    }
}

/// The next key of a mount, by its rank among those of other mounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Offer {
    pub(super) rank: Rank,
    pub(super) priority: Priority,
}

/// Whether an offer goes before those of other mounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rank {
    /// A normal key, or a low one that was passed over often enough.
    Ahead,
    /// A low key.
    Behind,
}

#[derive(Debug)]
pub(super) struct Work<K> {
    pub(super) key: K,
    pub(super) waited: Duration,
    pub(super) failures: u32,
}

/// Closed, without workers.
impl<K> Default for Mount<K> {
    fn default() -> Self {
        Self {
            admission: Admission::Closed,
            options: MountOptions::workers(0),
            passed_over: 0,
            next_position: 0,
            entries: BTreeMap::new(),
            normal: BTreeMap::new(),
            low: BTreeMap::new(),
            delayed: BTreeMap::new(),
            retries: BTreeSet::new(),
            processing: BTreeSet::new(),
            parked: BTreeSet::new(),
        }
    }
}

impl<K: Clone + Ord> Mount<K> {
    pub(super) fn open(&mut self, options: MountOptions) {
        self.admission = Admission::Open;
        self.options = options;
    }

    /// Forgets everything but the runs in progress, whose results are then ignored.
    pub(super) fn close(&mut self) {
        self.admission = Admission::Closed;
        self.passed_over = 0;
        self.normal.clear();
        self.low.clear();
        self.delayed.clear();
        self.retries.clear();
        self.parked.clear();
        self.entries.retain(|_, entry| match &mut entry.state {
            KeyState::Processing { run, .. } => {
                run.orphan();
                true
            }
            KeyState::Queued { .. } | KeyState::Delayed { .. } | KeyState::Parked => false,
        });
    }

    pub(super) fn remove(&mut self, key: &K) -> bool {
        match self.entries.get_mut(key) {
            Some(Entry { state: KeyState::Processing { run, .. }, .. }) => {
                run.orphan();
                true
            }
            Some(_) => self.remove_entry(key).is_some(),
            None => false,
        }
    }

    pub(super) fn retain(&mut self, is_there: impl Fn(&K) -> bool) {
        let gone: Vec<K> = self.entries.keys().filter(|key| !is_there(key)).cloned().collect();
        for key in &gone {
            self.remove(key);
        }
    }

    pub(super) fn has_backlog(&self) -> bool {
        self.options.workers > 0 && !(self.normal.is_empty() && self.low.is_empty())
    }

    pub(super) fn entries(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn is_open(&self) -> bool {
        self.admission == Admission::Open
    }

    pub(super) fn is_finished(&self) -> bool {
        !self.is_open() && self.entries.is_empty()
    }

    pub(super) fn add(&mut self, key: K, priority: Priority, now: Time) -> Added {
        self.promote(now);
        let Some(entry) = self.entries.get_mut(&key) else {
            self.enqueue(key, 0, priority, now);
            return Added::Queued;
        };
        let failures = entry.failures;
        match &mut entry.state {
            KeyState::Processing { run, .. } => {
                run.again = match run.again {
                    Rerun::Now { priority: before, since } => Rerun::Now { priority: before.min(priority), since },
                    // As with a delayed retry, a change comes before the requested time.
                    Rerun::No | Rerun::At(_) => Rerun::Now { priority, since: now },
                };
                Added::WhileProcessing
            }
            KeyState::Queued { priority: before, since, .. } => {
                let (before, since) = (*before, *since);
                if priority < before {
                    self.remove_entry(&key);
                    self.enqueue(key, failures, priority, since);
                }
                Added::AlreadyQueued
            }
            // Takes the priority of this change, even if the retry's was higher: a relist would
            // otherwise lift every delayed key in front of fresh changes.
            KeyState::Delayed { .. } => {
                self.remove_entry(&key);
                self.enqueue(key, failures, priority, now);
                Added::Queued
            }
            KeyState::Parked => {
                self.remove_entry(&key);
                self.enqueue(key, 0, priority, now);
                Added::Queued
            }
        }
    }

    pub(super) fn add_after(&mut self, key: K, delay: Duration, now: Time) -> Scheduled {
        self.promote(now);
        let until = now + delay;
        let Some(entry) = self.entries.get_mut(&key) else {
            self.delay(key, 0, Priority::Normal, until, DelayCause::Requested);
            return Scheduled::At(until);
        };
        let failures = entry.failures;
        match &mut entry.state {
            KeyState::Processing { run, .. } => {
                run.again = match run.again {
                    Rerun::No => Rerun::At(until),
                    Rerun::At(before) => Rerun::At(before.min(until)),
                    changed @ Rerun::Now { .. } => changed,
                };
                Scheduled::WhileProcessing
            }
            KeyState::Queued { .. } => Scheduled::AlreadyQueued,
            KeyState::Delayed { priority, until: before, cause, .. } => {
                let (priority, before, cause) = (*priority, *before, *cause);
                if until < before {
                    self.remove_entry(&key);
                    self.delay(key, failures, priority, until, cause);
                }
                Scheduled::At(before.min(until))
            }
            KeyState::Parked => Scheduled::Parked,
        }
    }

    /// Queues the delayed keys that are due.
    pub(super) fn promote(&mut self, now: Time) {
        while let Some(earliest) = self.delayed.first_entry()
            && earliest.key().0 <= now
        {
            let ((until, _), key) = earliest.remove_entry();
            if let Some(Entry { failures, state: KeyState::Delayed { priority, .. } }) = self.remove_entry(&key) {
                self.enqueue(key, failures, priority, until);
            }
        }
    }

    /// Offers the next key, unless none is queued or all workers are busy.
    pub(super) fn offer(&self) -> Option<Offer> {
        if !self.has_capacity() {
            None
        } else if !self.low.is_empty() && self.passed_over >= PASSED_OVER_LIMIT {
            Some(Offer { rank: Rank::Ahead, priority: Priority::Low })
        } else if !self.normal.is_empty() {
            Some(Offer { rank: Rank::Ahead, priority: Priority::Normal })
        } else if !self.low.is_empty() {
            Some(Offer { rank: Rank::Behind, priority: Priority::Low })
        } else {
            None
        }
    }

    /// Counts that a normal key of any mount is taken before a low one that was ready.
    pub(super) fn pass_over(&mut self) {
        if self.low.is_empty() {
            self.passed_over = 0;
        } else if self.has_capacity() {
            self.passed_over = self.passed_over.saturating_add(1);
        }
    }

    pub(super) fn take(&mut self, priority: Priority, now: Time) -> Option<Work<K>> {
        let (_, key) = self.queued(priority).first_key_value()?;
        let key = key.clone();
        let Entry { failures, state: KeyState::Queued { since, .. } } = self.remove_entry(&key)? else { return None };
        if priority == Priority::Low {
            self.passed_over = 0;
        }
        let run = Run { priority, validity: Validity::Valid, again: Rerun::No };
        let position = self.new_position();
        self.insert_entry(key.clone(), Entry { failures, state: KeyState::Processing { run, since: now, position } });
        Some(Work { key, waited: now.saturating_since(since), failures })
    }

    /// Ends a run, see [`Queue::done`](super::Queue::done). `backoff` returns the delay after a
    /// number of failures.
    pub(super) fn done(
        &mut self,
        key: &K,
        retry: Retry,
        host_options: &Options,
        backoff: impl FnOnce(u32) -> Duration,
        now: Time,
    ) -> Next {
        self.promote(now);
        let Some(Entry { failures, state: KeyState::Processing { run, .. } }) = self.entries.get(key).copied() else {
            return Next::Idle;
        };
        self.remove_entry(key);
        let retry = match run.validity {
            Validity::Valid => retry,
            Validity::Orphaned => Retry::Forget,
        };
        let parks = host_options.of_mount(self.options).parks(retry, failures);
        let (failures, delay) = match retry {
            Retry::Forget | Retry::Never => (0, None),
            Retry::After(delay) => (0, Some(delay)),
            Retry::Postpone(delay) => (failures, Some(delay)),
            Retry::Backoff | Retry::BackoffAtLeast(_) => {
                let failures = failures.saturating_add(1);
                let least = if let Retry::BackoffAtLeast(least) = retry { least } else { Duration::ZERO };
                (failures, Some(backoff(failures).max(least)))
            }
        };
        let cause = match retry {
            Retry::Backoff | Retry::BackoffAtLeast(_) | Retry::Postpone(_) => DelayCause::Retry,
            Retry::Forget | Retry::Never | Retry::After(_) => DelayCause::Requested,
        };
        let due = delay.map(|delay| now + delay);
        match run.again {
            Rerun::Now { priority, since } => {
                // A change is what a parked key would have waited for.
                let failures = if parks { 0 } else { failures };
                self.enqueue(key.clone(), failures, priority, since);
                Next::Queued
            }
            Rerun::No | Rerun::At(_) if parks => {
                self.insert_entry(key.clone(), Entry { failures, state: KeyState::Parked });
                Next::Parked { failures }
            }
            Rerun::No => self.delay_or_forget(key, failures, run.priority, due, cause),
            Rerun::At(time) => {
                let due = due.map_or(time, |due| due.min(time));
                self.delay_or_forget(key, failures, run.priority, Some(due), cause)
            }
        }
    }

    pub(super) fn is_ready(&self, now: Time) -> bool {
        let due = self.earliest_due().is_some_and(|earliest| earliest <= now);
        self.has_capacity() && (due || !self.normal.is_empty() || !self.low.is_empty())
    }

    /// The time at which the first delayed key is due.
    pub(super) fn earliest_due(&self) -> Option<Time> {
        self.delayed.first_key_value().map(|((until, _), _)| *until)
    }

    pub(super) fn depth(&self, priority: Priority) -> usize {
        self.queued(priority).len()
    }

    pub(super) fn processing(&self) -> usize {
        self.processing.len()
    }

    pub(super) fn delayed(&self) -> usize {
        self.delayed.len()
    }

    pub(super) fn retries(&self) -> usize {
        self.retries.len()
    }

    pub(super) fn delayed_keys(&self) -> impl Iterator<Item = (&K, Delayed)> {
        self.delayed.iter().map(|((until, _), key)| {
            let failures = self.entries.get(key).map_or(0, |entry| entry.failures);
            (key, Delayed { failures, until: *until })
        })
    }

    pub(super) fn parked(&self) -> impl Iterator<Item = (&K, u32)> {
        self.parked.iter().map(|key| (key, self.entries.get(key).map_or(0, |entry| entry.failures)))
    }

    pub(super) fn parked_len(&self) -> usize {
        self.parked.len()
    }

    pub(super) fn oldest_processing_since(&self) -> Option<Time> {
        self.processing.first().map(|(since, _)| *since)
    }

    pub(super) fn in_progress(&self, now: Time) -> InProgress {
        let durations = self.processing.iter().map(|(since, _)| now.saturating_since(*since));
        InProgress {
            count: self.processing.len(),
            total: durations.clone().fold(Duration::ZERO, Duration::saturating_add),
            longest: durations.max().unwrap_or_default(),
        }
    }

    fn has_capacity(&self) -> bool {
        self.processing.len() < self.options.workers
    }

    fn queued(&self, priority: Priority) -> &BTreeMap<Position, K> {
        match priority {
            Priority::Normal => &self.normal,
            Priority::Low => &self.low,
        }
    }

    fn queued_mut(&mut self, priority: Priority) -> &mut BTreeMap<Position, K> {
        match priority {
            Priority::Normal => &mut self.normal,
            Priority::Low => &mut self.low,
        }
    }

    fn new_position(&mut self) -> Position {
        self.next_position = self.next_position.wrapping_add(1);
        self.next_position
    }

    /// The key has no entry; it becomes the last of its priority.
    fn enqueue(&mut self, key: K, failures: u32, priority: Priority, since: Time) {
        let position = self.new_position();
        self.insert_entry(key, Entry { failures, state: KeyState::Queued { priority, since, position } });
    }

    fn delay(&mut self, key: K, failures: u32, priority: Priority, until: Time, cause: DelayCause) {
        let position = self.new_position();
        self.insert_entry(key, Entry { failures, state: KeyState::Delayed { priority, until, position, cause } });
    }

    /// Delays a key that has no entry until it is due, or leaves it absent.
    fn delay_or_forget(&mut self, key: &K, failures: u32, priority: Priority, due: Option<Time>, cause: DelayCause) -> Next {
        match due {
            Some(until) => {
                self.delay(key.clone(), failures, priority, until, cause);
                Next::At(until)
            }
            None => Next::Idle,
        }
    }

    fn insert_entry(&mut self, key: K, entry: Entry) {
        match entry.state {
            KeyState::Queued { priority, position, .. } => {
                self.queued_mut(priority).insert(position, key.clone());
            }
            KeyState::Delayed { until, position, cause, .. } => {
                self.delayed.insert((until, position), key.clone());
                if cause == DelayCause::Retry {
                    self.retries.insert(position);
                }
            }
            KeyState::Processing { since, position, .. } => {
                self.processing.insert((since, position));
            }
            KeyState::Parked => {
                self.parked.insert(key.clone());
            }
        }
        self.entries.insert(key, entry);
    }

    fn remove_entry(&mut self, key: &K) -> Option<Entry> {
        let entry = self.entries.remove(key)?;
        match entry.state {
            KeyState::Queued { priority, position, .. } => {
                self.queued_mut(priority).remove(&position);
            }
            KeyState::Delayed { until, position, .. } => {
                self.delayed.remove(&(until, position));
                self.retries.remove(&position);
            }
            KeyState::Processing { since, position, .. } => {
                self.processing.remove(&(since, position));
            }
            KeyState::Parked => {
                self.parked.remove(key);
            }
        }
        Some(entry)
    }
}
