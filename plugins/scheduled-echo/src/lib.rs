//! A ScheduledEcho writes its message time and again: a CronJob does.
//!
//! A change of the message or the schedule reaches the CronJob, and so the next run. What is absent: a check of the schedule,
//! which is the API server's.

use echo_pod::{SETTINGS_SCHEMA, Settings};
use gyre_sdk::k8s::CronJob;
use gyre_sdk::names::{dns_label, dns_label_within};
use gyre_sdk::{Cluster, CustomResource, Failure, Manifest, Object, Reconciler, Report, Response, Schema, Strategy};
use serde::{Deserialize, Serialize};

/// The API server takes no longer names: the CronJob controller appends 11 characters to name the Jobs.
const CRON_JOB_NAME_LIMIT: usize = 52;

/// Writes a message time and again, with a CronJob.
#[derive(Debug, Deserialize, CustomResource)]
#[resource(group = "mmontes.io", version = "v1alpha1", kind = "ScheduledEcho", short_name = "sec", status = ScheduledEchoStatus)]
#[resource(column("Schedule", ".spec.schedule"), column("Message", ".spec.message"))]
#[resource(column("Last Run", ".status.lastRun", "date"), condition("Ready"), age)]
pub struct ScheduledEchoSpec {
    /// What to write.
    pub message: String,
    /// When to write it, in the syntax of cron.
    pub schedule: String,
}

/// What is recorded of it, beside the conditions.
#[derive(Debug, Deserialize, Serialize, Schema)]
#[serde(rename_all = "camelCase")]
pub struct ScheduledEchoStatus {
    /// The name of the CronJob.
    #[serde(skip_deserializing)]
    pub cron_job: String,
    /// When the CronJob was last due.
    #[schema(format = "date-time")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_run: Option<String>,
}

/// The plugin.
pub struct ScheduledEchoReconciler;

gyre_sdk::export!(ScheduledEchoReconciler);

impl Reconciler for ScheduledEchoReconciler {
    type Parent = Object<ScheduledEchoSpec, ScheduledEchoStatus>;
    type Settings = Settings;

    fn manifest() -> Manifest {
        gyre_sdk::manifest!(Self::Parent).child(CronJob::KIND, Strategy::Apply).settings_schema(SETTINGS_SCHEMA)
    }

    fn reconcile(echo: &Self::Parent, settings: &Settings, cluster: &Cluster) -> Result<Response, Failure> {
        let name = dns_label_within(&echo.metadata.name, CRON_JOB_NAME_LIMIT);
        let pod = echo_pod::pod(&dns_label(&echo.metadata.name), &echo.spec.message, settings);
        let desired = CronJob::new(&name, &echo.spec.schedule, pod).with("/spec/concurrencyPolicy", "Forbid");
        // A new CronJob has not run yet: then it is what was recorded of the one before.
        let observed = cluster.child(CronJob::KIND, &name)?.and_then(|cron_job| cron_job.field("/status/lastScheduleTime"));
        let last_run = observed.or_else(|| echo.status.as_ref()?.last_run.clone());
        let message = format!("CronJob {name} runs the message");
        Response::children()
            .apply(&desired)?
            .report(Report::ready("CronJobCreated", message))
            .status(&ScheduledEchoStatus { cron_job: name, last_run })
    }
}

#[cfg(test)]
mod tests;
