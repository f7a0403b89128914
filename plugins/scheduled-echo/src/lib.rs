//! A CronJob writes the message of a ScheduledEcho repeatedly.
//!
//! A change of the message or schedule applies to the next run. What is absent: validation of the
//! schedule, which the API server does.

use echo_pod::Settings;
use gyre_sdk::k8s::{ConcurrencyPolicy, CronJob, CronJobSpec, JobSpec, JobTemplateSpec};
use gyre_sdk::names::{dns_label, dns_label_within};
use gyre_sdk::{Cluster, CustomResource, Manifest, Plan, Reconciler, Result, Schema, Strategy, Time};
use serde::{Deserialize, Serialize};

/// The limit of the API server, because the CronJob controller appends 11 characters for Jobs.
const CRON_JOB_NAME_LIMIT: usize = 52;

/// Writes a message repeatedly, with a CronJob.
#[derive(Debug, Deserialize, CustomResource)]
#[resource(group = "mmontes.io", version = "v1alpha1", kind = "ScheduledEcho", short_name = "sec", status = ScheduledEchoStatus)]
#[resource(column("Schedule", ".spec.schedule"), column("Message", ".spec.message"))]
#[resource(column("Last Run", ".status.lastRun", "date"), condition("Ready"), age)]
pub struct ScheduledEchoSpec {
    /// The message to write.
    pub message: String,
    /// The schedule, in the syntax of cron.
    pub schedule: String,
}

/// The status of a ScheduledEcho, without the conditions.
#[derive(Debug, Deserialize, Serialize, Schema)]
#[serde(rename_all = "camelCase")]
pub struct ScheduledEchoStatus {
    /// The name of the CronJob.
    #[serde(skip_deserializing)]
    pub cron_job: String,
    /// The last time at which the CronJob was due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_run: Option<Time>,
}

/// The plugin.
pub struct ScheduledEchoReconciler;

gyre_sdk::export!(ScheduledEchoReconciler);

impl Reconciler for ScheduledEchoReconciler {
    type Parent = ScheduledEcho;
    type Settings = Settings;

    fn manifest() -> Manifest {
        gyre_sdk::manifest!(Self::Parent).child::<CronJob>(Strategy::Apply)
    }

    fn reconcile(echo: &ScheduledEcho, settings: &Settings, cluster: &Cluster) -> Result<Plan> {
        let name = dns_label_within(&echo.metadata.name, CRON_JOB_NAME_LIMIT);
        let observed = cluster.child::<CronJob>(&name)?;
        let last_run = last_run(echo, observed.as_ref());
        let message = format!("CronJob {name} runs the message");
        Ok(Plan::children([cron_job(echo, &name, settings)])
            .ready("CronJobCreated", message)
            .status(ScheduledEchoStatus { cron_job: name, last_run }))
    }
}

fn cron_job(echo: &ScheduledEcho, name: &str, settings: &Settings) -> CronJob {
    let pod = echo_pod::pod(&dns_label(&echo.metadata.name), &echo.spec.message, settings);
    let job = JobTemplateSpec::new().with_spec(JobSpec::new().with_template(pod));
    let spec = CronJobSpec::new()
        .with_schedule(&echo.spec.schedule)
        .with_concurrency_policy(ConcurrencyPolicy::Forbid)
        .with_job_template(job);
    CronJob::new(name).with_spec(spec)
}

/// Returns the last run. A new CronJob has not run yet, so the time that its predecessor left in
/// the status stays.
fn last_run(echo: &ScheduledEcho, cron_job: Option<&CronJob>) -> Option<Time> {
    let observed = cron_job.and_then(|cron_job| cron_job.status().last_schedule_time());
    let recorded = echo.status.as_ref().and_then(|status| status.last_run);
    observed.or(recorded)
}

#[cfg(test)]
mod tests;
