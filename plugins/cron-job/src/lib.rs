//! Runs Jobs on a schedule, as the CronJob of kubebuilder's tutorial does.
//!
//! ```text
//!   the last run that is due ──▶ no others are active, or Allow ──▶ Start it
//!                                others are active, Forbid ───────▶ Wait until they have ended
//!                                others are active, Replace ──────▶ Stop them, and then Start
//!   none is due, or it has missed its deadline ───────────────────▶ Wait for the next one
//! ```
//!
//! Of several runs that were missed, the last one is made up for. The children are the Jobs that
//! should exist, so what exceeds the history limits is left out, and the host deletes it.

mod jobs;
mod schedule;

use std::time::Duration;

use gyre_sdk::k8s::{Job, JobTemplateSpec};
use gyre_sdk::names::dns_label_within;
use gyre_sdk::{
    Cluster, Context as _, CustomResource, Manifest, NoSettings, Object, Plan, Reconciler, Result, Schema, Strategy, Time,
};
use serde::{Deserialize, Serialize};

use jobs::Jobs;
use schedule::Schedule;

/// The annotation of a Job with the time for which it was scheduled.
const SCHEDULED_AT: &str = "batch.tutorial.kubebuilder.io/scheduled-at";

/// The name of a Job may have 63 characters, of which the time of its run takes 11.
const NAME_LIMIT: usize = 52;

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

/// The plugin.
pub struct CronJobReconciler;

gyre_sdk::export!(CronJobReconciler);

type CronJob = Object<CronJobSpec, CronJobStatus>;

impl Reconciler for CronJobReconciler {
    type Parent = CronJob;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_sdk::manifest!(Self::Parent).child::<Job>(Strategy::CreateOnly)
    }

    fn reconcile(cron_job: &CronJob, _: &NoSettings, cluster: &Cluster) -> Result<Plan> {
        let spec = &cron_job.spec;
        let schedule = Schedule::parse(&spec.schedule, spec.time_zone.as_deref()).terminal("the schedule cannot be read")?;
        let jobs = Jobs::of(cron_job, cluster.children::<Job>()?);
        if spec.suspend {
            let plan = jobs.report(jobs.keep_all(), jobs.last_run());
            return Ok(plan.ready("Suspended", "no more runs are started"));
        }

        let now = cluster.now().to_second();
        let plan = match Step::next(cron_job, &schedule, &jobs, now) {
            Step::Start(run) => jobs.report(jobs.keep_all().apply(job(cron_job, run)), Some(run)),
            Step::Stop => jobs.report(jobs.keep_finished(), jobs.last_run()),
            Step::Wait => jobs.report(jobs.keep_all(), jobs.last_run()),
        };
        let plan = plan.ready("Scheduled", "runs are started on schedule");
        Ok(match schedule.after(now) {
            Some(next_run) => plan.requeue_after(next_run - now),
            None => plan,
        })
    }
}

/// The next step of a CronJob that is not suspended.
enum Step {
    /// Start the run of this time.
    Start(Time),
    /// Delete the active Jobs, so that the next call can start the run.
    Stop,
    /// Start nothing, and leave the active Jobs alone.
    Wait,
}

impl Step {
    fn next(cron_job: &CronJob, schedule: &Schedule, jobs: &Jobs, now: Time) -> Self {
        let Some(run) = due_run(cron_job, schedule, jobs.last_run(), now) else { return Self::Wait };
        match cron_job.spec.concurrency_policy {
            ConcurrencyPolicy::Forbid if jobs.has_active() => Self::Wait,
            ConcurrencyPolicy::Replace if jobs.has_active() => Self::Stop,
            _ => Self::Start(run),
        }
    }
}

/// Returns the last run that is due and has neither been started nor missed its deadline.
fn due_run(cron_job: &CronJob, schedule: &Schedule, last_run: Option<Time>, now: Time) -> Option<Time> {
    let run = schedule.before(now)?;
    let is_new = run > last_run.or(cron_job.metadata.creation_timestamp)?;
    let deadline = cron_job.spec.starting_deadline_seconds.map(Duration::from_secs);
    let is_in_time = deadline.is_none_or(|deadline| now - run <= deadline);
    (is_new && is_in_time).then_some(run)
}

/// Returns the Job of a run. Its name is derived from the time, so the same run is never started
/// twice.
fn job(cron_job: &CronJob, run: Time) -> Job {
    let template = cron_job.spec.job_template.view();
    let name = format!("{}-{}", dns_label_within(&cron_job.metadata.name, NAME_LIMIT), run.unix());
    let annotations = template.metadata().annotations().with(SCHEDULED_AT, run.to_string());
    Job::new(name).with_labels(template.metadata().labels()).with_annotations(annotations).with_spec(template.spec().to_owned())
}

fn three() -> u32 {
    3
}

fn one() -> u32 {
    1
}

#[cfg(test)]
mod tests;
