//! The other replicas, known by their Leases.

use std::collections::{BTreeMap, BTreeSet};

use super::{Lease, Timing};
use crate::queue::Time;

/// The number of lease durations after which the Lease of a dead replica is deleted: long enough
/// that nobody counts it as alive, and that it does not return.
const SWEPT_AFTER: u32 = 4;

/// A Lease from a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its name.
    pub name: String,
    /// The content.
    pub lease: Lease,
    /// The mounts that a replica can lead.
    pub leadable: BTreeSet<String>,
}

/// The other replicas, as last seen.
#[derive(Clone, Debug)]
pub(super) struct Peers {
    timing: Timing,
    /// By the name of the Lease.
    known: BTreeMap<String, Peer>,
}

#[derive(Clone, Debug)]
struct Peer {
    lease: Lease,
    leadable: BTreeSet<String>,
    /// Since when the lease is unchanged.
    since: Time,
    /// Since when it has been renewed in time.
    alive_since: Time,
    /// When it is deleted if nothing happens.
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

    /// Records the Leases of all other replicas.
    pub(super) fn see(&mut self, found: impl IntoIterator<Item = Found>, now: Time) {
        let mut before = std::mem::take(&mut self.known);
        let sweep_at = now + self.timing.lease_duration() * SWEPT_AFTER;
        for Found { name, lease, leadable } in found {
            let peer = match before.remove(&name) {
                Some(peer) if peer.lease == lease => Peer { leadable, ..peer },
                Some(peer) if now < peer.alive_until(&self.timing) => Peer { lease, leadable, since: now, sweep_at, ..peer },
                _ => Peer { lease, leadable, since: now, alive_since: now, sweep_at },
            };
            self.known.insert(name, peer);
        }
    }

    /// The replicas that are alive, each with the mounts that it can lead.
    pub(super) fn alive(&self, now: Time) -> impl Iterator<Item = (&str, &BTreeSet<String>)> {
        let alive = self.known.values().filter(move |peer| now < peer.alive_until(&self.timing));
        alive.map(|peer| (peer.lease.record.holder.as_str(), &peer.leadable))
    }

    /// Since when that replica has been alive, or `None` if it is not.
    pub(super) fn alive_since(&self, identity: &str, now: Time) -> Option<Time> {
        let peer = self.known.values().find(|peer| peer.lease.record.holder == identity)?;
        (now < peer.alive_until(&self.timing)).then_some(peer.alive_since)
    }

    /// When the next alive replica expires if it does not renew.
    pub(super) fn next_end(&self, now: Time) -> Option<Time> {
        self.known.values().map(|peer| peer.alive_until(&self.timing)).filter(|until| now < *until).min()
    }

    /// The Leases to delete, with their versions: those of long dead replicas. They are returned
    /// again later if the deletion fails.
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
