//! Kubernetes Events about parents.
//!
//! An Event reports a transition. A plugin returns the same events at each call; [`to_publish`] selects those that are new. They are
//! published beside the reconciles, which never wait for it:
//!
//! ```text
//!   reconcile ── add ──▶ gyre_core::event_queue ── run: while no key waits in the work queue ──▶ Recorder ──▶ API server
//! ```
//!
//! Like all writes they are fenced, and those that were added before the claim was last obtained are dropped.

mod recorder;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use gyre_core::event_queue::{self, EventQueue, Pace, Publication, Subject};
use gyre_core::object::{GroupVersionKind, ObjectRef};
use gyre_core::outcome::Changed;
use gyre_core::response::Event;
use jiff::Timestamp;
use kube::Client;
use parking_lot::Mutex;
use tokio::sync::{Notify, OwnedRwLockReadGuard};
use tokio::time::Instant;
use tracing::warn;

use crate::clock::{Clock, Moment};
use crate::cluster::object::Object;
use crate::error::error_chain;
use crate::leadership::Claims;
use crate::program::MountName;
use crate::telemetry::metrics::{EventOutcome, Metrics};
use crate::work::WorkQueue;
use recorder::Recorder;

/// So many Events are published at once, each of another mount.
const AT_ONCE: usize = 4;

/// While keys wait in the work queue, one Event is published in each such interval, so that none waits for ever.
const BESIDE_BACKLOG: Duration = Duration::from_secs(1);

/// How long publishing an Event may take. It keeps a mount from being handed over for as long.
const PUBLISHED_WITHIN: Duration = Duration::from_secs(5);

/// The events that are news: all of them if the reconcile changed something, else those that did not hold last time. What held
/// last time is not known after a restart; then nothing is news, so that a restart writes nothing.
pub(crate) fn to_publish<'a>(events: &'a [Event], last: Option<&[Event]>, changed: Changed) -> Vec<&'a Event> {
    match (changed, last) {
        (Changed::Yes, None) => events.iter().collect(),
        (Changed::Yes | Changed::No, Some(last)) => events.iter().filter(|event| !last.contains(event)).collect(),
        (Changed::No, None) => Vec::new(),
    }
}

/// When an Event was added.
#[derive(Clone, Copy, Debug)]
struct Added {
    time: Timestamp,
    moment: Moment,
}

/// A mount, as far as Events are written for it.
pub(crate) trait WriteAccess: Send + Sync {
    /// Waits until a write for the mount may begin; none: no more of them.
    fn begin_write(&self) -> BoxFuture<'_, Option<WritePermit>>;
}

/// While it is held, the mount is neither handed over nor removed.
pub(crate) struct WritePermit {
    /// The client of the mount's program.
    pub(crate) client: Client,
    pub(crate) in_flight: OwnedRwLockReadGuard<()>,
}

/// The Events of a host that wait to be published; see the module's documentation.
pub(crate) struct Events {
    waiting: Mutex<Waiting>,
    /// An Event was added, or the host stops.
    changed: Notify,
    /// The host stops: what waits is published now.
    stops: AtomicBool,
    recorder: Recorder,
    work: Arc<WorkQueue>,
    claims: Claims,
    metrics: Arc<Metrics>,
}

#[derive(Default)]
struct Waiting {
    queue: EventQueue<MountName, Added>,
    /// Those of the queue.
    mounts: BTreeMap<MountName, Arc<dyn WriteAccess>>,
}

impl Events {
    /// None yet. `instance` is the reporting instance: the name of the pod, if there is one.
    pub(crate) fn new(
        instance: String,
        clock: Clock,
        work: &Arc<WorkQueue>,
        claims: &Claims,
        metrics: &Arc<Metrics>,
    ) -> Arc<Self> {
        Arc::new(Self {
            waiting: Mutex::default(),
            changed: Notify::new(),
            stops: AtomicBool::new(false),
            recorder: Recorder::new(instance, clock),
            work: Arc::clone(work),
            claims: claims.clone(),
            metrics: Arc::clone(metrics),
        })
    }

    /// Adds an Event of the mount `name` about a parent, to be published later.
    pub(crate) fn add(
        &self,
        name: &MountName,
        mount: Arc<dyn WriteAccess>,
        kind: &GroupVersionKind,
        parent: &Object,
        event: &Event,
    ) {
        let subject = Subject {
            object: ObjectRef { kind: kind.clone(), key: parent.key() },
            uid: parent.uid().to_owned(),
            resource_version: parent.resource_version().to_string(),
        };
        let (event, moment) = (event.clone(), Moment::now());
        let added = Added { time: self.recorder.now(), moment };
        let (is_first, result) = {
            let mut waiting = self.waiting.lock();
            // It may be another mount of that name than before.
            waiting.mounts.insert(Arc::clone(name), mount);
            let is_first = waiting.queue.waiting() == 0;
            (is_first, waiting.queue.add(name, subject, event, added, self.work.now()))
        };
        match result {
            event_queue::Added::Waits { displaced } => {
                self.metrics.events(name, EventOutcome::TooManyWait, displaced);
                // While there is a backlog, others wait already, and nobody has to be woken for one more.
                if is_first || !self.work.has_backlog() {
                    self.changed.notify_one();
                }
            }
            event_queue::Added::Merged => self.metrics.events(name, EventOutcome::Merged, 1),
            event_queue::Added::OverLimit => self.metrics.events(name, EventOutcome::OverLimit, 1),
            event_queue::Added::Full => self.metrics.events(name, EventOutcome::TooManyWait, 1),
        }
    }

    /// Forgets a mount. Nothing is published for it after that, if none of its reconciles and publications is in progress.
    pub(crate) fn remove_mount(&self, mount: &MountName) {
        let mut waiting = self.waiting.lock();
        waiting.mounts.remove(mount);
        let dropped = waiting.queue.remove_mount(mount);
        drop(waiting);
        self.metrics.events(mount, EventOutcome::NotLed, dropped);
    }

    /// Publishes Events until the host stops, and then those that wait.
    pub(crate) async fn run(&self) {
        let mut in_progress = FuturesUnordered::new();
        let mut waits_since = None;
        loop {
            // From before the queues are looked at: what happens after that is not missed.
            let caught_up = self.work.caught_up();
            let stops = self.stops.load(Ordering::Relaxed);
            let has_backlog = !stops && self.work.has_backlog();
            waits_since = waits_since.filter(|_| has_backlog);
            let (at_once, not_before) = if has_backlog {
                (1, *waits_since.get_or_insert_with(Instant::now) + BESIDE_BACKLOG)
            } else {
                (AT_ONCE, Instant::now())
            };
            let pace = if stops { Pace::Unlimited } else { Pace::Limited };
            while in_progress.len() < at_once
                && not_before <= Instant::now()
                && let Some(publication) = self.take(pace)
            {
                waits_since = None;
                in_progress.push(self.publish(publication));
            }
            if stops && in_progress.is_empty() {
                return;
            }
            let ready = self.ready_at().filter(|_| in_progress.len() < at_once);
            let wakeup = async {
                match ready {
                    Some(ready) => tokio::time::sleep_until(ready.max(not_before)).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                Some(()) = in_progress.next() => {}
                () = self.changed.notified() => {}
                () = caught_up, if has_backlog => {}
                () = wakeup => {}
            }
        }
    }

    /// The host stops: [`Self::run`] publishes what waits, and ends.
    pub(crate) fn stop(&self) {
        self.stops.store(true, Ordering::Relaxed);
        self.changed.notify_one();
    }

    /// Counts those that still wait as dropped, since the host ends. Returns how many.
    pub(crate) fn drop_waiting(&self) -> usize {
        let waiting = self.waiting.lock();
        for (mount, count) in waiting.queue.waiting_by_mount() {
            self.metrics.events(mount, EventOutcome::NotLed, count);
        }
        waiting.queue.waiting()
    }

    fn take(&self, pace: Pace) -> Option<Publication<MountName, Added>> {
        self.waiting.lock().queue.take(pace, self.work.now())
    }

    /// When there is something to take.
    fn ready_at(&self) -> Option<Instant> {
        let now = self.work.now();
        let ready = self.waiting.lock().queue.next_wakeup(now)?;
        Some(Instant::now() + ready.saturating_since(now))
    }

    async fn publish(&self, publication: Publication<MountName, Added>) {
        let name = self.send(&publication).await;
        self.waiting.lock().queue.done(&publication, name);
    }

    /// Sends an Event, if it may still be sent. Returns the name of the Event.
    async fn send(&self, publication: &Publication<MountName, Added>) -> Option<String> {
        let Publication { mount: name, subject, event, added, .. } = publication;
        let mount = self.waiting.lock().mounts.get(name).cloned()?;
        let permit = mount.begin_write().await;
        let claim = self.claims.of(name);
        let Some(WritePermit { client, in_flight: _in_flight }) = permit.filter(|_| claim.held_since(added.moment)) else {
            let dropped = self.waiting.lock().queue.retain(name, |added| claim.held_since(added.moment));
            self.metrics.events(name, EventOutcome::NotLed, dropped + 1);
            return None;
        };
        let failed = match tokio::time::timeout(PUBLISHED_WITHIN, self.recorder.publish(&client, publication)).await {
            Ok(Ok((outcome, name))) => {
                self.metrics.events(&publication.mount, outcome, 1);
                return Some(name);
            }
            Ok(Err(error)) => error_chain(&error).to_string(),
            Err(_) => format!("no answer within {PUBLISHED_WITHIN:?}"),
        };
        self.metrics.events(name, EventOutcome::Failed, 1);
        warn!(mount = %name, object = %subject.object.key, reason = event.reason, error = failed, "cannot publish an event");
        None
    }
}

#[cfg(test)]
mod tests {
    use gyre_core::response::Severity;

    use super::*;

    fn event(reason: &str) -> Event {
        Event { severity: Severity::Normal, reason: reason.to_owned(), message: String::new() }
    }

    fn check(last: Option<&[&str]>, changed: Changed, expected: &[&str]) {
        let events = [event("A"), event("B")];
        let last: Option<Vec<Event>> = last.map(|reasons| reasons.iter().map(|reason| event(reason)).collect());
        let published: Vec<&str> =
            to_publish(&events, last.as_deref(), changed).iter().map(|event| event.reason.as_str()).collect();
        assert_eq!(published, expected, "{last:?} {changed:?}");
    }

    #[test]
    fn events_are_published_on_transitions_only() {
        check(None, Changed::Yes, &["A", "B"]);
        check(None, Changed::No, &[]);
        check(Some(&["A", "B"]), Changed::No, &[]);
        check(Some(&["A"]), Changed::No, &["B"]);
        check(Some(&["A"]), Changed::Yes, &["B"]);
    }
}
