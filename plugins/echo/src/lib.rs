//! Runs a Job that writes the message of an Echo, once for each new message.
//!
//! An Echo has one Job, which is never changed. When the Job has finished, with success or not, the
//! status records the result and the generation of the Echo, so that the message is not written
//! again when the Job is deleted. A new message is a new generation, which has no record, also if
//! it is the message before last. So the record and the Job decide:
//!
//! ```text
//!   the Job                   no record of this generation        recorded
//!   ───────────────────────   ─────────────────────────────────   ────────
//!   does not exist            Unfinished: it is created           Finished
//!   is for this message       Unfinished until it has finished,   Finished
//!                             then Finished, which is recorded
//!   is for an earlier one     Outdated                            Finished
//! ```
//!
//! The last cell is for completeness: a generation is recorded from its own Job. Outdated ends when
//! people delete the Job, whose log they may still need, or give the Echo the message of the Job
//! again. A Job that is deleted before its result is recorded is created again.
//!
//! What is absent: retries. Kubernetes retries the Pods of a Job (`backoffLimit`), and a Job that
//! has failed does not run again for the same message.

use echo_pod::Settings;
use gyre_sdk::k8s::{Job, JobSpec};
use gyre_sdk::names::dns_label;
use gyre_sdk::{
    Cluster, Condition, CustomResource, Manifest, Metadata, Plan, Reconciler, Report, Result, Schema, Severity, Strategy,
};
use serde::{Deserialize, Serialize};

/// Writes a message once, with a Job.
#[derive(Debug, Deserialize, CustomResource)]
#[resource(group = "mmontes.io", version = "v1alpha1", kind = "Echo", short_name = "ec", status = EchoStatus)]
#[resource(
    conditions = "Ready: False if the Job has failed, even if it has been deleted since, or if it is for an earlier message and has to be deleted; otherwise True, also before the Job exists. Complete: True once the Job has written the message."
)]
#[resource(column("Message", ".spec.message"), condition("Ready"), condition("Complete"), column("Job", ".status.job"), age)]
pub struct EchoSpec {
    /// The message to write.
    pub message: String,
}

/// The status of an Echo, without the conditions.
#[derive(Debug, Default, Deserialize, Serialize, Schema)]
pub struct EchoStatus {
    /// The name of the Job, for people and scripts.
    #[serde(skip_deserializing)]
    job: String,
    /// The last run that has finished. It is not repeated when its Job is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    finished: Option<Run>,
}

/// A run of a Job that has finished.
#[derive(Clone, Debug, Deserialize, Serialize, Schema)]
struct Run {
    /// The UID of this Echo. A status that was copied from another one does not count.
    uid: String,
    /// The generation of this Echo with the message of the Job.
    generation: i64,
    /// The result of the Job.
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
    type Parent = Echo;
    type Settings = Settings;

    fn manifest() -> Manifest {
        gyre_sdk::manifest!(Self::Parent).child::<Job>(Strategy::CreateOnly)
    }

    fn reconcile(echo: &Echo, settings: &Settings, cluster: &Cluster) -> Result<Plan> {
        let name = dns_label(echo.name());
        // A Job of somebody else with this name is no child, so it is not found here. The host
        // leaves it alone, and sets `Ready` to False with the reason `ForeignObject`.
        let job = cluster.child::<Job>(&name)?;
        let state = State::of(echo, job.as_ref());

        let plan = match state {
            // The Job is created. One that exists is not touched: the strategy is `CreateOnly`.
            State::Unfinished => Plan::children([job_of(echo, &name, settings)]),
            // The Job stays if it exists, and is not created if it does not.
            State::Outdated | State::Finished(_) => Plan::no_children().keep_child(Job::named(&name)),
        };
        let ready = match &job {
            Some(job) if state == State::Unfinished && has_controller(job) => may_be_deleted(&name, echo.name()),
            _ => state.ready(&name),
        };
        let complete = state.complete(&ready.condition);
        let status = EchoStatus { job: name, finished: state.last_run(echo) };
        Ok(plan.report(ready).condition(complete).status(status))
    }
}

/// The state of an Echo, as in the table above.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// The Job has not finished, or does not exist yet.
    Unfinished,
    /// The Job is for an earlier message. Whether it has finished does not matter.
    Outdated,
    /// The Job has finished. It may have been deleted since.
    Finished(RunResult),
}

impl State {
    fn of(echo: &Echo, job: Option<&Job>) -> Self {
        let run_of_this_generation = run_in_status(echo).filter(|run| run.generation == echo.metadata.generation);
        if let Some(run) = run_of_this_generation {
            return Self::Finished(run.result);
        }
        let Some(job) = job else { return Self::Unfinished };
        if message_of(job).as_deref() != Some(&echo.spec.message) {
            return Self::Outdated;
        }
        match result_of(job) {
            Some(result) => Self::Finished(result),
            None => Self::Unfinished,
        }
    }

    /// Returns the condition `Ready`, with an event. It is the same before and after the Job is
    /// created, which saves a write.
    fn ready(self, name: &str) -> Report {
        match self {
            Self::Unfinished => Report::ready("JobCreated", format!("Job {name} runs the message")),
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
        let is_complete = self == Self::Finished(RunResult::Complete);
        let reason = if self == Self::Unfinished { "JobNotFinished" } else { &ready.reason };
        Condition::new("Complete", is_complete, reason, &ready.message)
    }

    /// Returns the run for the status. That of an earlier message stays until there is another one.
    fn last_run(self, echo: &Echo) -> Option<Run> {
        match self {
            Self::Unfinished | Self::Outdated => run_in_status(echo).cloned(),
            Self::Finished(result) => {
                let Metadata { uid, generation, .. } = &echo.metadata;
                Some(Run { uid: uid.clone(), generation: *generation, result })
            }
        }
    }
}

/// Returns the run in the status, of this generation or an earlier one.
fn run_in_status(echo: &Echo) -> Option<&Run> {
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

/// Returns whether the owner reference of a Job says `controller: true`. The host never sets it for
/// Jobs, but echoperator did, the operator before this plugin, and its Jobs are taken over.
fn has_controller(job: &Job) -> bool {
    job.metadata().owner_references().any(|owner| owner.controller() == Some(true))
}

/// Warns of a running Job with a controller. The CronJob controller of Kubernetes knows its Jobs by
/// the name of their controller alone, so it takes this Job for one of its own if there is a
/// CronJob with the name of the Echo.
fn may_be_deleted(job: &str, echo: &str) -> Report {
    let message = format!(
        "Job {job} is running; if there is a CronJob {echo}, Kubernetes takes the Job for one of its Jobs and may delete it before \
         its result is recorded: remove `controller: true` from the Job's owner reference"
    );
    Report::ready("JobMayBeDeleted", message).severity(Severity::Warning)
}

#[cfg(test)]
mod tests;
