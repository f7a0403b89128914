//! The API server as a function of requests and time.

mod act;
mod definitions;
mod discover;
mod dispatch;
mod node;
mod restore;
mod review;

pub use restore::Origin;

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use jiff::Timestamp;

use crate::answer::Answer;
use crate::controllers;
use crate::kinds::{Kind, Subresource};
use crate::object;
use crate::registry::{Registry, ServiceAccounts, Watches};
use crate::request::options::DryRun;
use crate::store::{Backup, HistoryLimits, Key, Resource, Store, Stored};
use crate::verbs::Call;
use crate::watch::{Next, Watch};

/// The maximum number of syncs in one run, so that fighting controllers do not block it.
const SYNCS_PER_RUN: usize = 10_000;

/// The options of a server.
#[derive(Clone, Debug)]
pub struct Options {
    /// Determines UIDs, generated names etc.
    pub seed: u64,
    /// The maximum number of changes per kind in the history, which limits watches.
    pub history_limit: usize,
    /// The approximate maximum size of all histories.
    pub history_bytes: usize,
    /// The controllers.
    pub controllers: Controllers,
    /// The run time of Pods, which then succeed; `None`: Pods do not run, as without nodes.
    pub pod_run_time: Option<std::time::Duration>,
    /// The duration of watches.
    pub watches: Watches,
}

/// The presence of controllers for namespaces, garbage, Jobs and CronJobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Controllers {
    /// The controllers run.
    #[default]
    Run,
    /// Only clients change objects.
    Absent,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            seed: 0,
            history_limit: 10_000,
            // Ten thousand changes of objects of 6 KB, or sixty of the largest objects.
            history_bytes: 256 << 20,
            controllers: Controllers::default(),
            pod_run_time: Some(std::time::Duration::from_secs(1)),
            watches: Watches::default(),
        }
    }
}

/// A whole API server as a function: same requests at same times, same answers.
#[derive(Debug)]
pub struct Server {
    pub(crate) registry: Registry,
    controllers: Option<controllers::Controllers>,
    /// The last change of a CustomResourceDefinition that the kinds include.
    definitions_seen: u64,
    /// The served definitions, in the state that is served.
    definitions_served: BTreeMap<Key, Arc<Stored>>,
    /// The resources of deleted definitions that still have objects.
    definitions_that_wait: BTreeMap<Key, Resource>,
    documents: discover::Documents,
}

impl Server {
    /// A server with the initial objects of a cluster.
    pub fn new(options: &Options, now: Timestamp) -> Self {
        let history = HistoryLimits { changes: options.history_limit, bytes: options.history_bytes };
        let service_accounts = match options.controllers {
            Controllers::Run => ServiceAccounts::Required,
            Controllers::Absent => ServiceAccounts::Optional,
        };
        let mut server = Self {
            registry: Registry::new(history, options.seed, service_accounts, options.watches),
            controllers: match options.controllers {
                Controllers::Run => {
                    Some(controllers::Controllers::new(&controllers::Options { pod_run_time: options.pod_run_time }))
                }
                Controllers::Absent => None,
            },
            definitions_seen: 0,
            definitions_served: BTreeMap::new(),
            documents: discover::Documents::default(),
            definitions_that_wait: BTreeMap::new(),
        };
        for object in controllers::bootstrap_objects() {
            let api_version = object::text(&object, "apiVersion").to_owned();
            if let Some(kind) = server.registry.kinds.by_kind(&api_version, object::text(&object, "kind")).cloned() {
                let mut call = Call::internal(kind, object::namespace(&object), object::name(&object), "kube-apiserver", now);
                let mut object = object;
                call.kind.default(&mut object);
                if let Err(error) = server.registry.create(&mut call, object) {
                    tracing::error!(%error, "an object that every cluster has could not be made");
                }
            }
        }
        server.run_controllers(now);
        server
    }

    /// Answers a request that arrives at `now`.
    pub fn handle(&mut self, now: Timestamp, request: &Request<Bytes>) -> Answer {
        let mut answer = self.dispatch(now, request).unwrap_or_else(Answer::from);
        if *request.method() == http::Method::HEAD {
            answer.body = crate::answer::Body::Full(Bytes::new());
        }
        self.follow_definitions(now);
        answer
    }

    /// Runs the due controllers. Returns when to call again if [`Self::revision`] does not change.
    pub fn run_controllers(&mut self, now: Timestamp) -> Option<Timestamp> {
        self.run_syncs(now, SYNCS_PER_RUN)
    }

    /// Runs at most `most` syncs, otherwise like [`Self::run_controllers`].
    pub(crate) fn run_syncs(&mut self, now: Timestamp, most: usize) -> Option<Timestamp> {
        let Some(mut controllers) = self.controllers.take() else {
            // Without controllers, nobody needs the changes.
            self.registry.store.take_unseen();
            return None;
        };
        for _ in 0..most {
            let changed = self.registry.store.take_unseen();
            controllers.observe(&self.registry.store, &changed, now);
            let actions = controllers.next(&self.registry.store, &self.registry.kinds, now);
            if actions.is_empty() {
                break;
            }
            for mut action in actions {
                let outcome = self.act(&mut action, now);
                if let Err(error) = &outcome {
                    tracing::debug!(%error, ?action, "a controller's action failed");
                }
                controllers.settled(&action, outcome.as_deref(), now);
            }
            self.follow_definitions(now);
        }
        let wakeup = controllers.wakeup();
        self.controllers = Some(controllers);
        wakeup
    }

    /// Returns the number of the last change.
    pub fn revision(&self) -> u64 {
        self.registry.store.revision()
    }

    /// Returns the next step of a watch.
    pub fn watch(&self, now: Timestamp, watch: &mut Watch) -> Next {
        watch.next(&self.registry.store, &self.registry.kinds, now, self.registry.cached_revision())
    }

    /// Calls `act` as an API server whose watch cache is at this revision.
    pub(crate) fn behind<T>(&mut self, cached: u64, act: impl FnOnce(&mut Self) -> T) -> T {
        self.registry.cached = Some(cached);
        let result = act(self);
        self.registry.cached = None;
        result
    }

    /// Forgets the history, so that earlier watches and pages get `410 Gone`.
    pub fn compact(&mut self) {
        self.registry.store.compact();
    }

    /// Returns a backup of all objects.
    pub fn backup(&self) -> Backup {
        self.registry.store.backup()
    }

    /// Restores a backup: see [`Store::restore_backup`]. Watches end.
    pub fn restore_backup(&mut self, backup: &Backup) {
        self.registry.store.restore_backup(backup);
    }

    /// Returns the objects.
    pub fn store(&self) -> &Store {
        &self.registry.store
    }
}

impl Call {
    pub(crate) fn internal(kind: Arc<Kind>, namespace: &str, name: &str, manager: &str, now: Timestamp) -> Self {
        Self {
            now,
            kind,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            subresource: None,
            manager: manager.to_owned(),
            user: None,
            dry_run: DryRun::No,
            warnings: Vec::new(),
        }
    }

    pub(crate) fn about(mut self, subresource: Option<Subresource>) -> Self {
        self.subresource = subresource;
        self
    }
}
