//! Leadership: the claims of this host, and the mounts that it could lead.

pub mod claim;
pub mod election;

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::Client;
use parking_lot::RwLock;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::health::CriticalTasks;
use crate::leadership::claim::Claim;
use crate::leadership::election::{Drains, Election, ElectionScope, MountElection, Release};
use crate::telemetry::metrics::Metrics;

#[derive(Clone)]
pub(crate) enum Claims {
    Host(Claim),
    Mounts(election::MountClaims),
}

impl Claims {
    pub(crate) fn of(&self, mount: &str) -> Claim {
        match self {
            Self::Host(claim) => claim.clone(),
            Self::Mounts(claims) => claims.of(mount),
        }
    }

    /// The claim to write the inventory. Replicas that share mounts write only their own entries.
    pub(crate) fn of_inventory(&self) -> Claim {
        match self {
            Self::Host(claim) => claim.clone(),
            Self::Mounts(_) => Claim::always(),
        }
    }
}

#[derive(Clone)]
pub(crate) struct LeadableMounts {
    able: watch::Sender<BTreeSet<String>>,
    /// The mounts for which nobody needs to wait: once leadable, or impossible to lead.
    decided: watch::Sender<BTreeSet<String>>,
}

impl LeadableMounts {
    pub(crate) fn new() -> Self {
        Self { able: watch::Sender::new(BTreeSet::new()), decided: watch::Sender::new(BTreeSet::new()) }
    }

    /// Adds a mount whose caches have synced, or whose finalizers have to be removed.
    pub(crate) fn add(&self, mount: &str) {
        self.able.send_if_modified(|able| able.insert(mount.to_owned()));
        self.mark_unleadable(mount);
    }

    /// Marks a mount that nobody can lead: its kind is not served, or it is refused.
    pub(crate) fn mark_unleadable(&self, mount: &str) {
        self.decided.send_if_modified(|decided| decided.insert(mount.to_owned()));
    }

    fn all(&self, wanted: BTreeSet<String>) -> impl Future<Output = ()> + Send + use<> {
        let mut decided = self.decided.subscribe();
        async move {
            let _ = decided.wait_for(|decided| wanted.is_subset(decided)).await;
        }
    }

    pub(crate) fn remove(&self, mount: &str) {
        self.able.send_if_modified(|able| able.remove(mount));
    }
}

pub(crate) struct Leadership {
    pub(crate) claims: Claims,
    election: Option<(JoinHandle<()>, Release)>,
}

impl Leadership {
    /// Joins the election, if there is one; otherwise `given` is the claim.
    ///
    /// With one lease for all mounts, a host becomes a candidate once the caches of `wanted` have
    /// synced, at the latest after a lease duration.
    pub(crate) fn start(
        client: &Client,
        given: Claim,
        election: Option<(ElectionScope, election::Options)>,
        leadable: &LeadableMounts,
        wanted: BTreeSet<String>,
        drained: &Arc<DrainHandle>,
        metrics: &Arc<Metrics>,
    ) -> anyhow::Result<Self> {
        let metrics = Arc::clone(metrics);
        Ok(match election {
            None => Self { claims: Claims::Host(given), election: None },
            Some((ElectionScope::Host, options)) => {
                let patience = options.timing.lease_duration();
                let ready = {
                    let decided = leadable.all(wanted);
                    Box::pin(async move { drop(tokio::time::timeout(patience, decided).await) })
                };
                let (claim, election, release) = Election::start(client, options, ready, metrics)?;
                Self { claims: Claims::Host(claim), election: Some((tokio::spawn(election), release)) }
            }
            Some((ElectionScope::Mount, options)) => {
                let drained = Arc::clone(drained);
                let drains: Drains = Box::new(move |mount| {
                    let (drained, mount) = (Arc::clone(&drained), mount.to_owned());
                    Box::pin(async move { drained.drain(&mount).await })
                });
                let (claims, election, release) =
                    MountElection::start(client, options, leadable.able.subscribe(), drains, metrics)?;
                Self { claims: Claims::Mounts(claims), election: Some((tokio::spawn(election), release)) }
            }
        })
    }

    /// Registers the election as critical: without it, the host could never write again.
    pub(crate) fn watch_over(&self, critical_tasks: &CriticalTasks) {
        if let Some((election, _)) = &self.election {
            critical_tasks.add("election", election.abort_handle());
        }
    }

    /// Releases the lease. Nobody may write after this.
    pub(crate) async fn give_back(self) {
        if let Some((election, release)) = self.election {
            release.release().await;
            election.abort();
        }
    }

    /// Stops leading without releasing the lease, so that nobody leads until it expires.
    pub(crate) async fn leave_to_expire(self) {
        if let Some((election, release)) = self.election {
            election.abort();
            let _ = election.await;
            // Only now: a running election would release the lease.
            drop(release);
        }
    }
}

#[derive(Default)]
pub(crate) struct DrainHandle(RwLock<Option<Arc<Drains>>>);

impl DrainHandle {
    pub(crate) fn set(&self, drains: Drains) {
        *self.0.write() = Some(Arc::new(drains));
    }

    async fn drain(&self, name: &str) {
        let known = self.0.read().clone();
        let Some(drains) = known else { return };
        drains(name).await;
    }
}
