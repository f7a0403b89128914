//! The API server as a function of requests and time.

mod dispatch;

use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use jiff::Timestamp;
use serde_json::Value;

use crate::answer::Answer;
use crate::controllers::{self, Action};
use crate::custom;
use crate::kinds::{Kind, Kinds, Subresource};
use crate::object;
use crate::random::Random;
use crate::request::options::{DeleteOptions, DryRun};
use crate::status::Status;
use crate::store::{Key, Presence, Resource, Store};
use crate::verbs::Call;
use crate::watch::{Next, Watch};

/// How often the controllers act without a pause, so that two of them that disagree do not hold up the server.
const ACTIONS_PER_RUN: usize = 10_000;

/// How a server behaves.
#[derive(Clone, Debug)]
pub struct Options {
    /// UIDs, generated names and the like follow from it.
    pub seed: u64,
    /// How many changes of each kind watches can go back.
    pub history_limit: usize,
    /// Whether the controllers run.
    pub controllers: Controllers,
    /// How long Pods run before they succeed; none: nobody runs Pods, as on a control plane without nodes.
    pub pod_run_time: Option<std::time::Duration>,
}

/// Whether namespaces, garbage, Jobs and CronJobs are looked after.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Controllers {
    /// They are.
    #[default]
    Run,
    /// Nobody but clients changes anything.
    Absent,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            seed: 0,
            history_limit: 10_000,
            controllers: Controllers::default(),
            pod_run_time: Some(std::time::Duration::from_secs(1)),
        }
    }
}

/// A whole API server, without sockets, clock or randomness: the same requests at the same times get the same answers.
#[derive(Debug)]
pub struct Server {
    pub(crate) store: Store,
    pub(crate) kinds: Kinds,
    pub(crate) random: Random,
    controllers: Option<controllers::Controllers>,
    /// The last change of a CustomResourceDefinition that the kinds know of.
    definitions_seen: u64,
}

impl Server {
    /// A server with the namespaces that every cluster has.
    pub fn new(options: &Options, now: Timestamp) -> Self {
        let mut server = Self {
            store: Store::new(options.history_limit),
            kinds: Kinds::builtin(),
            random: Random::new(options.seed),
            controllers: match options.controllers {
                Controllers::Run => Some(controllers::Controllers::new(options)),
                Controllers::Absent => None,
            },
            definitions_seen: 0,
        };
        for object in controllers::bootstrap_objects() {
            let api_version = object::text(&object, "apiVersion").to_owned();
            if let Some(kind) = server.kinds.by_kind(&api_version, object::text(&object, "kind")).cloned() {
                let mut call = Call::internal(kind, object::namespace(&object), object::name(&object), "kube-apiserver", now);
                let mut object = object;
                call.kind.default(&mut object);
                if let Err(error) = server.create(&mut call, object) {
                    tracing::error!(%error, "an object that every cluster has could not be made");
                }
            }
        }
        server.run_controllers(now);
        server
    }

    /// Answers a request that arrives at `now`.
    pub fn handle(&mut self, now: Timestamp, request: &Request<Bytes>) -> Answer {
        let answer = self.dispatch(now, request).unwrap_or_else(Answer::from);
        self.follow_definitions(now);
        answer
    }

    /// Lets the controllers do what is due. Returns when to ask again at the latest; ask earlier when [`Self::revision`] has changed.
    pub fn run_controllers(&mut self, now: Timestamp) -> Option<Timestamp> {
        let mut controllers = self.controllers.take()?;
        for _ in 0..ACTIONS_PER_RUN {
            let changed = self.store.take_unseen();
            controllers.observe(&self.store, &changed, now);
            let actions = controllers.next(&self.store, &self.kinds, now);
            if actions.is_empty() {
                break;
            }
            for action in actions {
                if let Err(error) = self.act(&action, now) {
                    tracing::debug!(%error, ?action, "a controller's action failed");
                    controllers.failed(&action, &error, now);
                }
            }
            self.follow_definitions(now);
        }
        let wakeup = controllers.wakeup();
        self.controllers = Some(controllers);
        wakeup
    }

    /// The number of the last change: what watches wait for.
    pub fn revision(&self) -> u64 {
        self.store.revision()
    }

    /// What to do for a watch next.
    pub fn watch(&self, now: Timestamp, watch: &mut Watch) -> Next {
        watch.next(&self.store, &self.kinds, now)
    }

    /// Forgets the history: watches and pages from before are told `410 Gone`.
    pub fn compact(&mut self) {
        self.store.compact();
    }

    /// The objects, to be looked at.
    pub fn store(&self) -> &Store {
        &self.store
    }

    fn act(&mut self, action: &Action, now: Timestamp) -> Result<(), Status> {
        let (resource, manager) = (action.resource(), action.manager());
        let kind = self.kinds.of_resource(resource).next().cloned().ok_or_else(Status::no_such_path)?;
        let internal = |namespace: &str, name: &str| Call::internal(Arc::clone(&kind), namespace, name, manager, now);
        match action {
            Action::Create { object, .. } => {
                let mut call = internal(object::namespace(object), object::name(object));
                let mut object = object.clone();
                kind.decode(&mut object, crate::kinds::FieldValidation::Ignore)?;
                kind.default(&mut object);
                self.create(&mut call, object).map(drop)
            }
            Action::Update { subresource, object, .. } => {
                let mut call = internal(object::namespace(object), object::name(object));
                call.subresource = *subresource;
                let mut object = object.clone();
                kind.decode(&mut object, crate::kinds::FieldValidation::Ignore)?;
                kind.default(&mut object);
                self.update(&mut call, object).map(drop)
            }
            Action::Delete { key, uid, propagation, grace_period_seconds, .. } => {
                let mut call = internal(&key.namespace, &key.name);
                let options = DeleteOptions {
                    uid: Some(uid.clone()),
                    propagation: *propagation,
                    grace_period_seconds: *grace_period_seconds,
                    ..DeleteOptions::default()
                };
                self.delete(&mut call, &options).map(drop)
            }
        }
    }

    /// Serves the kinds that the CustomResourceDefinitions say, and writes their status.
    fn follow_definitions(&mut self, now: Timestamp) {
        let resource = Resource::new("apiextensions.k8s.io", "customresourcedefinitions");
        // A status that is written is itself a change to follow; it settles within a step.
        while self.store.changed(&resource) > self.definitions_seen {
            let changes = match self.store.changes_since(&resource, self.definitions_seen) {
                Ok(changes) => changes.cloned().collect(),
                Err(_) => Vec::new(),
            };
            self.definitions_seen = self.store.changed(&resource);
            for change in changes {
                let definition = &change.after.value;
                let served = served_resource(definition);
                let current = self.store.get(&resource, &change.key).cloned();
                if change.presence == Presence::Deleted || current.is_none() {
                    if change.before.as_ref().is_some_and(|before| custom::is_established(&before.value)) {
                        self.kinds.remove(&served);
                        self.store.forget(&served);
                    }
                    continue;
                }
                let Some(current) = current else { continue };
                self.finalize_definition(&resource, &change.key, &current.value, &served, now);
                let Some(current) = self.store.get(&resource, &change.key).cloned() else { continue };
                let others: Vec<_> = self.store.list(&resource, None).map(|(_, other)| Arc::clone(other)).collect();
                let others = others.iter().filter(|other| object::uid(&other.value) != object::uid(&current.value));
                if let Some(status) = custom::settle(&current.value, others.map(|other| &other.value), now) {
                    let mut updated = current.value.clone();
                    if let Some(updated) = updated.as_object_mut() {
                        updated.insert("status".to_owned(), status);
                    }
                    self.store.put(&resource, &change.key, updated);
                    continue;
                }
                if custom::is_established(&current.value) {
                    self.kinds.remove(&served);
                    for kind in custom::kinds(&current.value) {
                        self.kinds.insert(kind);
                    }
                }
            }
        }
    }

    /// A definition that is deleted takes its objects along, and goes when they are gone.
    fn finalize_definition(&mut self, resource: &Resource, key: &Key, definition: &Value, served: &Resource, now: Timestamp) {
        const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";
        if !object::is_deleting(definition) || !object::finalizers(definition).any(|finalizer| finalizer == CLEANUP) {
            return;
        }
        let kind = self.kinds.of_resource(served).next().cloned();
        if let Some(kind) = kind {
            let keys: Vec<Key> = self.store.list(served, None).map(|(key, _)| key.clone()).collect();
            for key in keys {
                let mut call = Call::internal(Arc::clone(&kind), &key.namespace, &key.name, "kube-apiserver", now);
                if let Err(error) = self.delete(&mut call, &DeleteOptions::default()) {
                    tracing::debug!(%error, "an object of a deleted definition stays");
                }
            }
            if self.store.count(served, None) > 0 {
                return;
            }
        }
        let mut updated = definition.clone();
        let rest: Vec<&str> = object::finalizers(definition).filter(|finalizer| *finalizer != CLEANUP).collect();
        let is_last = rest.is_empty();
        let rest = Value::from(rest);
        if is_last {
            object::remove_metadata(&mut updated, "finalizers");
            self.store.remove_as(resource, key, updated);
        } else {
            object::set_metadata(&mut updated, "finalizers", rest);
            self.store.put(resource, key, updated);
        }
    }
}

/// What a definition serves.
fn served_resource(definition: &Value) -> Resource {
    let text = |pointer: &str| definition.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    Resource::new(text("/spec/group"), text("/spec/names/plural"))
}

impl Call {
    /// What the server or one of its controllers does itself.
    pub(crate) fn internal(kind: Arc<Kind>, namespace: &str, name: &str, manager: &str, now: Timestamp) -> Self {
        Self {
            now,
            kind,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            subresource: None,
            manager: manager.to_owned(),
            dry_run: DryRun::No,
            warnings: Vec::new(),
        }
    }

    /// The same, about a part of the object.
    pub(crate) fn about(mut self, subresource: Option<Subresource>) -> Self {
        self.subresource = subresource;
        self
    }
}
