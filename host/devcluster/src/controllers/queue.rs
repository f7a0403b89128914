use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::Work;

/// The first and the longest wait between retries, as in client-go's rate limiter.
const FIRST_RETRY: SignedDuration = SignedDuration::from_millis(5);
const LAST_RETRY: SignedDuration = SignedDuration::from_secs(1000);

/// The limit of syncs of one key at one simulated time. A Job of a million Pods needs thousands.
const TURNS: u32 = 10_000;

#[derive(Debug, Default)]
pub(super) struct Queue {
    ready: BTreeSet<Work>,
    timers: BTreeSet<(Timestamp, Work)>,
    due: BTreeMap<Work, Timestamp>,
    failures: BTreeMap<Work, Failures>,
    turns: BTreeMap<Work, u32>,
    turns_at: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug)]
struct Failures {
    count: u32,
    until: Timestamp,
}

impl Queue {
    pub(super) fn add(&mut self, work: Work) {
        self.ready.insert(work);
    }

    pub(super) fn add_if(&mut self, work: &Work, wanted: impl FnOnce(&Work) -> bool) {
        if wanted(work) {
            self.add(work.clone());
        }
    }

    /// Schedules work, and replaces its previous time.
    pub(super) fn at(&mut self, work: Work, when: Timestamp) {
        self.unset(&work);
        self.due.insert(work.clone(), when);
        self.timers.insert((when, work));
    }

    fn unset(&mut self, work: &Work) {
        if let Some(when) = self.due.remove(work) {
            self.timers.remove(&(when, work.clone()));
        }
    }

    pub(super) fn forget(&mut self, work: &Work) {
        self.unset(work);
        self.ready.remove(work);
        self.failures.remove(work);
    }

    /// Returns the next due work and removes its timer; its sync decides on another.
    pub(super) fn pop(&mut self, now: Timestamp) -> Option<Work> {
        if self.turns_at != Some(now) {
            self.turns_at = Some(now);
            self.turns.clear();
        }
        while self.timers.first().is_some_and(|(when, _)| *when <= now) {
            if let Some((_, work)) = self.timers.pop_first() {
                self.due.remove(&work);
                self.ready.insert(work);
            }
        }
        loop {
            let work = self.ready.pop_first()?;
            let turns = self.turns.entry(work.clone()).or_default();
            *turns += 1;
            if *turns > TURNS {
                self.failed(&work, now);
                continue;
            }
            self.unset(&work);
            return Some(work);
        }
    }

    pub(super) fn failed(&mut self, work: &Work, now: Timestamp) {
        let count = self.failures.get(work).map_or(0, |failures| failures.count);
        let wait = FIRST_RETRY.checked_mul(1_i32.checked_shl(count.min(20)).unwrap_or(i32::MAX)).unwrap_or(LAST_RETRY);
        let until = now.checked_add(wait.min(LAST_RETRY)).unwrap_or(Timestamp::MAX);
        self.failures.insert(work.clone(), Failures { count: count.saturating_add(1), until });
        if self.due.get(work).is_none_or(|due| *due > until) {
            self.at(work.clone(), until);
        }
    }

    /// Forgets past failures, unless their retry is still to come.
    pub(super) fn succeeded(&mut self, work: &Work, now: Timestamp) {
        match self.failures.get(work) {
            Some(failures) if failures.until > now => {
                let until = failures.until;
                if self.due.get(work).is_none_or(|due| *due > until) {
                    self.at(work.clone(), until);
                }
            }
            Some(_) => {
                self.failures.remove(work);
            }
            None => {}
        }
    }

    pub(super) fn is_held(&self, work: &Work, now: Timestamp) -> bool {
        self.failures.get(work).is_some_and(|failures| failures.until > now)
    }

    /// Returns when something is due: now if work is ready or others are not idle.
    pub(super) fn wakeup(&self, others_idle: bool) -> Option<Timestamp> {
        match self.ready.is_empty() && others_idle {
            true => self.timers.first().map(|(when, _)| *when),
            false => self.turns_at,
        }
    }
}
