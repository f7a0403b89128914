//! A lease for each mount: the mounts that this replica leads.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use gyre_core::election::mounts::{Action, Input, MountElector, Names};
use gyre_core::election::{Goal, NoIdentity, RequestResult};
use k8s_openapi::api::coordination::v1::Lease;
use kube::Client;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::info;

use super::leaders::Leaders;
use super::lease::{Labels, Leases};
use super::lease_state::{Asked, LeaseState, Release, now, seed_of, until};
use super::options::Options;
use crate::leadership::claim::{Claim, ClaimSender};
use crate::telemetry::metrics::Metrics;

/// Ends the work of a mount before its claim goes.
pub type Drains = Box<dyn Fn(&str) -> BoxFuture<'static, ()> + Send + Sync>;

/// The claims of all mounts.
#[derive(Clone)]
pub struct MountClaims(Arc<Inner>);

struct Inner {
    names: Names,
    metrics: Arc<Metrics>,
    leaders: Arc<Leaders>,
    leases: Mutex<BTreeMap<String, LeaseState>>,
}

impl MountClaims {
    /// Returns the claim to a mount, even before the election has it.
    pub fn of(&self, mount: &str) -> Claim {
        self.leases().entry(mount.to_owned()).or_insert_with(|| self.0.lease(mount)).sender.claim()
    }

    fn update_claims(&self, elector: &MountElector, leadable: &BTreeSet<String>, origin: Instant) {
        let mut leases = self.leases();
        for mount in leadable {
            leases.entry(mount.clone()).or_insert_with(|| self.0.lease(mount));
        }
        leases.retain(|mount, lease| {
            let goal = if elector.assigned().get(mount).map(String::as_str) == Some(elector.identity()) {
                Goal::Lead
            } else {
                Goal::Follow
            };
            lease.set_claim(elector.claim(mount), origin, goal);
            self.0.leaders.set(mount, elector.holder(mount));
            let stays = leadable.contains(mount) || lease.claim.is_some() || lease.sender.is_asked();
            if !stays {
                self.0.metrics.stands_no_more(&lease.name);
                self.0.leaders.set(mount, None);
            }
            stays
        });
    }

    fn leases(&self) -> MutexGuard<'_, BTreeMap<String, LeaseState>> {
        self.0.leases.lock()
    }
}

impl Inner {
    fn lease(&self, mount: &str) -> LeaseState {
        LeaseState::new(self.names.mount(mount), ClaimSender::new().0, Arc::clone(&self.metrics))
    }
}

/// The election with a lease for each mount.
#[derive(Debug)]
pub struct MountElection;

impl MountElection {
    /// Returns the claims to mounts, the election, and the handle to end it.
    ///
    /// # Guarantees
    ///
    /// As [`Election::start`](super::Election::start) for each mount. Before a claim goes to
    /// another replica, its mount is drained under that claim.
    ///
    /// # Assumptions
    ///
    /// The future is polled promptly. The futures of `drains` end.
    ///
    /// # Errors
    ///
    /// If the identity is empty.
    pub fn start(
        client: &Client,
        options: Options,
        mounts: watch::Receiver<BTreeSet<String>>,
        drains: Drains,
        metrics: Arc<Metrics>,
    ) -> Result<(MountClaims, impl Future<Output = ()> + Send + use<>, Release), NoIdentity> {
        let names = Names::new(&options.name);
        let leases = Leases::new(client, &options, Labels::Election(names.label()));
        let leadable = mounts.borrow().clone();
        let seed = seed_of(&options.identity);
        let elector = MountElector::new(names.clone(), options.identity, options.timing, leadable.clone(), seed)?;
        let leaders = options.leaders;
        let claims = MountClaims(Arc::new(Inner { names, metrics, leaders, leases: Mutex::default() }));
        let (release, asked) = Release::new();
        let task = MountElectionTask {
            elector,
            leases,
            leadable,
            mounts,
            drains,
            claims: claims.clone(),
            origin: Instant::now(),
            sent: FuturesUnordered::new(),
        };
        Ok((claims, task.run(asked), release))
    }
}

struct MountElectionTask {
    elector: MountElector,
    leases: Leases,
    leadable: BTreeSet<String>,
    mounts: watch::Receiver<BTreeSet<String>>,
    drains: Drains,
    claims: MountClaims,
    origin: Instant,
    sent: FuturesUnordered<BoxFuture<'static, Ended>>,
}

enum Ended {
    List(Option<Vec<Lease>>),
    Request(String, RequestResult, Option<Box<Lease>>),
    Delete,
    Drain(String),
}

impl MountElectionTask {
    async fn run(mut self, mut asked: Asked) {
        info!(identity = self.elector.identity(), "sharing the mounts with other replicas");
        let mut input = Input::Tick;
        while !self.step(input) {
            let claim_ends = self.elector.claims().map(|(_, until)| until).min();
            let wakeup = self.elector.wakeup(now(self.origin)).into_iter().chain(claim_ends).min();
            input = tokio::select! {
                biased;
                Some(ended) = self.sent.next() => self.ended(ended),
                () = asked.wait() => Input::Leave,
                mounts = changed(&mut self.mounts) => {
                    self.leadable.clone_from(&mounts);
                    Input::Mounts(mounts)
                }
                () = until(self.origin, wakeup) => Input::Tick,
            };
        }
        while self.sent.next().await.is_some() {}
        info!("left the election");
        drop(asked);
    }

    /// Returns whether this replica has left.
    fn step(&mut self, input: Input) -> bool {
        let mut has_left = false;
        let actions = self.elector.step(input, now(self.origin));
        // Before the requests: a replica that releases a lease must have lost the claim.
        self.claims.update_claims(&self.elector, &self.leadable, self.origin);
        for action in actions {
            let sent: BoxFuture<'static, Ended> = match action {
                Action::List => {
                    let list = self.leases.list();
                    Box::pin(async move { Ended::List(list.await) })
                }
                Action::Send { name, request, leadable } => {
                    let sent = self.leases.send(&name, request, leadable);
                    Box::pin(async move {
                        let (answer, lease) = sent.await;
                        Ended::Request(name, answer, lease.map(Box::new))
                    })
                }
                Action::Delete { name, resource_version } => {
                    let deleted = self.leases.delete(&name, resource_version);
                    Box::pin(async move {
                        deleted.await;
                        Ended::Delete
                    })
                }
                Action::Drain(mount) => {
                    info!(mount, "handing over to another replica: finishing what is in progress, then releasing the lease");
                    let drained = (self.drains)(&mount);
                    Box::pin(async move {
                        drained.await;
                        Ended::Drain(mount)
                    })
                }
                Action::Left => {
                    has_left = true;
                    continue;
                }
            };
            self.sent.push(sent);
        }
        has_left
    }

    fn ended(&mut self, ended: Ended) -> Input {
        match ended {
            Ended::List(found) => Input::Listed(found.map(|found| self.leases.record_all(found))),
            Ended::Request(name, answer, lease) => {
                self.leases.record(&name, lease.map(|lease| *lease));
                Input::Answered(name, answer)
            }
            Ended::Delete => Input::Tick,
            Ended::Drain(mount) => Input::Drained(mount),
        }
    }
}

async fn changed(mounts: &mut watch::Receiver<BTreeSet<String>>) -> BTreeSet<String> {
    if mounts.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
    mounts.borrow_and_update().clone()
}
