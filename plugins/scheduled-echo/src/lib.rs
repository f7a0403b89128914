//! A ScheduledEcho writes its message time and again: a CronJob does.
//!
//! A change of the message or the schedule reaches the CronJob, and so the next run. What is absent: a check of the schedule,
//! which is the API server's.

use echo_pod::{JobSpec, SETTINGS_SCHEMA, Settings};
use gyre_sdk::names::{dns_label, dns_label_within};
use gyre_sdk::{Cluster, Condition, Desired, Event, Failure, Kind, Manifest, Object, Reconciler, Response, Strategy};
use serde::{Deserialize, Serialize};

/// What is reconciled.
pub const SCHEDULED_ECHO: Kind = Kind::new("mmontes.io/v1alpha1", "ScheduledEcho");

/// What writes the message.
pub const CRON_JOB: Kind = Kind::new("batch/v1", "CronJob");

/// The API server takes no longer names: the CronJob controller appends 11 characters to name the Jobs.
const CRON_JOB_NAME_LIMIT: usize = 52;

/// The plugin.
pub struct ScheduledEchoReconciler;

gyre_sdk::export!(ScheduledEchoReconciler);

impl Reconciler for ScheduledEchoReconciler {
    type Parent = ScheduledEcho;
    type Settings = Settings;

    fn manifest() -> Manifest {
        Manifest::new("scheduled-echo", env!("CARGO_PKG_VERSION"), SCHEDULED_ECHO)
            .description(env!("CARGO_PKG_DESCRIPTION"))
            .child(CRON_JOB, Strategy::Apply)
            .settings_schema(SETTINGS_SCHEMA)
            .crd(include_str!("../crd.json"))
    }

    fn reconcile(echo: &ScheduledEcho, settings: &Settings, cluster: &Cluster) -> Result<Response, Failure> {
        let name = dns_label_within(&echo.metadata.name, CRON_JOB_NAME_LIMIT);
        let cron_jobs: Vec<CronJob> = cluster.children(CRON_JOB)?;
        let container_name = dns_label(&echo.metadata.name);
        let spec = CronJobSpec {
            schedule: &echo.spec.schedule,
            concurrency_policy: "Forbid",
            job_template: JobTemplate { spec: JobSpec::new(&container_name, &echo.spec.message, settings) },
        };
        let status = Status { cron_job: &name, last_run: last_run(echo, &cron_jobs, &name) };
        let message = format!("CronJob {name} runs the message");
        Ok(Response::new()
            .apply(&Desired::new(CRON_JOB, &name, spec))?
            .status(&status)?
            .condition(Condition::yes("Ready", "CronJobCreated", message.as_str()))
            .event(Event::normal("CronJobCreated", message)))
    }
}

/// The parent.
pub type ScheduledEcho = Object<ScheduledEchoSpec, ScheduledEchoStatus>;

/// What its user wants.
#[derive(Debug, Deserialize)]
pub struct ScheduledEchoSpec {
    /// What to write.
    pub message: String,
    /// When to write it, in the syntax of cron.
    pub schedule: String,
}

/// What is recorded of it, as far as it is read again.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScheduledEchoStatus {
    /// When the CronJob was last due, in RFC 3339.
    pub last_run: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Status<'a> {
    cron_job: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_run: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CronJobSpec<'a> {
    schedule: &'a str,
    concurrency_policy: &'static str,
    job_template: JobTemplate<'a>,
}

#[derive(Serialize)]
struct JobTemplate<'a> {
    spec: JobSpec<'a>,
}

/// A CronJob as the cluster holds it.
#[derive(Deserialize)]
struct CronJob {
    metadata: CronJobMetadata,
    status: Option<CronJobStatus>,
}

#[derive(Deserialize)]
struct CronJobMetadata {
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CronJobStatus {
    last_schedule_time: Option<String>,
}

/// As the CronJob says or, while a new one has not run yet, as was recorded of the one before.
fn last_run<'a>(echo: &'a ScheduledEcho, cron_jobs: &'a [CronJob], name: &str) -> Option<&'a str> {
    let cron_job = cron_jobs.iter().find(|cron_job| cron_job.metadata.name == name);
    let observed = cron_job.and_then(|cron_job| cron_job.status.as_ref()?.last_schedule_time.as_deref());
    observed.or_else(|| echo.status.as_ref()?.last_run.as_deref())
}

#[cfg(test)]
mod tests;
