//! A cluster in memory, its host, and the changes that a test makes: `gyre worlds`.

mod jobs;
mod reference;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{anyhow, bail};
use gyre_core::object::GroupVersionKind;
use gyre_devcluster::Controllers;
use gyre_devcluster::server::Origin;
use gyre_engine::program::{Program, Programs};
use gyre_engine::record::{CallRecord, Recordings};
use gyre_sandbox::Fault;
use jiff::Timestamp;
use serde_json::Value;
use tokio::runtime::Runtime;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

pub use self::jobs::JobEnd;
pub use self::reference::Reference;
use crate::call_log::{CallLog, parent_of};
use crate::check::compare::flapping;
use crate::host_run::{End, HostRun, RequeueTimes};
use crate::plan::Subject;
use crate::simulation::{Simulation, Subresource, remove_managed_fields, simulated};

/// The maximum number of recorded calls of a run, because some plugins never stop.
const MOST_CALLS: usize = 10_000;

/// The writes of a host and the calls of its plugins since the last run, and the parents.
pub struct Run {
    /// The writes, and the parents.
    pub host_run: HostRun,
    /// The calls.
    pub calls: Vec<Arc<CallRecord>>,
}

/// The initial state of a world, without its objects.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// The simulated time.
    pub time: Timestamp,
    /// Whether garbage is collected, Jobs have Pods, and the like.
    pub controllers: Controllers,
    /// The time that Pods run, after which they succeed.
    pub pod_run_time: Duration,
}

/// A cluster in memory, and a host that runs on it with the plugin under test.
///
/// The clock is simulated: it advances without waiting, and only in [`settle`](Self::settle),
/// [`advance`](Self::advance) and changes. Objects are named by a [`Reference`].
///
/// # Errors
/// Functions fail when the API server rejects a request, or if the host fails.
pub struct World {
    simulation: Simulation,
    programs: Vec<Program>,
    host: Option<Host>,
    _controllers: JoinHandle<()>,
    log: CallLog,
    /// Dropped last, because all else runs in it.
    runtime: Runtime,
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
    /// Creates a world with these objects. Its host starts when it [settles](Self::settle).
    pub fn new(programs: Vec<Program>, start: Start, objects: Vec<(String, Value)>) -> anyhow::Result<Self> {
        let Start { time, controllers, pod_run_time } = start;
        let runtime = simulated()?;
        let pod_run_time = match controllers {
            Controllers::Run => Some(pod_run_time),
            Controllers::Absent => None,
        };
        let entered = runtime.enter();
        let simulation = Simulation::with(&programs, time, controllers, pod_run_time)?;
        simulation.put_all(Origin::Written, objects)?;
        let controllers = tokio::spawn(simulation.controllers());
        drop(entered);
        Ok(Self { simulation, programs, host: None, _controllers: controllers, log: CallLog::new(MOST_CALLS), runtime })
    }

    /// Runs the host until it has sent no write request for two seconds.
    ///
    /// The run includes everything since the last one, also during changes by the test.
    pub fn settle(&mut self) -> anyhow::Result<Run> {
        let run = self.settle_with_faults()?;
        for call in &run.calls {
            let fault = call.answer.result.as_ref().err().filter(|error| error.fault() == Fault::Plugin);
            if let Some(error) = fault {
                let parent = parent_of(call);
                bail!("about {parent}: {error}");
            }
        }
        Ok(run)
    }

    /// Like [`Self::settle`], but allows calls that end by a fault of the plugin. The host reports
    /// them in conditions and events, and retries.
    pub fn settle_with_faults(&mut self) -> anyhow::Result<Run> {
        let run = self.wait()?;
        if run.host_run.end == End::NonConverging {
            bail!(flapping(&run.host_run.actions));
        }
        Ok(run)
    }

    /// Like [`Self::settle_with_faults`], also if the host never stops writing.
    pub fn wait(&mut self) -> anyhow::Result<Run> {
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
    pub fn advance(&mut self, time: Duration) -> anyhow::Result<()> {
        self.with_running_host(async |_, _| tokio::time::sleep(time).await)
    }

    /// Returns how often the simulation has had nothing to do, and so moved its clock: a measure of
    /// its cost that does not depend on the machine.
    pub fn steps(&self) -> u64 {
        self.runtime.metrics().worker_park_count(0)
    }

    /// Returns the simulated time.
    pub fn now(&self) -> Timestamp {
        // Outside of the runtime, the time that passes is the real one.
        let _entered = self.runtime.enter();
        self.simulation.now()
    }

    /// Returns the current state of an object.
    pub fn get(&self, object: &Reference) -> anyhow::Result<Value> {
        let subject = self.subject(object)?;
        self.found(&subject)?.ok_or_else(|| anyhow!("there is no {subject}"))
    }

    /// Returns the current state of an object, or `None` if it does not exist.
    pub fn find(&self, object: &Reference) -> anyhow::Result<Option<Value>> {
        self.found(&self.subject(object)?)
    }

    /// Returns all objects of a kind (`Job` or `batch/v1 Job`), by namespace and name.
    pub fn list(&self, kind: &str) -> anyhow::Result<Vec<Value>> {
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
    pub fn put(&mut self, object: Value) -> anyhow::Result<()> {
        let _entered = self.runtime.enter();
        self.simulation.put(object)
    }

    /// Replaces an object by this one, like `kubectl edit`.
    pub fn replace(&mut self, object: &Value) -> anyhow::Result<()> {
        self.runtime.block_on(self.simulation.replace(Subresource::None, object))
    }

    /// Replaces the status of an object, like the controller of its kind.
    pub fn set_status(&mut self, object: &Reference, status: Value) -> anyhow::Result<()> {
        let mut object = self.get(object)?;
        if let Some(fields) = object.as_object_mut() {
            fields.insert("status".to_owned(), status);
        }
        self.runtime.block_on(self.simulation.replace(Subresource::Status, &object))
    }

    /// Deletes an object like `kubectl delete --wait=false`. [`settle`](Self::settle) completes it.
    pub fn delete(&mut self, object: &Reference) -> anyhow::Result<()> {
        let subject = self.subject(object)?;
        self.runtime.block_on(self.simulation.delete(&subject))
    }

    /// Replaces the plugin of the mount with this program's name. Its grants stay, as far as the
    /// new manifest declares them.
    pub fn upgrade(&mut self, new: Program) -> anyhow::Result<()> {
        let name = &new.name;
        let Some(old) = self.programs.iter_mut().find(|program| program.name == *name) else {
            bail!("no plugin {name} is mounted, so there is nothing to upgrade");
        };
        let grants = old.grants.clone().for_manifest(new.manifest());
        *old = Program { plugin: new.plugin, artifact: new.artifact, settings: new.settings, grants, ..old.clone() };
        let entered = self.runtime.enter();
        self.simulation.put_definitions(&self.programs)?;
        drop(entered);
        if let Some(host) = &self.host {
            host.programs.send_replace(self.programs.clone().into());
        }
        Ok(())
    }

    /// The settings of the mount of a plugin; `None` if it is not mounted.
    pub fn settings_of(&self, plugin: &str) -> Option<Value> {
        let mount = self.programs.iter().find(|program| *program.name == *plugin)?;
        serde_json::from_slice(&mount.settings).ok()
    }

    /// Stops the host. The next run starts another, which knows only the cluster.
    pub fn restart(&mut self) -> anyhow::Result<()> {
        if let Some(Host { stop, running, .. }) = self.host.take() {
            drop(stop);
            self.runtime.block_on(running)?;
        }
        Ok(())
    }

    /// Runs `action` and the host, which is polled first for the same plans as in `gyre render`.
    fn with_running_host<T>(&mut self, action: impl AsyncFnOnce(&Simulation, &[Program]) -> T) -> anyhow::Result<T> {
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
                bail!("the host stopped unexpectedly")
            }
        }
    }

    fn found(&self, subject: &Subject) -> anyhow::Result<Option<Value>> {
        let mut found = self.runtime.block_on(self.simulation.get(subject))?;
        found.iter_mut().for_each(remove_managed_fields);
        Ok(found)
    }

    /// Resolves a reference. A kind that a plugin declares precedes other kinds of the cluster.
    fn subject(&self, reference: &Reference) -> anyhow::Result<Subject> {
        let Reference { api_version, kind, namespace, name } = reference.clone();
        let api_version = match api_version {
            Some(api_version) => api_version,
            None => self.api_version_of(&kind)?,
        };
        Ok(Subject { api_version, kind, namespace, name })
    }

    fn api_version_of(&self, kind: &str) -> anyhow::Result<String> {
        let manifests = self.programs.iter().map(Program::manifest);
        let known = manifests.flat_map(|manifest| {
            let children = manifest.children.iter().map(|child| &child.kind);
            manifest.parent_kinds().chain(children).chain(manifest.reads.iter().map(|read| &read.kind))
        });
        if let Some(known) = known.into_iter().find(|known| known.kind == kind) {
            return Ok(known.api_version());
        }
        let mut served = self.runtime.block_on(self.simulation.api_versions_of(kind))?;
        match served.len() {
            0 => bail!("the kind {kind} is not served: add its CustomResourceDefinition"),
            1 => Ok(served.remove(0)),
            _ => bail!("several API groups have the kind {kind}: write one of {} before it", served.join(", ")),
        }
    }
}
