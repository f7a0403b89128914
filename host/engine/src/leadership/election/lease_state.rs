//! The state of a host's lease, for writers, logs and metrics, and the end of its election.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use gyre_core::election::Goal;
use gyre_core::queue::Time;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::leadership::claim::ClaimSender;
use crate::telemetry::metrics::Metrics;

/// A handle that ends an election.
#[derive(Debug)]
#[must_use = "when it is dropped, the lease is released"]
pub struct Release {
    ask: oneshot::Sender<()>,
    done: oneshot::Receiver<()>,
}

/// The election's end of a [`Release`].
#[derive(Debug)]
pub(super) struct Asked {
    asked: Option<oneshot::Receiver<()>>,
    _done: oneshot::Sender<()>,
}

impl Release {
    pub(super) fn new() -> (Self, Asked) {
        let ((ask, asked), (has_ended, done)) = (oneshot::channel(), oneshot::channel());
        (Self { ask, done }, Asked { asked: Some(asked), _done: has_ended })
    }

    /// Gives up the claim and releases the lease. Waits until that is done, at most a renew
    /// deadline.
    ///
    /// # Assumptions
    ///
    /// Nobody writes any more, no request is in flight, and the election still runs.
    pub async fn release(self) {
        drop(self.ask);
        let _ = self.done.await;
    }
}

impl Asked {
    pub(super) async fn wait(&mut self) {
        match &mut self.asked {
            Some(asked) => {
                let _ = asked.await;
                self.asked = None;
            }
            None => std::future::pending().await,
        }
    }
}

pub(super) struct LeaseState {
    pub(super) name: String,
    pub(super) sender: ClaimSender,
    metrics: Arc<Metrics>,
    pub(super) claim: Option<Time>,
    leader: Option<String>,
}

impl LeaseState {
    pub(super) fn new(name: String, sender: ClaimSender, metrics: Arc<Metrics>) -> Self {
        metrics.leads(&name, false);
        Self { name, sender, metrics, claim: None, leader: None }
    }

    pub(super) fn set_claim(&mut self, claim: Option<Time>, origin: Instant, goal: Goal) {
        if claim == self.claim {
            return;
        }
        match claim {
            Some(until) => self.sender.hold_until(origin + until.as_duration()),
            None => self.sender.lose(),
        }
        if claim.is_some() != self.claim.is_some() {
            self.metrics.leads(&self.name, claim.is_some());
            match claim {
                Some(_) => info!(lease = self.name, "acquired the lease: this host may write"),
                None if goal == Goal::Lead => warn!(lease = self.name, "lost the lease: this host may not write"),
                None => info!(lease = self.name, "released the lease"),
            }
        }
        self.claim = claim;
    }

    pub(super) fn name_leader(&mut self, leader: Option<&str>, identity: &str) {
        if leader == self.leader.as_deref() {
            return;
        }
        if let Some(leader) = leader.filter(|leader| *leader != identity) {
            info!(lease = self.name, leader, "another replica leads");
        }
        self.leader = leader.map(str::to_owned);
    }
}

pub(super) fn now(origin: Instant) -> Time {
    Time::from_duration(origin.elapsed())
}

pub(super) async fn until(origin: Instant, time: Option<Time>) {
    const FOR_EVER: Duration = Duration::from_secs(365 * 24 * 60 * 60);
    match time {
        Some(time) => tokio::time::sleep_until(origin + time.as_duration().min(origin.elapsed() + FOR_EVER)).await,
        None => std::future::pending().await,
    }
}

pub(super) fn seed_of(identity: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    identity.hash(&mut hasher);
    hasher.finish()
}
