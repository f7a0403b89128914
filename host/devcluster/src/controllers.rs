//! A few controllers: parts of `kube-controller-manager`, the scheduler and a kubelet.
//!
//! ```text
//!  Store::take_unseen ─▶ observe ─▶ queue of works ─▶ next: one sync ─▶ actions ─▶ server executes
//!                                      ▲    ▲ timers                                   │
//!                                      └────┴────────────── settled ◀──────────────────┘
//! ```
//!
//! This module only decides. A sync reads the store and returns the next writes for one object; the
//! changes that they make lead to its next sync. So every sync starts from the current state, and
//! an outdated action fails by its preconditions. Times are arguments; the server chooses random
//! names.
//!
//! Absent: ReplicaSets and all other owners of Pods except Jobs; pod failure policies, success
//! policies, back-off limits per index, and adoption and release of Pods by Jobs; a Pod's
//! `activeDeadlineSeconds`; events of the scheduler and the kubelet.

mod bootstrap;
mod cron_job;
mod event;
mod garbage;
mod job;
mod json;
mod namespace;
mod pod;
mod queue;
mod quota;
#[cfg(test)]
mod tests;
mod ttl;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

pub(crate) use crate::kinds::Propagation;
use crate::kinds::{Kinds, Subresource};
use crate::object;
use crate::status::Status;
use crate::store::{Key, Resource, Store};

pub(crate) use bootstrap::bootstrap_objects;
use event::Event;
use queue::Queue;

static CONFIG_MAPS: LazyLock<Resource> = LazyLock::new(|| Resource::new("", "configmaps"));
static CRON_JOBS: LazyLock<Resource> = LazyLock::new(|| Resource::new("batch", "cronjobs"));
static EVENTS: LazyLock<Resource> = LazyLock::new(|| Resource::new("", "events"));
static JOBS: LazyLock<Resource> = LazyLock::new(|| Resource::new("batch", "jobs"));
static NAMESPACES: LazyLock<Resource> = LazyLock::new(|| Resource::new("", "namespaces"));
static PODS: LazyLock<Resource> = LazyLock::new(|| Resource::new("", "pods"));
static SERVICE_ACCOUNTS: LazyLock<Resource> = LazyLock::new(|| Resource::new("", "serviceaccounts"));

#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// The default run time of Pods. `None`: Pods do not run, as on a control plane without nodes.
    pub(crate) pod_run_time: Option<Duration>,
}

impl Default for Options {
    fn default() -> Self {
        Self { pod_run_time: Some(Duration::from_secs(1)) }
    }
}

/// A write that a controller wants. Its preconditions make it fail if the object has changed since.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Write {
    Create {
        resource: Resource,
        object: Value,
    },
    /// The `uid` and `resourceVersion` of `object` are preconditions.
    Update {
        resource: Resource,
        /// `status` or `finalize`; `None` for the object itself.
        subresource: Option<Subresource>,
        object: Value,
    },
    Delete {
        resource: Resource,
        key: Key,
        uid: String,
        resource_version: Option<String>,
        /// `None`: the default of the kind.
        propagation: Option<Propagation>,
        /// `gracePeriodSeconds`; `None`: as the object says.
        grace: Option<i64>,
    },
    /// Bind a Pod to a node, as a POST to its `binding` does.
    Bind {
        key: Key,
        uid: String,
        node: &'static str,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Component {
    ControllerManager,
    Scheduler,
    Kubelet,
}

impl Component {
    pub(crate) fn field_manager(self) -> &'static str {
        match self {
            Self::ControllerManager => "kube-controller-manager",
            Self::Scheduler => "kube-scheduler",
            Self::Kubelet => "kubelet",
        }
    }
}

/// A write to execute. Report its result to [`Controllers::settled`].
#[derive(Clone, Debug)]
pub(crate) struct Action {
    pub(crate) write: Write,
    pub(crate) component: Component,
    cause: Cause,
    then: Vec<Then>,
}

#[derive(Clone, Debug)]
enum Cause {
    Work(Work),
    Event,
}

/// The consequence of the outcome of an action.
#[derive(Clone, Debug)]
enum Then {
    /// On success, record an event.
    Event(Event),
    /// On success, record an event that ends with the name of the written object.
    NamedEvent(Event),
    /// On failure, record an event that ends with the error.
    FailureEvent(Event),
    /// On success, keep the count of failures of a Job's Pods.
    Backoff(Arc<str>, job::Backoff),
    Started(Arc<str>),
}

/// An object to sync, in this order: a Job after all its Pods, a namespace after its content, and a
/// quota after all that it counts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Work {
    Pod(Key),
    CronJob(Key),
    Job(Key),
    Ttl(Key),
    Garbage(Resource, Key),
    Namespace(Arc<str>),
    ExpireEvent(Resource, Key),
    Quota(Key),
}

/// An action without its cause.
#[derive(Debug)]
struct Intent {
    write: Write,
    component: Component,
    then: Vec<Then>,
}

impl Intent {
    fn new(write: Write) -> Self {
        Self { write, component: Component::ControllerManager, then: Vec::new() }
    }

    fn update(resource: &Resource, object: Value) -> Self {
        Self::new(Write::Update { resource: resource.clone(), subresource: None, object })
    }

    fn update_status(resource: &Resource, object: Value) -> Self {
        Self::new(Write::Update { resource: resource.clone(), subresource: Some(Subresource::Status), object })
    }

    fn delete(resource: &Resource, object: &Value, propagation: Option<Propagation>) -> Self {
        Self::new(Write::Delete {
            resource: resource.clone(),
            key: Key::new(object::namespace(object), object::name(object)),
            uid: object::uid(object).unwrap_or_default().to_owned(),
            resource_version: None,
            propagation,
            grace: None,
        })
    }

    fn by(mut self, component: Component) -> Self {
        self.component = component;
        self
    }

    fn then(mut self, then: Then) -> Self {
        self.then.push(then);
        self
    }
}

#[derive(Debug, Default)]
struct Step {
    intents: Vec<Intent>,
    events: Vec<Event>,
    /// The time of the next sync if nothing changes.
    again: Option<Timestamp>,
}

impl Step {
    fn of(intents: Vec<Intent>) -> Self {
        Self { intents, ..Self::default() }
    }
}

#[derive(Clone, Debug)]
struct Seen {
    uid: Arc<str>,
    kind: Arc<str>,
    owners: Box<[Arc<str>]>,
    deletion: Deletion,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deletion {
    NotAsked,
    Asked,
    /// It waits for its dependents to be deleted.
    Foreground,
}

impl Seen {
    fn of(object: &Value) -> Self {
        let deletion = match object::is_deleting(object) {
            false => Deletion::NotAsked,
            true if object::finalizers(object).any(|finalizer| finalizer == garbage::FOREGROUND) => Deletion::Foreground,
            true => Deletion::Asked,
        };
        let owners = object::owner_uids(object).map(Arc::from).collect();
        let kind = object::text(object, "kind").into();
        Self { uid: object::uid(object).unwrap_or_default().into(), kind, owners, deletion }
    }
}

#[derive(Debug)]
pub(crate) struct Controllers {
    queue: Queue,
    seen: BTreeMap<(Resource, Key), Seen>,
    terminating: BTreeSet<Arc<str>>,
    quotas: BTreeSet<Key>,
    /// Objects with an owner of a kind that is not served.
    unknown_kinds: BTreeSet<(Resource, Key)>,
    /// The deleted owners that are still referred to, by UID.
    absent_owners: garbage::AbsentOwners,
    backoffs: BTreeMap<Arc<str>, job::Backoff>,
    pods: pod::Kubelet,
    events: event::Recorder,
}

impl Controllers {
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            queue: Queue::default(),
            seen: BTreeMap::new(),
            terminating: BTreeSet::new(),
            quotas: BTreeSet::new(),
            unknown_kinds: BTreeSet::new(),
            absent_owners: BTreeMap::new(),
            backoffs: BTreeMap::new(),
            pods: pod::Kubelet::new(options.pod_run_time),
            events: event::Recorder::default(),
        }
    }

    /// Queues the objects that changes concern ([`Store::take_unseen`]).
    pub(crate) fn observe(&mut self, store: &Store, changed: &[(Resource, Key)], now: Timestamp) {
        for (resource, key) in changed {
            self.observe_one(store, resource, key, now);
        }
    }

    fn observe_one(&mut self, store: &Store, resource: &Resource, key: &Key, now: Timestamp) {
        let at = (resource.clone(), key.clone());
        let object = store.get(resource, key).map(|stored| &stored.value);
        let after = object.map(Seen::of);
        let before = match &after {
            Some(after) => self.seen.insert(at.clone(), after.clone()),
            None => self.seen.remove(&at),
        };
        if let Some(before) = &before
            && after.as_ref().is_none_or(|after| after.uid != before.uid)
        {
            self.queue_dependents_of_deleted(store, before, &at);
        }
        for owner in [&before, &after].into_iter().flatten().flat_map(|seen| seen.owners.iter()) {
            self.dependent_changed(store, owner);
        }
        if let Some(after) = &after {
            if !after.owners.is_empty() || after.deletion != Deletion::NotAsked {
                self.queue.add(Work::Garbage(resource.clone(), key.clone()));
            }
            if after.deletion == Deletion::Foreground && before.is_none_or(|before| before.deletion != Deletion::Foreground) {
                for (resource, key) in store.owned_by(&after.uid) {
                    self.queue.add(Work::Garbage(resource.clone(), key.clone()));
                }
            }
        }
        if self.terminating.contains(&key.namespace) {
            self.queue.add(Work::Namespace(Arc::clone(&key.namespace)));
        }
        self.queue_quotas(&key.namespace);
        self.observe_kind(store, resource, key, object, now);
    }

    fn observe_kind(&mut self, store: &Store, resource: &Resource, key: &Key, object: Option<&Value>, now: Timestamp) {
        match (&*resource.group, &*resource.plural) {
            ("", "pods") => self.queue.add(Work::Pod(key.clone())),
            ("batch", "jobs") => {
                self.queue.add(Work::Job(key.clone()));
                self.queue.add(Work::Ttl(key.clone()));
                if let Some(uid) = object.filter(|job| job::is_finished(job)).and_then(object::uid) {
                    self.backoffs.remove(uid);
                    self.queue_pods_of(store, uid);
                }
            }
            ("batch", "cronjobs") => self.queue.add(Work::CronJob(key.clone())),
            ("", "namespaces") => {
                match object.is_some_and(object::is_deleting) {
                    true => self.terminating.insert(Arc::clone(&key.name)),
                    false => self.terminating.remove(&key.name),
                };
                self.queue.add(Work::Namespace(Arc::clone(&key.name)));
            }
            ("", "serviceaccounts" | "configmaps") if object.is_none() => {
                self.queue.add(Work::Namespace(Arc::clone(&key.namespace)));
            }
            ("" | "events.k8s.io", "events") => match object {
                Some(_) => self.queue.at(Work::ExpireEvent(resource.clone(), key.clone()), event::expiry(now)),
                None => self.queue.forget(&Work::ExpireEvent(resource.clone(), key.clone())),
            },
            ("apiextensions.k8s.io", "customresourcedefinitions") => {
                for (resource, key) in std::mem::take(&mut self.unknown_kinds) {
                    self.queue.add(Work::Garbage(resource, key));
                }
                for quota in &self.quotas {
                    self.queue.add(Work::Quota(quota.clone()));
                }
            }
            ("", "resourcequotas") => {
                match object {
                    Some(_) => self.quotas.insert(key.clone()),
                    None => self.quotas.remove(key),
                };
                self.queue.add(Work::Quota(key.clone()));
            }
            _ => {}
        }
    }

    fn queue_quotas(&mut self, namespace: &str) {
        if self.quotas.is_empty() || namespace.is_empty() {
            return;
        }
        let quotas = self.quotas.range(Key::new(namespace, "")..);
        for quota in quotas.take_while(|quota| *quota.namespace == *namespace) {
            self.queue.add(Work::Quota(quota.clone()));
        }
    }

    fn queue_dependents_of_deleted(&mut self, store: &Store, seen: &Seen, (resource, key): &(Resource, Key)) {
        if store.owned_by(&seen.uid).next().is_some() {
            let owner =
                garbage::AbsentOwner { group: Arc::clone(&resource.group), kind: Arc::clone(&seen.kind), key: key.clone() };
            self.absent_owners.insert(Arc::clone(&seen.uid), owner);
        }
        self.backoffs.remove(&seen.uid);
        self.pods.forget(&seen.uid);
        for (resource, key) in store.owned_by(&seen.uid) {
            self.queue.add(Work::Garbage(resource.clone(), key.clone()));
        }
        self.queue_pods_of(store, &seen.uid);
    }

    fn queue_pods_of(&mut self, store: &Store, owner: &str) {
        for (_, key) in store.owned_by(owner).filter(|(resource, _)| *resource == *PODS) {
            self.queue.add(Work::Pod(key.clone()));
        }
    }

    fn dependent_changed(&mut self, store: &Store, owner: &str) {
        if store.owned_by(owner).next().is_none() {
            self.absent_owners.remove(owner);
        }
        let Some((resource, key)) = store.find_uid(owner) else { return };
        match (&*resource.group, &*resource.plural) {
            ("batch", "jobs") => self.queue.add(Work::Job(key.clone())),
            ("batch", "cronjobs") => self.queue.add(Work::CronJob(key.clone())),
            _ => {}
        }
        if store.get(resource, key).is_some_and(|owner| object::is_deleting(&owner.value)) {
            self.queue.add(Work::Garbage(resource.clone(), key.clone()));
        }
    }

    /// Returns the due actions of one sync. Execute them in order, report each result
    /// ([`Self::settled`]) and the changes ([`Self::observe`]), and call again.
    pub(crate) fn next(&mut self, store: &Store, kinds: &Kinds, now: Timestamp) -> Vec<Action> {
        loop {
            if let Some(intent) = self.events.next(store, now) {
                return vec![Action {
                    write: intent.write,
                    component: intent.component,
                    cause: Cause::Event,
                    then: intent.then,
                }];
            }
            let Some(work) = self.queue.pop(now) else { return Vec::new() };
            let step = self.sync(store, kinds, &work, now);
            for event in step.events {
                self.events.record(event);
            }
            if let Some(again) = step.again {
                self.queue.at(work.clone(), again);
            }
            if step.intents.is_empty() {
                self.queue.succeeded(&work, now);
                continue;
            }
            let action = |intent: Intent| Action {
                write: intent.write,
                component: intent.component,
                cause: Cause::Work(work.clone()),
                then: intent.then,
            };
            return step.intents.into_iter().map(action).collect();
        }
    }

    fn sync(&mut self, store: &Store, kinds: &Kinds, work: &Work, now: Timestamp) -> Step {
        match work {
            Work::Pod(key) => self.pods.sync(store, key, now),
            Work::CronJob(key) => cron_job::sync(store, key, now),
            Work::Job(key) => {
                let creation = if self.queue.is_held(work, now) { job::Creation::Held } else { job::Creation::Allowed };
                job::sync(store, key, now, &self.backoffs, creation)
            }
            Work::Ttl(key) => ttl::sync(store, key, now),
            Work::Garbage(resource, key) => match garbage::sync(store, kinds, &self.absent_owners, resource, key) {
                garbage::Verdict::Step(step) => step,
                garbage::Verdict::UnknownKind => {
                    self.unknown_kinds.insert((resource.clone(), key.clone()));
                    Step::default()
                }
            },
            Work::Namespace(name) => namespace::sync(store, kinds, name, now),
            Work::ExpireEvent(resource, key) => event::expire(store, resource, key),
            Work::Quota(key) => quota::sync(store, kinds, key),
        }
    }

    /// Takes the result of an action: `Ok` with the name of the written object. Failed work is
    /// retried later.
    pub(crate) fn settled(&mut self, action: &Action, outcome: Result<&str, &Status>, now: Timestamp) {
        for then in action.then.iter().cloned() {
            match (then, outcome) {
                (Then::Event(event), Ok(_)) => self.events.record(event),
                (Then::NamedEvent(event), Ok(name)) => self.events.record(event.ending(name)),
                (Then::FailureEvent(event), Err(status)) if !is_namespace_terminating(status) => {
                    self.events.record(event.ending(&status.message));
                }
                (Then::Backoff(uid, backoff), Ok(_)) => {
                    self.backoffs.insert(uid, backoff);
                }
                (Then::Started(uid), Ok(_)) => self.pods.started(uid, now),
                (
                    Then::Event(_) | Then::NamedEvent(_) | Then::FailureEvent(_) | Then::Backoff(..) | Then::Started(_),
                    Ok(_) | Err(_),
                ) => {}
            }
        }
        if let (Cause::Work(work), Err(_)) = (&action.cause, outcome) {
            self.queue.failed(work, now);
            if matches!(action.write, Write::Create { .. }) {
                // The Job's status is still to be written; it creates no Pods until the retry.
                self.queue.add_if(work, |work| matches!(work, Work::Job(_)));
            }
        }
    }

    pub(crate) fn wakeup(&self) -> Option<Timestamp> {
        self.queue.wakeup(self.events.is_idle())
    }
}

/// Returns whether a creation failed because its namespace is being deleted, which needs no event.
fn is_namespace_terminating(status: &Status) -> bool {
    let causes = status.details.as_ref().and_then(|details| details.get("causes")).and_then(Value::as_array);
    causes.into_iter().flatten().any(|cause| object::text(cause, "reason") == "NamespaceTerminating")
}

fn controller_reference(owner: &Value) -> Value {
    serde_json::json!({
        "apiVersion": object::text(owner, "apiVersion"), "kind": object::text(owner, "kind"), "name": object::name(owner),
        "uid": object::uid(owner), "controller": true, "blockOwnerDeletion": true,
    })
}

fn controller_of(object: &Value) -> Option<&Value> {
    object::owner_references(object).find(|reference| reference.get("controller").and_then(Value::as_bool) == Some(true))
}

fn without_finalizer(object: &Value, finalizer: &str) -> Value {
    let rest: Vec<Value> = object::finalizers(object).filter(|other| *other != finalizer).map(Value::from).collect();
    let mut object = object.clone();
    match rest.is_empty() {
        true => {
            object::remove_metadata(&mut object, "finalizers");
        }
        false => object::set_metadata(&mut object, "finalizers", Value::Array(rest)),
    }
    object
}
