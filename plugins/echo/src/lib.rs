//! A Job writes the message of an Echo once.
//!
//! ```text
//!   Running ── its Job ends ──▶ Finished
//!     ▲ │                          │
//!     │ └─ the message changes ──┐ │ the message changes
//!     │                          ▼ ▼
//!     └── the Job is deleted ── Outdated
//! ```
//!
//! The end of a run is recorded in the status, so that the message is not written again when the
//! Job is deleted. What is absent: retries.

use echo_pod::Settings;
use gyre_sdk::k8s::{Job, JobSpec};
use gyre_sdk::names::dns_label;
use gyre_sdk::{
    Cluster, Condition, CustomResource, Manifest, Metadata, Object, Plan, Reconciler, Report, Result, Schema, Severity,
    Strategy,
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
    finished: Option<Run>,
}

#[derive(Clone, Debug, Deserialize, Serialize, Schema)]
struct Run {
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

type Echo = Object<EchoSpec, EchoStatus>;

impl Reconciler for EchoReconciler {
    type Parent = Echo;
    type Settings = Settings;

    fn manifest() -> Manifest {
        gyre_sdk::manifest!(Self::Parent).child::<Job>(Strategy::CreateOnly)
    }

    fn reconcile(echo: &Echo, settings: &Settings, cluster: &Cluster) -> Result<Plan> {
        let name = dns_label(&echo.metadata.name);
        let job = cluster.child::<Job>(&name)?;
        let state = State::of(echo, job.as_ref());

        let plan = match state {
            // It is created if it does not exist, and otherwise not touched: see the strategy.
            State::Running(_) => Plan::children([job_of(echo, &name, settings)]),
            // It stays if it exists, and does not come back if it was deleted.
            State::Outdated | State::Finished(_) => Plan::no_children().keep(Job::named(&name)),
        };
        let ready = state.ready(&name);
        let complete = state.complete(&ready.condition);
        let status = EchoStatus { job: name, finished: state.last_run(echo) };
        Ok(plan.report(ready).condition(complete).status(status))
    }
}

/// The state of a message. The first line that applies decides:
///
/// | the run in the status | the Job            | state                   |
/// |-----------------------|--------------------|-------------------------|
/// | of this generation    | whatever           | `Finished`              |
/// | another, or no run    | there is no Job    | `Running`: it starts    |
/// | another, or no run    | of another message | `Outdated`              |
/// | another, or no run    | has ended          | `Finished`: it is noted |
/// | another, or no run    | has not ended      | `Running`               |
#[derive(Clone, Copy)]
enum State {
    /// The Job runs, or starts now.
    Running(Safety),
    /// The Job is for another message. Whether it has ended does not matter.
    Outdated,
    /// The Job has ended. It may have been deleted since.
    Finished(RunResult),
}

/// Whether Kubernetes leaves a running Job alone.
#[derive(Clone, Copy)]
enum Safety {
    Safe,
    MayBeDeleted,
}

impl State {
    fn of(echo: &Echo, job: Option<&Job>) -> Self {
        let recorded = recorded(echo).filter(|run| run.generation == echo.metadata.generation);
        if let Some(run) = recorded {
            return Self::Finished(run.result);
        }
        let Some(job) = job else { return Self::Running(Safety::Safe) };
        if message_of(job).as_deref() != Some(&echo.spec.message) {
            return Self::Outdated;
        }
        match result_of(job) {
            Some(result) => Self::Finished(result),
            None => Self::Running(safety_of(job)),
        }
    }

    /// Returns the condition `Ready`. It is the same before and after the Job is created, which
    /// saves a write.
    fn ready(self, name: &str) -> Report {
        match self {
            Self::Running(Safety::Safe) => Report::ready("JobCreated", format!("Job {name} runs the message")),
            Self::Running(Safety::MayBeDeleted) => may_be_deleted(name),
            Self::Outdated => {
                let message = format!("Job {name} is for an earlier message; delete it to run the present one");
                Report::not_ready("JobOutdated", message).severity(Severity::Normal)
            }
            Self::Finished(RunResult::Complete) => Report::ready("JobComplete", format!("Job {name} ran the message")),
            Self::Finished(RunResult::Failed) => Report::not_ready("JobFailed", format!("Job {name} failed")),
        }
    }

    /// Returns the condition `Complete`, for scripts that wait until the message is written.
    fn complete(self, ready: &Condition) -> Condition {
        let reason = match self {
            Self::Running(_) => "JobNotFinished",
            Self::Outdated | Self::Finished(_) => &ready.reason,
        };
        let is_complete = matches!(self, Self::Finished(RunResult::Complete));
        Condition::new("Complete", is_complete, reason, &ready.message)
    }

    /// Returns the run for the status. That of an earlier message stays until there is another one.
    fn last_run(self, echo: &Echo) -> Option<Run> {
        match self {
            Self::Running(_) | Self::Outdated => recorded(echo).cloned(),
            Self::Finished(result) => {
                let Metadata { uid, generation, .. } = &echo.metadata;
                Some(Run { uid: uid.clone(), generation: *generation, result })
            }
        }
    }
}

/// Returns the run in the status. A status that was copied from another object does not count.
fn recorded(echo: &Echo) -> Option<&Run> {
    let run = echo.status.as_ref()?.finished.as_ref()?;
    (run.uid == echo.metadata.uid).then_some(run)
}

fn job_of(echo: &Echo, name: &str, settings: &Settings) -> Job {
    let template = echo_pod::pod(name, &echo.spec.message, settings);
    Job::new(name).with_spec(JobSpec::new().with_template(template))
}

/// Returns the message of a Job, whose container has the same name. Admission webhooks may have
/// added other containers.
fn message_of(job: &Job) -> Option<String> {
    let mut containers = job.spec().template().spec().containers();
    let container = containers.find(|container| container.name() == Some(job.name()))?;
    let command: Vec<&str> = container.command().collect();
    match command.as_slice() {
        [_, message] => Some((*message).to_owned()),
        _ => None,
    }
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

/// Jobs of echoperator have `controller: true` in their owner reference. The CronJob controller of
/// Kubernetes looks only at the name of the controller, so it takes such a Job for one of its own
/// if there is a CronJob of the same name.
fn safety_of(job: &Job) -> Safety {
    let is_controlled = job.metadata().owner_references().any(|owner| owner.controller() == Some(true));
    if is_controlled { Safety::MayBeDeleted } else { Safety::Safe }
}

fn may_be_deleted(name: &str) -> Report {
    let message = format!(
        "Job {name} is running; if there is a CronJob {name}, Kubernetes takes the Job for one of its Jobs and may delete it before \
         its result is recorded: remove `controller: true` from the Job's owner reference"
    );
    Report::ready("JobMayBeDeleted", message).severity(Severity::Warning)
}

#[cfg(test)]
mod tests;
