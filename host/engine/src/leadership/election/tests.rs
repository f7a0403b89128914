//! Elections against devcluster, in simulated time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use gyre_core::election::Timing;
use gyre_devcluster::{Cluster, Service, cluster};
use http::Request;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Patch, PatchParams};
use kube::client::Body;
use kube::{Api, Client, ResourceExt as _};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tower::ServiceExt as _;
use tower::util::service_fn;

use super::{Drains, Election, MountClaims, MountElection, Options, Release};
use crate::clock::Clock;
use crate::leadership::claim::Claim;
use crate::restores::Restores;
use crate::telemetry::metrics::Metrics;

/// Longer than requests take, and shorter than any wait.
const MOMENT: Duration = Duration::from_millis(50);

/// A client over a network that can be cut off, so that requests get no answer.
fn client(service: &Service, is_cut_off: &Arc<AtomicBool>) -> Client {
    let (service, is_cut_off) = (service.clone(), Arc::clone(is_cut_off));
    let send = move |request: Request<Body>| {
        let (service, is_cut_off) = (service.clone(), is_cut_off.load(Ordering::Relaxed));
        async move {
            if is_cut_off {
                std::future::pending::<()>().await;
            }
            service.oneshot(request).await
        }
    };
    Client::new(service_fn(send), "default")
}

fn service() -> Service {
    let clock = cluster::Clock::tokio("2026-01-01T00:00:00Z".parse().unwrap());
    Service::new(Cluster::new(&gyre_devcluster::Options::default(), clock))
}

fn options(identity: &str) -> Options {
    let clock = Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap());
    Options { clock, ..Options::new("default", "gyre", identity.to_owned(), Timing::default()) }
}

struct Host {
    claim: Claim,
    release: Option<Release>,
    running: JoinHandle<()>,
    is_cut_off: Arc<AtomicBool>,
    metrics: Arc<Metrics>,
    restores: Restores,
}

impl Host {
    fn start(service: &Service, identity: &str) -> Self {
        Self::start_unready(service, identity, std::future::ready(()))
    }

    fn start_unready(service: &Service, identity: &str, ready: impl Future<Output = ()> + Send + 'static) -> Self {
        let is_cut_off = Arc::default();
        let metrics = Arc::new(Metrics::default());
        let client = client(service, &is_cut_off);
        let options = options(identity);
        let restores = options.restores.clone();
        let (claim, election, release) = Election::start(&client, options, Box::pin(ready), Arc::clone(&metrics)).unwrap();
        Self { claim, release: Some(release), running: tokio::spawn(election), is_cut_off, metrics, restores }
    }

    fn leads(&self) -> bool {
        self.claim.check().is_ok()
    }

    fn metric(&self) -> String {
        let text = self.metrics.encode(crate::telemetry::metrics::Form::Text).unwrap();
        text.lines().find(|line| line.starts_with("leader_election_master_status{")).unwrap().to_owned()
    }
}

async fn lease(service: &Service) -> Lease {
    Api::<Lease>::namespaced(Client::new(service.clone(), "default"), "default").get("gyre").await.unwrap()
}

async fn time_to_lead(hosts: &[&Host], limit: Duration) -> Duration {
    let start = Instant::now();
    loop {
        match hosts.iter().filter(|host| host.leads()).count() {
            0 => assert!(start.elapsed() <= limit, "nobody leads within {limit:?}"),
            1 => return start.elapsed(),
            leaders => panic!("{leaders} lead"),
        }
        sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_is_cut_off_loses_the_claim_before_another_gets_it_and_becomes_a_candidate_again() {
    let service = service();
    let (first, second) = (Host::start(&service, "first"), Host::start(&service, "second"));
    time_to_lead(&[&first, &second], MOMENT).await;
    sleep(Duration::from_secs(60)).await;
    let (leader, other) = if first.leads() { (&first, &second) } else { (&second, &first) };
    assert_eq!(leader.metric(), "leader_election_master_status{name=\"gyre\"} 1");
    assert_eq!(other.metric(), "leader_election_master_status{name=\"gyre\"} 0");

    leader.is_cut_off.store(true, Ordering::Relaxed);
    leader.claim.lost().await;
    assert!(!other.leads(), "not before");
    time_to_lead(&[leader, other], Duration::from_secs(7)).await;
    assert!(other.leads());
    assert_eq!(leader.metric(), "leader_election_master_status{name=\"gyre\"} 0");
    assert_eq!(lease(&service).await.spec.unwrap().lease_transitions, Some(1));

    leader.is_cut_off.store(false, Ordering::Relaxed);
    sleep(Duration::from_secs(20)).await;
    other.running.abort();
    other.claim.lost().await;
    time_to_lead(&[leader, other], Duration::from_secs(17)).await;
    assert!(leader.leads(), "it goes on by itself");
}

/// The backup names a replica that does not lead any more, but still runs.
#[tokio::test(start_paused = true)]
async fn a_restore_from_a_backup_is_noticed_within_a_round_and_never_gives_two_claims() {
    let service = service();
    let (first, second) = (Host::start(&service, "first"), Host::start(&service, "second"));
    time_to_lead(&[&first, &second], MOMENT).await;
    let (before, after) = if first.leads() { (&first, &second) } else { (&second, &first) };
    let backup = service.cluster().with_server(|server| server.backup());
    before.is_cut_off.store(true, Ordering::Relaxed);
    after.claim.held().await;
    before.is_cut_off.store(false, Ordering::Relaxed);
    sleep(Duration::from_secs(60)).await;
    assert_eq!([before, after].map(|host| (host.leads(), host.restores.count())), [(false, 0), (true, 0)]);

    service.cluster().with_server(|server| server.restore_backup(&backup));
    let (restored, mut noticed) = (Instant::now(), [None; 2]);
    while restored.elapsed() < Duration::from_secs(60) {
        assert!(!(before.leads() && after.leads()), "{:?} after the restore", restored.elapsed());
        for (host, noticed) in [before, after].into_iter().zip(&mut noticed) {
            if host.restores.count() > 0 {
                noticed.get_or_insert(restored.elapsed());
            }
        }
        sleep(Duration::from_millis(1)).await;
    }
    let soon = |after: Option<Duration>| after.is_some_and(|after| after <= Timing::default().retry_period() + MOMENT);
    assert!(noticed.into_iter().all(soon), "{noticed:?}");
    assert_eq!([before, after].map(|host| host.restores.count()), [1, 1]);
    assert!(before.leads() || after.leads());
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_is_not_ready_leaves_the_lease_to_others_and_knows_the_leader() {
    let service = service();
    let unready = Host::start_unready(&service, "unready", sleep(Duration::from_secs(60)));
    sleep(Duration::from_secs(20)).await;
    assert!(!unready.leads(), "nor if it is alone");
    let mut other = Host::start(&service, "other");
    time_to_lead(&[&unready, &other], MOMENT).await;
    other.release.take().unwrap().release().await;
    sleep(Duration::from_secs(20)).await;
    assert!(!unready.leads());
    let other = Host::start(&service, "another");
    time_to_lead(&[&unready, &other], MOMENT).await;
    other.is_cut_off.store(true, Ordering::Relaxed);
    sleep(Duration::from_secs(20) + MOMENT * 4).await;
    assert!(unready.leads());
}

#[tokio::test(start_paused = true)]
async fn a_released_lease_is_taken_within_a_retry_period() {
    let service = service();
    let mut first = Host::start(&service, "first");
    first.claim.held().await;
    let second = Host::start(&service, "second");
    sleep(Duration::from_secs(20)).await;
    first.release.take().unwrap().release().await;
    first.running.await.unwrap();
    let spec = lease(&service).await.spec.unwrap();
    assert_eq!((spec.holder_identity.as_deref(), spec.lease_duration_seconds), (Some(""), Some(1)));
    assert!(first.claim.check().is_err());
    let start = Instant::now();
    second.claim.held().await;
    assert!(start.elapsed() <= Timing::default().retry_period(), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_is_cut_off_can_stop() {
    let service = service();
    let mut host = Host::start(&service, "first");
    host.claim.held().await;
    host.is_cut_off.store(true, Ordering::Relaxed);
    sleep(Duration::from_secs(2)).await;
    let start = Instant::now();
    host.release.take().unwrap().release().await;
    assert!(start.elapsed() <= Timing::default().renew_deadline() + Timing::default().request_timeout());
}

#[tokio::test(start_paused = true)]
async fn the_lease_has_the_fields_of_client_go_and_keeps_fields_of_others() {
    let service = service();
    let host = Host::start(&service, "first_1");
    host.claim.held().await;
    let first = lease(&service).await;
    let spec = first.spec.clone().unwrap();
    assert_eq!((spec.holder_identity.as_deref(), spec.lease_duration_seconds), (Some("first_1"), Some(15)));
    assert_eq!((spec.lease_transitions, spec.acquire_time.as_ref()), (Some(0), spec.renew_time.as_ref()));

    let leases = Api::<Lease>::namespaced(Client::new(service.clone(), "default"), "default");
    let label = serde_json::json!({ "metadata": { "labels": { "team": "a" } } });
    leases.patch("gyre", &PatchParams::default(), &Patch::Merge(label)).await.unwrap();
    sleep(Duration::from_secs(30)).await;
    let renewed = lease(&service).await;
    assert_eq!(renewed.labels()["team"], "a");
    assert_eq!(renewed.uid(), first.uid());
    let after = renewed.spec.unwrap();
    assert_eq!((after.acquire_time, after.lease_transitions), (spec.acquire_time, Some(0)));
    assert!(after.renew_time > spec.renew_time);
    assert!(host.leads());
}

#[tokio::test(start_paused = true)]
async fn without_a_running_election_there_is_no_claim() {
    let service = service();
    let client = Client::new(service, "default");
    let (claim, election, _release) =
        Election::start(&client, options("first"), Box::pin(std::future::ready(())), Arc::default()).unwrap();
    assert!(claim.check().is_err());
    let running = tokio::spawn(election);
    claim.held().await;
    running.abort();
    claim.lost().await;
    assert!(claim.check().is_err());
}

struct Replica {
    claims: MountClaims,
    release: Option<Release>,
    running: JoinHandle<()>,
    mounts: watch::Sender<BTreeSet<String>>,
    drained: Arc<Mutex<Vec<String>>>,
}

impl Replica {
    fn start(service: &Service, identity: &str) -> Self {
        let (mounts, receiver) = watch::channel(all_mounts());
        let drained = Arc::<Mutex<Vec<String>>>::default();
        let drains: Drains = {
            let drained = Arc::clone(&drained);
            Box::new(move |mount| {
                drained.lock().push(mount.to_owned());
                Box::pin(sleep(Duration::from_millis(300)))
            })
        };
        let client = Client::new(service.clone(), "default");
        let (claims, sharing, release) =
            MountElection::start(&client, options(identity), receiver, drains, Arc::default()).unwrap();
        Self { claims, release: Some(release), running: tokio::spawn(sharing), mounts, drained }
    }

    fn leads(&self) -> BTreeSet<String> {
        all_mounts().into_iter().filter(|mount| self.claims.of(mount).check().is_ok()).collect()
    }
}

fn all_mounts() -> BTreeSet<String> {
    (0..12).map(|mount| format!("mount-{mount}")).collect()
}

fn expect_spread(replicas: &[&Replica], expected: &[usize]) {
    let led: Vec<BTreeSet<String>> = replicas.iter().map(|replica| replica.leads()).collect();
    let loads: Vec<usize> = led.iter().map(BTreeSet::len).collect();
    assert_eq!(led.into_iter().flatten().collect::<BTreeSet<String>>(), all_mounts(), "{loads:?}");
    assert_eq!(loads, expected);
}

#[tokio::test(start_paused = true)]
async fn replicas_share_the_mounts_evenly_and_take_those_of_one_that_is_gone() {
    let service = service();
    let mut replicas: BTreeMap<&str, Replica> = BTreeMap::new();
    for identity in ["a_1", "b_2", "c_3"] {
        replicas.insert(identity, Replica::start(&service, identity));
    }
    sleep(Duration::from_secs(25)).await;
    let [first, second, third] = replicas.values_mut().collect::<Vec<_>>().try_into().unwrap_or_else(|_| panic!());
    expect_spread(&[first, second, third], &[4, 4, 4]);

    first.running.abort();
    sleep(Duration::from_secs(17)).await;
    assert_eq!(second.leads().len() + third.leads().len(), 12);
    sleep(Duration::from_secs(20)).await;
    expect_spread(&[second, third], &[6, 6]);

    let back = Replica::start(&service, "d_4");
    sleep(Duration::from_secs(25)).await;
    expect_spread(&[second, third, &back], &[4, 4, 4]);
    assert!(second.drained.lock().len() >= 2, "who gives back is drained first");

    third.release.take().unwrap().release().await;
    sleep(Timing::default().retry_period()).await;
    assert_eq!(second.leads().len() + back.leads().len(), 12);

    back.mounts.send_replace(BTreeSet::new());
    sleep(Duration::from_secs(5)).await;
    assert_eq!(second.leads().len(), 12, "what one cannot lead any more, the other does");

    let leases = Api::<Lease>::namespaced(Client::new(service.clone(), "default"), "default");
    let listed = leases.list(&kube::api::ListParams::default().labels("gyre.dev/election=gyre")).await.unwrap();
    let replicas = listed.items.iter().filter(|lease| lease.name_any().starts_with("gyre.replica.")).count();
    assert_eq!(
        (listed.items.len() - replicas, replicas),
        (12, 2),
        "who left took its own away, and who went without a word was swept"
    );
}
