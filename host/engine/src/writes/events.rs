//! Kubernetes Events about parents, which report transitions.
//!
//! Plugins return the same events at each call, and [`to_publish`] selects the new ones. They are
//! queued, so that no reconcile waits; `run` publishes them when no key of the mount waits, and
//! otherwise one per second. They are fenced, and those from before the current claim are dropped.

mod recorder;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use gyre_core::event_queue::{AddResult, EventQueue, MountLimit, Publication, Subject};
use gyre_core::object::{GroupVersionKind, ObjectRef};
use gyre_core::outcome::Changed;
use gyre_core::response::{Event, Severity};
use gyre_core::status::StatusCapabilities;
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

const AT_ONCE: usize = 4;

/// While keys of a mount wait, one of its Events is published per interval.
const BESIDE_BACKLOG: Duration = Duration::from_secs(1);

/// The time limit of a publication. A handover of the mount may wait this long.
const PUBLISHED_WITHIN: Duration = Duration::from_secs(5);

/// Returns the new events. If the previous ones are unknown, all are new if something changed.
/// Without conditions, nothing but an event tells what is wrong with an object, so then its
/// warnings are new even if nothing changed.
pub(crate) fn to_publish<'a>(
    events: &'a [Event],
    last: Option<&[Event]>,
    changed: Changed,
    capabilities: &StatusCapabilities,
) -> Vec<&'a Event> {
    match (last, changed, capabilities) {
        (Some(last), _, _) => events.iter().filter(|event| !last.contains(event)).collect(),
        (None, Changed::Yes, _) => events.iter().collect(),
        (None, Changed::No, StatusCapabilities::Nothing) => {
            events.iter().filter(|event| event.severity == Severity::Warning).collect()
        }
        (None, Changed::No, _) => Vec::new(),
    }
}

#[derive(Clone, Copy, Debug)]
struct AddedAt {
    time: Timestamp,
    moment: Moment,
}

pub(crate) trait WriteAccess: Send + Sync {
    /// Waits for permission; `None` if this host does not lead the mount, or the mount has ended.
    fn write_permit(&self) -> BoxFuture<'_, Option<WritePermit>>;
}

/// A permission to write: while it is held, the mount is neither handed over nor removed.
pub(crate) struct WritePermit {
    pub(crate) client: Client,
    pub(crate) publishing: OwnedRwLockReadGuard<()>,
}

pub(crate) struct Events {
    waiting: Mutex<Waiting>,
    changed: Notify,
    stops: Mutex<Option<Instant>>,
    recorder: Recorder,
    work: Arc<WorkQueue>,
    claims: Claims,
    metrics: Arc<Metrics>,
}

#[derive(Default)]
struct Waiting {
    queue: EventQueue<MountName, AddedAt>,
    mounts: BTreeMap<MountName, Known>,
}

struct Known {
    access: Arc<dyn WriteAccess>,
    /// When the next Event may be published beside a backlog.
    beside_backlog: Option<Instant>,
}

enum NextAction {
    Publish(Box<Publication<MountName, AddedAt>>),
    At(Option<Instant>),
}

impl Events {
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
            stops: Mutex::default(),
            recorder: Recorder::new(instance, clock),
            work: Arc::clone(work),
            claims: claims.clone(),
            metrics: Arc::clone(metrics),
        })
    }

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
        // Cut to its published form, on which the queue's size limit and merging depend.
        let event = Event {
            severity: event.severity,
            reason: recorder::truncated_reason(&event.reason).to_owned(),
            message: recorder::truncated_note(&event.message),
        };
        let moment = Moment::now();
        let added = AddedAt { time: self.recorder.now(), moment };
        let (is_first, result) = {
            let mut waiting = self.waiting.lock();
            match waiting.mounts.get_mut(name) {
                Some(known) => known.access = mount,
                None => drop(waiting.mounts.insert(Arc::clone(name), Known { access: mount, beside_backlog: None })),
            }
            let is_first = waiting.queue.unpublished_of(name) == 0;
            let result = waiting.queue.add(name, subject, event, added, self.work.now());
            self.update_gauge(&waiting.queue, name);
            (is_first, result)
        };
        let (outcome, dropped) = match result {
            AddResult::Waits { displaced } => {
                // [`Self::run`] waits for the end of a backlog since the mount's first Event.
                if is_first || !self.work.has_backlog_of(name) {
                    self.changed.notify_one();
                }
                (EventOutcome::QueueFull, displaced)
            }
            AddResult::Merged => (EventOutcome::Merged, 1),
            AddResult::ObjectLimit => (EventOutcome::ObjectLimit, 1),
            AddResult::QueueFull { displaced } => (EventOutcome::QueueFull, displaced + 1),
        };
        self.metrics.events(name, outcome, dropped);
    }

    pub(crate) fn remove_mount(&self, mount: &MountName) {
        let mut waiting = self.waiting.lock();
        waiting.mounts.remove(mount);
        let dropped = waiting.queue.remove_mount(mount);
        drop(waiting);
        self.metrics.events(mount, EventOutcome::Abandoned, dropped);
        self.metrics.without_events(mount);
    }

    pub(crate) async fn run(&self) {
        let mut in_progress = FuturesUnordered::new();
        loop {
            // Before the queues are read, so that no change is missed.
            let caught_up = self.work.caught_up();
            let stops = *self.stops.lock();
            let mut wakeup = None;
            while in_progress.len() < AT_ONCE {
                match self.take(stops) {
                    NextAction::Publish(publication) => in_progress.push(self.publish(*publication)),
                    NextAction::At(at) => {
                        wakeup = at;
                        break;
                    }
                }
            }
            if stops.is_some() && in_progress.is_empty() {
                return;
            }
            let timer = async {
                match wakeup {
                    Some(wakeup) => tokio::time::sleep_until(wakeup).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                Some(()) = in_progress.next() => {}
                () = self.changed.notified() => {}
                () = caught_up, if wakeup.is_some() => {}
                () = timer => {}
            }
        }
    }

    /// [`Self::run`] starts publications for at most `within`, finishes all, and returns.
    pub(crate) fn stop(&self, within: Duration) {
        *self.stops.lock() = Some(Instant::now() + within);
        self.changed.notify_one();
    }

    pub(crate) fn drop_waiting(&self) -> usize {
        let waiting = self.waiting.lock();
        for (mount, count) in waiting.queue.waiting_by_mount() {
            self.metrics.events(mount, EventOutcome::Abandoned, count);
        }
        waiting.queue.waiting()
    }

    fn take(&self, stops: Option<Instant>) -> NextAction {
        let (now, time) = (Instant::now(), self.work.now());
        let mut waiting = self.waiting.lock();
        let Waiting { queue, mounts } = &mut *waiting;
        if let Some(until) = stops {
            let taken = if now < until { queue.take(MountLimit::Ignored, time, |_| true) } else { None };
            return taken.map_or(NextAction::At(None), |publication| NextAction::Publish(Box::new(publication)));
        }
        let (mut due, mut wakeup) = (BTreeSet::new(), None);
        for (name, ready) in queue.ready_at(time) {
            let Some(mount) = mounts.get_mut(name) else { continue };
            let ready = now + ready.saturating_since(time);
            mount.beside_backlog = match mount.beside_backlog {
                _ if !self.work.has_backlog_of(name) => None,
                None => Some(now + BESIDE_BACKLOG),
                held => held,
            };
            let at = mount.beside_backlog.map_or(ready, |at| at.max(ready));
            if at <= now {
                due.insert(Arc::clone(name));
            } else {
                wakeup = Some(wakeup.map_or(at, |earliest: Instant| earliest.min(at)));
            }
        }
        let Some(publication) = queue.take(MountLimit::Enforced, time, |name| due.contains(name)) else {
            return NextAction::At(wakeup);
        };
        if let Some(mount) = mounts.get_mut(&publication.mount) {
            mount.beside_backlog = None;
        }
        NextAction::Publish(Box::new(publication))
    }

    fn update_gauge(&self, queue: &EventQueue<MountName, AddedAt>, mount: &MountName) {
        self.metrics.unpublished_events(mount, queue.unpublished_of(mount));
    }

    async fn publish(&self, publication: Publication<MountName, AddedAt>) {
        let name = self.send(&publication).await;
        let mut waiting = self.waiting.lock();
        waiting.queue.done(&publication, name);
        self.update_gauge(&waiting.queue, &publication.mount);
    }

    async fn send(&self, publication: &Publication<MountName, AddedAt>) -> Option<String> {
        let Publication { mount: name, subject, event, .. } = publication;
        let failed = match tokio::time::timeout(PUBLISHED_WITHIN, self.send_once(publication)).await {
            Ok(Ok(Some((outcome, event)))) => {
                self.metrics.events(name, outcome, 1);
                return Some(event);
            }
            Ok(Ok(None)) => {
                self.metrics.events(name, EventOutcome::Abandoned, 1);
                return None;
            }
            Ok(Err(error)) => error_chain(&error).to_string(),
            Err(_) => format!("not published within {PUBLISHED_WITHIN:?}"),
        };
        self.metrics.events(name, EventOutcome::Failed, 1);
        warn!(mount = %name, object = %subject.object.key, reason = event.reason, error = failed, "cannot publish an event");
        None
    }

    /// Returns `None` if the claim was lost since the Event was added.
    async fn send_once(
        &self,
        publication: &Publication<MountName, AddedAt>,
    ) -> Result<Option<(EventOutcome, String)>, kube::Error> {
        let Publication { mount: name, added, .. } = publication;
        let Some(mount) = self.waiting.lock().mounts.get(name).map(|known| Arc::clone(&known.access)) else { return Ok(None) };
        let claim = self.claims.of(name);
        let is_of_this_claim = |added: AddedAt| claim.held_since(added.moment);
        let Some(WritePermit { client, publishing: _publishing }) = mount.write_permit().await else {
            let dropped = self.waiting.lock().queue.retain(name, |_| false);
            self.metrics.events(name, EventOutcome::Abandoned, dropped);
            return Ok(None);
        };
        if !is_of_this_claim(*added) {
            let dropped = self.waiting.lock().queue.retain(name, is_of_this_claim);
            self.metrics.events(name, EventOutcome::Abandoned, dropped);
            return Ok(None);
        }
        self.recorder.publish(&client, publication).await.map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(reason: &str) -> Event {
        Event { severity: Severity::Normal, reason: reason.to_owned(), message: String::new() }
    }

    fn check(last: Option<&[&str]>, changed: Changed, expected: &[&str]) {
        let events = [event("A"), event("B")];
        let last: Option<Vec<Event>> = last.map(|reasons| reasons.iter().map(|reason| event(reason)).collect());
        let published: Vec<&str> = to_publish(&events, last.as_deref(), changed, &StatusCapabilities::Everything)
            .iter()
            .map(|event| event.reason.as_str())
            .collect();
        assert_eq!(published, expected, "{last:?} {changed:?}");
    }

    #[test]
    fn without_conditions_a_warning_is_published_at_the_first_look() {
        let warning = Event { severity: Severity::Warning, ..event("B") };
        let events = [event("A"), warning.clone()];
        let published = |last| to_publish(&events, last, Changed::No, &StatusCapabilities::Nothing);
        assert_eq!(published(None), [&warning]);
        assert_eq!(published(Some(&events)), [&events[0]; 0]);
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
