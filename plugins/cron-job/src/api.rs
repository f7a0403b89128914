//! The kind of the parents.

use gyre_sdk::k8s::JobTemplateSpec;
use gyre_sdk::{CustomResource, Schema, Time};
use serde::{Deserialize, Serialize};

/// The annotation of a Job with the time for which it was scheduled.
pub(crate) const SCHEDULED_AT: &str = "batch.tutorial.kubebuilder.io/scheduled-at";

/// Runs Jobs on a schedule.
#[derive(Debug, Deserialize, CustomResource)]
#[resource(group = "batch.tutorial.kubebuilder.io", version = "v1", kind = "CronJob", status = CronJobStatus)]
#[resource(column("Schedule", ".spec.schedule"), column("Suspend", ".spec.suspend", "boolean"))]
#[resource(column("Last Schedule", ".status.lastScheduleTime", "date"), condition("Ready"), age)]
#[serde(rename_all = "camelCase")]
pub struct CronJobSpec {
    /// The schedule, in the syntax of cron.
    #[schema(min_length = 1)]
    pub schedule: String,
    /// The time zone of the schedule, by its name in the IANA database.
    #[serde(default)]
    #[schema(default = "UTC")]
    pub time_zone: Option<String>,
    /// A run that has not started after this time is left out.
    pub starting_deadline_seconds: Option<u64>,
    /// The treatment of a run that is due while earlier ones are still active.
    #[serde(default)]
    #[schema(default = "Allow")]
    pub concurrency_policy: ConcurrencyPolicy,
    /// Whether to start no more runs. Active ones go on.
    #[serde(default)]
    pub suspend: bool,
    /// The Job of each run.
    #[schema(json = r#"{"type": "object", "x-kubernetes-preserve-unknown-fields": true}"#)]
    pub job_template: JobTemplateSpec,
    /// The number of Jobs to keep that have succeeded.
    #[serde(default = "three")]
    #[schema(default = 3)]
    pub successful_jobs_history_limit: u32,
    /// The number of Jobs to keep that have failed.
    #[serde(default = "one")]
    #[schema(default = 1)]
    pub failed_jobs_history_limit: u32,
}

/// The treatment of a run that is due while earlier ones are still active.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Schema)]
pub enum ConcurrencyPolicy {
    /// Both run.
    #[default]
    Allow,
    /// The new run waits, and is left out if it misses its deadline or the next one is due.
    Forbid,
    /// The earlier runs are deleted before the new one starts.
    Replace,
}

/// The status of a CronJob, without the conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, Schema)]
#[serde(rename_all = "camelCase", default)]
pub struct CronJobStatus {
    /// The Jobs that are running.
    pub active: Vec<ActiveJob>,
    /// The time for which the last Job was scheduled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_schedule_time: Option<Time>,
}

/// A Job that is running.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, Schema)]
#[serde(default)]
pub struct ActiveJob {
    /// The name of the Job.
    pub name: String,
    /// The UID of the Job.
    pub uid: String,
}

fn three() -> u32 {
    3
}

fn one() -> u32 {
    1
}
