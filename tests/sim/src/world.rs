//! A cluster, the hosts that work on it, and the faults between them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use gyre_core::election::Timing;
use gyre_devcluster::faults::{Faults, Plan};
use gyre_devcluster::{Clock, Cluster, Options, Server, Service};
use gyre_engine::call::Calls;
use gyre_engine::clock::Clock as HostClock;
use gyre_engine::host;
use gyre_engine::host::Options as HostOptions;
use gyre_engine::leadership::claim::Claim;
use gyre_engine::leadership::election::{self, ElectionScope};
use gyre_engine::mounts::inventory::Place;
use gyre_engine::program::{Programs, fixed};
use gyre_engine::record::Recordings;
use gyre_engine::values::{KeySecret, Randomness};
use jiff::Timestamp;
use kube::Client;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::census::Census;
use crate::kinds;
use crate::people::People;
use crate::plugins::Plugins;
use crate::recorder::{Life, Record, Recorder};
use crate::script;

const START: &str = "2026-01-01T00:00:00Z";
const MOST_WAITS: u32 = 200;

/// A cluster with people, faults and records. Clones share it.
#[derive(Clone)]
pub struct World {
    /// People, beside the hosts.
    pub people: People,
    /// Faults between the hosts and the cluster.
    pub faults: Faults,
    /// The requests of the hosts.
    pub record: Record,
    /// The creations and deletions of the hosts.
    pub census: Census,
    /// The recordings of calls of the hosts.
    pub recordings: Recordings,
    cluster: Cluster,
    lagging: Option<Cluster>,
    service: Service,
    clock: HostClock,
    seed: u64,
    hosts: Arc<AtomicUsize>,
}

/// A running host.
pub struct Host {
    life: Life,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

/// Runs a simulation with paused time.
pub fn simulate<T>(simulation: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime");
    runtime.block_on(simulation)
}

impl World {
    /// Returns a cluster with the CRDs of these plugins, without a host.
    pub async fn new(plugins: &Plugins, seed: u64, plan: Plan) -> Self {
        let start: Timestamp = START.parse().expect("a time");
        let cluster = Cluster::start(&Options { seed, ..Options::default() }, Clock::tokio(start));
        let service = Service::new(cluster.clone());
        let people = People::new(Client::new(service.clone(), "default"), cluster.clone());
        for crd in plugins.crds() {
            people.create(kinds::DEFINITION, &crd).await;
        }
        let census = Census::default();
        Self {
            people,
            faults: Faults::new(plan, seed),
            record: Record::new(),
            cluster,
            lagging: None,
            service: service.with_audit(census.log()),
            census,
            recordings: Recordings::default(),
            clock: HostClock::simulated(start),
            seed,
            hosts: Arc::default(),
        }
    }

    /// Like [`Self::new`], after the beginning of every script.
    pub async fn set_up(plugins: &Plugins, seed: u64, plan: Plan) -> Self {
        let world = Self::new(plugins, seed, plan).await;
        for action in script::set_up() {
            world.people.act(&action).await;
        }
        world
    }

    /// Adds an API server whose watch cache lags; half of the requests of hosts go there.
    #[must_use]
    pub fn with_lag(mut self, lag: Duration) -> Self {
        let lagging = self.cluster.lagging(lag);
        self.service = self.service.with_another(lagging.clone(), self.seed);
        self.lagging = Some(lagging);
        self
    }

    /// Returns the cluster.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Stops all faults.
    pub fn calm_down(&self) {
        self.faults.stop();
        self.lagging.iter().for_each(Cluster::catch_up);
    }

    /// Starts the only host.
    pub fn host(&self, plugins: &Plugins) -> Host {
        self.host_with(fixed(plugins.programs().to_vec()), Claim::always(), None)
    }

    /// Starts a host with a Lease, whose requests are not recorded.
    pub fn host_with_lease(&self, plugins: &Plugins) -> Host {
        let identity = format!("host-{}", self.hosts.load(Ordering::SeqCst));
        let election = election::Options::new("default", "gyre", identity, Timing::default());
        let election = election::Options { clock: self.clock.clone(), ..election };
        let programs = fixed(plugins.programs().to_vec());
        self.start(programs, Claim::always(), None, Some((ElectionScope::Host, election)))
    }

    /// Starts a host that writes only with the claim, and is killed after write `last_write`.
    pub fn host_with(&self, programs: Programs, claim: Claim, last_write: Option<u64>) -> Host {
        self.start(programs, claim, last_write, None)
    }

    fn start(
        &self,
        programs: Programs,
        claim: Claim,
        last_write: Option<u64>,
        election: Option<(ElectionScope, election::Options)>,
    ) -> Host {
        let number = self.hosts.fetch_add(1, Ordering::SeqCst);
        let life = Life::new(number, last_write);
        let recorder = Recorder::new(self.faults.over(self.service.clone()), self.record.clone(), life.clone(), claim.clone());
        let options = HostOptions {
            instance: format!("simulated-{}-{number}", self.seed),
            inventory: Some(Place { namespace: "default".to_owned(), name: "gyre-inventory".to_owned() }),
            claim,
            election,
            clock: self.clock.clone(),
            calls: Calls::Inline,
            recordings: self.recordings.clone(),
            digest_key: Some(KeySecret::of("gyre", "default")),
            // Each start draws other values, so that a value that is made twice is noticed.
            randomness: Randomness::Seeded(self.seed.wrapping_add((number as u64) << 32)),
            ..HostOptions::default()
        };
        let (stop, mut stopped) = watch::channel(false);
        let shutdown = async move {
            if stopped.wait_for(|stopped| *stopped).await.is_err() {
                std::future::pending().await
            }
        };
        let run = host::run(Client::new(recorder, "default"), programs, options, shutdown);
        let running = life.clone();
        let task = tokio::spawn(async move {
            tokio::select! {
                biased;
                () = running.over() => {}
                ended = run => ended.expect("a host that runs"),
            }
        });
        Host { life, stop, task }
    }

    /// Compacts the history: older watches get 410.
    pub fn compact(&self) {
        self.cluster.with_server(Server::compact);
    }

    /// Waits until no host has changed anything for `quiet`. Returns `false` if that never happens.
    pub async fn rest(&self, quiet: Duration) -> bool {
        let began = tokio::time::Instant::now();
        for _ in 0..MOST_WAITS {
            let passed = self.record.quiet_for().min(began.elapsed());
            if passed >= quiet {
                return true;
            }
            tokio::time::sleep(quiet - passed).await;
        }
        false
    }
}

impl Host {
    /// Stops the host, and waits for its end.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        let _ = self.task.await;
    }

    /// Kills the host, as if its process were killed.
    pub async fn kill(self) {
        self.life.end();
        let _ = self.task.await;
    }

    /// Waits until it is killed.
    pub async fn killed(self) {
        self.life.over().await;
        let _ = self.task.await;
    }

    /// Returns the number of its writes.
    pub fn writes(&self) -> u64 {
        self.life.writes()
    }
}
