//! An Echo writes its message once: a Job does.
//!
//! ```text
//!   no Job, nothing recorded ──▶ Job created ──▶ complete or failed: recorded in the status ──▶ not run again
//!             ▲                     │                                    │
//!             └─ deleted unfinished ┘          message changed, and the Job deleted ──▶ Job created
//! ```
//!
//! Two conditions say how far an Echo is. `Ready`: its Job exists, runs the present message and has not failed. `Complete`: the
//! Job has written the message, which is what a script waits for.
//!
//! A change of the message does not touch a Job that exists. What is absent: retries, which are the Job's own.

use echo_pod::{JobSpec, SETTINGS_SCHEMA, Settings};
use gyre_sdk::names::dns_label;
use gyre_sdk::{
    Cluster, Condition, Desired, Event, Failure, Kind, Manifest, Object, ObservedConditions, Reconciler, Response, Severity,
    Strategy, Truth,
};
use serde::{Deserialize, Serialize};

/// What is reconciled.
pub const ECHO: Kind = Kind::new("mmontes.io/v1alpha1", "Echo");

/// What writes the message.
pub const JOB: Kind = Kind::new("batch/v1", "Job");

/// The plugin.
pub struct EchoReconciler;

gyre_sdk::export!(EchoReconciler);

impl Reconciler for EchoReconciler {
    type Parent = Echo;
    type Settings = Settings;

    fn manifest() -> Manifest {
        Manifest::new("echo", env!("CARGO_PKG_VERSION"), ECHO)
            .description(env!("CARGO_PKG_DESCRIPTION"))
            .child(JOB, Strategy::CreateOnly)
            .settings_schema(SETTINGS_SCHEMA)
            .crd(include_str!("../crd.json"))
    }

    fn reconcile(echo: &Echo, settings: &Settings, cluster: &Cluster) -> Result<Response, Failure> {
        let name = dns_label(&echo.metadata.name);
        let jobs: Vec<Job> = cluster.children(JOB)?;
        let job = jobs.iter().find(|job| job.metadata.name == name);
        let progress = Progress::of(echo, job, &name);

        let response = match progress.wish {
            Wish::Run => {
                let spec = JobSpec::new(&name, &echo.spec.message, settings);
                Response::new().apply(&Desired::new(JOB, &name, spec))?
            }
            Wish::Rest => Response::new().keep(JOB.named(name.as_str())),
        };
        let Report { ready, complete, event } = progress.state.report(&name);
        let response = response.status(&EchoStatus { job: Some(name), finished: progress.finished })?;
        Ok(response.condition(ready).condition(complete).event(event))
    }
}

/// The parent.
pub type Echo = Object<EchoSpec, EchoStatus>;

/// What its user wants.
#[derive(Debug, Deserialize)]
pub struct EchoSpec {
    /// What to write.
    pub message: String,
}

/// What is recorded of it, beside the conditions.
#[derive(Debug, Deserialize, Serialize)]
pub struct EchoStatus {
    /// The name of the Job.
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub job: Option<String>,
    /// The last run that came to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished: Option<Finished>,
}

/// A run that came to its end. It is recorded because its Job may be deleted, e.g. by its TTL.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Finished {
    /// Of the Echo: a status that was copied to another object says nothing about that one.
    pub uid: String,
    /// The generation whose message was run.
    pub generation: i64,
    /// How it ended.
    pub result: RunResult,
}

/// How a run ended: the type of the Job's condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum RunResult {
    /// The message was written.
    Complete,
    /// It was not, and the Job gave up.
    Failed,
}

/// How far an Echo has come.
struct Progress {
    state: State,
    wish: Wish,
    finished: Option<Finished>,
}

#[derive(Clone, Copy)]
enum State {
    Created,
    /// The Job exists, and its owner reference makes the Echo its controller, as echoperator wrote it. Kubernetes' CronJob controller goes by
    /// the controller's name alone: it deletes the Job as one of those of a CronJob of that name.
    MayBePruned,
    Finished(RunResult),
    /// The Job exists, for a message that the Echo no longer has.
    Outdated,
}

enum Wish {
    Run,
    Rest,
}

impl Progress {
    fn of(echo: &Echo, job: Option<&Job>, name: &str) -> Self {
        let result = job.and_then(result_of);
        let is_outdated = job.is_some_and(|job| message_of(job, name) != Some(&echo.spec.message));
        let finished = match result {
            Some(result) if !is_outdated => {
                Some(Finished { uid: echo.metadata.uid.clone(), generation: echo.metadata.generation, result })
            }
            _ => recorded(echo).cloned(),
        };
        let state = match &finished {
            _ if is_outdated => State::Outdated,
            Some(finished) if finished.generation == echo.metadata.generation => State::Finished(finished.result),
            _ if job.is_some_and(Job::has_controller) => State::MayBePruned,
            _ => State::Created,
        };
        let wish = if result.is_some() || matches!(state, State::Finished(_)) { Wish::Rest } else { Wish::Run };
        Self { state, wish, finished }
    }
}

/// What the user is told about a state.
struct Report {
    ready: Condition,
    complete: Condition,
    event: Event,
}

impl State {
    /// The report is the same whether or not the Job has been observed yet, so the status of an Echo is written once until its
    /// Job finishes.
    fn report(self, job: &str) -> Report {
        let (ready, complete, severity, reason, message) = match self {
            Self::Created => (Truth::Yes, Truth::No, Severity::Normal, "JobCreated", format!("Job {job} runs the message")),
            Self::MayBePruned => {
                let message = format!(
                    "Job {job} is running; if there is a CronJob {job}, Kubernetes takes the Job for one of its Jobs and may delete it before its result is recorded: remove `controller: true` from the Job's owner reference"
                );
                (Truth::Yes, Truth::No, Severity::Warning, "JobMayBePruned", message)
            }
            Self::Finished(RunResult::Complete) => {
                (Truth::Yes, Truth::Yes, Severity::Normal, "JobComplete", format!("Job {job} ran the message"))
            }
            Self::Finished(RunResult::Failed) => {
                (Truth::No, Truth::No, Severity::Warning, "JobFailed", format!("Job {job} failed"))
            }
            Self::Outdated => {
                let message = format!("Job {job} is for an earlier message; delete it to run the present one");
                (Truth::No, Truth::No, Severity::Normal, "JobOutdated", message)
            }
        };
        // `Complete=False` with the reason JobCreated would read as if the Job's creation prevented completion.
        let complete_reason = if matches!(self, Self::Created | Self::MayBePruned) { "JobNotFinished" } else { reason };
        let condition = |kind: &str, status, reason: &str| Condition {
            kind: kind.to_owned(),
            status,
            reason: reason.to_owned(),
            message: message.clone(),
        };
        Report {
            ready: condition("Ready", ready, reason),
            complete: condition("Complete", complete, complete_reason),
            event: Event { severity, reason: reason.to_owned(), message },
        }
    }
}

/// What was recorded of this very object.
fn recorded(echo: &Echo) -> Option<&Finished> {
    echo.status.as_ref()?.finished.as_ref().filter(|finished| finished.uid == echo.metadata.uid)
}

/// A Job as the cluster holds it.
#[derive(Deserialize)]
struct Job {
    metadata: JobMetadata,
    spec: ObservedJobSpec,
    status: Option<JobStatus>,
}

impl Job {
    fn has_controller(&self) -> bool {
        self.metadata.owner_references.iter().flatten().any(|reference| reference.controller == Some(true))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JobMetadata {
    name: String,
    owner_references: Option<Vec<OwnerReference>>,
}

#[derive(Deserialize)]
struct OwnerReference {
    controller: Option<bool>,
}

#[derive(Deserialize)]
struct ObservedJobSpec {
    template: ObservedTemplate,
}

#[derive(Deserialize)]
struct ObservedTemplate {
    spec: ObservedPod,
}

#[derive(Deserialize)]
struct ObservedPod {
    containers: Vec<ObservedContainer>,
}

#[derive(Deserialize)]
struct ObservedContainer {
    name: String,
    #[serde(default)]
    command: Vec<String>,
}

#[derive(Deserialize)]
struct JobStatus {
    #[serde(default)]
    conditions: ObservedConditions,
}

/// Only these two conditions mean that a Job has come to its end; `SuccessCriteriaMet` and `FailureTarget` precede them.
fn result_of(job: &Job) -> Option<RunResult> {
    let conditions = &job.status.as_ref()?.conditions;
    if conditions.is_true("Complete") {
        Some(RunResult::Complete)
    } else if conditions.is_true("Failed") {
        Some(RunResult::Failed)
    } else {
        None
    }
}

/// The message that a Job writes. Other containers are those that an admission webhook added.
fn message_of<'a>(job: &'a Job, container_name: &str) -> Option<&'a String> {
    let container = job.spec.template.spec.containers.iter().find(|container| container.name == container_name)?;
    match container.command.as_slice() {
        [_, message] => Some(message),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
