//! Asks registries for the versions of tags, in the background.
//!
//! ```text
//! references ─▶ Schedule: which one is due ─▶ HEAD ─ another digest ─▶ pull, verify ─▶ news
//!                  ▲ answered or not ──────────┘
//! ```
//!
//! What is absent: a decision about a version. The receiver of the news tries it, and makes it the
//! one that later starts use.

use std::collections::BTreeMap;
use std::time::Duration;

use gyre_engine::error::error_chain;
use gyre_registry::{Digest, Pulled, Reference};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::{Error, References, Store, Version};

/// The default interval: a minute or an hour would be as right; registries serve such requests from
/// memory, and most do not count them.
pub(crate) const TAG_INTERVAL: Duration = Duration::from_secs(5 * 60);
/// The delay after a first failure. It doubles with each further one, up to the interval.
const TRY_AGAIN_AFTER: Duration = Duration::from_secs(10);

/// A version that a reference names now, or the reason why it is not known or may not be used.
pub(crate) type News = Result<Version, String>;

/// A task that asks registries, until this value is dropped.
pub(crate) struct Tags {
    wanted: watch::Sender<References>,
    news: mpsc::Receiver<News>,
    _task: JoinSet<()>,
}

impl Tags {
    /// Asks at this interval; once it has an answer about a reference, never again if `None`.
    pub(crate) fn ask(store: Store, interval: Option<Duration>, references: References) -> Self {
        let (wanted, receiver) = watch::channel(references);
        // One piece of news at a time: the next question waits until it is read.
        let (sender, news) = mpsc::channel(1);
        let mut task = JoinSet::new();
        task.spawn(ask(store, Schedule { interval, due: BTreeMap::new() }, receiver, sender));
        Self { wanted, news, _task: task }
    }

    pub(crate) fn want(&self, references: References) {
        self.wanted.send_replace(references);
    }

    /// Waits for news. Nothing is lost if this is cancelled.
    pub(crate) async fn news(&mut self) -> News {
        match self.news.recv().await {
            Some(news) => news,
            None => std::future::pending().await,
        }
    }
}

async fn ask(store: Store, mut schedule: Schedule, mut wanted: watch::Receiver<References>, news: mpsc::Sender<News>) {
    let origin = Instant::now();
    let mut sent: BTreeMap<Reference, Digest> = BTreeMap::new();
    loop {
        let references = wanted.borrow_and_update().clone();
        schedule.want(&references, |reference| store.knows(reference), origin.elapsed());
        let Some((reference, due)) = schedule.next() else {
            match wanted.changed().await {
                Ok(()) => continue,
                Err(_) => return,
            }
        };
        tokio::select! {
            changed = wanted.changed() => match changed {
                Ok(()) => continue,
                Err(_) => return,
            },
            () = tokio::time::sleep_until(origin + due) => {}
        }
        let answer = store.ask(&reference, &references).await;
        schedule.asked(&reference, answer.is_ok(), origin.elapsed());
        let version = |pulled| Version { reference: reference.clone(), pulled };
        let found = match answer {
            Ok(Answer::Another(pulled)) => {
                sent.insert(reference.clone(), pulled.manifest);
                Ok(version(pulled))
            }
            // A tag that was moved back ends the refusal of the version that it named meanwhile.
            Ok(Answer::Same(pulled)) => match sent.remove(&reference) {
                Some(other) if other != pulled.manifest => Ok(version(pulled)),
                _ => continue,
            },
            Err(error) => Err(format!(
                "the version that {reference} names now cannot be used, so what is mounted stays: {}; {}",
                error_chain(&error),
                error.remedy()
            )),
        };
        if news.send(found).await.is_err() {
            return;
        }
    }
}

/// The answer of a registry about a reference.
enum Answer {
    /// It names the version that the cache names.
    Same(Pulled),
    /// It names this version, which was pulled and has the demanded signatures.
    Another(Pulled),
}

impl Store {
    fn knows(&self, reference: &Reference) -> bool {
        self.cached(reference).is_ok_and(|cached| cached.is_some())
    }

    async fn ask(&self, reference: &Reference, references: &References) -> Result<Answer, Error> {
        if let Some(cached) = self.cached(reference)?
            && (reference.digest().is_some() || self.registries()?.resolve(reference).await? == cached.manifest)
        {
            return Ok(Answer::Same(cached));
        }
        let policies = references.0.get(reference).map(|mounted| &mounted.policies[..]).unwrap_or_default();
        self.pull(reference, policies).await.map(Answer::Another)
    }
}

/// When to ask about which reference. Times are since the start of the task.
#[derive(Debug)]
struct Schedule {
    interval: Option<Duration>,
    due: BTreeMap<Reference, Due>,
}

#[derive(Debug)]
struct Due {
    at: Duration,
    failures: u32,
}

impl Schedule {
    /// Adds and removes references. Those without a version in the cache are asked about soon,
    /// because a configuration waits for them.
    fn want(&mut self, references: &References, knows: impl Fn(&Reference) -> bool, now: Duration) {
        let is_asked = |reference: &Reference| references.0.get(reference).is_some_and(|mounted| mounted.is_asked);
        self.due.retain(|reference, _| is_asked(reference));
        for reference in references.0.keys().filter(|reference| is_asked(reference)) {
            if self.due.contains_key(reference) {
                continue;
            }
            let delay = if knows(reference) { self.delay_of(reference) } else { Some(TRY_AGAIN_AFTER) };
            if let Some(delay) = delay {
                self.due.insert(reference.clone(), Due { at: now + delay, failures: 0 });
            }
        }
    }

    /// The delay until a known version is asked for again. A digest always names the same one.
    fn delay_of(&self, reference: &Reference) -> Option<Duration> {
        self.interval.filter(|_| reference.digest().is_none())
    }

    fn next(&self) -> Option<(Reference, Duration)> {
        let first = self.due.iter().min_by_key(|(_, due)| due.at);
        first.map(|(reference, due)| (reference.clone(), due.at))
    }

    fn asked(&mut self, reference: &Reference, is_answered: bool, now: Duration) {
        let delay = self.delay_of(reference);
        let longest = self.interval.unwrap_or(TAG_INTERVAL);
        let Some(due) = self.due.get_mut(reference) else { return };
        match (is_answered, delay) {
            (true, Some(delay)) => *due = Due { at: now + delay, failures: 0 },
            (true, None) => drop(self.due.remove(reference)),
            (false, _) => {
                let doubled = TRY_AGAIN_AFTER.saturating_mul(1 << due.failures.min(16));
                *due = Due { at: now + doubled.min(longest), failures: due.failures.saturating_add(1) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Mounted;
    use super::*;

    fn references(names: &[&str]) -> References {
        let mounted = || Mounted { is_asked: true, policies: Vec::new() };
        References(names.iter().map(|name| (name.parse().unwrap(), mounted())).collect())
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    const TAG: &str = "oci://registry.example.com/echo:1";

    fn schedule(interval: Option<Duration>) -> Schedule {
        Schedule { interval, due: BTreeMap::new() }
    }

    #[test]
    fn a_tag_is_asked_for_at_the_interval_and_after_failures_with_backoff() {
        let mut schedule = schedule(Some(seconds(60)));
        let reference: Reference = TAG.parse().unwrap();
        schedule.want(&references(&[TAG]), |_| true, seconds(5));
        assert_eq!(schedule.next(), Some((reference.clone(), seconds(65))));
        for (is_answered, now, next) in
            [(true, 65, 125), (false, 125, 135), (false, 135, 155), (false, 155, 195), (false, 195, 255), (true, 255, 315)]
        {
            schedule.asked(&reference, is_answered, seconds(now));
            // What is wanted anyway changes nothing.
            schedule.want(&references(&[TAG]), |_| true, seconds(now));
            assert_eq!(schedule.next(), Some((reference.clone(), seconds(next))), "{now}");
        }
        schedule.want(&references(&[]), |_| true, seconds(300));
        assert_eq!(schedule.next(), None);
    }

    #[test]
    fn only_what_can_change_or_is_missing_is_asked_for() {
        let pinned = format!("{TAG}@{}", Digest::of(b""));
        let pinned = pinned.as_str();
        for (interval, reference, is_known, expected) in [
            (Some(seconds(60)), TAG, true, Some(60)),
            (Some(seconds(60)), TAG, false, Some(10)),
            (Some(seconds(60)), pinned, true, None),
            (Some(seconds(60)), pinned, false, Some(10)),
            (None, TAG, true, None),
            (None, TAG, false, Some(10)),
        ] {
            let mut schedule = schedule(interval);
            schedule.want(&references(&[reference]), |_| is_known, Duration::ZERO);
            assert_eq!(schedule.next().map(|(_, due)| due.as_secs()), expected, "{interval:?} {reference} {is_known}");
            schedule.asked(&reference.parse().unwrap(), true, Duration::ZERO);
            let again = schedule.next().map(|(_, due)| due.as_secs());
            assert_eq!(again, (interval.is_some() && reference == TAG).then_some(60), "{interval:?} {reference} {is_known}");
        }
    }
}
