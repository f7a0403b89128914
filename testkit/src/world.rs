//! A cluster in memory, its host, and the changes that a test makes.

use std::time::Duration;

use gyre_sdk::Time;
use serde::Serialize;
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::native::milliseconds;
use crate::plugin::Plugin;
use crate::reference::Reference;
use crate::run::Run;
use crate::session::Session;

/// A cluster in memory, and a host that runs on it with the plugin under test.
///
/// The clock is simulated: it advances without waiting, and only in [`settle`](Self::settle),
/// [`advance`](Self::advance) and changes. Objects are named by a [`Reference`].
pub struct World {
    session: Session,
}

impl World {
    pub(crate) fn new(session: Session) -> Self {
        Self { session }
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
        self.run(false)
    }

    /// Like [`Self::settle`], but allows calls that end by a fault of the plugin. The host reports
    /// them in conditions and events, and retries.
    ///
    /// # Errors
    ///
    /// If the host never stops writing, with its last writes.
    pub fn settle_with_faults(&mut self) -> Result<Run> {
        self.run(true)
    }

    fn run(&self, allow_faults: bool) -> Result<Run> {
        let run = self.session.ask(&json!({"settle": {"allowFaults": allow_faults}}))?;
        serde_json::from_value(run).map_err(|error| Error::new(format!("a run of gyre is not as expected: {error}")))
    }

    /// Advances the clock. The host makes the calls that are due, and CronJobs create Jobs. Time in
    /// which nothing is due costs nothing.
    ///
    /// # Errors
    ///
    /// If the host fails.
    pub fn advance(&mut self, time: Duration) -> Result {
        self.done(&json!({"advance": {"ms": milliseconds(time)}}))
    }

    /// Returns how often the simulation has had nothing to do, and so moved its clock: a measure of
    /// its cost that does not depend on the machine.
    ///
    /// # Errors
    ///
    /// If the program has ended.
    pub fn steps(&self) -> Result<u64> {
        let answer = self.session.ask(&json!({"steps": {}}))?;
        Ok(answer.get("steps").and_then(Value::as_u64).unwrap_or_default())
    }

    /// Returns the simulated time.
    ///
    /// # Errors
    ///
    /// If the program has ended.
    pub fn now(&self) -> Result<Time> {
        let answer = self.session.ask(&json!({"now": {}}))?;
        let time = answer.get("time").and_then(Value::as_str).unwrap_or_default();
        time.parse().map_err(|error| Error::new(format!("{error}")))
    }

    /// Returns the current state of an object.
    ///
    /// # Errors
    ///
    /// If there is no such object.
    pub fn get(&self, object: impl Into<Reference>) -> Result<Value> {
        let reference = object.into();
        self.find(reference.clone())?.ok_or_else(|| Error::new(format!("there is no {reference}")))
    }

    /// Returns the current state of an object, or `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// If its kind is not served.
    pub fn find(&self, object: impl Into<Reference>) -> Result<Option<Value>> {
        let mut answer = self.session.ask(&json!({"find": {"object": object.into()}}))?;
        Ok(answer.get_mut("object").map(Value::take).filter(|object| !object.is_null()))
    }

    /// Returns all objects of a kind (`Job` or `batch/v1 Job`), by namespace and name.
    ///
    /// # Errors
    ///
    /// If the kind is not served.
    pub fn list(&self, kind: &str) -> Result<Vec<Value>> {
        match self.session.ask(&json!({"list": {"kind": kind}}))?.get_mut("objects").map(Value::take) {
            Some(Value::Array(objects)) => Ok(objects),
            _ => Ok(Vec::new()),
        }
    }

    /// Stores an object unchanged, with its UID, owners and status. An existing object is replaced.
    ///
    /// # Errors
    ///
    /// If its kind does not allow it.
    pub fn put(&mut self, object: impl Serialize) -> Result {
        let object = serde_json::to_value(object).map_err(|error| Error::new(format!("an object is no JSON: {error}")))?;
        self.done(&json!({"put": {"object": object}}))
    }

    /// Changes an object like `kubectl edit`.
    ///
    /// # Errors
    ///
    /// If there is no such object, or the API server rejects the change.
    pub fn edit(&mut self, object: impl Into<Reference>, change: impl FnOnce(&mut Value)) -> Result {
        let mut object = self.get(object)?;
        change(&mut object);
        self.done(&json!({"replace": {"object": object}}))
    }

    /// Replaces the status of an object, like the controller of its kind.
    ///
    /// # Errors
    ///
    /// If there is no such object, or the API server rejects the status.
    pub fn set_status(&mut self, object: impl Into<Reference>, status: impl Into<Value>) -> Result {
        self.done(&json!({"setStatus": {"object": object.into(), "status": status.into()}}))
    }

    /// Deletes an object like `kubectl delete --wait=false`. [`settle`](Self::settle) completes it.
    ///
    /// # Errors
    ///
    /// If there is no such object.
    pub fn delete(&mut self, object: impl Into<Reference>) -> Result {
        self.done(&json!({"delete": {"object": object.into()}}))
    }

    /// Lets the Pods of a Job succeed until the Job is complete.
    ///
    /// # Errors
    ///
    /// If the Job does not exist, has no Pods (e.g. because it is suspended), or ends differently.
    pub fn finish_job(&mut self, job: impl Into<Reference>) -> Result {
        self.done(&json!({"endJob": {"object": job.into(), "end": "succeeds"}}))
    }

    /// Lets the Pods of a Job fail, one after the other, until the Job has failed. That takes
    /// simulated time, because the Job controller waits longer before each.
    ///
    /// # Errors
    ///
    /// If the Job does not exist, has no Pods (e.g. because it is suspended), or ends differently.
    pub fn fail_job(&mut self, job: impl Into<Reference>) -> Result {
        self.done(&json!({"endJob": {"object": job.into(), "end": "fails"}}))
    }

    /// Replaces the plugin of a mount by another version, with the same settings.
    ///
    /// # Errors
    ///
    /// If no plugin of that name is mounted, or the version rejects the settings.
    pub fn upgrade(&mut self, plugin: Plugin) -> Result {
        self.session.add(&plugin);
        self.done(&json!({"upgrade": {"plugin": plugin.number()}}))
    }

    /// Stops the host. The next run starts another, which knows only the cluster.
    ///
    /// # Errors
    ///
    /// If the host fails.
    pub fn restart(&mut self) -> Result {
        self.done(&json!({"restart": {}}))
    }

    fn done(&self, request: &Value) -> Result {
        self.session.ask(request).map(drop)
    }
}
