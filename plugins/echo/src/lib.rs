//! A Job writes the message of an Echo once.
//!
//! ```text
//!   no Job, nothing recorded ──▶ Job created ──▶ complete or failed, in the status ──▶ no more
//!             ▲                     │                             │
//!             └─ deleted unfinished ┘         message changed and Job deleted ──▶ Job created
//! ```
//!
//! A change of the message does not affect an existing Job. What is absent: retries.

use echo_pod::Settings;
use gyre_sdk::k8s::{Job, JobSpec};
use gyre_sdk::names::dns_label;
use gyre_sdk::{
    Cluster, Condition, CustomResource, Manifest, Object, Plan, Reconciler, Report, Result, Schema, Severity, Strategy,
};
use serde::{Deserialize, Serialize};

/// Writes a message once, with a Job.
#[derive(Debug, Deserialize, CustomResource)]
#[resource(group = "mmontes.io", version = "v1alpha1", kind = "Echo", short_name = "ec", status = EchoStatus)]
#[resource(
    conditions = "Ready: the Job exists, runs the present message and has not failed. Complete: the Job has written the message."
)]
#[resource(column("Message", ".spec.message"), condition("Ready"), condition("Complete"), column("Job", ".status.job"), age)]
pub struct EchoSpec {
    /// The message to write.
    pub message: String,
}

/// The status of an Echo, without the conditions.
#[derive(Debug, Default, Deserialize, Serialize, Schema)]
pub struct EchoStatus {
    /// The name of the Job.
    #[serde(skip_deserializing)]
    job: String,
    /// The last run that came to its end. It is not repeated when its Job is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    finished: Option<Finished>,
}

#[derive(Clone, Debug, Deserialize, Serialize, Schema)]
struct Finished {
    /// The UID of this object at that time.
    uid: String,
    /// The generation whose message was run.
    generation: i64,
    result: RunResult,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, Schema)]
enum RunResult {
    Complete,
    Failed,
}

/// The plugin.
pub struct EchoReconciler;

gyre_sdk::export!(EchoReconciler);

impl Reconciler for EchoReconciler {
    type Parent = Object<EchoSpec, EchoStatus>;
    type Settings = Settings;

    fn manifest() -> Manifest {
        gyre_sdk::manifest!(Self::Parent).child::<Job>(Strategy::CreateOnly)
    }

    fn reconcile(echo: &Self::Parent, settings: &Settings, cluster: &Cluster) -> Result<Plan> {
        let name = dns_label(&echo.metadata.name);
        let job = cluster.child::<Job>(&name)?;
        let state = State::of(echo, &name, job.as_ref());

        let plan = if state.needs_no_job() {
            // The Job stays if it exists, and does not come back if it was deleted.
            Plan::no_children().keep(Job::named(&name))
        } else {
            let template = echo_pod::pod(&name, &echo.spec.message, settings);
            Plan::children([Job::new(&name).with_spec(JobSpec::new().with_template(template))])
        };
        let ready = state.ready(&name, job.as_ref());
        let complete = state.complete(&ready.condition);
        Ok(plan.report(ready).condition(complete).status(&EchoStatus { job: name, finished: state.finished }))
    }
}

/// The state of the message.
struct State {
    /// The last run that came to its end, of this message or an earlier one.
    finished: Option<Finished>,
    /// The result of the run of this message.
    result: Option<RunResult>,
    /// Whether the Job that exists has ended.
    has_job_ended: bool,
    /// Whether the Job that exists is for an earlier message.
    is_job_outdated: bool,
}

impl State {
    fn of(echo: &Object<EchoSpec, EchoStatus>, name: &str, job: Option<&Job>) -> Self {
        let ended = job.and_then(result_of);
        let is_job_outdated = job.is_some_and(|job| message_of(job, name).as_deref() != Some(&echo.spec.message));
        let finished = match ended {
            Some(result) if !is_job_outdated => Some(Finished::now(echo, result)),
            _ => recorded(echo),
        };
        let is_of_this_message = |run: &&Finished| run.generation == echo.metadata.generation && !is_job_outdated;
        let result = finished.as_ref().filter(is_of_this_message).map(|run| run.result);
        Self { finished, result, has_job_ended: ended.is_some(), is_job_outdated }
    }

    fn needs_no_job(&self) -> bool {
        self.has_job_ended || self.result.is_some()
    }

    /// It does not depend on whether the Job has been observed yet, which saves a write.
    fn ready(&self, name: &str, job: Option<&Job>) -> Report {
        match self.result {
            Some(RunResult::Complete) => Report::ready("JobComplete", format!("Job {name} ran the message")),
            Some(RunResult::Failed) => Report::not_ready("JobFailed", format!("Job {name} failed")),
            None if self.is_job_outdated => {
                let message = format!("Job {name} is for an earlier message; delete it to run the present one");
                Report::not_ready("JobOutdated", message).severity(Severity::Normal)
            }
            None if job.is_some_and(has_controller) => may_be_pruned(name),
            None => Report::ready("JobCreated", format!("Job {name} runs the message")),
        }
    }

    fn complete(&self, ready: &Condition) -> Condition {
        let is_told_by_ready = self.result.is_some() || self.is_job_outdated;
        let reason = if is_told_by_ready { ready.reason.as_str() } else { "JobNotFinished" };
        Condition::new("Complete", self.result == Some(RunResult::Complete), reason, &ready.message)
    }
}

impl Finished {
    fn now(echo: &Object<EchoSpec, EchoStatus>, result: RunResult) -> Self {
        Self { uid: echo.metadata.uid.clone(), generation: echo.metadata.generation, result }
    }
}

/// The run in the status. A status that was copied from another object is ignored.
fn recorded(echo: &Object<EchoSpec, EchoStatus>) -> Option<Finished> {
    let finished = echo.status.as_ref()?.finished.clone()?;
    (finished.uid == echo.metadata.uid).then_some(finished)
}

fn result_of(job: &Job) -> Option<RunResult> {
    if job.is_complete() {
        Some(RunResult::Complete)
    } else if job.is_failed() {
        Some(RunResult::Failed)
    } else {
        None
    }
}

/// Returns the message of a Job. Admission webhooks may have added other containers.
fn message_of(job: &Job, container: &str) -> Option<String> {
    let mut containers = job.spec().template().spec().containers();
    let command: Vec<&str> = containers.find(|of| of.name() == Some(container))?.command().collect();
    let [_, message] = command.as_slice() else { return None };
    Some((*message).to_owned())
}

/// Jobs of echoperator have `controller: true`; the CronJob controller looks only at the name.
fn has_controller(job: &Job) -> bool {
    job.metadata().owner_references().any(|owner| owner.controller() == Some(true))
}

fn may_be_pruned(name: &str) -> Report {
    let message = format!(
        "Job {name} is running; if there is a CronJob {name}, Kubernetes takes the Job for one of its Jobs and may delete it before \
         its result is recorded: remove `controller: true` from the Job's owner reference"
    );
    Report::ready("JobMayBePruned", message).severity(Severity::Warning)
}

#[cfg(test)]
mod tests;
