//! The other replicas, known by their Leases.

use std::collections::{BTreeMap, BTreeSet};

use super::{Lease, Timing};
use crate::queue::Time;

/// The lease durations after which a dead replica's Lease is deleted: long enough that nobody
/// counts it as alive, and that it does not return.
const SWEPT_AFTER: u32 = 4;

/// A Lease from a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedLease {
    /// Its name.
    pub name: String,
    /// The content.
    pub lease: Lease,
    /// The mounts that a replica can lead.
    pub leadable: BTreeSet<String>,
}

#[derive(Clone, Debug)]
pub(super) struct Peers {
    timing: Timing,
    known: BTreeMap<String, Peer>,
}

#[derive(Clone, Debug)]
struct Peer {
    lease: Lease,
    leadable: BTreeSet<String>,
    since: Time,
    alive_since: Time,
    sweep_at: Time,
}

impl Peer {
    fn alive_until(&self, timing: &Timing) -> Time {
        if self.lease.record.holder.is_empty() {
            return self.since;
        }
        self.since + timing.patience(self.lease.record.duration_seconds)
    }
}

impl Peers {
    pub(super) fn new(timing: Timing) -> Self {
        Self { timing, known: BTreeMap::new() }
    }

    pub(super) fn record_listed(&mut self, found: impl IntoIterator<Item = ListedLease>, now: Time) {
        let mut before = std::mem::take(&mut self.known);
        let sweep_at = now + self.timing.lease_duration() * SWEPT_AFTER;
        for ListedLease { name, lease, leadable } in found {
            let peer = match before.remove(&name) {
                Some(peer) if peer.lease == lease => Peer { leadable, ..peer },
                Some(peer) if now < peer.alive_until(&self.timing) => Peer { lease, leadable, since: now, sweep_at, ..peer },
                _ => Peer { lease, leadable, since: now, alive_since: now, sweep_at },
            };
            self.known.insert(name, peer);
        }
    }

    pub(super) fn alive(&self, now: Time) -> impl Iterator<Item = (&str, &BTreeSet<String>)> {
        let alive = self.known.values().filter(move |peer| now < peer.alive_until(&self.timing));
        alive.map(|peer| (peer.lease.record.holder.as_str(), &peer.leadable))
    }

    pub(super) fn alive_since(&self, identity: &str, now: Time) -> Option<Time> {
        let peer = self.known.values().find(|peer| peer.lease.record.holder == identity)?;
        (now < peer.alive_until(&self.timing)).then_some(peer.alive_since)
    }

    pub(super) fn next_end(&self, now: Time) -> Option<Time> {
        self.known.values().map(|peer| peer.alive_until(&self.timing)).filter(|until| now < *until).min()
    }

    /// The Leases of long dead replicas, with their versions. They are returned again if they stay.
    pub(super) fn sweep(&mut self, now: Time) -> Vec<(String, String)> {
        let again = now + self.timing.lease_duration() * SWEPT_AFTER;
        let mut swept = Vec::new();
        for (name, peer) in self.known.iter_mut().filter(|(_, peer)| peer.sweep_at <= now) {
            peer.sweep_at = again;
            swept.push((name.clone(), peer.lease.resource_version.clone()));
        }
        swept
    }
}
