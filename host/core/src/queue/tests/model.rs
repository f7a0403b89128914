//! A naive model of the queue: one list. It checks that each taken key was allowed to be.

use std::time::Duration;

use crate::queue::{
    Added, InProgress, MountOptions, Next, Options, PASSED_OVER_LIMIT, Priority, Retry, Scheduled, Taken, Time, backoff,
};

/// Few mounts and keys, so that operations meet the same ones.
pub(super) type MountName = u8;
pub(super) type Key = u8;

pub(super) struct Model {
    options: Options,
    clock: u64,
    mounts: Vec<ModelMount>,
    keys: Vec<ModelKey>,
}

struct ModelMount {
    name: MountName,
    own: MountOptions,
    open: bool,
    passed_over: u32,
}

struct ModelKey {
    mount: MountName,
    key: Key,
    failures: u32,
    parked: bool,
    queued: Option<Queued>,
    delayed: Option<Delayed>,
    running: Option<Running>,
}

struct Queued {
    priority: Priority,
    since: Time,
    order: u64,
}

struct Delayed {
    priority: Priority,
    until: Time,
    order: u64,
}

struct Running {
    priority: Priority,
    since: Time,
    orphaned: bool,
    changed: Option<(Priority, Time)>,
    due: Option<Time>,
}

impl Model {
    pub(super) fn new(options: Options) -> Self {
        Self { options, clock: 0, mounts: Vec::new(), keys: Vec::new() }
    }

    pub(super) fn add_mount(&mut self, name: MountName, own: MountOptions) {
        match self.mounts.iter_mut().find(|mount| mount.name == name) {
            Some(mount) => (mount.own, mount.open) = (own, true),
            None => self.mounts.push(ModelMount { name, own, open: true, passed_over: 0 }),
        }
    }

    pub(super) fn remove_mount(&mut self, name: MountName) {
        for mount in self.mounts.iter_mut().filter(|mount| mount.name == name) {
            (mount.open, mount.passed_over) = (false, 0);
        }
        self.keys.retain_mut(|key| match &mut key.running {
            Some(running) if key.mount == name => {
                (running.orphaned, running.changed, running.due, key.failures) = (true, None, None, 0);
                true
            }
            _ => key.mount != name,
        });
    }

    pub(super) fn remove(&mut self, mount: MountName, key: Key) -> bool {
        let Some(position) = self.keys.iter().position(|entry| (entry.mount, entry.key) == (mount, key)) else { return false };
        let entry = &mut self.keys[position];
        let was_there = entry.running.is_some() || entry.queued.is_some() || entry.delayed.is_some() || entry.parked;
        match &mut entry.running {
            Some(running) => (running.orphaned, running.changed, running.due, entry.failures) = (true, None, None, 0),
            None => _ = self.keys.remove(position),
        }
        was_there
    }

    pub(super) fn entries(&self, mount: MountName) -> usize {
        let is_there = |key: &&ModelKey| key.running.is_some() || key.queued.is_some() || key.delayed.is_some() || key.parked;
        self.keys.iter().filter(|key| key.mount == mount).filter(is_there).count()
    }

    pub(super) fn add(&mut self, mount: MountName, key: Key, priority: Priority, now: Time) -> Added {
        if !self.is_open(mount) {
            return Added::UnknownMount;
        }
        self.promote(mount, now);
        let order = self.tick();
        let entry = self.entry(mount, key);
        if let Some(running) = &mut entry.running {
            running.changed = Some(match running.changed {
                Some((before, since)) => (before.min(priority), since),
                None => (priority, now),
            });
            running.due = None;
            Added::WhileProcessing
        } else if let Some(queued) = &mut entry.queued {
            if queued.priority == Priority::Low && priority == Priority::Normal {
                (queued.priority, queued.order) = (priority, order);
            }
            Added::AlreadyQueued
        } else {
            if entry.parked {
                (entry.parked, entry.failures) = (false, 0);
            }
            entry.delayed = None;
            entry.queued = Some(Queued { priority, since: now, order });
            Added::Queued
        }
    }

    pub(super) fn add_after(&mut self, mount: MountName, key: Key, delay: Duration, now: Time) -> Scheduled {
        if !self.is_open(mount) {
            return Scheduled::UnknownMount;
        }
        self.promote(mount, now);
        let order = self.tick();
        let until = now + delay;
        let entry = self.entry(mount, key);
        if let Some(running) = &mut entry.running {
            if running.changed.is_none() {
                running.due = Some(running.due.map_or(until, |due| due.min(until)));
            }
            Scheduled::WhileProcessing
        } else if entry.queued.is_some() {
            Scheduled::AlreadyQueued
        } else if entry.parked {
            Scheduled::Parked
        } else {
            match &mut entry.delayed {
                Some(delayed) if delayed.until <= until => {}
                Some(delayed) => (delayed.until, delayed.order) = (until, order),
                None => entry.delayed = Some(Delayed { priority: Priority::Normal, until, order }),
            }
            Scheduled::At(entry.delayed.as_ref().unwrap().until)
        }
    }

    pub(super) fn took(&mut self, taken: Option<&Taken<MountName, Key>>, now: Time) {
        for name in self.names() {
            self.promote(name, now);
        }
        let heads = self.heads();
        let Some(taken) = taken else {
            assert!(heads.is_empty(), "nothing was taken although {heads:?} could be");
            return;
        };
        let head = (taken.mount, taken.priority, taken.key);
        assert!(heads.contains(&head), "{head:?} was taken while only {heads:?} could be");
        let overdue: Vec<MountName> =
            self.mounts.iter().filter(|mount| mount.passed_over >= PASSED_OVER_LIMIT).map(|mount| mount.name).collect();
        let normal_is_ready = heads.iter().any(|(_, priority, _)| *priority == Priority::Normal);
        match taken.priority {
            Priority::Low => assert!(!normal_is_ready || overdue.contains(&taken.mount), "{head:?} was not overdue"),
            Priority::Normal => {
                let low_is_ready = heads.iter().any(|(mount, priority, _)| (*mount, *priority) == (taken.mount, Priority::Low));
                assert!(!(low_is_ready && overdue.contains(&taken.mount)), "{head:?} overtook a low key that was overdue");
            }
        }
        for mount in &mut self.mounts {
            let low_waits = self.keys.iter().any(|key| {
                key.mount == mount.name && key.queued.as_ref().is_some_and(|queued| queued.priority == Priority::Low)
            });
            let low_is_ready = heads.iter().any(|(name, priority, _)| (*name, *priority) == (mount.name, Priority::Low));
            match taken.priority {
                Priority::Low if mount.name == taken.mount => mount.passed_over = 0,
                Priority::Low => {}
                Priority::Normal if !low_waits => mount.passed_over = 0,
                Priority::Normal if low_is_ready => mount.passed_over += 1,
                Priority::Normal => {}
            }
        }
        let entry = self.entry(taken.mount, taken.key);
        let queued = entry.queued.take().unwrap();
        assert!(entry.running.is_none(), "{head:?} was in progress already");
        assert_eq!(taken.waited, now.saturating_since(queued.since));
        assert_eq!(taken.failures, entry.failures);
        entry.running = Some(Running { priority: queued.priority, since: now, orphaned: false, changed: None, due: None });
    }

    pub(super) fn done(&mut self, mount: MountName, key: Key, retry: Retry, now: Time) -> Next {
        self.promote(mount, now);
        let order = self.tick();
        let options = self.options.clone();
        let own = self.mounts.iter().find(|other| other.name == mount).and_then(|mount| mount.own.max_retries);
        let entry = self.entry(mount, key);
        let Some(running) = entry.running.take() else {
            return Next::Idle;
        };
        let mut due = running.due;
        let mut at = |time: Time| due = Some(due.map_or(time, |due| due.min(time)));
        match retry {
            _ if running.orphaned => entry.failures = 0,
            Retry::Forget | Retry::Never => entry.failures = 0,
            Retry::After(delay) => {
                entry.failures = 0;
                at(now + delay);
            }
            Retry::Postpone(delay) => at(now + delay),
            Retry::Backoff => {
                entry.failures += 1;
                at(now + backoff::delay(&options, &(mount, key), entry.failures));
            }
            Retry::BackoffAtLeast(least) => {
                entry.failures += 1;
                at(now + backoff::delay(&options, &(mount, key), entry.failures).max(least));
            }
        }
        let failed = matches!(retry, Retry::Backoff | Retry::BackoffAtLeast(_)) && !running.orphaned;
        let parks = failed && own.or(options.max_retries).is_some_and(|retries| entry.failures > retries);
        if let Some((priority, since)) = running.changed {
            if parks {
                entry.failures = 0;
            }
            entry.queued = Some(Queued { priority, since, order });
            Next::Queued
        } else if parks {
            entry.parked = true;
            Next::Parked { failures: entry.failures }
        } else if let Some(until) = due {
            entry.delayed = Some(Delayed { priority: running.priority, until, order });
            Next::At(until)
        } else {
            Next::Idle
        }
    }

    pub(super) fn running(&self) -> Vec<(MountName, Key)> {
        self.keys.iter().filter(|key| key.running.is_some()).map(|key| (key.mount, key.key)).collect()
    }

    pub(super) fn depth(&self, priority: Priority) -> usize {
        self.keys.iter().filter(|key| key.queued.as_ref().is_some_and(|queued| queued.priority == priority)).count()
    }

    pub(super) fn delayed(&self) -> usize {
        self.keys.iter().filter(|key| key.delayed.is_some()).count()
    }

    pub(super) fn parked(&self, mount: MountName) -> Vec<(Key, u32)> {
        let mut parked: Vec<_> =
            self.keys.iter().filter(|key| key.mount == mount && key.parked).map(|key| (key.key, key.failures)).collect();
        parked.sort_unstable();
        parked
    }

    pub(super) fn next_wakeup(&self, now: Time) -> Option<Time> {
        self.keys.iter().filter_map(|key| key.delayed.as_ref()).map(|delayed| delayed.until.max(now)).min()
    }

    pub(super) fn is_ready(&self, now: Time) -> bool {
        self.keys.iter().any(|key| {
            let due = key.delayed.as_ref().is_some_and(|delayed| delayed.until <= now);
            (due || key.queued.is_some()) && self.has_capacity(key.mount)
        })
    }

    pub(super) fn in_progress(&self, now: Time) -> InProgress {
        let durations: Vec<Duration> = self
            .keys
            .iter()
            .filter_map(|key| key.running.as_ref())
            .map(|running| now.saturating_since(running.since))
            .collect();
        InProgress {
            count: durations.len(),
            total: durations.iter().sum(),
            longest: durations.into_iter().max().unwrap_or_default(),
        }
    }

    fn promote(&mut self, mount: MountName, now: Time) {
        loop {
            let due = self
                .keys
                .iter_mut()
                .filter(|key| key.mount == mount)
                .filter(|key| key.delayed.as_ref().is_some_and(|delayed| delayed.until <= now))
                .min_by_key(|key| key.delayed.as_ref().map(|delayed| (delayed.until, delayed.order)));
            let Some(key) = due else { return };
            let delayed = key.delayed.take().unwrap();
            self.clock += 1;
            key.queued = Some(Queued { priority: delayed.priority, since: delayed.until, order: self.clock });
        }
    }

    fn heads(&self) -> Vec<(MountName, Priority, Key)> {
        let mut heads = Vec::new();
        for mount in self.names().into_iter().filter(|mount| self.has_capacity(*mount)) {
            for priority in [Priority::Normal, Priority::Low] {
                let queued = self.keys.iter().filter(|key| key.mount == mount).filter_map(|key| {
                    key.queued.as_ref().filter(|queued| queued.priority == priority).map(|queued| (queued.order, key.key))
                });
                heads.extend(queued.min().map(|(_, key)| (mount, priority, key)));
            }
        }
        heads
    }

    fn has_capacity(&self, name: MountName) -> bool {
        let running = self.keys.iter().filter(|key| key.mount == name && key.running.is_some()).count();
        self.mounts.iter().any(|mount| mount.name == name && running < mount.own.workers)
    }

    fn names(&self) -> Vec<MountName> {
        self.mounts.iter().map(|mount| mount.name).collect()
    }

    fn is_open(&self, name: MountName) -> bool {
        self.mounts.iter().any(|mount| mount.name == name && mount.open)
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn entry(&mut self, mount: MountName, key: Key) -> &mut ModelKey {
        let position = self.keys.iter().position(|entry| (entry.mount, entry.key) == (mount, key));
        let position = position.unwrap_or_else(|| {
            self.keys.push(ModelKey { mount, key, failures: 0, parked: false, queued: None, delayed: None, running: None });
            self.keys.len() - 1
        });
        &mut self.keys[position]
    }
}
