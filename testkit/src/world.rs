//! A cluster in memory, its host, and the changes that a test makes.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use gyre_core::object::GroupVersionKind;
use gyre_devcluster::Controllers;
use gyre_devcluster::server::Origin;
use gyre_engine::program::{Program, Programs};
use gyre_engine::record::Recordings;
use gyre_offline::call_log::{CallLog, parent_of};
use gyre_offline::check::compare::flapping;
use gyre_offline::host_run::{End, HostRun, RequeueTimes};
use gyre_offline::plan::Subject;
use gyre_offline::simulation::{Simulation, Subresource, remove_managed_fields, simulated};
use gyre_sandbox::Fault;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use tokio::runtime::Runtime;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use crate::error::{Error, Result};
use crate::plugin::Plugin;
use crate::reference::Reference;
use crate::run::Run;

/// The maximum number of recorded calls of a run, because some plugins never stop.
const MOST_CALLS: usize = 10_000;

/// A cluster in memory, and a host that runs on it with the plugin under test.
///
/// The clock is simulated: it advances without waiting, and only in [`settle`](Self::settle),
/// [`advance`](Self::advance) and changes. Objects are named by a [`Reference`].
pub struct World {
    pub(crate) simulation: Simulation,
    programs: Vec<Program>,
    host: Option<Host>,
    _controllers: JoinHandle<()>,
    log: CallLog,
    /// Dropped last, because all else runs in it.
    pub(crate) runtime: Runtime,
}

struct Host {
    programs: watch::Sender<Arc<[Program]>>,
    stop: oneshot::Sender<()>,
    running: Pin<Box<dyn Future<Output = anyhow::Result<()>> + Send>>,
}

impl Host {
    fn new(simulation: &Simulation, programs: &[Program], recordings: &Recordings) -> Self {
        let (programs, receiver): (_, Programs) = watch::channel(programs.into());
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = async {
            let _ = stopped.await;
        };
        let running = Box::pin(simulation.host(receiver, recordings.clone(), stopped));
        Self { programs, stop, running }
    }
}

impl World {
    pub(crate) fn new(
        programs: Vec<Program>,
        start: Timestamp,
        controllers: Controllers,
        pod_run_time: Duration,
        objects: Vec<(String, Value)>,
    ) -> Result<Self> {
        let runtime = simulated()?;
        let pod_run_time = match controllers {
            Controllers::Run => Some(pod_run_time),
            Controllers::Absent => None,
        };
        let entered = runtime.enter();
        let simulation = Simulation::with(&programs, start, controllers, pod_run_time)?;
        simulation.put_all(Origin::Written, objects)?;
        let controllers = tokio::spawn(simulation.controllers());
        drop(entered);
        Ok(Self { simulation, programs, host: None, _controllers: controllers, log: CallLog::new(MOST_CALLS), runtime })
    }

    /// Runs the host until it has sent no write request for two seconds.
    ///
    /// The run includes everything since the last one, also during changes by the test.
    ///
    /// # Errors
    ///
    /// If the host never stops writing, with its last writes; or if a call ended by a fault of the
    /// plugin, e.g. a panic. To test faults, use [`Self::settle_with_faults`].
    pub fn settle(&mut self) -> Result<Run> {
        let run = self.settle_with_faults()?;
        for call in run.calls() {
            let fault = call.answer.result.as_ref().err().filter(|error| error.fault() == Fault::Plugin);
            if let Some(error) = fault {
                let parent = parent_of(call);
                return Err(Error::new(format!("about {parent}: {error}")));
            }
        }
        Ok(run)
    }

    /// Like [`Self::settle`], but allows calls that end by a fault of the plugin. The host reports
    /// them in conditions and events, and retries.
    ///
    /// # Errors
    ///
    /// If the host never stops writing, with its last writes.
    pub fn settle_with_faults(&mut self) -> Result<Run> {
        let run = self.wait()?;
        if run.host_run.end == End::NonConverging {
            return Err(Error::new(flapping(run.plan())));
        }
        Ok(run)
    }

    pub(crate) fn wait(&mut self) -> Result<Run> {
        let (end, parents) = self.with_running_host(async |simulation, programs| {
            (simulation.until_converged().await, simulation.parents(programs).await)
        })?;
        let actions = self.simulation.actions();
        let calls = self.log.take();
        let mut requeues = RequeueTimes::default();
        calls.iter().for_each(|call| requeues.record_call(call));
        Ok(Run { host_run: HostRun { actions, end, requeues, parents: parents? }, calls })
    }

    /// Advances the clock. The host makes the calls that are due, and CronJobs create Jobs. Time in
    /// which nothing is due costs nothing.
    ///
    /// # Errors
    ///
    /// If the host fails.
    pub fn advance(&mut self, time: Duration) -> Result {
        self.with_running_host(async |_, _| tokio::time::sleep(time).await)
    }

    /// Returns how often the simulation has had nothing to do, and so moved its clock: a measure of
    /// its cost that does not depend on the machine.
    pub fn steps(&self) -> u64 {
        self.runtime.metrics().worker_park_count(0)
    }

    /// Returns the simulated time.
    pub fn now(&self) -> Timestamp {
        self.simulation.now()
    }

    /// Returns the current state of an object.
    ///
    /// # Errors
    ///
    /// If there is no such object.
    pub fn get(&self, object: impl Into<Reference>) -> Result<Value> {
        let subject = self.subject(object.into())?;
        self.found(&subject)?.ok_or_else(|| Error::new(format!("there is no {subject}")))
    }

    /// Returns the current state of an object, or `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// If its kind is not served.
    pub fn find(&self, object: impl Into<Reference>) -> Result<Option<Value>> {
        self.found(&self.subject(object.into())?)
    }

    /// Returns all objects of a kind (`Job` or `batch/v1 Job`), by namespace and name.
    ///
    /// # Errors
    ///
    /// If the kind is not served.
    pub fn list(&self, kind: &str) -> Result<Vec<Value>> {
        let (api_version, kind) = match kind.rsplit_once(' ') {
            Some((api_version, kind)) => (api_version.to_owned(), kind),
            None => (self.api_version_of(kind)?, kind),
        };
        let kind = GroupVersionKind::from_api_version(&api_version, kind);
        let mut objects = self.runtime.block_on(self.simulation.list(&kind, Default::default()))?;
        objects.iter_mut().for_each(remove_managed_fields);
        Ok(objects)
    }

    /// Stores an object unchanged, with its UID, owners and status. An existing object is replaced.
    ///
    /// # Errors
    ///
    /// If its kind does not allow it.
    pub fn put(&mut self, object: impl Serialize) -> Result {
        let object = serde_json::to_value(object).map_err(|error| Error::new(format!("an object is no JSON: {error}")))?;
        let _entered = self.runtime.enter();
        Ok(self.simulation.put(object)?)
    }

    /// Changes an object like `kubectl edit`.
    ///
    /// # Errors
    ///
    /// If there is no such object, or the API server rejects the change.
    pub fn edit(&mut self, object: impl Into<Reference>, change: impl FnOnce(&mut Value)) -> Result {
        self.change(Subresource::None, object.into(), change)
    }

    /// Replaces the status of an object, like the controller of its kind.
    ///
    /// # Errors
    ///
    /// If there is no such object, or the API server rejects the status.
    pub fn set_status(&mut self, object: impl Into<Reference>, status: impl Into<Value>) -> Result {
        let status = status.into();
        self.change(Subresource::Status, object.into(), |object| {
            if let Some(fields) = object.as_object_mut() {
                fields.insert("status".to_owned(), status);
            }
        })
    }

    /// Deletes an object like `kubectl delete --wait=false`. [`settle`](Self::settle) completes it.
    ///
    /// # Errors
    ///
    /// If there is no such object.
    pub fn delete(&mut self, object: impl Into<Reference>) -> Result {
        let subject = self.subject(object.into())?;
        Ok(self.runtime.block_on(self.simulation.delete(&subject))?)
    }

    /// Replaces the plugin of a mount by another version, with the same settings.
    ///
    /// # Errors
    ///
    /// If no plugin of that name is mounted, or the version rejects the settings.
    pub fn upgrade(&mut self, plugin: Plugin) -> Result {
        let name = plugin.0.manifest().name.clone();
        let Some(old) = self.programs.iter_mut().find(|program| *program.name == *name) else {
            return Err(Error::new(format!("no plugin {name} is mounted, so there is nothing to upgrade")));
        };
        let settings = serde_json::from_slice(&old.settings).unwrap_or_default();
        let new = plugin.program(&settings)?;
        let grants = old.grants.clone().for_manifest(new.manifest());
        *old = Program { plugin: new.plugin, settings: new.settings, grants, ..old.clone() };
        let entered = self.runtime.enter();
        self.simulation.put_definitions(&self.programs)?;
        drop(entered);
        if let Some(host) = &self.host {
            host.programs.send_replace(self.programs.clone().into());
        }
        Ok(())
    }

    /// Stops the host. The next run starts another, which knows only the cluster.
    ///
    /// # Errors
    ///
    /// If the host fails.
    pub fn restart(&mut self) -> Result {
        if let Some(Host { stop, running, .. }) = self.host.take() {
            drop(stop);
            self.runtime.block_on(running)?;
        }
        Ok(())
    }

    /// Runs `action` and the host, which is polled first for the same plans as in `gyre render`.
    fn with_running_host<T>(&mut self, action: impl AsyncFnOnce(&Simulation, &[Program]) -> T) -> Result<T> {
        let Self { simulation, programs, host, log, runtime, .. } = self;
        let host = host.get_or_insert_with(|| {
            let _entered = runtime.enter();
            Host::new(simulation, programs, &log.recordings)
        });
        let ended = runtime.block_on(async {
            tokio::select! {
                biased;
                ended = &mut host.running => Err(ended),
                result = action(simulation, programs) => Ok(result),
            }
        });
        match ended {
            Ok(result) => Ok(result),
            Err(ended) => {
                self.host = None;
                ended?;
                Err(Error::new("the host stopped unexpectedly"))
            }
        }
    }

    fn change(&mut self, subresource: Subresource, reference: Reference, change: impl FnOnce(&mut Value)) -> Result {
        let subject = self.subject(reference)?;
        let mut object = self.found(&subject)?.ok_or_else(|| Error::new(format!("there is no {subject}")))?;
        change(&mut object);
        Ok(self.runtime.block_on(self.simulation.replace(subresource, &object))?)
    }

    fn found(&self, subject: &Subject) -> Result<Option<Value>> {
        let mut found = self.runtime.block_on(self.simulation.get(subject))?;
        found.iter_mut().for_each(remove_managed_fields);
        Ok(found)
    }

    /// Resolves a reference. A kind that a plugin declares precedes other kinds of the cluster.
    pub(crate) fn subject(&self, reference: Reference) -> Result<Subject> {
        reference.check()?;
        let api_version = match &reference.api_version {
            Some(api_version) => api_version.clone(),
            None => self.api_version_of(&reference.kind)?,
        };
        let Reference { kind, namespace, name, .. } = reference;
        Ok(Subject { api_version, kind, namespace, name })
    }

    fn api_version_of(&self, kind: &str) -> Result<String> {
        let manifests = self.programs.iter().map(Program::manifest);
        let known = manifests.flat_map(|manifest| {
            let children = manifest.children.iter().map(|child| &child.kind);
            std::iter::once(&manifest.parent).chain(children).chain(manifest.reads.iter().map(|read| &read.kind))
        });
        if let Some(known) = known.into_iter().find(|known| known.kind == kind) {
            return Ok(known.api_version());
        }
        let mut served = self.runtime.block_on(self.simulation.api_versions_of(kind))?;
        match served.len() {
            0 => Err(Error::new(format!("the kind {kind} is not served: add its CustomResourceDefinition"))),
            1 => Ok(served.remove(0)),
            _ => Err(Error::new(format!(
                "several API groups have the kind {kind}: write one of {} before it",
                served.join(", ")
            ))),
        }
    }
}
