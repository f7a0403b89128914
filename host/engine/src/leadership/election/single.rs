use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use gyre_core::election::{Action, Elector, Goal, Input, NoIdentity, RequestResult};
use kube::Client;
use tokio::time::Instant;
use tracing::info;

use super::leaders::Leaders;
use super::lease::{Labels, Leases};
use super::lease_state::{Asked, LeaseState, Release, now, seed_of, until};
use super::options::Options;
use crate::leadership::claim::{Claim, ClaimSender};
use crate::telemetry::metrics::Metrics;

/// The election with one lease for the whole host.
#[derive(Debug)]
pub struct Election;

impl Election {
    /// Returns the claim, the election, and the handle to end it. The host is a candidate once
    /// `ready` completes, and only follows before.
    ///
    /// # Guarantees
    ///
    /// The claim is held only while nobody else can have the lease. After a loss, the host stays a
    /// candidate. When the future is dropped, the claim is lost.
    ///
    /// # Assumptions
    ///
    /// The future is polled promptly: nothing blocks its task.
    ///
    /// # Errors
    ///
    /// If the identity is empty.
    pub fn start(
        client: &Client,
        options: Options,
        ready: BoxFuture<'static, ()>,
        metrics: Arc<Metrics>,
    ) -> Result<(Claim, impl Future<Output = ()> + Send + use<>, Release), NoIdentity> {
        let elector = Elector::new(options.identity.clone(), options.timing, Goal::Follow, seed_of(&options.identity))?;
        let (holder, claim) = ClaimSender::new();
        let (release, asked) = Release::new();
        let leases = Leases::new(client, &options, Labels::None);
        let lease = LeaseState::new(options.name.clone(), holder, metrics);
        let Options { name, leaders, .. } = options;
        let single = Single { elector, leases, leaders, name, origin: Instant::now(), lease };
        Ok((claim, single.run(asked, ready), release))
    }
}

struct Single {
    elector: Elector,
    leases: Leases,
    leaders: Arc<Leaders>,
    name: String,
    origin: Instant,
    lease: LeaseState,
}

impl Single {
    async fn run(mut self, mut asked: Asked, ready: BoxFuture<'static, ()>) {
        let mut ready = ready.fuse();
        info!(lease = self.name, identity = self.elector.identity(), "following the election, not a candidate yet");
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
                    self.leases.record(&self.name, found);
                    Input::Answer(answer)
                }
                Action::Wait(time) => tokio::select! {
                    biased;
                    () = asked.wait() => Input::Goal(Goal::Leave),
                    () = &mut ready => self.stand(),
                    () = until(self.origin, Some(time)) => Input::Tick,
                },
                // Unreachable, because each request is awaited.
                Action::Pending => Input::Answer(RequestResult::Unknown),
                Action::Left => break,
            };
        }
        info!(lease = self.name, "left the election");
        drop(asked);
    }

    fn stand(&self) -> Input {
        info!(lease = self.name, "became a candidate for leadership");
        Input::Goal(Goal::Lead)
    }

    /// The clock is read between an answer and the next request.
    fn step(&mut self, input: Input) -> Action {
        let action = self.elector.step(input, now(self.origin));
        self.lease.set_claim(self.elector.claim(), self.origin, self.elector.goal());
        self.lease.name_leader(self.elector.holder(), self.elector.identity());
        self.leaders.set_all(self.elector.holder());
        action
    }
}
