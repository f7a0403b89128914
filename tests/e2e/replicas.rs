//! Replicas with users and network links of their own, and the history of their Leases.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use gyre_controlplane::{AuditEvent, Mark, Stage};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config, ResourceExt as _};
use parking_lot::Mutex;
use serde_json::json;

use crate::harness::{Cluster, Host};
use crate::network::{Link, runtime};

/// The shortest possible in whole seconds: each round of a test waits until a lease has expired.
pub(crate) const LEASE: Duration = Duration::from_secs(3);
pub(crate) const RETRY: Duration = Duration::from_secs(1);
const TIMES: [&str; 6] = ["--ha-lease-duration", "3s", "--ha-renew-deadline", "2s", "--ha-retry-period", "1s"];

/// One process of a deployment. Its user is unique, and its identity begins with it.
pub(crate) struct Replica {
    pub(crate) user: String,
    pub(crate) host: Host,
    pub(crate) link: Link,
}

pub(crate) struct Deployment<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) name: String,
    pub(crate) namespace: &'a str,
    pub(crate) plugins: Vec<String>,
    pub(crate) arguments: Vec<String>,
    started: AtomicUsize,
}

impl<'a> Deployment<'a> {
    pub(crate) fn new(cluster: &'a Cluster, namespace: &'a str, plugins: &[&str], arguments: &[&str]) -> Self {
        let own = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let name = format!("replica-of-{namespace}-");
        Self { cluster, name, namespace, plugins: own(plugins), arguments: own(arguments), started: AtomicUsize::new(0) }
    }

    pub(crate) fn replica(&self) -> Replica {
        self.replica_with("--ha")
    }

    /// Starts a replica with this argument about leader election.
    pub(crate) fn replica_with(&self, ha: &str) -> Replica {
        let user = format!("{}{}", self.name, self.started.fetch_add(1, Ordering::Relaxed));
        let kubeconfig = self.cluster.plane.kubeconfig_for_user(&user).unwrap();
        let (link, leading) = Link::over(&std::fs::read_to_string(&kubeconfig).unwrap());
        std::fs::write(&kubeconfig, leading).unwrap();
        let mut arguments = vec![ha, "--ha-node-id", &user, "--home-namespace", self.namespace];
        arguments.extend(TIMES);
        arguments.extend(self.arguments.iter().map(String::as_str));
        let plugins: Vec<&str> = self.plugins.iter().map(String::as_str).collect();
        let host = self.cluster.host_as(&kubeconfig, &plugins, &[self.namespace], &arguments);
        Replica { user, host, link }
    }

    pub(crate) fn client(&self) -> Client {
        let kubeconfig = self.cluster.plane.kubeconfig_for_user(&format!("author-of-{}", self.namespace)).unwrap();
        runtime().block_on(async {
            let read = Kubeconfig::read_from(kubeconfig).unwrap();
            let config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await.unwrap();
            Client::try_from(config).unwrap()
        })
    }

    pub(crate) fn requests(&self, since: Mark) -> Vec<AuditEvent> {
        self.cluster.plane.audit_barrier().unwrap();
        let audit = self.cluster.plane.audit().unwrap();
        let mut events = audit.matching(since, |event| event.user.starts_with(&self.name)).unwrap();
        events.sort_by_key(|event| event.received);
        events
    }
}

pub(crate) struct Leases(Api<Lease>);

impl Leases {
    pub(crate) fn new(client: &Client, namespace: &str) -> Self {
        Self(Api::namespaced(client.clone(), namespace))
    }

    /// Returns the user of each held Lease's holder.
    pub(crate) fn holders(&self) -> BTreeMap<String, String> {
        let leases = runtime().block_on(self.0.list(&ListParams::default())).unwrap();
        let holder = |lease: &Lease| user_of(lease.spec.as_ref()?.holder_identity.as_deref()?);
        leases.iter().filter_map(|lease| Some((lease.name_any(), holder(lease)?))).collect()
    }
}

/// Returns the user in an identity, which is the node's name and a number.
fn user_of(identity: &str) -> Option<String> {
    identity.rsplit_once('_').map(|(user, _)| user.to_owned())
}

/// Parents that change all the time, so that there is always something to write.
pub(crate) struct Changes {
    parents: Vec<(String, String)>,
    texts: Arc<Mutex<BTreeMap<String, usize>>>,
    count: Arc<AtomicUsize>,
    is_over: Arc<AtomicBool>,
    task: Option<tokio::task::JoinHandle<()>>,
    children: Api<ConfigMap>,
}

impl Changes {
    /// Creates parents, each a name and a kind, and changes one of them in each `pace`.
    pub(crate) fn begin(client: &Client, namespace: &str, parents: Vec<(String, String)>, pace: Duration) -> Self {
        let (texts, count, is_over) = (Arc::<Mutex<BTreeMap<_, _>>>::default(), Arc::default(), Arc::default());
        let mut changes = Self {
            parents: parents.clone(),
            texts: Arc::clone(&texts),
            count: Arc::clone(&count),
            is_over: Arc::clone(&is_over),
            task: None,
            children: Api::namespaced(client.clone(), namespace),
        };
        let apis: Vec<(String, Api<DynamicObject>, String)> = parents
            .into_iter()
            .map(|(name, kind)| {
                let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("guests.gyre.dev", "v1", &kind));
                (name, Api::namespaced_with(client.clone(), namespace, &resource), kind)
            })
            .collect();
        let task = runtime().spawn(async move {
            let parameters = PatchParams::apply("author").force();
            for (name, api, kind) in apis.iter().cycle() {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                let text = count.load(Ordering::Relaxed) + 1;
                let object = json!({
                    "apiVersion": "guests.gyre.dev/v1", "kind": kind, "metadata": { "name": name },
                    "spec": { "text": text.to_string() },
                });
                api.patch(name, &parameters, &Patch::Apply(&object)).await.expect("a parent is changed");
                texts.lock().insert(name.clone(), text);
                count.store(text, Ordering::Relaxed);
                tokio::time::sleep(pace).await;
            }
        });
        changes.task = Some(task);
        changes
    }

    /// Waits until a change that begins after this call has been reconciled.
    pub(crate) fn await_progress(&self, cluster: &Cluster) {
        let now = self.count.load(Ordering::Relaxed);
        cluster.eventually("a new change to be reconciled", || self.children().values().any(|text| *text > now).then_some(()));
    }

    /// Stops, and waits until each child has the last text. Returns the number of changes.
    pub(crate) fn end(mut self, cluster: &Cluster) -> usize {
        self.is_over.store(true, Ordering::Relaxed);
        runtime().block_on(self.task.take().unwrap()).unwrap();
        let texts = self.texts.lock().clone();
        assert_eq!(texts.len(), self.parents.len());
        cluster.eventually("the children as they were last to be", || (self.children() == texts).then_some(()));
        self.count.load(Ordering::Relaxed)
    }

    fn children(&self) -> BTreeMap<String, usize> {
        let children = runtime().block_on(self.children.list(&ListParams::default())).unwrap();
        let text = |child: &ConfigMap| child.data.as_ref()?.get("text")?.parse().ok();
        children.iter().filter_map(|child| Some((child.name_any(), text(child)?))).collect()
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// A time in which a replica held a Lease, as the API server saw it.
#[derive(Clone, Debug)]
pub(crate) struct Term {
    pub(crate) user: String,
    /// The times of the request that took the Lease, and of its answer.
    pub(crate) taken: (SystemTime, SystemTime),
    /// The time of the answer to the last renewal.
    pub(crate) renewed: SystemTime,
    /// The time of the answer to the release.
    pub(crate) released: Option<SystemTime>,
}

pub(crate) fn terms(requests: &[AuditEvent], lease: &str) -> Vec<Term> {
    let is_write = |event: &&AuditEvent| {
        event.resource == "leases" && event.name == lease && event.is_write() && event.verb != "delete" && event.succeeded()
    };
    let mut writes: Vec<&AuditEvent> = requests.iter().filter(is_write).collect();
    // Each write depends on the previous one, so their answers are in order.
    writes.sort_by_key(|event| event.timestamp);
    let mut terms: Vec<Term> = Vec::new();
    for write in writes {
        let body = write.request_object.as_ref().expect("the audit log has the bodies of Leases");
        let holder = body["spec"]["holderIdentity"].as_str().unwrap_or_default();
        match terms.last_mut().filter(|term| term.user == write.user && term.released.is_none()) {
            Some(term) if holder.is_empty() => term.released = Some(write.timestamp),
            Some(term) => term.renewed = write.timestamp,
            None => {
                assert_eq!(user_of(holder).as_deref(), Some(&*write.user), "who takes a lease does it for itself");
                let taken = (write.received, write.timestamp);
                terms.push(Term { user: write.user.clone(), taken, renewed: write.timestamp, released: None });
            }
        }
    }
    terms
}

/// The time between two terms, in which nobody held the Lease.
#[derive(Clone, Copy, Debug)]
struct Gap {
    length: Duration,
    /// The longest pause between two requests of the next holder about Leases meanwhile.
    pause: Duration,
}

#[derive(Debug, Default)]
pub(crate) struct Gaps {
    after_release: Vec<Gap>,
    after_renewal: Vec<Gap>,
}

impl Gaps {
    pub(crate) fn add(&mut self, requests: &[AuditEvent], terms: &[Term]) {
        for pair in terms.windows(2) {
            let (since, next) = (pair[0].released.unwrap_or(pair[0].renewed), &pair[1]);
            let is_poll = |event: &&AuditEvent| {
                event.user == next.user && event.resource == "leases" && (since..next.taken.1).contains(&event.received)
            };
            let mut polls: Vec<SystemTime> = requests.iter().filter(is_poll).map(|event| event.received).collect();
            polls.extend([since, next.taken.1]);
            polls.sort();
            let between = |times: &[SystemTime]| times[1].duration_since(times[0]).unwrap_or_default();
            let pause = polls.windows(2).map(between).max().unwrap_or_default();
            let gap = Gap { length: between(&[since, next.taken.1]), pause };
            match pair[0].released {
                Some(_) => self.after_release.push(gap),
                None => self.after_renewal.push(gap),
            }
        }
    }

    /// Checks that a free Lease is taken at one of the next polls of a replica. The bound depends
    /// on the longest pause between polls, because a busy machine delays them; unit tests of the
    /// elector check the rest.
    pub(crate) fn check(self) {
        /// With pauses of up to a retry period, this is less than twice the lease duration.
        const PAUSES: f64 = 2.9;
        for (what, gaps, expires_after) in
            [("after a release", self.after_release, Duration::ZERO), ("without a release", self.after_renewal, LEASE)]
        {
            println!("{} takeovers {what}, the longest after {:?}", gaps.len(), gaps.iter().map(|gap| gap.length).max());
            let bound = |gap: &Gap| expires_after + gap.pause.max(RETRY).mul_f64(PAUSES);
            let late: Vec<_> = gaps.iter().filter(|gap| gap.length > bound(gap)).collect();
            assert!(late.is_empty(), "{what}: {late:?}");
        }
    }
}

/// Checks that each write came while its sender held the Lease, and was answered before another
/// replica wrote. Returns the writes that came when another replica held it.
pub(crate) fn one_writer<'a>(terms: &[Term], writes: &[&'a AuditEvent]) -> Vec<&'a AuditEvent> {
    let (mut last, mut late) = (None::<(usize, &AuditEvent)>, Vec::new());
    for write in writes {
        let term = terms.iter().rposition(|term| term.user == write.user && term.taken.0 <= write.received);
        let term = term.unwrap_or_else(|| panic!("{} never had the lease and wrote: {write:?}", write.user));
        if terms.get(term + 1).is_some_and(|next| next.taken.1 <= write.received) {
            late.push(*write);
            continue;
        }
        if let Some((before, other)) = last {
            assert!(before <= term, "writes of different writers interleave: {other:?}, {write:?}");
            assert!(before == term || other.timestamp <= write.received, "two write at once: {other:?}, {write:?}");
        }
        if last.is_none_or(|(before, other)| before < term || other.timestamp < write.timestamp) {
            last = Some((term, write));
        }
    }
    late
}

/// Returns whether only the holder of the Lease may send the request.
pub(crate) fn is_fenced(event: &AuditEvent) -> bool {
    event.is_write() && event.resource != "leases"
}

/// Returns whether it fills a cache or opens a watch; a list with limit 1 reads a version.
pub(crate) fn fills_a_cache(event: &AuditEvent) -> bool {
    let is_list = event.verb == "list" && event.resource != "leases" && !event.uri.ends_with("&limit=1");
    is_list || event.verb == "watch" && event.stage == Stage::ResponseStarted
}
