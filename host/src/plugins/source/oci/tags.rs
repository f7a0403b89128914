//! Asks registries for the versions of tags, in the background.
//!
//! ```text
//! references ─▶ Schedule: which one is due ─▶ HEAD ─ another digest ─▶ verify, pull ─▶ news
//!                  ▲ answered or not ──────────┘
//! ```
//!
//! Each question is a task of its own, one at a time for each registry. So neither a registry that
//! sends a byte per second nor a panic keeps the others from being asked.
//!
//! What is absent: a decision about a version. The receiver of the news tries it, and makes it the
//! one that later starts use.

use std::collections::BTreeMap;
use std::time::Duration;

use gyre_engine::error::error_chain;
use gyre_registry::{Digest, Pulled, Reference};
use tokio::sync::{mpsc, watch};
use tokio::task::{Id, JoinSet};
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
        let known = store.clone();
        let knows = move |reference: &Reference| known.knows(reference);
        let question = move |reference: Reference, references: References| {
            let store = store.clone();
            async move { store.ask(&reference, &references).await }
        };
        task.spawn(ask(knows, question, Schedule { interval, due: BTreeMap::new() }, receiver, sender));
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

async fn ask<Q>(
    knows: impl Fn(&Reference) -> bool,
    question: impl Fn(Reference, References) -> Q,
    mut schedule: Schedule,
    mut wanted: watch::Receiver<References>,
    news: mpsc::Sender<News>,
) where
    Q: Future<Output = Result<Answer, Error>> + Send + 'static,
{
    let origin = Instant::now();
    let mut questions = JoinSet::new();
    let mut asking: BTreeMap<Id, Reference> = BTreeMap::new();
    let mut sent: BTreeMap<Reference, Digest> = BTreeMap::new();
    loop {
        let references = wanted.borrow_and_update().clone();
        schedule.want(&references, &knows, origin.elapsed());
        let next = schedule.next(|registry| asking.values().all(|asked| asked.registry() != registry));
        let (reference, answer) = tokio::select! {
            changed = wanted.changed() => match changed {
                Ok(()) => continue,
                Err(_) => return,
            },
            reference = due(next, origin) => {
                let task = questions.spawn(question(reference.clone(), references));
                asking.insert(task.id(), reference);
                continue;
            }
            Some(ended) = questions.join_next_with_id() => {
                let (id, answer) = match ended {
                    Ok((id, answer)) => (id, answer),
                    Err(panicked) => (panicked.id(), Err(Error::Panicked(panicked))),
                };
                let Some(reference) = asking.remove(&id) else { continue };
                (reference, answer)
            }
        };
        schedule.asked(&reference, answer.is_ok(), origin.elapsed());
        let version = |pulled, before| Version { reference: reference.clone(), pulled, before };
        let found = match answer {
            Ok(Answer::Another { pulled, before }) => {
                sent.insert(reference.clone(), pulled.manifest);
                Ok(version(pulled, before))
            }
            // A tag that was moved back ends the refusal of the version that it named meanwhile.
            Ok(Answer::Same(pulled)) => match sent.remove(&reference) {
                Some(other) if other != pulled.manifest => {
                    let before = Some(pulled.manifest);
                    Ok(version(pulled, before))
                }
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

/// Waits until a reference is due.
async fn due(next: Option<(Reference, Duration)>, origin: Instant) -> Reference {
    match next {
        Some((reference, due)) => {
            tokio::time::sleep_until(origin + due).await;
            reference
        }
        None => std::future::pending().await,
    }
}

/// The answer of a registry about a reference.
enum Answer {
    /// It names the version that the cache names.
    Same(Pulled),
    /// It names this version, which was pulled and has the demanded signatures. The cache named
    /// the manifest `before`.
    Another { pulled: Pulled, before: Option<Digest> },
}

impl Store {
    /// Returns whether the cache has come to name a third version since the registry was asked: a
    /// load pulled it because the cache was deleted, or another process accepted it.
    pub(crate) fn is_outdated(&self, version: &Version) -> bool {
        let named = self.cached(&version.reference).ok().flatten().map(|cached| cached.manifest);
        named.is_some_and(|named| named != version.pulled.manifest && Some(named) != version.before)
    }

    async fn ask(&self, reference: &Reference, references: &References) -> Result<Answer, Error> {
        let cached = self.cached(reference)?;
        let before = cached.as_ref().map(|cached| cached.manifest);
        if let Some(cached) = cached
            && (reference.digest().is_some() || self.registries()?.resolve(reference).await? == cached.manifest)
        {
            return Ok(Answer::Same(cached));
        }
        let policies = references.0.get(reference).map(|mounted| &mounted.policies[..]).unwrap_or_default();
        let pulled = self.pull(reference, policies, &self.manifests(references.0.keys())).await?;
        Ok(Answer::Another { pulled, before })
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
            let delay = self.delay_of(reference);
            if self.due.contains_key(reference) {
                if delay.is_none() && knows(reference) {
                    self.due.remove(reference);
                }
                continue;
            }
            let delay = if knows(reference) { delay } else { Some(TRY_AGAIN_AFTER) };
            if let Some(delay) = delay {
                self.due.insert(reference.clone(), Due { at: now + delay, failures: 0 });
            }
        }
    }

    /// The delay until a known version is asked for again. A digest always names the same one.
    fn delay_of(&self, reference: &Reference) -> Option<Duration> {
        self.interval.filter(|_| reference.digest().is_none())
    }

    /// The reference that is due next, of the registries that are free, and when it is.
    fn next(&self, is_free: impl Fn(&str) -> bool) -> Option<(Reference, Duration)> {
        let free = self.due.iter().filter(|(reference, _)| is_free(reference.registry()));
        free.min_by_key(|(_, due)| due.at).map(|(reference, due)| (reference.clone(), due.at))
    }

    fn asked(&mut self, reference: &Reference, is_answered: bool, now: Duration) {
        let longest = self.interval.unwrap_or(TAG_INTERVAL);
        let Some(due) = self.due.get_mut(reference) else { return };
        *due = if is_answered {
            // `want` removes a version that need not be asked for again. One that was refused is
            // still unknown: what refused it may change without the registry.
            Due { at: now + longest, failures: 0 }
        } else {
            let doubled = TRY_AGAIN_AFTER.saturating_mul(1 << due.failures.min(16));
            Due { at: now + doubled.min(longest), failures: due.failures.saturating_add(1) }
        };
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

    fn anybody(_: &str) -> bool {
        true
    }

    #[test]
    fn a_tag_is_asked_for_at_the_interval_and_after_failures_with_backoff() {
        let mut schedule = schedule(Some(seconds(60)));
        let reference: Reference = TAG.parse().unwrap();
        schedule.want(&references(&[TAG]), |_| true, seconds(5));
        assert_eq!(schedule.next(anybody), Some((reference.clone(), seconds(65))));
        for (is_answered, now, next) in
            [(true, 65, 125), (false, 125, 135), (false, 135, 155), (false, 155, 195), (false, 195, 255), (true, 255, 315)]
        {
            schedule.asked(&reference, is_answered, seconds(now));
            // What is wanted anyway changes nothing.
            schedule.want(&references(&[TAG]), |_| true, seconds(now));
            assert_eq!(schedule.next(anybody), Some((reference.clone(), seconds(next))), "{now}");
        }
        schedule.want(&references(&[]), |_| true, seconds(300));
        assert_eq!(schedule.next(anybody), None);
    }

    #[test]
    fn only_what_can_change_or_is_missing_is_asked_for() {
        let pinned = format!("{TAG}@{}", Digest::of(b""));
        let pinned = pinned.as_str();
        // When it is asked for first, and after an answer, if the cache has it then or not.
        for (interval, reference, is_known, first, known, refused) in [
            (Some(seconds(60)), TAG, true, Some(60), Some(60), 60),
            (Some(seconds(60)), TAG, false, Some(10), Some(60), 60),
            (Some(seconds(60)), pinned, true, None, None, 10),
            (Some(seconds(60)), pinned, false, Some(10), None, 60),
            (None, TAG, true, None, None, 10),
            (None, TAG, false, Some(10), None, 300),
        ] {
            let (mut schedule, wanted) = (schedule(interval), references(&[reference]));
            let due = |schedule: &Schedule| schedule.next(anybody).map(|(_, due)| due.as_secs());
            schedule.want(&wanted, |_| is_known, Duration::ZERO);
            assert_eq!(due(&schedule), first, "{interval:?} {reference} {is_known}");
            schedule.asked(&reference.parse().unwrap(), true, Duration::ZERO);
            schedule.want(&wanted, |_| false, Duration::ZERO);
            assert_eq!(due(&schedule), Some(refused), "{interval:?} {reference} {is_known}");
            schedule.want(&wanted, |_| true, Duration::ZERO);
            assert_eq!(due(&schedule), known, "{interval:?} {reference} {is_known}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn neither_a_registry_that_does_not_answer_nor_a_panic_keeps_others_from_being_asked() {
        let names = ["oci://slow.example.com/a:1", "oci://slow.example.com/b:1", "oci://broken.example.com/a:1", TAG];
        let (wanted, receiver) = watch::channel(references(&names));
        let (sender, mut news) = mpsc::channel(1);
        let (asked, mut questions) = mpsc::unbounded_channel();
        let question = move |reference: Reference, _: References| {
            asked.send(reference.registry().to_owned()).unwrap();
            async move {
                match reference.registry() {
                    "slow.example.com" => std::future::pending().await,
                    "broken.example.com" => panic!("a defect"),
                    _ => Err::<Answer, _>(Error::NoFolder),
                }
            }
        };
        let _task = tokio::spawn(ask(|_: &Reference| true, question, schedule(Some(seconds(60))), receiver, sender));
        let mut said = Vec::new();
        for _ in 0..4 {
            said.push(news.recv().await.unwrap().unwrap_err());
        }
        let count = |part: &str| said.iter().filter(|said| said.contains(part)).count();
        assert_eq!((count("broken.example.com/a:1 names now"), count("panicked"), count(TAG)), (2, 2, 2), "{said:?}");
        let slow = std::iter::from_fn(|| questions.try_recv().ok()).filter(|registry| registry == "slow.example.com");
        assert_eq!(slow.count(), 1, "it is asked one question at a time");
        drop(wanted);
    }
}
