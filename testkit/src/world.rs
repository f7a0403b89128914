//! A cluster in memory, the host that works on it, and whoever else does something there: the test.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gyre_core::object::GroupVersionKind;
use gyre_devcluster::Controllers;
use gyre_engine::program::{Program, Programs};
use gyre_engine::record::{CallRecord, Listening, Recordings};
use gyre_offline::check::compare::flapping;
use gyre_offline::plan::Subject;
use gyre_offline::rendered::Rendered;
use gyre_offline::simulation::{End, HostRun, RequeueTimes, Simulation, Subresource, simulated};
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

/// Pods run until a test ends them, or for so long.
const POD_RUN_TIME: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);
/// So many calls are kept between two settlings: what goes on for ever is cut short.
const MOST_CALLS: usize = 10_000;

/// A cluster in memory, and the host that works on it with the plugin under test.
///
/// Time passes only while something is [settled](Self::settle), [waited for](Self::advance) or changed, and then as fast as can be. Objects are
/// named as in plans, `Job default/hello`: see [`Reference`].
pub struct World {
    pub(crate) simulation: Simulation,
    programs: Vec<Program>,
    host: Option<Host>,
    _controllers: JoinHandle<()>,
    calls: Arc<Mutex<Vec<Arc<CallRecord>>>>,
    recordings: Recordings,
    _listening: Listening,
    /// The last to go: all else lives in it.
    pub(crate) runtime: Runtime,
}

/// One that runs.
struct Host {
    programs: watch::Sender<Arc<[Program]>>,
    stop: oneshot::Sender<()>,
    running: Pin<Box<dyn Future<Output = anyhow::Result<()>> + Send>>,
}

impl Host {
    fn new(simulation: &Simulation, programs: &[Program], recordings: &Recordings) -> Self {
        let (programs, following): (_, Programs) = watch::channel(programs.into());
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = async {
            let _ = stopped.await;
        };
        let running = Box::pin(simulation.host(following, recordings.clone(), stopped));
        Self { programs, stop, running }
    }
}

impl World {
    pub(crate) fn new(
        programs: Vec<Program>,
        start: Timestamp,
        controllers: Controllers,
        objects: Vec<(String, Value)>,
    ) -> Result<Self> {
        let runtime = simulated()?;
        let pod_run_time = match controllers {
            Controllers::Run => Some(POD_RUN_TIME),
            Controllers::Absent => None,
        };
        let options = gyre_devcluster::Options { controllers, pod_run_time, ..gyre_devcluster::Options::default() };
        let entered = runtime.enter();
        let simulation = Simulation::with(&programs, start, &options)?;
        simulation.put_all(objects)?;
        let controllers = tokio::spawn(simulation.controllers());
        drop(entered);
        let (recordings, calls) = (Recordings::default(), Arc::<Mutex<Vec<_>>>::default());
        let kept = Arc::clone(&calls);
        let listening = recordings.listen(None, move |call| {
            let mut calls: MutexGuard<'_, Vec<_>> = kept.lock().unwrap_or_else(PoisonError::into_inner);
            if calls.len() < MOST_CALLS {
                calls.push(Arc::clone(call));
            }
        });
        Ok(Self {
            simulation,
            programs,
            host: None,
            _controllers: controllers,
            calls,
            recordings,
            _listening: listening,
            runtime,
        })
    }

    /// Has the host do what the plugin wants, and again, until nothing changes. It rests when it has sent nothing for two seconds.
    ///
    /// What happened since the last settling is told, also what the host did while the test changed something.
    ///
    /// # Errors
    ///
    /// When it goes on writing for ever, with what it writes. When a call ended by a fault of the plugin, such as a panic:
    /// [`Self::settle_with_faults`] is for tests of those.
    pub fn settle(&mut self) -> Result<Run> {
        let run = self.settle_with_faults()?;
        for call in run.calls() {
            let fault = call.answer.result.as_ref().err().filter(|error| error.fault() == Fault::Plugin);
            if let Some(error) = fault {
                let parent = Subject::of(&serde_json::from_slice(&call.parent).unwrap_or_default());
                return Err(Error::new(format!("about {parent}: {error}")));
            }
        }
        Ok(run)
    }

    /// As [`Self::settle`], also if a call ended by a fault of the plugin: the host reports those in conditions and events, and tries again.
    ///
    /// # Errors
    ///
    /// When it goes on writing for ever, with what it writes.
    pub fn settle_with_faults(&mut self) -> Result<Run> {
        let run = self.wait()?;
        if run.rendered.host_run.end == End::NonConverging {
            return Err(Error::new(flapping(run.plan())));
        }
        Ok(run)
    }

    /// Waits until the host rests, or has gone on for longer than it takes to rest.
    pub(crate) fn wait(&mut self) -> Result<Run> {
        let (end, parents) = self
            .meanwhile(async |simulation, programs| (simulation.until_converged().await, simulation.parents(programs).await))?;
        let actions = self.simulation.actions();
        let calls = std::mem::take(&mut *self.calls.lock().unwrap_or_else(PoisonError::into_inner));
        let mut requeues = RequeueTimes::default();
        calls.iter().for_each(|call| requeues.note(call));
        Ok(Run { rendered: Rendered { host_run: HostRun { actions, end, requeues }, parents: parents? }, calls })
    }

    /// Time passes, and what is due happens: a plugin that asked to be called again is, a CronJob makes Jobs.
    ///
    /// # Errors
    ///
    /// When the host fails.
    pub fn advance(&mut self, time: Duration) -> Result {
        self.meanwhile(async |_, _| tokio::time::sleep(time).await)
    }

    /// What time it is.
    pub fn now(&self) -> Timestamp {
        self.simulation.now()
    }

    /// An object as it is.
    ///
    /// # Errors
    ///
    /// When there is none of that name.
    pub fn get(&self, object: impl Into<Reference>) -> Result<Value> {
        let subject = self.subject(object.into())?;
        self.found(&subject)?.ok_or_else(|| Error::new(format!("there is no {subject}")))
    }

    /// An object as it is; none if there is none.
    ///
    /// # Errors
    ///
    /// When its kind is not served.
    pub fn find(&self, object: impl Into<Reference>) -> Result<Option<Value>> {
        self.found(&self.subject(object.into())?)
    }

    /// All objects of a kind, `Job` or `batch/v1 Job`, by namespace and name.
    ///
    /// # Errors
    ///
    /// When it is not served.
    pub fn list(&self, kind: &str) -> Result<Vec<Value>> {
        let (api_version, kind) = match kind.rsplit_once(' ') {
            Some((api_version, kind)) => (api_version.to_owned(), kind),
            None => (self.api_version_of(kind)?, kind),
        };
        let kind = GroupVersionKind::from_api_version(&api_version, kind);
        let mut objects = self.runtime.block_on(self.simulation.list(&kind, Default::default()))?;
        objects.iter_mut().for_each(without_managers);
        Ok(objects)
    }

    /// An object is there as it is given, with its UID, its owners and its status, if it has them; also in the place of another.
    ///
    /// # Errors
    ///
    /// What its kind has against it.
    pub fn put(&mut self, object: impl Serialize) -> Result {
        let object = serde_json::to_value(object).map_err(|error| Error::new(format!("an object is no JSON: {error}")))?;
        let _entered = self.runtime.enter();
        Ok(self.simulation.put(object)?)
    }

    /// Somebody changes an object, as with `kubectl edit`.
    ///
    /// # Errors
    ///
    /// When there is none of that name, or the API server does not take the change.
    pub fn edit(&mut self, object: impl Into<Reference>, change: impl FnOnce(&mut Value)) -> Result {
        self.change(Subresource::None, object.into(), change)
    }

    /// Somebody whose business it is, say the controller of a child's kind, writes the whole status of an object.
    ///
    /// # Errors
    ///
    /// When there is none of that name, or the API server does not take the status.
    pub fn set_status(&mut self, object: impl Into<Reference>, status: impl Into<Value>) -> Result {
        let status = status.into();
        self.change(Subresource::Status, object.into(), |object| {
            if let Some(fields) = object.as_object_mut() {
                fields.insert("status".to_owned(), status);
            }
        })
    }

    /// Somebody deletes an object, as with `kubectl delete --wait=false`. [Settle](Self::settle), and see what is left.
    ///
    /// # Errors
    ///
    /// When there is none of that name.
    pub fn delete(&mut self, object: impl Into<Reference>) -> Result {
        let subject = self.subject(object.into())?;
        Ok(self.runtime.block_on(self.simulation.delete(&subject))?)
    }

    /// The mount changes over to this version of the plugin, with the settings that it has, over what the old one has left.
    ///
    /// # Errors
    ///
    /// When it is another plugin, or refuses the settings.
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

    /// The host stops and starts anew: it remembers nothing but what the cluster holds.
    ///
    /// # Errors
    ///
    /// When the host fails.
    pub fn restart(&mut self) -> Result {
        if let Some(Host { stop, running, .. }) = self.host.take() {
            drop(stop);
            self.runtime.block_on(running)?;
        }
        Ok(())
    }

    /// Something happens while the host runs. As in `gyre render`, it has its turn first, so that a plan comes out the same.
    fn meanwhile<T>(&mut self, happens: impl AsyncFnOnce(&Simulation, &[Program]) -> T) -> Result<T> {
        let Self { simulation, programs, host, recordings, runtime, .. } = self;
        let host = host.get_or_insert_with(|| {
            let _entered = runtime.enter();
            Host::new(simulation, programs, recordings)
        });
        let ended = runtime.block_on(async {
            tokio::select! {
                biased;
                ended = &mut host.running => Err(ended),
                happened = happens(simulation, programs) => Ok(happened),
            }
        });
        match ended {
            Ok(happened) => Ok(happened),
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
        found.iter_mut().for_each(without_managers);
        Ok(found)
    }

    /// Which object is meant: of a kind that a plugin knows, or else of the one that the cluster serves under that name.
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
            0 => Err(Error::new(format!("no kind {kind} is served: it takes its CustomResourceDefinition"))),
            1 => Ok(served.remove(0)),
            _ => Err(Error::new(format!("there are several kinds {kind}: write before it one of {}", served.join(", ")))),
        }
    }
}

/// Who wrote which field is of no use to a test, and long.
fn without_managers(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
}
