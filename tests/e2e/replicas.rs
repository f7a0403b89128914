//! Replicas of a deployment, each a process with a user and a way to the API server of its own; the objects that change under them; and
//! what the audit log shows of who wrote when.

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

/// As short as whole seconds allow: a round of a test has to wait for a lease to expire.
pub(crate) const LEASE: Duration = Duration::from_secs(3);
/// See [`LEASE`].
pub(crate) const RETRY: Duration = Duration::from_secs(1);
const TIMES: [&str; 6] = ["--ha-lease-duration", "3", "--ha-renew-deadline", "2", "--ha-retry-period", "1"];

/// One process of a deployment. No other ever has its user, which its identity begins with.
pub(crate) struct Replica {
    pub(crate) user: String,
    pub(crate) host: Host,
    pub(crate) link: Link,
}

/// The options of the replicas of a deployment.
pub(crate) struct Deployment<'a> {
    pub(crate) cluster: &'a Cluster,
    /// The prefix of its users' names.
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

    /// Starts one more.
    pub(crate) fn replica(&self) -> Replica {
        let user = format!("{}{}", self.name, self.started.fetch_add(1, Ordering::Relaxed));
        let kubeconfig = self.cluster.plane.kubeconfig_for_user(&user).unwrap();
        let (link, leading) = Link::over(&std::fs::read_to_string(&kubeconfig).unwrap());
        std::fs::write(&kubeconfig, leading).unwrap();
        let mut arguments = vec!["--ha", "--ha-node-id", &user, "--home-namespace", self.namespace];
        arguments.extend(TIMES);
        arguments.extend(self.arguments.iter().map(String::as_str));
        let plugins: Vec<&str> = self.plugins.iter().map(String::as_str).collect();
        let host = self.cluster.host_as(&kubeconfig, &plugins, &[self.namespace], &arguments);
        Replica { user, host, link }
    }

    /// A client of nobody whom the audit log is asked about.
    pub(crate) fn client(&self) -> Client {
        let kubeconfig = self.cluster.plane.kubeconfig_for_user(&format!("author-of-{}", self.namespace)).unwrap();
        runtime().block_on(async {
            let read = Kubeconfig::read_from(kubeconfig).unwrap();
            let config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await.unwrap();
            Client::try_from(config).unwrap()
        })
    }

    /// Returns the requests of its replicas to the API server, in the order of their arrival.
    pub(crate) fn requests(&self, since: Mark) -> Vec<AuditEvent> {
        self.cluster.plane.audit_barrier().unwrap();
        let audit = self.cluster.plane.audit().unwrap();
        let mut events = audit.matching(since, |event| event.user.starts_with(&self.name)).unwrap();
        events.sort_by_key(|event| event.received);
        events
    }
}

/// The Leases of a deployment, as they are now.
pub(crate) struct Leases(Api<Lease>);

impl Leases {
    pub(crate) fn new(client: &Client, namespace: &str) -> Self {
        Self(Api::namespaced(client.clone(), namespace))
    }

    /// The user whose replica is named as the holder of each Lease; of none that nobody has.
    pub(crate) fn holders(&self) -> BTreeMap<String, String> {
        let leases = runtime().block_on(self.0.list(&ListParams::default())).unwrap();
        let holder = |lease: &Lease| user_of(lease.spec.as_ref()?.holder_identity.as_deref()?);
        leases.iter().filter_map(|lease| Some((lease.name_any(), holder(lease)?))).collect()
    }
}

/// A replica's identity is its node's name, and a number after that.
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
    /// Creates parents, each a name with its kind, and changes one after the other, one in each `pace`.
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

    /// Waits until a change has been reconciled that has not been made yet.
    pub(crate) fn go_on(&self, cluster: &Cluster) {
        let now = self.count.load(Ordering::Relaxed);
        cluster.eventually("a new change to be reconciled", || self.children().values().any(|text| *text > now).then_some(()));
    }

    /// Stops, and waits until each parent has the child that it was last to have.
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

/// For how long a replica had a Lease without another having it in between, as the API server saw it.
#[derive(Clone, Debug)]
pub(crate) struct Term {
    pub(crate) user: String,
    /// When the request came, and when it was answered, by which it took the Lease.
    pub(crate) taken: (SystemTime, SystemTime),
    /// The time of the answer to the last request by which it still had it.
    pub(crate) renewed: SystemTime,
    /// The time of the answer to the request by which it gave the Lease back.
    pub(crate) released: Option<SystemTime>,
}

/// The history of a Lease.
pub(crate) fn terms(requests: &[AuditEvent], lease: &str) -> Vec<Term> {
    let is_write = |event: &&AuditEvent| {
        event.resource == "leases" && event.name == lease && event.is_write() && event.verb != "delete" && event.succeeded()
    };
    let mut writes: Vec<&AuditEvent> = requests.iter().filter(is_write).collect();
    // Each follows from the one before, so they were answered in their order.
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

/// The time between two terms in which nobody had the Lease.
#[derive(Clone, Copy, Debug)]
struct Gap {
    length: Duration,
    /// The longest that the replica that took it meanwhile let pass without a request about Leases.
    pause: Duration,
}

/// The times between terms in which nobody had the Lease: after it was given back, and after it was not.
#[derive(Debug, Default)]
pub(crate) struct Gaps {
    after_release: Vec<Gap>,
    after_renewal: Vec<Gap>,
}

impl Gaps {
    /// Adds those of a Lease with this history, of which the requests are known.
    pub(crate) fn add(&mut self, requests: &[AuditEvent], terms: &[Term]) {
        for pair in terms.windows(2) {
            let (since, next) = (pair[0].released.unwrap_or(pair[0].renewed), &pair[1]);
            let is_look = |event: &&AuditEvent| {
                event.user == next.user && event.resource == "leases" && (since..next.taken.1).contains(&event.received)
            };
            let mut looks: Vec<SystemTime> = requests.iter().filter(is_look).map(|event| event.received).collect();
            looks.extend([since, next.taken.1]);
            looks.sort();
            let between = |times: &[SystemTime]| times[1].duration_since(times[0]).unwrap_or_default();
            let pause = looks.windows(2).map(between).max().unwrap_or_default();
            let gap = Gap { length: between(&[since, next.taken.1]), pause };
            match pair[0].released {
                Some(_) => self.after_release.push(gap),
                None => self.after_renewal.push(gap),
            }
        }
    }

    /// A Lease that is free is taken at one of the next looks of a replica. How often it looks is the elector's, whose unit tests drive the
    /// time, and the machine's, which may let a process wait for its turn: so this is in units of the longest pause between two looks.
    pub(crate) fn check(self) {
        /// While no pause is longer than a retry period, a lease that is taken after twice its duration is too late.
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

/// Checks that each of these requests that writes came while its sender had the Lease, and was answered before another wrote. Returns
/// those that came when another had it.
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
        // The one that was answered last.
        if last.is_none_or(|(before, other)| before < term || other.timestamp < write.timestamp) {
            last = Some((term, write));
        }
    }
    late
}

/// Returns whether the request is one of those that only who has the Lease may send.
pub(crate) fn is_fenced(event: &AuditEvent) -> bool {
    event.is_write() && event.resource != "leases"
}

/// Returns whether the request begins to fill a cache, or to follow what changes in it. A list of one object asks for the version of a
/// kind.
pub(crate) fn fills_a_cache(event: &AuditEvent) -> bool {
    let is_list = event.verb == "list" && event.resource != "leases" && !event.uri.ends_with("&limit=1");
    is_list || event.verb == "watch" && event.stage == Stage::ResponseStarted
}
