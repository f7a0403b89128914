//! The Events that wait to be published. They are best effort: what exceeds a limit is dropped.
//!
//! ```text
//!   add ── the same Event already waits ──────────▶ merged: the count of its series grows
//!       ── its object has no token ───────────────▶ dropped, or merged if its series was published
//!       ── the byte limit of the mount is reached ▶ this or another Event is dropped
//!       ── otherwise ──▶ waits ── take, one per mount ──▶ published ── done ──▶ kept for series
//! ```
//!
//! - The Events of an object are published in the order in which they were added.
//! - Mounts take turns, and so do the namespaces of a mount.
//! - At its byte limit, a mount drops the newest Event of the largest namespace's last object.
//! - Publishing takes a token of the object ([`OBJECT_LIMIT`]) and of the mount ([`MOUNT_LIMIT`]).
//!
//! Equal Events within [`SERIES_END`] become a series (`series` of `events.k8s.io/v1`): one Event
//! with a count. So do many that differ only in their message (see [`SIMILAR`]). The numbers are
//! those of client-go's `tools/record/events_cache.go` and `tools/events/event_broadcaster.go`.

mod mount;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::Bound;
use std::time::Duration;

use crate::object::ObjectRef;
use crate::queue::Time;
use crate::response::Event;
use crate::token_bucket::Limit;
use mount::Mount;

/// The Events about one object (`defaultSpamBurst`, `defaultSpamQPS`).
pub const OBJECT_LIMIT: Limit = Limit { burst: 25, interval: Duration::from_secs(300) };

/// The Events of one mount: 1,000 at once, then 20 per second, once the request rate of a whole
/// operator in controller-runtime (`QPS`). By default, an API server keeps an Event for an hour.
pub const MOUNT_LIMIT: Limit = Limit { burst: 1_000, interval: Duration::from_millis(50) };

/// The most bytes of a mount's waiting Events: some 10,000 Events.
pub const MOST_BYTES: usize = 4 << 20;

/// The time without the Event after which a series ends (`finishTime`).
pub const SERIES_END: Duration = Duration::from_secs(6 * 60);

/// The different messages of an object before a series (`defaultAggregateMaxEvents`).
pub const SIMILAR: usize = 10;

/// The prefix of the message of such a series, before the first message.
pub const COMBINED: &str = "(combined from similar events): ";

/// The object that an Event is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Its kind, namespace and name.
    pub object: ObjectRef,
    /// Its UID.
    pub uid: String,
    /// The resource version that the reconcile saw last.
    pub resource_version: String,
}

impl Subject {
    /// Identifies an object, also if the API server gives no UIDs.
    fn key(&self) -> String {
        format!("{} {}", self.uid, self.object.key)
    }
}

/// The result of [`EventQueue::add`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddResult {
    /// It waits. Events of other namespaces may have been dropped to make room.
    Waits {
        /// The number of others that were dropped.
        displaced: usize,
    },
    /// It was counted in a series and needs no request: an Event of the series waits, or the series
    /// is published and the object has no token. Then the next Event with a token writes the count.
    Merged,
    /// It was dropped: its object has no token.
    ObjectLimit,
    /// It was dropped: the byte limit is reached and no other namespace uses more.
    QueueFull {
        /// The number of others that were dropped.
        displaced: usize,
    },
}

/// Whether [`MOUNT_LIMIT`] is enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MountLimit {
    /// Yes.
    Enforced,
    /// No, because the host is about to stop.
    Ignored,
}

/// An Event to publish. The next one of its mount is taken after [`EventQueue::done`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Publication<M, T> {
    /// The mount.
    pub mount: M,
    /// The object.
    pub subject: Subject,
    /// The Event.
    pub event: Event,
    /// When it was added. Events that are merged into it do not change this.
    pub added: T,
    /// When it first happened.
    pub first: T,
    /// When it last happened.
    pub last: T,
    /// How often it happened. It is published with a `series` if more than once.
    pub count: u32,
    /// The existing Event of the series to patch, or `None` to create one.
    pub name: Option<String>,
    series: u64,
    ticket: u64,
}

/// The waiting Events of a host. `M` is a mount; `T` is the host's type of a time.
#[derive(Debug)]
pub struct EventQueue<M, T> {
    mounts: BTreeMap<M, Mount<T>>,
    last_turn: Option<M>,
    tickets: u64,
}

impl<M, T> Default for EventQueue<M, T> {
    fn default() -> Self {
        Self { mounts: BTreeMap::new(), last_turn: None, tickets: 0 }
    }
}

impl<M: Clone + Ord, T: Copy> EventQueue<M, T> {
    /// Adds an Event about an object that happened at `at`.
    pub fn add(&mut self, mount: &M, subject: Subject, event: Event, at: T, now: Time) -> AddResult {
        self.mounts.entry(mount.clone()).or_default().add(subject, event, at, now)
    }

    /// Takes the next Event of a mount for which `may` is true, if one may be published now.
    pub fn take(&mut self, limit: MountLimit, now: Time, may: impl Fn(&M) -> bool) -> Option<Publication<M, T>> {
        let after = self.last_turn.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        let in_turn = self.mounts.range::<M, _>((after, Bound::Unbounded)).chain(&self.mounts);
        let name =
            in_turn.filter(|(name, mount)| mount.is_ready(limit, now) && may(name)).map(|(name, _)| name.clone()).next()?;
        self.last_turn = Some(name.clone());
        self.tickets += 1;
        self.mounts.get_mut(&name)?.take(&name, self.tickets, now)
    }

    /// Ends a publication. `name` is the published Event, or `None` if publishing failed.
    pub fn done(&mut self, publication: &Publication<M, T>, name: Option<String>) {
        if let Some(mount) = self.mounts.get_mut(&publication.mount) {
            mount.done(publication, name);
        }
    }

    /// Forgets a mount. Returns the number of its waiting Events.
    pub fn remove_mount(&mut self, mount: &M) -> usize {
        self.mounts.remove(mount).map_or(0, |mount| mount.waiting())
    }

    /// Drops the waiting Events of a mount for whose time `keep` is false. Returns their number.
    pub fn retain(&mut self, mount: &M, keep: impl Fn(T) -> bool) -> usize {
        self.mounts.get_mut(mount).map_or(0, |mount| mount.retain(keep))
    }

    /// The time of the next [`Self::take`] of each mount with waiting Events and no publication.
    pub fn ready_at(&self, now: Time) -> impl Iterator<Item = (&M, Time)> {
        self.mounts.iter().filter_map(move |(name, mount)| Some((name, mount.ready_at(now)?)))
    }

    /// The number of waiting Events.
    pub fn waiting(&self) -> usize {
        self.mounts.values().map(Mount::waiting).sum()
    }

    /// The number of waiting Events of each mount.
    pub fn waiting_by_mount(&self) -> impl Iterator<Item = (&M, usize)> {
        self.mounts.iter().map(|(name, mount)| (name, mount.waiting()))
    }

    /// The number of Events of a mount that wait or are being published.
    pub fn unpublished_of(&self, mount: &M) -> usize {
        self.mounts.get(mount).map_or(0, Mount::unpublished)
    }
}
