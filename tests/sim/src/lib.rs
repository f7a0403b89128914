//! A host and a cluster in one process, under time that does not pass by itself, with faults between them. A seed decides everything.
//!
//! ```text
//!  workload ───────────────────────────▶ Service ─▶ Cluster (controllers)
//!  host ─▶ Recorder ─▶ Faults (seed) ──▶ Service ──▶    "
//! ```
//!
//! There is one thread and tokio's time is paused: it jumps to the next timer when nobody can run. Plugins are called inline. So the
//! order of everything follows from the seed, and a seed that fails fails again: [`Run::trace`] of two runs is the same.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a simulation fails by panicking, and says its seed"
)]

mod recorder;
mod workload;

use std::time::Duration;

use gyre::clock::Clock as HostClock;
use gyre::host::{self, Calls, Options as HostOptions};
use gyre::program::Program;
use gyre_core::grants::Namespaces;
use gyre_devcluster::faults::{Faults, Plan};
use gyre_devcluster::{Clock, Cluster, Options, Service};
use gyre_sandbox::{Plugin, Sandbox};
use jiff::Timestamp;
use kube::Client;
use serde_json::Value;

pub use recorder::{Recorder, Sent};
pub use workload::Workload;

/// The time at which every simulation begins.
const START: &str = "2026-01-01T00:00:00Z";
/// How long the host has to come to rest after the last fault: longer than its longest back-off (1000 s) and than a watch that hangs.
const TO_REST: Duration = Duration::from_secs(2000);
/// How long nothing may be written after that.
const SILENCE: Duration = Duration::from_secs(1800);

/// The plugins that are mounted, compiled once for all seeds.
pub struct Plugins {
    plugins: Vec<Plugin>,
}

impl Plugins {
    /// The echo plugins.
    pub fn load() -> Self {
        let sandbox = Sandbox::new(gyre_sandbox::Options::default()).expect("a sandbox");
        let load = |path: &str| sandbox.load(&std::fs::read(path).expect("a plugin")).expect("a sound plugin");
        Self { plugins: [gyre_artifacts::ECHO, gyre_artifacts::SCHEDULED_ECHO].map(load).to_vec() }
    }

    fn programs(&self) -> Vec<Program> {
        let program = |plugin: &Plugin| Program { workers: 2, ..Program::new(plugin.clone(), Namespaces::All) };
        self.plugins.iter().map(program).collect()
    }

    fn crds(&self) -> Vec<Value> {
        let crds = self.plugins.iter().flat_map(|plugin| &plugin.manifest().crds);
        crds.map(|crd| serde_json::to_value(crd).expect("JSON")).collect()
    }
}

/// What a simulation came to.
pub struct Run {
    /// Every request of the host, in order, with its answer's code.
    pub trace: Vec<Sent>,
    /// How many faults there were.
    pub faults: usize,
    /// What the host sent in the silence, watches and lists apart.
    pub afterwards: Vec<Sent>,
    /// What is wrong with the end state; empty if nothing is.
    pub wrongs: Vec<String>,
    /// The end state, without what differs from run to run: compared with a run without faults.
    pub end: Vec<String>,
}

/// Runs one seed with these faults.
pub fn run(plugins: &Plugins, seed: u64, plan: Plan) -> Run {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime");
    runtime.block_on(simulate(plugins, seed, plan))
}

async fn simulate(plugins: &Plugins, seed: u64, plan: Plan) -> Run {
    let start: Timestamp = START.parse().expect("a time");
    let cluster = Cluster::start(&Options { seed, ..Options::default() }, Clock::tokio(start));
    let service = Service::new(cluster.clone());
    let faults = Faults::new(plan, seed);
    let recorder = Recorder::new(faults.over(service.clone()));
    let workload_client = Client::new(service, "default");
    let host_client = Client::new(recorder.clone(), "default");

    let mut workload = Workload::new(workload_client, seed);
    workload.install(&plugins.crds()).await;
    let clock = HostClock::simulated(start);
    let mut host = Host::start(plugins, &host_client, &clock, seed);
    let restarts = workload.restarts();
    for restart in 0..=restarts {
        workload.act().await;
        if restart < restarts {
            // As if it had been killed: nothing of it is left, and another starts.
            host.kill().await;
            host = Host::start(plugins, &host_client, &clock, seed);
        }
    }
    faults.stop();
    tokio::time::sleep(TO_REST).await;
    let mark = recorder.len();
    tokio::time::sleep(SILENCE).await;
    let trace = recorder.sent();
    let afterwards = trace[mark..].iter().filter(|sent| !sent.is_routine()).cloned().collect();
    let (wrongs, end) = workload.judge().await;
    host.kill().await;
    Run { trace, faults: faults.trace().len(), afterwards, wrongs, end }
}

struct Host(tokio::task::JoinHandle<()>);

impl Host {
    fn start(plugins: &Plugins, client: &Client, clock: &HostClock, seed: u64) -> Self {
        let options = HostOptions {
            instance: format!("simulated-{seed}"),
            clock: clock.clone(),
            calls: Calls::Inline,
            ..HostOptions::default()
        };
        let run = host::run(client.clone(), host::fixed(plugins.programs()), options, std::future::pending());
        Self(tokio::spawn(async move { run.await.expect("a host that runs") }))
    }

    async fn kill(self) {
        self.0.abort();
        let _ = self.0.await;
    }
}
