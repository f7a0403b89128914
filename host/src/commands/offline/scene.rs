//! A simulated cluster with the objects of files, and a host that runs on it until it stops writing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use gyre_core::grants::Scope;
use gyre_core::object::GroupVersionKind;
use gyre_devcluster::server::Origin;
use gyre_devcluster::{Cluster, Controllers, Server, Service};
use gyre_engine::call::Calls;
use gyre_engine::clock::Clock;
use gyre_engine::cluster::kinds::{self, StatusSubresource};
use gyre_engine::error::error_chain;
use gyre_engine::host::{self, Options};
use gyre_engine::mounts::inventory::{self, Place};
use gyre_engine::program::{Program, Programs, fixed};
use gyre_engine::reconcile::report::SLOWED_DOWN;
use gyre_engine::record::{CallRecord, Recordings};
use jiff::Timestamp;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, ValidationDirective};
use kube::{Client, Discovery};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::journal::Journal;
use super::live::{self, Former};
use super::plan::{Action, Subject, Verb};

/// After this time without a write request, the host rests. Failing objects are retried several times within it.
const QUIET: Duration = Duration::from_secs(2);
/// A host that still writes after this time never stops.
const PATIENCE: Duration = Duration::from_secs(60);

/// The field manager that applies files to existing objects.
const FIELD_MANAGER: &str = "kubectl";

/// See the module's documentation.
pub struct Scene {
    cluster: Cluster,
    journal: Journal,
    clock: Clock,
    /// Where its host keeps what it has mounted; none: in memory.
    inventory: Option<Place>,
}

/// What a host did.
pub struct Done {
    /// In order.
    pub actions: Vec<Action>,
    /// How it ended.
    pub end: End,
    /// The requeues that the plugin has requested.
    pub again: Again,
}

/// The parents for which the last call requested a requeue, and after what time.
#[derive(Clone, Debug, Default)]
pub struct Again(BTreeMap<Subject, Duration>);

impl Again {
    /// One more call.
    pub fn note(&mut self, call: &CallRecord) {
        let time = call.answer.result.as_ref().ok().and_then(|response| response.requeue_after);
        if self.0.is_empty() && time.is_none() {
            return;
        }
        let parent = Subject::of(&serde_json::from_slice(&call.parent).unwrap_or_default());
        match time {
            Some(time) => self.0.insert(parent, time),
            None => self.0.remove(&parent),
        };
    }

    /// Each parent, and the time.
    pub fn iter(&self) -> impl Iterator<Item = (&Subject, Duration)> {
        self.0.iter().map(|(parent, time)| (parent, *time))
    }

    /// About this one.
    pub fn about(&self, parent: &Subject) -> Option<Duration> {
        self.0.get(parent).copied()
    }
}

/// Whether it came to rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It does.
    Rests,
    /// It goes on writing for ever.
    Restless,
}

/// What of an object is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All but the status, where that is a subresource.
    Object,
    /// The status alone.
    Status,
}

/// Runs something with a simulated clock, which jumps to the next timer when no task can run.
///
/// # Errors
///
/// When the runtime cannot be created.
pub(super) fn simulate<T>(simulation: impl Future<Output = T>) -> anyhow::Result<T> {
    Ok(simulated()?.block_on(simulation))
}

/// The runtime of a simulation, whose clock jumps to the next timer when no task can run. The clock advances only while the runtime runs.
///
/// # Errors
///
/// When the runtime cannot be created.
pub fn simulated() -> anyhow::Result<Runtime> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.context("cannot start a simulation")
}

impl Scene {
    /// An empty cluster that serves what these programs bring, at that time of day. Within [`simulate`].
    pub(super) fn new(programs: &[Program], start: Timestamp) -> anyhow::Result<Self> {
        Self::with_controllers(programs, start, Controllers::Absent)
    }

    /// As [`Self::new`]; what controllers there are act while [`Self::controllers`] is polled. Pods never run.
    pub(super) fn with_controllers(programs: &[Program], start: Timestamp, controllers: Controllers) -> anyhow::Result<Self> {
        Self::with(programs, start, &gyre_devcluster::Options { controllers, pod_run_time: None, ..Default::default() })
    }

    /// A cluster that behaves so and serves what these programs bring, at that time of day. Within [`simulated`] time.
    ///
    /// # Errors
    ///
    /// What is wrong with a definition that a program brings.
    pub fn with(programs: &[Program], start: Timestamp, options: &gyre_devcluster::Options) -> anyhow::Result<Self> {
        let cluster = Cluster::new(options, gyre_devcluster::Clock::tokio(start));
        let journal = Journal::new(Service::new(cluster.clone()));
        let scene = Self { cluster, journal, clock: Clock::simulated(start), inventory: None };
        scene.put_definitions(programs)?;
        Ok(scene)
    }

    /// Has the host know of which kinds the children of these programs were, as one that starts again does.
    ///
    /// # Errors
    ///
    /// When the ConfigMap cannot be put there.
    pub(super) fn remember(&mut self, programs: &[Program], former: &Former) -> anyhow::Result<()> {
        let place = Place { namespace: "default".to_owned(), name: format!("gyre-offline{}", inventory::SUFFIX) };
        self.put(inventory::written(&place, programs, former))?;
        self.inventory = Some(place);
        Ok(())
    }

    /// Has the cluster serve what these programs bring.
    ///
    /// # Errors
    ///
    /// What is wrong with a definition.
    pub fn put_definitions(&self, programs: &[Program]) -> anyhow::Result<()> {
        for program in programs {
            for crd in &program.manifest().crds {
                self.put(crd.clone()).with_context(|| format!("the CRDs of the plugin {}", program.name))?;
            }
        }
        Ok(())
    }

    /// Stores an object unchanged.
    ///
    /// # Errors
    ///
    /// When its kind does not allow it.
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

    /// Puts objects there, each with the name of its file. Owners come before what they own, so that they can be named without their UIDs.
    ///
    /// # Errors
    ///
    /// As of [`Self::put`], after the name of the file.
    pub fn put_all(&self, objects: Vec<(String, Value)>) -> anyhow::Result<()> {
        self.restore_all(Origin::Written, objects)
    }

    /// As [`Self::put_all`], of objects that another API server has: it may know of more fields, and of fewer rules.
    ///
    /// # Errors
    ///
    /// As of [`Self::put_all`].
    pub(super) fn copy_all(&self, objects: Vec<(String, Value)>) -> anyhow::Result<()> {
        self.restore_all(Origin::Stored, objects)
    }

    /// As [`Self::put_all`], over what is there: as `kubectl apply --server-side` has it, and then with the statuses that the files have. Who
    /// does not say its namespace is in that one. Nothing new can be in those that are absent.
    ///
    /// # Errors
    ///
    /// As of [`Self::put`], after the name of the file.
    pub(super) async fn put_over(
        &self,
        objects: Vec<(String, Value)>,
        namespace: &str,
        absent: &BTreeSet<String>,
    ) -> anyhow::Result<()> {
        for (file, object) in in_order(objects) {
            self.put_one_over(object, namespace, absent).await.context(file)?;
        }
        Ok(())
    }

    async fn put_one_over(&self, mut object: Value, namespace: &str, absent: &BTreeSet<String>) -> anyhow::Result<()> {
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

    fn restore_all(&self, origin: Origin, objects: Vec<(String, Value)>) -> anyhow::Result<()> {
        for (file, object) in in_order(objects) {
            self.restore(origin, object).context(file)?;
        }
        Ok(())
    }

    /// The objects that the programs reconcile, as they are now.
    ///
    /// # Errors
    ///
    /// When they cannot be listed.
    pub async fn parents(&self, programs: &[Program]) -> anyhow::Result<Vec<Value>> {
        let mut parents = Vec::new();
        for program in programs {
            for mut object in self.list(&program.manifest().parent, ListParams::default()).await? {
                if let Some(metadata) = object.pointer_mut("/metadata").and_then(Value::as_object_mut) {
                    metadata.remove("managedFields");
                }
                parents.push(object);
            }
        }
        Ok(parents)
    }

    /// The objects of a kind, as they are now; none if it is not served.
    ///
    /// # Errors
    ///
    /// When they cannot be listed.
    pub async fn list(&self, kind: &GroupVersionKind, parameters: ListParams) -> anyhow::Result<Vec<Value>> {
        let client = self.client();
        let Some(resource) = kinds::find(&client, kind).await? else { return Ok(Vec::new()) };
        live::list(&client, &resource, None, parameters).await
    }

    /// Creates an object, or replaces the one whose resource version it has, as somebody does who is told of unknown fields and goes on.
    ///
    /// # Errors
    ///
    /// When the API server rejects it.
    pub(super) async fn write(&self, object: Value) -> anyhow::Result<()> {
        let client = self.client();
        let subject = Subject::of(&object);
        let kind = GroupVersionKind::from_api_version(&subject.api_version, &subject.kind);
        let resource = kinds::find(&client, &kind).await?.with_context(|| format!("{} is not served", subject.kind))?;
        let api: Api<DynamicObject> = resource.api(&client, subject.namespace.as_deref());
        let object: DynamicObject = serde_json::from_value(object).context("an object")?;
        let parameters = PostParams::default();
        match object.metadata.resource_version {
            Some(_) => api.replace(&subject.name, &parameters, &object).await?,
            None => api.create(&parameters, &object).await?,
        };
        Ok(())
    }

    /// Deletes an object, like kubectl.
    ///
    /// # Errors
    ///
    /// What the API server says.
    pub async fn delete(&self, subject: &Subject) -> anyhow::Result<()> {
        let Some(api) = self.api(subject).await? else { return Ok(()) };
        api.delete(&subject.name, &DeleteParams::background()).await.with_context(|| format!("cannot delete {subject}"))?;
        Ok(())
    }

    /// An object as it is now; none if there is none, or its kind is not served.
    ///
    /// # Errors
    ///
    /// What the API server says.
    pub async fn get(&self, subject: &Subject) -> anyhow::Result<Option<Value>> {
        let Some(api) = self.api(subject).await? else { return Ok(None) };
        let found = api.get_opt(&subject.name).await.with_context(|| format!("cannot read {subject}"))?;
        found.map(|object| serde_json::to_value(object).context("an object")).transpose()
    }

    /// Replaces an object by this one, like kubectl.
    ///
    /// # Errors
    ///
    /// What the API server says.
    pub async fn replace(&self, part: Part, object: &Value) -> anyhow::Result<()> {
        let subject = Subject::of(object);
        let no_kind = || anyhow!("cannot change {subject}: its kind is not served");
        let api = self.api(&subject).await?.ok_or_else(no_kind)?;
        let parameters = PostParams { field_manager: Some("kubectl-edit".to_owned()), ..PostParams::default() };
        let object = serde_json::from_value(object.clone()).context("an object")?;
        let changed = match part {
            Part::Object => api.replace(&subject.name, &parameters, &object).await,
            Part::Status => api.replace_status(&subject.name, &parameters, &object).await,
        };
        changed.map(drop).with_context(|| format!("cannot change {subject}"))
    }

    /// The `apiVersion` of each group that has a kind of that name.
    ///
    /// # Errors
    ///
    /// What the API server says.
    pub async fn api_versions_of(&self, kind: &str) -> anyhow::Result<Vec<String>> {
        let discovery = Discovery::new(self.client()).run().await.context("cannot list the kinds that are served")?;
        let served = discovery.groups().flat_map(|group| group.recommended_resources());
        let named = served.filter(|(resource, _)| resource.kind == kind).map(|(resource, _)| resource.api_version);
        Ok(named.collect::<BTreeSet<_>>().into_iter().collect())
    }

    /// What time it is.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// None if no such kind is served. What has a namespace and does not name it is in `default`.
    async fn api(&self, subject: &Subject) -> anyhow::Result<Option<Api<DynamicObject>>> {
        let client = self.client();
        let kind = GroupVersionKind::from_api_version(&subject.api_version, &subject.kind);
        let resource = kinds::find(&client, &kind).await?;
        let Some(resource) = resource else { return Ok(None) };
        let namespace = subject.namespace.as_deref().or((resource.scope == Scope::Namespaced).then_some("default"));
        Ok(Some(resource.api(&client, namespace)))
    }

    /// What looks after garbage and the like, if there is anybody.
    pub fn controllers(&self) -> impl Future<Output = ()> + Send + 'static {
        self.cluster.controllers()
    }

    /// For others than the host: nothing that they send is in the journal.
    fn client(&self) -> Client {
        Client::new(Service::new(self.cluster.clone()), "default")
    }

    /// Runs a host with these programs until it rests.
    pub(super) async fn run(&self, programs: &[Program]) -> anyhow::Result<Done> {
        let (recordings, again) = (Recordings::default(), Arc::<Mutex<Again>>::default());
        let noted = Arc::clone(&again);
        let _listening = recordings.listen(None, move |call| noted.lock().unwrap_or_else(PoisonError::into_inner).note(call));
        let lacks_status = self.lacks_status(programs).await?;
        let until_it_rests = async {
            if lacks_status {
                // It waits for one, and then works without.
                tokio::time::sleep(kinds::WAITS_FOR_STATUS).await;
            }
            let end = self.rest().await;
            // Before it is stopped: what it does then is not what was asked.
            let again = again.lock().unwrap_or_else(PoisonError::into_inner).clone();
            Done { actions: self.actions(), end, again }
        };
        self.hosted(programs, recordings.clone(), until_it_rests).await
    }

    /// Whether the parents of one have no status here, though it brings a definition that gives them one.
    async fn lacks_status(&self, programs: &[Program]) -> anyhow::Result<bool> {
        for manifest in programs.iter().map(Program::manifest) {
            let served = kinds::find(&self.client(), &manifest.parent).await?;
            if served.is_some_and(|served| served.status == StatusSubresource::Absent)
                && kinds::give_status(&manifest.crds, &manifest.parent)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Runs a host with these programs while something else happens, and then stops it.
    pub(super) async fn hosted<T>(
        &self,
        programs: &[Program],
        recordings: Recordings,
        meanwhile: impl Future<Output = T>,
    ) -> anyhow::Result<T> {
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let stopped = async {
            let _ = stopped.await;
        };
        let mut host = std::pin::pin!(self.host(fixed(without_shadows(programs)), recordings, stopped));
        let happened = tokio::select! {
            biased;
            ended = &mut host => return Err(ended.err().unwrap_or_else(|| anyhow!("the host stopped unexpectedly"))),
            happened = meanwhile => happened,
        };
        drop(stop);
        // What it does while it stops is ignored, but it must have stopped before another host starts.
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
            ..Options::default()
        };
        host::run(Client::new(self.journal.clone(), "default"), programs, options, stopped)
    }

    /// What the host did since the last call of this function.
    pub fn actions(&self) -> Vec<Action> {
        settled(self.journal.take().iter().filter_map(Action::of).collect())
    }

    /// Waits until the host that is running rests.
    pub async fn rest(&self) -> End {
        let began = tokio::time::Instant::now();
        while began.elapsed() < PATIENCE {
            let quiet = self.journal.last().max(began).elapsed();
            if quiet >= QUIET {
                // It would write again in a minute, and so on.
                return if self.journal.has_event(SLOWED_DOWN) { End::Restless } else { End::Rests };
            }
            tokio::time::sleep(QUIET.saturating_sub(quiet)).await;
        }
        End::Restless
    }
}

/// Shadows are ignored: they do not write.
fn without_shadows(programs: &[Program]) -> Vec<Program> {
    programs.iter().map(|program| Program { shadow: None, ..program.clone() }).collect()
}

/// Owners before what they own, and what defines kinds first of all.
fn in_order(mut objects: Vec<(String, Value)>) -> Vec<(String, Value)> {
    let is_owned = |object: &Value| object.pointer("/metadata/ownerReferences").is_some();
    objects.sort_by_key(|(_, object)| match object.get("kind").and_then(Value::as_str) {
        Some("CustomResourceDefinition") => 0,
        _ if is_owned(object) => 2,
        _ => 1,
    });
    objects
}

/// Leaves out of an object that was printed what cannot be applied, or is out of date. Owners without UIDs are those that it has.
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

/// Without attempts that were refused and then made again: with success, as those are that take back what somebody has edited; or as
/// much in vain, as those are that are tried again. An event whose name was taken is made again by another name.
fn settled(actions: Vec<Action>) -> Vec<Action> {
    let is_kept = |(index, action): (usize, &Action)| {
        let (earlier, later) = actions.split_at(index);
        let is_made_good = || later.iter().any(|other| other.refusal.is_none() && says_the_same(action, other));
        let is_repeated = || earlier.iter().any(|other| other.refusal == action.refusal && says_the_same(action, other));
        action.refusal.is_none() || !(is_made_good() || is_repeated())
    };
    let kept: Vec<bool> = actions.iter().enumerate().map(is_kept).collect();
    actions.into_iter().zip(kept).filter_map(|(action, is_kept)| is_kept.then_some(action)).collect()
}

/// Whether two requests ask for the same. Each event has a name and a time of its own.
fn says_the_same(one: &Action, other: &Action) -> bool {
    let is_event = one.verb == Verb::Event && other.verb == Verb::Event;
    let tells_the_same = || ["type", "reason", "note"].iter().all(|field| one.object.get(field) == other.object.get(field));
    one.subject == other.subject && (one.object == other.object || (is_event && tells_the_same()))
}
