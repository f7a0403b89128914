//! A Job writes the message of an Echo once.
//!
//! ```text
//!   no Job, nothing recorded ──▶ Job created ──▶ complete or failed, in the status ──▶ no more
//!             ▲                     │                             │
//!             └─ deleted unfinished ┘         message changed and Job deleted ──▶ Job created
//! ```
//!
//! A change of the message does not affect an existing Job. What is absent: retries.

use echo_pod::{SETTINGS_SCHEMA, Settings};
use gyre_sdk::k8s::Job;
use gyre_sdk::names::dns_label;
use gyre_sdk::{
    Cluster, Condition, CustomResource, DynamicObject, Failure, Manifest, Metadata, Object, Reconciler, Report, Response,
    Schema, Severity, Strategy,
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
#[derive(Debug, Deserialize, Serialize, Schema)]
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
        gyre_sdk::manifest!(Self::Parent).child(Job::KIND, Strategy::CreateOnly).settings_schema(SETTINGS_SCHEMA)
    }

    fn reconcile(echo: &Self::Parent, settings: &Settings, cluster: &Cluster) -> Result<Response, Failure> {
        let (Metadata { uid, generation, .. }, message) = (&echo.metadata, echo.spec.message.as_str());
        let name = dns_label(&echo.metadata.name);
        let job = &cluster.child(Job::KIND, &name)?;
        // Only these mean that a Job has ended; `SuccessCriteriaMet` and `FailureTarget` come
        // before.
        let is = |kind: &str| job.as_ref().is_some_and(|job| job.is_condition_true(kind));
        let ended = is("Complete").then_some(RunResult::Complete).or_else(|| is("Failed").then_some(RunResult::Failed));
        let is_outdated = job.as_ref().is_some_and(|job| message_of(job, &name) != Some(message));
        let now = ended.filter(|_| !is_outdated).map(|result| Finished { uid: uid.clone(), generation: *generation, result });
        // A status that was copied from another object is ignored.
        let finished = now.or_else(|| echo.status.as_ref()?.finished.clone().filter(|run| run.uid == *uid));
        let result = finished.as_ref().filter(|run| run.generation == *generation && !is_outdated).map(|run| run.result);

        let (is_over, response) = (ended.is_some() || result.is_some(), Response::children());
        let desired = Job::new(&name, echo_pod::pod(&name, message, settings));
        let response = if is_over { response.keep(Job::KIND.named(&name)) } else { response.apply(&desired)? };
        let has_controller =
            |job: &DynamicObject| job.list("/metadata/ownerReferences").any(|owner| owner["controller"] == true);
        // The status does not depend on whether the Job has been observed yet, to save a write.
        let ready = match result {
            Some(RunResult::Complete) => Report::ready("JobComplete", format!("Job {name} ran the message")),
            Some(RunResult::Failed) => Report::not_ready("JobFailed", format!("Job {name} failed")),
            None if is_outdated => {
                let message = format!("Job {name} is for an earlier message; delete it to run the present one");
                Report::not_ready("JobOutdated", message).severity(Severity::Normal)
            }
            // echoperator set `controller: true`; the CronJob controller looks only at the name.
            None if job.as_ref().is_some_and(has_controller) => {
                let message = format!(
                    "Job {name} is running; if there is a CronJob {name}, Kubernetes takes the Job for one of its Jobs and may delete it before \
                     its result is recorded: remove `controller: true` from the Job's owner reference"
                );
                Report::ready("JobMayBePruned", message).severity(Severity::Warning)
            }
            None => Report::ready("JobCreated", format!("Job {name} runs the message")),
        };
        let reason = if result.is_some() || is_outdated { ready.condition.reason.as_str() } else { "JobNotFinished" };
        let complete = Condition::new("Complete", result == Some(RunResult::Complete), reason, &ready.condition.message);
        response.report(ready).condition(complete).status(&EchoStatus { job: name, finished })
    }
}

/// Returns the message of a Job. Admission webhooks may have added other containers.
fn message_of<'a>(job: &'a DynamicObject, container: &str) -> Option<&'a str> {
    let command = job.named("/spec/template/spec/containers", container)?["command"].as_array()?;
    command.get(1).filter(|_| command.len() == 2)?.as_str()
}

#[cfg(test)]
mod tests;
