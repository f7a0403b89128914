//! A lease for each mount: the mounts that this replica leads.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use gyre_core::election::share::{Action, Input, Names, Share};
use gyre_core::election::{Answer, Goal, NoIdentity};
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
use crate::leadership::claim::{Claim, Holder};
use crate::telemetry::metrics::Metrics;

/// Has no more work begun for the mount of that name, and ends when what was in progress has ended: its claim is about to go.
pub type Drains = Box<dyn Fn(&str) -> BoxFuture<'static, ()> + Send + Sync>;

/// Each mount's claim.
#[derive(Clone)]
pub struct Claims(Arc<Inner>);

struct Inner {
    names: Names,
    metrics: Arc<Metrics>,
    leaders: Arc<Leaders>,
    standings: Mutex<BTreeMap<String, LeaseState>>,
}

impl Claims {
    /// The claim to write for that mount. It may be asked for before the mount is among those of the election, and is not held until
    /// then.
    pub fn of(&self, mount: &str) -> Claim {
        self.standings().entry(mount.to_owned()).or_insert_with(|| self.0.standing(mount)).holder.claim()
    }

    fn tell(&self, share: &Share, offers: &BTreeSet<String>, origin: Instant) {
        let mut standings = self.standings();
        for mount in offers {
            standings.entry(mount.clone()).or_insert_with(|| self.0.standing(mount));
        }
        standings.retain(|mount, standing| {
            let goal = if share.assigned().get(mount).map(String::as_str) == Some(share.identity()) {
                Goal::Lead
            } else {
                Goal::Follow
            };
            standing.tell(share.claim(mount), origin, goal);
            self.0.leaders.set(mount, share.holder(mount));
            let stays = offers.contains(mount) || standing.claim.is_some() || standing.holder.is_asked();
            if !stays {
                self.0.metrics.stands_no_more(&standing.name);
                self.0.leaders.set(mount, None);
            }
            stays
        });
    }

    fn standings(&self) -> MutexGuard<'_, BTreeMap<String, LeaseState>> {
        self.0.standings.lock()
    }
}

impl Inner {
    fn standing(&self, mount: &str) -> LeaseState {
        LeaseState::new(self.names.mount(mount), Holder::new().0, Arc::clone(&self.metrics))
    }
}

/// A lease for each mount.
#[derive(Debug)]
pub struct Shares;

impl Shares {
    /// The claims of a replica to the mounts that it can lead, the election, and how to end it.
    ///
    /// # Guarantees
    ///
    /// As for [`Election::start`](super::Election::start), of each mount. Before a claim is given up since another replica is to have
    /// the mount, it is drained, and the claim is still held meanwhile.
    ///
    /// # Assumptions
    ///
    /// The future is polled promptly. What `drains` gives ends.
    ///
    /// # Errors
    ///
    /// Without an identity.
    pub fn start(
        client: &Client,
        options: Options,
        mounts: watch::Receiver<BTreeSet<String>>,
        drains: Drains,
        metrics: Arc<Metrics>,
    ) -> Result<(Claims, impl Future<Output = ()> + Send + use<>, Release), NoIdentity> {
        let names = Names::new(&options.name);
        let leases = Leases::new(client, &options, Labels::Election(names.label()));
        let offers = mounts.borrow().clone();
        let seed = seed_of(&options.identity);
        let share = Share::new(names.clone(), options.identity, options.timing, offers.clone(), seed)?;
        let leaders = options.leaders;
        let claims = Claims(Arc::new(Inner { names, metrics, leaders, standings: Mutex::default() }));
        let (release, asked) = Release::new();
        let sharing = Sharing {
            share,
            leases,
            offers,
            mounts,
            drains,
            claims: claims.clone(),
            origin: Instant::now(),
            sent: FuturesUnordered::new(),
        };
        Ok((claims, sharing.run(asked), release))
    }
}

struct Sharing {
    share: Share,
    leases: Leases,
    offers: BTreeSet<String>,
    mounts: watch::Receiver<BTreeSet<String>>,
    drains: Drains,
    claims: Claims,
    origin: Instant,
    sent: FuturesUnordered<BoxFuture<'static, Ended>>,
}

/// What was under way has ended.
enum Ended {
    List(Option<Vec<Lease>>),
    Request(String, Answer, Option<Box<Lease>>),
    Delete,
    Drain(String),
}

impl Sharing {
    async fn run(mut self, mut asked: Asked) {
        info!(identity = self.share.identity(), "sharing the mounts with other replicas");
        let mut input = Input::Tick;
        while !self.step(input) {
            let claim_ends = self.share.claims().map(|(_, until)| until).min();
            let wakeup = self.share.wakeup(now(self.origin)).into_iter().chain(claim_ends).min();
            input = tokio::select! {
                biased;
                Some(ended) = self.sent.next() => self.ended(ended),
                () = asked.wait() => Input::Leave,
                mounts = changed(&mut self.mounts) => {
                    self.offers.clone_from(&mounts);
                    Input::Mounts(mounts)
                }
                () = until(self.origin, wakeup) => Input::Tick,
            };
        }
        // What is left is the deletion of what says that this replica is there, and each request ends in time.
        while self.sent.next().await.is_some() {}
        info!("left the election");
        drop(asked);
    }

    /// Whether this replica has left. The clock is read before what is wanted is sent, and after what is told has come.
    fn step(&mut self, input: Input) -> bool {
        let mut has_left = false;
        let actions = self.share.step(input, now(self.origin));
        // Before anything is sent: who gives back has no claim any more.
        self.claims.tell(&self.share, &self.offers, self.origin);
        for action in actions {
            let sent: BoxFuture<'static, Ended> = match action {
                Action::List => {
                    let list = self.leases.list();
                    Box::pin(async move { Ended::List(list.await) })
                }
                Action::Send { name, request, offers } => {
                    let sent = self.leases.send(&name, request, offers);
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
            Ended::List(found) => Input::Listed(found.map(|found| self.leases.know_all(found))),
            Ended::Request(name, answer, lease) => {
                self.leases.know(&name, lease.map(|lease| *lease));
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
