//! A simulated cluster with the objects of files, and a host that runs until it stops writing.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use gyre_core::deletion_guard::Limits;
use gyre_core::grants::Scope;
use gyre_core::object::GroupVersionKind;
use gyre_devcluster::server::Origin;
use gyre_devcluster::{Cluster, Controllers, Server, Service, Watches};
use gyre_engine::call::Calls;
use gyre_engine::client::connection::{Connection, Transport};
use gyre_engine::clock::Clock;
use gyre_engine::cluster::kinds::{self, StatusSubresource};
use gyre_engine::error::error_chain;
use gyre_engine::host::{self, Options};
use gyre_engine::mounts::inventory::{self, Place};
use gyre_engine::program::{Policy, Program, Programs, fixed};
use gyre_engine::reconcile::report::SLOWED_DOWN;
use gyre_engine::record::Recordings;
use gyre_engine::values::{KeySecret, Randomness};
use jiff::Timestamp;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, ValidationDirective};
use kube::{Client, Discovery};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::host_run::{End, HostRun, RequeueTimes};
use crate::journal::Journal;
use crate::live::{self, PreviousChildKinds};
use crate::plan::{Action, Subject, Verb};
use crate::selection::is_parent;

/// A host that has not written for this time has converged: retries come several times within it.
const QUIET: Duration = Duration::from_secs(2);
/// A host that still writes after this time never converges.
const PATIENCE: Duration = Duration::from_secs(60);

const FIELD_MANAGER: &str = "kubectl";

/// A simulated cluster, and the tools to run a host on it.
///
/// # Errors
/// Functions fail when the API server rejects a request, or an object, which the error names.
pub struct Simulation {
    cluster: Cluster,
    pub(crate) journal: Journal,
    clock: Clock,
    /// The inventory of the host, if it has one.
    inventory: Option<Place>,
    /// The key of digests of generated values, if it is that of another cluster.
    digest_key: Option<KeySecret>,
}

/// The endpoint to which an object is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subresource {
    /// The object itself: does not change a status that is a subresource.
    None,
    /// The subresource `status`: changes nothing else.
    Status,
}

/// Runs a future in a [`simulated`] runtime.
pub(crate) fn simulate<T>(simulation: impl Future<Output = T>) -> anyhow::Result<T> {
    Ok(simulated()?.block_on(simulation))
}

/// A runtime whose clock stands still unless it runs, and jumps to the next timer when idle.
///
/// # Errors
/// When the runtime cannot be created.
pub fn simulated() -> anyhow::Result<Runtime> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.context("cannot start a simulation")
}

impl Simulation {
    /// An empty cluster with the CRDs of these programs, within [`simulate`]. Controllers run while
    /// [`Self::controllers`] is polled; Pods never run.
    pub(crate) fn new(programs: &[Program], start: Timestamp, controllers: Controllers) -> anyhow::Result<Self> {
        Self::with(programs, start, controllers, None)
    }

    /// An empty cluster with these CRDs, within a [`simulated`] runtime. Pods run for this time.
    pub fn with(
        programs: &[Program],
        start: Timestamp,
        controllers: Controllers,
        pod_run_time: Option<Duration>,
    ) -> anyhow::Result<Self> {
        let options = gyre_devcluster::Options { controllers, pod_run_time, watches: Watches::Endless, ..Default::default() };
        let cluster = Cluster::new(&options, gyre_devcluster::Clock::tokio(start));
        let journal = Journal::new(Service::new(cluster.clone()));
        let simulation = Self { cluster, journal, clock: Clock::simulated(start), inventory: None, digest_key: None };
        simulation.put_definitions(programs)?;
        Ok(simulation)
    }

    /// Creates an inventory with the previous kinds of children, for the host to read.
    pub(crate) fn put_inventory(
        &mut self,
        programs: &[Program],
        previous_child_kinds: &PreviousChildKinds,
    ) -> anyhow::Result<()> {
        let place = Place { namespace: "default".to_owned(), name: format!("gyre-offline{}", inventory::SUFFIX) };
        self.put(inventory::written(&place, programs, previous_child_kinds))?;
        self.inventory = Some(place);
        Ok(())
    }

    /// Creates the key of digests of another cluster, so that placeholders are as there.
    pub(crate) fn put_digest_key(&mut self, data: &Value) -> anyhow::Result<()> {
        let place = KeySecret::of("gyre-offline", "default");
        let metadata = json!({ "namespace": place.namespace, "name": place.name });
        self.put(json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data }))?;
        self.digest_key = Some(place);
        Ok(())
    }

    /// Creates the CRDs of these programs.
    pub fn put_definitions(&self, programs: &[Program]) -> anyhow::Result<()> {
        for program in programs {
            for crd in &program.manifest().crds {
                self.put(crd.clone()).with_context(|| format!("the CRDs of the plugin {}", program.name))?;
            }
        }
        Ok(())
    }

    /// Stores an object unchanged.
    pub fn put(&self, object: Value) -> anyhow::Result<()> {
        self.restore(Origin::Written, object)
    }

    fn restore(&self, origin: Origin, object: Value) -> anyhow::Result<()> {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let named = format!("{} {}", text("/kind"), text("/metadata/name"));
        let now = self.cluster.now();
        self.cluster.with_server(|server: &mut Server| server.restore(now, origin, object)).map_err(|status| {
            match status.code {
                code if code == http::StatusCode::NOT_FOUND => {
                    anyhow!(
                        "{named}: {status}; correct its apiVersion and kind, or add its CustomResourceDefinition to the files"
                    )
                }
                _ => anyhow!("{named}: {status}"),
            }
        })
    }

    /// Stores objects with the names of their files, owners first: files may name these without
    /// UIDs. [`Origin::Stored`] allows fields and values that this API server rejects.
    pub fn put_all(&self, origin: Origin, objects: Vec<(String, Value)>) -> anyhow::Result<()> {
        for (file, object) in in_order(objects) {
            self.restore(origin, object).context(file)?;
        }
        Ok(())
    }

    /// Applies objects like `kubectl apply --server-side --force-conflicts`, then their statuses.
    /// `namespace` is for objects that have none. Objects in `absent` namespaces are errors.
    pub(crate) async fn apply_all(
        &self,
        objects: Vec<(String, Value)>,
        namespace: &str,
        absent: &BTreeSet<String>,
    ) -> anyhow::Result<()> {
        for (file, object) in in_order(objects) {
            self.apply_one(object, namespace, absent).await.context(file)?;
        }
        Ok(())
    }

    async fn apply_one(&self, mut object: Value, namespace: &str, absent: &BTreeSet<String>) -> anyhow::Result<()> {
        let client = self.client();
        let subject = Subject::of(&object);
        let kind = GroupVersionKind::from_api_version(&subject.api_version, &subject.kind);
        let Some(resource) = kinds::find(&client, &kind).await? else { return self.put(object) };
        if resource.scope == Scope::Namespaced
            && subject.namespace.is_none()
            && let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut)
        {
            metadata.insert("namespace".to_owned(), Value::from(namespace));
        }
        let subject = Subject::of(&object);
        if let Some(absent) = subject.namespace.as_ref().filter(|namespace| absent.contains(*namespace)) {
            bail!("{subject}: namespaces \"{absent}\" not found");
        }
        let api: Api<DynamicObject> = resource.api(&client, subject.namespace.as_deref());
        if subject.name.is_empty() || api.get_opt(&subject.name).await?.is_none() {
            return self.put(object);
        }
        let status = object.as_object_mut().and_then(|fields| fields.remove("status"));
        as_applied(&mut object);
        let refused = |error: kube::Error| anyhow!("{subject}: {}", error_chain(&error));
        let parameters =
            PatchParams { field_validation: Some(ValidationDirective::Strict), ..PatchParams::apply(FIELD_MANAGER).force() };
        api.patch(&subject.name, &parameters, &Patch::Apply(&object)).await.map_err(refused)?;
        if let Some(status) = status {
            let patch = Patch::Merge(json!({ "status": status }));
            let parameters = PatchParams::default();
            match resource.status {
                StatusSubresource::Served => api.patch_status(&subject.name, &parameters, &patch).await,
                StatusSubresource::Absent => api.patch(&subject.name, &parameters, &patch).await,
            }
            .map_err(refused)?;
        }
        Ok(())
    }

    /// The current parents of the programs.
    pub async fn parents(&self, programs: &[Program]) -> anyhow::Result<Vec<Value>> {
        let mut parents = Vec::new();
        for program in programs {
            for kind in program.manifest().parent_kinds() {
                for mut object in self.list(kind, ListParams::default()).await? {
                    if !is_parent(program, &object) {
                        continue;
                    }
                    remove_managed_fields(&mut object);
                    parents.push(object);
                }
            }
        }
        Ok(parents)
    }

    /// The current objects of a kind, or an empty list if it is not served.
    pub async fn list(&self, kind: &GroupVersionKind, parameters: ListParams) -> anyhow::Result<Vec<Value>> {
        let client = self.client();
        let Some(resource) = kinds::find(&client, kind).await? else { return Ok(Vec::new()) };
        live::list(&client, &resource, None, parameters, None).await
    }

    /// Creates an object, or replaces it if it has a resource version. Unknown fields are dropped.
    pub(crate) async fn write(&self, object: Value) -> anyhow::Result<()> {
        let subject = Subject::of(&object);
        let api = self.api(&subject).await?.with_context(|| format!("{} is not served", subject.kind))?;
        let object: DynamicObject = serde_json::from_value(object).context("an object")?;
        let parameters = PostParams::default();
        match object.metadata.resource_version {
            Some(_) => api.replace(&subject.name, &parameters, &object).await?,
            None => api.create(&parameters, &object).await?,
        };
        Ok(())
    }

    /// Deletes an object, like kubectl.
    pub async fn delete(&self, subject: &Subject) -> anyhow::Result<()> {
        let Some(api) = self.api(subject).await? else { return Ok(()) };
        api.delete(&subject.name, &DeleteParams::background()).await.with_context(|| format!("cannot delete {subject}"))?;
        Ok(())
    }

    /// The current object, or `None` if it does not exist or its kind is not served.
    pub async fn get(&self, subject: &Subject) -> anyhow::Result<Option<Value>> {
        let Some(api) = self.api(subject).await? else { return Ok(None) };
        let found = api.get_opt(&subject.name).await.with_context(|| format!("cannot read {subject}"))?;
        found.map(|object| serde_json::to_value(object).context("an object")).transpose()
    }

    /// Replaces an object by this one, like kubectl.
    pub async fn replace(&self, subresource: Subresource, object: &Value) -> anyhow::Result<()> {
        let subject = Subject::of(object);
        let no_kind = || anyhow!("cannot change {subject}: its kind is not served");
        let api = self.api(&subject).await?.ok_or_else(no_kind)?;
        let parameters = PostParams { field_manager: Some("kubectl-edit".to_owned()), ..PostParams::default() };
        let object = serde_json::from_value(object.clone()).context("an object")?;
        let changed = match subresource {
            Subresource::None => api.replace(&subject.name, &parameters, &object).await,
            Subresource::Status => api.replace_status(&subject.name, &parameters, &object).await,
        };
        changed.map(drop).with_context(|| format!("cannot change {subject}"))
    }

    /// The `apiVersion` of each group that has a kind of this name.
    pub async fn api_versions_of(&self, kind: &str) -> anyhow::Result<Vec<String>> {
        let discovery = Discovery::new(self.client()).run().await.context("cannot list the kinds that are served")?;
        let served = discovery.groups().flat_map(|group| group.recommended_resources());
        let named = served.filter(|(resource, _)| resource.kind == kind).map(|(resource, _)| resource.api_version);
        Ok(named.collect::<BTreeSet<_>>().into_iter().collect())
    }

    /// The simulated time.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Returns `None` if the kind is not served. The default namespace is `default`.
    async fn api(&self, subject: &Subject) -> anyhow::Result<Option<Api<DynamicObject>>> {
        let client = self.client();
        let kind = GroupVersionKind::from_api_version(&subject.api_version, &subject.kind);
        let resource = kinds::find(&client, &kind).await?;
        let Some(resource) = resource else { return Ok(None) };
        let namespace = subject.namespace.as_deref().or((resource.scope == Scope::Namespaced).then_some("default"));
        Ok(Some(resource.api(&client, namespace)))
    }

    /// Refuses the creation of objects of these kinds by the host.
    pub(crate) async fn refuse_creations(&self, wanted: impl Iterator<Item = &GroupVersionKind>) -> anyhow::Result<()> {
        let (client, mut plurals) = (self.client(), Vec::new());
        for kind in wanted {
            plurals.extend(kinds::find(&client, kind).await?.map(|resource| resource.api.plural));
        }
        self.journal.refuse(plurals);
        Ok(())
    }

    /// Runs the controllers, e.g. the garbage collector, if there are any.
    pub fn controllers(&self) -> impl Future<Output = ()> + Send + 'static {
        self.cluster.controllers()
    }

    /// A client whose requests are not in the journal.
    fn client(&self) -> Client {
        Client::new(Service::new(self.cluster.clone()), "default")
    }

    pub(crate) async fn run(&self, programs: &[Program]) -> anyhow::Result<HostRun> {
        let (recordings, requeues) = (Recordings::default(), Arc::<Mutex<RequeueTimes>>::default());
        let noted = Arc::clone(&requeues);
        let _listening = recordings.listen(None, move |call| noted.lock().record_call(call));
        let lacks_status = self.lacks_status(programs).await?;
        let until_converged = async {
            if lacks_status {
                // The host waits for an updated definition, and then works without a status.
                tokio::time::sleep(kinds::WAITS_FOR_STATUS).await;
            }
            let end = self.until_converged().await;
            // Read before the host stops, because calls may end differently during the shutdown.
            let requeues = requeues.lock().clone();
            (self.actions(), end, requeues)
        };
        let (actions, end, requeues) = self.with_host(programs, recordings.clone(), until_converged).await?;
        Ok(HostRun { actions, end, requeues, parents: self.parents(programs).await? })
    }

    /// Returns whether a parent lacks a status here, although the program's CRD defines one.
    async fn lacks_status(&self, programs: &[Program]) -> anyhow::Result<bool> {
        for manifest in programs.iter().map(Program::manifest) {
            let served = kinds::find(&self.client(), manifest.users_kind()).await?;
            if served.is_some_and(|served| served.status == StatusSubresource::Absent)
                && kinds::give_status(&manifest.crds, manifest.users_kind())
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(crate) async fn with_host<T>(
        &self,
        programs: &[Program],
        recordings: Recordings,
        meanwhile: impl Future<Output = T>,
    ) -> anyhow::Result<T> {
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let stopped = async {
            let _ = stopped.await;
        };
        let mut host = std::pin::pin!(self.host(fixed(previewed(programs)), recordings, stopped));
        let happened = tokio::select! {
            biased;
            ended = &mut host => return Err(ended.err().unwrap_or_else(|| anyhow!("the host stopped unexpectedly"))),
            happened = meanwhile => happened,
        };
        drop(stop);
        // Its last actions are ignored, but it must have stopped before another host starts.
        let _ = tokio::time::timeout(PATIENCE, host).await;
        Ok(happened)
    }

    /// A host that runs these programs until it is stopped.
    pub fn host(
        &self,
        programs: Programs,
        recordings: Recordings,
        stopped: impl Future<Output = ()> + Send + 'static,
    ) -> impl Future<Output = anyhow::Result<()>> + Send + 'static {
        let options = Options {
            instance: "gyre-offline".to_owned(),
            clock: self.clock.clone(),
            calls: Calls::Inline,
            recordings,
            inventory: self.inventory.clone(),
            digest_key: self.digest_key.clone(),
            // The same for every run, so that golden files can contain digests of values.
            randomness: Randomness::Seeded(0),
            ..Options::default()
        };
        let connection = Connection::new(self.journal.clone(), "default").over(Transport::InProcess);
        host::run(connection, programs, options, stopped)
    }

    /// The actions of the host since the last call of this function.
    pub fn actions(&self) -> Vec<Action> {
        without_retries(self.journal.take().iter().filter_map(Action::of).collect())
    }

    /// Waits until the running host converges.
    pub async fn until_converged(&self) -> End {
        let began = tokio::time::Instant::now();
        while began.elapsed() < PATIENCE {
            let quiet = self.journal.last().max(began).elapsed();
            if quiet >= QUIET {
                // A host that was slowed down would write again every minute.
                return if self.journal.has_event(SLOWED_DOWN) { End::NonConverging } else { End::Converged };
            }
            tokio::time::sleep(QUIET.saturating_sub(quiet)).await;
        }
        End::NonConverging
    }
}

/// Removes the managed fields of an object: they are long, and of no use to people and tests.
pub fn remove_managed_fields(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
}

/// A preview shows all deletions, also those that a host would hold.
fn previewed(programs: &[Program]) -> Vec<Program> {
    let previewed = |program: &Program| Program {
        shadow: None,
        policy: Policy { deletion_guard: Limits::OFF, ..program.policy.clone() },
        ..program.clone()
    };
    programs.iter().map(previewed).collect()
}

/// Sorts definitions first, then owners before their dependents.
fn in_order(mut objects: Vec<(String, Value)>) -> Vec<(String, Value)> {
    let is_owned = |object: &Value| object.pointer("/metadata/ownerReferences").is_some();
    objects.sort_by_key(|(_, object)| match object.get("kind").and_then(Value::as_str) {
        Some("CustomResourceDefinition") => 0,
        _ if is_owned(object) => 2,
        _ => 1,
    });
    objects
}

/// Removes fields that cannot be applied or are out of date, and owners without UIDs.
fn as_applied(object: &mut Value) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    for field in ["managedFields", "resourceVersion", "generation", "creationTimestamp"] {
        metadata.remove(field);
    }
    let owners = metadata.get("ownerReferences").and_then(Value::as_array);
    if owners.is_some_and(|owners| owners.iter().any(|owner| owner.get("uid").is_none())) {
        metadata.remove("ownerReferences");
    }
}

/// Removes refused attempts that were repeated, also under another name if it is an Event.
fn without_retries(actions: Vec<Action>) -> Vec<Action> {
    let is_kept = |(index, action): (usize, &Action)| {
        let (earlier, later) = actions.split_at(index);
        let is_made_good = || later.iter().any(|other| other.refusal.is_none() && is_same_request(action, other));
        let is_repeated = || earlier.iter().any(|other| other.refusal == action.refusal && is_same_request(action, other));
        action.refusal.is_none() || !(is_made_good() || is_repeated())
    };
    let kept: Vec<bool> = actions.iter().enumerate().map(is_kept).collect();
    actions.into_iter().zip(kept).filter_map(|(action, is_kept)| is_kept.then_some(action)).collect()
}

/// Returns whether two actions are the same request, ignoring names and times of Events.
fn is_same_request(one: &Action, other: &Action) -> bool {
    let is_event = one.verb == Verb::Event && other.verb == Verb::Event;
    let is_same_event = || ["type", "reason", "note"].iter().all(|field| one.object.get(field) == other.object.get(field));
    one.subject == other.subject && (one.object == other.object || (is_event && is_same_event()))
}
