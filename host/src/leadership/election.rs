//! Leader election: what is decided in [`gyre_core::election`] is done here, against Leases in the cluster.
//!
//! ```text
//!   Elector or Share ── request ──▶ Leases ──▶ API server          one task, for as long as the host runs
//!        ▲     │                       │
//!        │     └─ until when ─▶ Holder │ ──▶ Claim ──▶ whoever writes
//!        └─────────── answer ──────────┘
//! ```
//!
//! [`Election`] is about one lease, for all that a host does; [`Shares`] about one for each mount. Either is three things: the claim,
//! a future that must be run for as long as the host does, and a [`Release`] for when it ends.
//!
//! Its requests go by the host's own client, not one that is fenced: the claim is what they are for.

mod arguments;
mod denials;
mod leaders;
mod lease;
mod shares;
#[cfg(test)]
mod tests;

use std::future::Future;
use std::hash::{BuildHasher as _, DefaultHasher, Hash as _, Hasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use gyre_core::election::{Action, Answer, Elector, Goal, Input, NoIdentity, Timing};
use gyre_core::queue::Time;
use kube::Client;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::clock::Clock;
use crate::leadership::claim::{Claim, Holder};
use crate::telemetry::metrics::Metrics;
use lease::Leases;

pub use arguments::Scope;
pub(crate) use arguments::{ElectionArguments, TimeFlag, WrongTimes};
pub use denials::Denials;
pub use leaders::Leaders;
pub use shares::{Claims, Drains, Shares};

/// What is elected for.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the Leases are.
    pub namespace: String,
    /// What the Lease is called, or what the names of all Leases begin with.
    pub name: String,
    /// Who this is. No other process may have the same: see [`identity`].
    pub identity: String,
    /// How long is waited for what.
    pub timing: Timing,
    /// The time of day, which goes into Leases for people to read. Nothing is decided by it.
    pub clock: Clock,
    /// What turns out not to be permitted.
    pub denials: Arc<Denials>,
    /// Whom the Leases name.
    pub leaders: Arc<Leaders>,
}

/// An identity that no other process has: the name of the node or the pod, and a random number, as controller-runtime makes it.
///
/// Also if the name is given: two replicas that are given the same one would take each other's lease for their own.
pub fn identity(node: &str) -> String {
    // Seeded by the operating system.
    format!("{node}_{:016x}", RandomState::new().hash_one(std::process::id()))
}

/// One lease for all that a host does.
#[derive(Debug)]
pub struct Election;

impl Election {
    /// The claim of a host that stands for election as soon as `ready` ends, the election itself, and how to end it.
    ///
    /// # Guarantees
    ///
    /// Before it is ready the host follows who leads. The claim is held while the lease is this host's, and it is certain that nobody else has it. When it is lost, the host goes on
    /// standing for election. When the future is dropped, the claim is lost.
    ///
    /// # Assumptions
    ///
    /// The future is polled promptly: it is not blocked by what else its task does.
    ///
    /// # Errors
    ///
    /// Without an identity.
    pub fn start(
        client: &Client,
        options: Options,
        ready: BoxFuture<'static, ()>,
        metrics: Arc<Metrics>,
    ) -> Result<(Claim, impl Future<Output = ()> + Send + use<>, Release), NoIdentity> {
        let elector = Elector::new(options.identity.clone(), options.timing, Goal::Follow, seed_of(&options.identity))?;
        let (holder, claim) = Holder::new();
        let (release, asked) = Release::new();
        let leases = Leases::new(client, &options, lease::Labels::None);
        let standing = Standing::new(options.name.clone(), holder, metrics);
        let Options { name, leaders, .. } = options;
        let single = Single { elector, leases, leaders, name, origin: Instant::now(), standing };
        Ok((claim, single.run(asked, ready), release))
    }
}

/// How an election is ended.
#[derive(Debug)]
#[must_use = "when it is dropped, the lease is given back"]
pub struct Release {
    ask: oneshot::Sender<()>,
    done: oneshot::Receiver<()>,
}

/// That the election is to end; and, when it is dropped, that it has.
#[derive(Debug)]
struct Asked {
    asked: Option<oneshot::Receiver<()>>,
    _done: oneshot::Sender<()>,
}

impl Release {
    fn new() -> (Self, Asked) {
        let ((ask, asked), (has_ended, done)) = (oneshot::channel(), oneshot::channel());
        (Self { ask, done }, Asked { asked: Some(asked), _done: has_ended })
    }

    /// Gives up the claim and gives the lease back, so that another need not wait for it to expire. Waits until that is done, or has
    /// been tried for a renew deadline.
    ///
    /// # Assumptions
    ///
    /// Nobody writes any more, and nothing that was sent is on its way. The election still runs.
    pub async fn release(self) {
        drop(self.ask);
        // That the other end is gone says that there is nothing to wait for.
        let _ = self.done.await;
    }
}

impl Asked {
    /// Waits until the election is to end; says so once.
    async fn wait(&mut self) {
        match &mut self.asked {
            Some(asked) => {
                // Whether it is sent or dropped.
                let _ = asked.await;
                self.asked = None;
            }
            None => std::future::pending().await,
        }
    }
}

/// Tells those who write, who read logs and who look at metrics how the host stands to one lease.
struct Standing {
    name: String,
    holder: Holder,
    metrics: Arc<Metrics>,
    claim: Option<Time>,
    /// Whom the lease named last.
    leader: Option<String>,
}

impl Standing {
    fn new(name: String, holder: Holder, metrics: Arc<Metrics>) -> Self {
        metrics.leads(&name, false);
        Self { name, holder, metrics, claim: None, leader: None }
    }

    fn tell(&mut self, claim: Option<Time>, origin: Instant, goal: Goal) {
        if claim == self.claim {
            return;
        }
        match claim {
            Some(until) => self.holder.hold_until(origin + until.as_duration()),
            None => self.holder.lose(),
        }
        if claim.is_some() != self.claim.is_some() {
            self.metrics.leads(&self.name, claim.is_some());
            match claim {
                Some(_) => info!(lease = self.name, "leads: this host may write"),
                None if goal == Goal::Lead => warn!(lease = self.name, "leads no more: this host does not write"),
                None => info!(lease = self.name, "gives the lease back"),
            }
        }
        self.claim = claim;
    }

    fn name_leader(&mut self, leader: Option<&str>, identity: &str) {
        if leader == self.leader.as_deref() {
            return;
        }
        if let Some(leader) = leader.filter(|leader| *leader != identity) {
            info!(lease = self.name, leader, "another leads");
        }
        self.leader = leader.map(str::to_owned);
    }
}

struct Single {
    elector: Elector,
    leases: Leases,
    leaders: Arc<Leaders>,
    name: String,
    origin: Instant,
    standing: Standing,
}

impl Single {
    async fn run(mut self, mut asked: Asked, ready: BoxFuture<'static, ()>) {
        let mut ready = ready.fuse();
        info!(lease = self.name, identity = self.elector.identity(), "follows the election");
        let mut input = Input::Tick;
        loop {
            input = match self.step(input) {
                Action::Send(request) => {
                    let mut sent = std::pin::pin!(self.leases.send(&self.name, request, None));
                    let (answer, found) = loop {
                        let claim_ends = self.elector.claim();
                        tokio::select! {
                            biased;
                            ended = &mut sent => break ended,
                            () = asked.wait() => drop(self.step(Input::Goal(Goal::Leave))),
                            () = &mut ready => drop(self.step(self.stand())),
                            () = until(self.origin, claim_ends) => drop(self.step(Input::Tick)),
                        }
                    };
                    self.leases.know(&self.name, found);
                    Input::Answer(answer)
                }
                Action::Wait(time) => tokio::select! {
                    biased;
                    () = asked.wait() => Input::Goal(Goal::Leave),
                    () = &mut ready => self.stand(),
                    () = until(self.origin, Some(time)) => Input::Tick,
                },
                // There is none: each request is waited for.
                Action::Pending => Input::Answer(Answer::Unknown),
                Action::Left => break,
            };
        }
        info!(lease = self.name, "has left the election");
        drop(asked);
    }

    fn stand(&self) -> Input {
        info!(lease = self.name, "stands for election");
        Input::Goal(Goal::Lead)
    }

    /// The clock is read before what the elector wants is sent, and after what it is told has come.
    fn step(&mut self, input: Input) -> Action {
        let action = self.elector.step(input, now(self.origin));
        self.standing.tell(self.elector.claim(), self.origin, self.elector.goal());
        self.standing.name_leader(self.elector.holder(), self.elector.identity());
        self.leaders.set_all(self.elector.holder());
        action
    }
}

fn now(origin: Instant) -> Time {
    Time::from_duration(origin.elapsed())
}

/// Waits until then; without a time, for ever.
async fn until(origin: Instant, time: Option<Time>) {
    /// A moment that is further away never comes.
    const FOR_EVER: Duration = Duration::from_secs(365 * 24 * 60 * 60);
    match time {
        Some(time) => tokio::time::sleep_until(origin + time.as_duration().min(origin.elapsed() + FOR_EVER)).await,
        None => std::future::pending().await,
    }
}

/// Hosts with different identities do not act in step.
fn seed_of(identity: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    identity.hash(&mut hasher);
    hasher.finish()
}
