//! The memory of a host about objects that are created and deleted, as the leader and as a standby.

use std::collections::BTreeMap;

use gyre_core::grants::Namespaces;
use gyre_core::object::GroupVersionKind;
use gyre_core::queue::Time;
use gyre_devcluster::{Clock as ClusterClock, Cluster, Service};
use gyre_sandbox::Plugin;
use gyre_sandbox::native::{Imports, Native, types};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, ListParams, ObjectMeta, PostParams};

use crate::host::*;
use crate::leadership::Claims;
use crate::leadership::claim::ClaimSender;
use crate::mounts::lifecycle::Companion;
use crate::mounts::mount::Lead;
use crate::program::{Program, fixed};
use crate::restores::Restores;

const CHURN: usize = 20_000;
const BATCH: usize = 1_000;
const STAY: usize = 12;
const NAMESPACE: &str = "default";
const START: &str = "2026-01-01T00:00:00Z";

/// Reads something for each parent; requeues some parents and fails about others.
pub(super) struct Reader;

struct Trapping;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Becomes {
    Idle,
    Due,
    Failed,
}

fn what_becomes_of(name: &str) -> Becomes {
    match name.bytes().last().unwrap_or_default() % 3 {
        0 => Becomes::Idle,
        1 => Becomes::Due,
        _ => Becomes::Failed,
    }
}

fn kind(kind: &str) -> types::GroupVersionKind {
    types::GroupVersionKind { group: String::new(), version: "v1".to_owned(), kind: kind.to_owned() }
}

fn manifest(name: &str) -> types::Manifest {
    types::Manifest {
        reads: vec![types::ReadKind { kind: kind("Secret"), namespace: None, label_selector: None, metadata_only: false }],
        ..types::Manifest::new(name, kind("ConfigMap"))
    }
}

fn response(requeue_after_ms: Option<u64>) -> types::Response {
    types::Response { requeue_after_ms, ..types::Response::default() }
}

impl Native for Reader {
    fn describe(&self) -> types::Manifest {
        manifest("reader")
    }

    fn validate_settings(&self, _: &[u8]) -> Result<(), String> {
        Ok(())
    }

    fn reconcile(&self, request: types::Request<'_>, imports: &Imports) -> Result<types::Response, types::Failure> {
        let parent: serde_json::Value = serde_json::from_slice(request.parent).expect("JSON");
        let name = parent["metadata"]["name"].as_str().expect("a name");
        let _ = imports.get(&GroupVersionKind::new("", "v1", "Secret"), Some(NAMESPACE), &format!("of-{name}"));
        match what_becomes_of(name) {
            Becomes::Idle => Ok(response(None)),
            Becomes::Due => Ok(response(Some(86_400_000))),
            Becomes::Failed => Err(types::Failure::Transient("later".to_owned())),
        }
    }

    fn finalize(&self, _: types::Request<'_>, _: &Imports) -> Result<types::Teardown, types::Failure> {
        Ok(types::Teardown { response: response(None), done: true })
    }
}

impl Native for Trapping {
    fn describe(&self) -> types::Manifest {
        manifest("trapping")
    }

    fn validate_settings(&self, _: &[u8]) -> Result<(), String> {
        Ok(())
    }

    fn reconcile(&self, _: types::Request<'_>, _: &Imports) -> Result<types::Response, types::Failure> {
        // As a panic, but without output on stderr.
        std::panic::resume_unwind(Box::new(()))
    }

    fn finalize(&self, _: types::Request<'_>, _: &Imports) -> Result<types::Teardown, types::Failure> {
        Ok(types::Teardown { response: response(None), done: true })
    }
}

pub(super) struct Replica {
    pub(super) mount: Arc<Mount>,
    pub(super) mounts: Arc<Mounts>,
    pub(super) services: Arc<HostServices>,
    queue: Arc<WorkQueue>,
    holder: ClaimSender,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

/// The number of entries about parents, by holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entries {
    cached: usize,
    queued: usize,
    remembered: usize,
    readers: usize,
    held: usize,
    /// Own writes that the watch has not delivered yet.
    written: usize,
    known: usize,
}

impl Replica {
    pub(super) async fn start(client: &Client, plugin: Plugin) -> Self {
        Self::start_with(client, plugin, shadow::run_shadow).await
    }

    pub(super) async fn start_with(client: &Client, plugin: Plugin, companion: Companion) -> Self {
        let (holder, claim) = ClaimSender::new();
        let metrics = Arc::<Metrics>::default();
        let retries = queue::Options::default();
        let queue = Arc::new(WorkQueue::new(retries.clone(), Arc::clone(&metrics)));
        let clock = Clock::simulated(START.parse().unwrap());
        let caller = Caller { clock: clock.clone(), calls: Calls::Inline, threads: Threads::new(1) };
        let strategy = list_strategy(client).await.unwrap();
        let claims = Claims::Host(claim);
        let events = Events::new("churn".to_owned(), clock, &queue, &claims, &metrics);
        let services = Arc::new(HostServices {
            connection: client.clone().into(),
            client: client.clone(),
            caller,
            claims,
            events,
            leadable: LeadableMounts::new(),
            informers: Informers::new(client.clone(), Arc::clone(&metrics), strategy, 0),
            queue: Arc::clone(&queue),
            inventory: Arc::new(Inventory::new(client.clone(), None)),
            metrics,
            randomness: Randomness::Seeded(0),
            digests: Arc::new(Digests::new(None, Randomness::Seeded(0), Restores::default())),
        });
        let (inventory, inventory_claim) = (Arc::clone(&services.inventory), services.claims.of_inventory());
        let context = Arc::new(Context { services: Arc::clone(&services), retries, recordings: Recordings::default() });
        let keeping = tokio::spawn(async move { inventory.write_changes(&inventory_claim).await });
        let program = Program::new(plugin, Namespaces::All);
        let name = Arc::clone(&program.name);
        let mounts = Arc::new(Mounts::new(companion));
        let following =
            tokio::spawn(Arc::clone(&mounts).follow_programs(fixed(vec![program]), Arc::clone(&services), Duration::ZERO));
        let working = {
            let mounts = Arc::clone(&mounts);
            tokio::spawn(async move { work(&context, &mounts, &mut JoinSet::new()).await })
        };
        rest().await;
        let mount = mounts.get(&name).expect("the mount");
        assert!(mount.active().is_some());
        Self { mount, mounts, services, queue, holder, tasks: vec![following, working, keeping] }
    }

    pub(super) async fn lead(&self) {
        self.holder.hold_until(Instant::now() + Duration::from_secs(1 << 30));
        rest().await;
        assert_eq!(self.mount.leads(), Lead::Yes);
    }

    async fn stop_leading(&self) {
        self.holder.lose();
        rest().await;
        assert_eq!(self.mount.leads(), Lead::No);
    }

    /// The entries that an idle leader needs.
    fn leads_well(&self) -> Entries {
        let names = self.mount.active().expect("a program").parents.list(None);
        let waits = names.iter().filter(|parent| what_becomes_of(parent.name()) != Becomes::Idle).count();
        let there = names.len();
        Entries { cached: there, queued: waits, remembered: there, readers: there, held: 0, written: 0, known: there }
    }

    /// The entries that a replica which never led needs.
    fn stands_by_well(&self) -> Entries {
        let there = self.entries().cached;
        Entries { cached: there, queued: there, remembered: 0, readers: 0, held: 0, written: 0, known: 0 }
    }

    fn entries(&self) -> Entries {
        let active = self.mount.active().expect("a program");
        Entries {
            cached: active.parents.len(),
            queued: self.queue.inspect(|queue, _: Time| queue.entries_of(&self.mount.name)),
            remembered: self.mount.remembered(),
            readers: self.mount.count_reads().0,
            held: active.call_guard.held().len(),
            written: self.mount.own_writes.written().len(),
            known: active.call_guard.known().0,
        }
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.tasks.iter().for_each(tokio::task::JoinHandle::abort);
    }
}

/// Waits until nothing is due within the next minute.
pub(super) async fn rest() {
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_secs(20)).await;
    }
}

async fn churn(parents: &Api<ConfigMap>, count: usize) {
    for batch in 0..count / BATCH {
        let labels = BTreeMap::from([("batch".to_owned(), "it".to_owned())]);
        for number in 0..BATCH {
            let metadata = ObjectMeta {
                name: Some(format!("passing-{batch}-{number}")),
                labels: Some(labels.clone()),
                ..ObjectMeta::default()
            };
            parents.create(&PostParams::default(), &ConfigMap { metadata, ..ConfigMap::default() }).await.unwrap();
        }
        if batch % 2 == 0 {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        parents.delete_collection(&DeleteParams::default(), &ListParams::default().labels("batch=it")).await.unwrap();
    }
    rest().await;
}

pub(super) fn simulate(simulation: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(simulation);
}

async fn cluster() -> (Client, Api<ConfigMap>) {
    let cluster = Cluster::start(&gyre_devcluster::Options::default(), ClusterClock::tokio(START.parse().unwrap()));
    let client = Client::new(Service::new(cluster), NAMESPACE);
    let parents: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
    for number in 0..STAY {
        let metadata = ObjectMeta { name: Some(format!("stays-{number}")), ..ObjectMeta::default() };
        parents.create(&PostParams::default(), &ConfigMap { metadata, ..ConfigMap::default() }).await.unwrap();
    }
    (client, parents)
}

#[test]
fn leaders_and_standbys_keep_nothing_of_20_000_deleted_objects() {
    simulate(async {
        let (client, parents) = cluster().await;
        let plugin = || Plugin::native("reader", Reader).unwrap();
        let (first, second) = (Replica::start(&client, plugin()).await, Replica::start(&client, plugin()).await);
        first.lead().await;
        churn(&parents, CHURN).await;
        let leads = first.leads_well();
        assert_eq!((first.entries(), second.entries()), (leads, second.stands_by_well()));

        first.stop_leading().await;
        second.lead().await;
        assert_eq!(second.entries(), leads);
        churn(&parents, 2 * BATCH).await;
        assert_eq!(second.entries(), leads);
        assert_eq!(first.entries(), leads);
        parents.delete("stays-0", &DeleteParams::default()).await.unwrap();
        rest().await;
        let fewer = Entries {
            cached: leads.cached - 1,
            remembered: leads.remembered - 1,
            readers: leads.readers - 1,
            known: leads.known - 1,
            ..leads
        };
        assert_eq!((first.entries(), second.entries()), (fewer, fewer), "the plugin wants nothing more of that object");
    });
}

#[test]
fn a_quarantine_holds_no_deleted_object() {
    simulate(async {
        let (client, parents) = cluster().await;
        let replica = Replica::start(&client, Plugin::native("trapping", Trapping).unwrap()).await;
        replica.lead().await;
        churn(&parents, 2 * BATCH).await;
        let Entries { cached, held, queued, remembered, .. } = replica.entries();
        assert!(held > 0 && held <= cached, "{held} of {cached} are held");
        assert_eq!((queued, remembered), (cached, cached));
        replica.stop_leading().await;
        churn(&parents, 2 * BATCH).await;
        let entries = replica.entries();
        assert!(entries.held <= cached && entries.known <= cached, "{entries:?}");
        assert_eq!((entries.queued, entries.remembered), (cached, cached));
    });
}
