//! Runs Jobs on a schedule, as the CronJob of kubebuilder's tutorial does.
//!
//! ```text
//!   schedule ──▶ the last run that is due ──▶ missed its deadline, suspended ──▶ nothing
//!                        │
//!                        └─ others are active: Allow ──▶ a new Job
//!                                              Forbid ─▶ wait until they have ended
//!                                              Replace ▶ delete them, and then a new Job
//! ```
//!
//! Of several runs that were missed, the last one is made up for. The children are the Jobs that
//! should exist, so what exceeds the history limits is left out, and the host deletes it.

mod schedule;

use std::cmp::Reverse;
use std::time::Duration;

use gyre_sdk::k8s::{Job, JobTemplateSpec};
use gyre_sdk::names::dns_label_within;
use gyre_sdk::{
    Child, Cluster, Context as _, CustomResource, Manifest, NoSettings, Object, Plan, Reconciler, Result, Schema, Strategy,
    Time,
};
use serde::{Deserialize, Serialize};

use schedule::Schedule;

/// The annotation of a Job with the time for which it was scheduled.
const SCHEDULED_AT: &str = "batch.tutorial.kubebuilder.io/scheduled-at";

/// A Job has 63 characters, of which the time of its run takes 11.
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
    /// The names of the Jobs that are running.
    pub active: Vec<String>,
    /// The time for which the last Job was scheduled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_schedule_time: Option<Time>,
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
        let jobs = Jobs::of(cron_job, cluster.children::<Job>()?);
        let schedule = Schedule::parse(&cron_job.spec.schedule, cron_job.spec.time_zone.as_deref())
            .terminal("the schedule cannot be read")?;
        let now = cluster.now().to_second();
        let last = jobs.last_schedule_time(cron_job);
        let step = if cron_job.spec.suspend { Step::Wait } else { step(cron_job, &schedule, &jobs, last, now) };

        let plan = match step {
            Step::Start(time) => jobs.keep().apply(job(cron_job, time)).status(&jobs.status(cron_job, Some(time))),
            Step::Stop => jobs.keep_finished().status(&jobs.status(cron_job, last)),
            Step::Wait => jobs.keep().status(&jobs.status(cron_job, last)),
        };
        if cron_job.spec.suspend {
            return Ok(plan.ready("Suspended", "no more runs are started"));
        }
        let plan = match schedule.after(now) {
            Some(next) => plan.requeue_after(next - now),
            None => plan,
        };
        Ok(plan.ready("Scheduled", "runs are started on schedule"))
    }
}

/// The next step.
enum Step {
    /// Start the run of this time.
    Start(Time),
    /// Delete the active Jobs, so that the next call can start the run.
    Stop,
    Wait,
}

fn step(cron_job: &CronJob, schedule: &Schedule, jobs: &Jobs, last: Option<Time>, now: Time) -> Step {
    let Some(due) = due(cron_job, schedule, last, now) else { return Step::Wait };
    match cron_job.spec.concurrency_policy {
        ConcurrencyPolicy::Forbid if jobs.has_active() => Step::Wait,
        ConcurrencyPolicy::Replace if jobs.has_active() => Step::Stop,
        _ => Step::Start(due),
    }
}

/// Returns the last run that is due and has neither been started nor missed its deadline.
fn due(cron_job: &CronJob, schedule: &Schedule, last: Option<Time>, now: Time) -> Option<Time> {
    let due = schedule.before(now)?;
    let is_new = due > last.or(cron_job.metadata.creation_timestamp)?;
    let deadline = cron_job.spec.starting_deadline_seconds.map(Duration::from_secs);
    let is_in_time = deadline.is_none_or(|deadline| now - due <= deadline);
    (is_new && is_in_time).then_some(due)
}

/// The Jobs of a CronJob.
struct Jobs {
    active: Vec<Job>,
    /// Of those that have ended, the ones within the history limits.
    finished: Vec<Job>,
    last: Option<Time>,
}

impl Jobs {
    fn of(cron_job: &CronJob, all: Vec<Job>) -> Self {
        let last = all.iter().filter_map(scheduled_at).max();
        let (ended, active): (Vec<Job>, Vec<Job>) = all.into_iter().partition(|job| job.is_complete() || job.is_failed());
        let (failed, succeeded): (Vec<Job>, Vec<Job>) = ended.into_iter().partition(Job::is_failed);
        let mut finished = latest(succeeded, cron_job.spec.successful_jobs_history_limit);
        finished.extend(latest(failed, cron_job.spec.failed_jobs_history_limit));
        Self { active, finished, last }
    }

    fn has_active(&self) -> bool {
        !self.active.is_empty()
    }

    /// The Jobs may be gone, and the status may not be written yet: the later of both counts.
    fn last_schedule_time(&self, cron_job: &CronJob) -> Option<Time> {
        let recorded = cron_job.status.as_ref().and_then(|status| status.last_schedule_time);
        recorded.max(self.last)
    }

    fn keep(&self) -> Plan {
        Plan::children(self.finished.iter().chain(&self.active).map(kept))
    }

    fn keep_finished(&self) -> Plan {
        Plan::children(self.finished.iter().map(kept))
    }

    fn status(&self, _: &CronJob, last_schedule_time: Option<Time>) -> CronJobStatus {
        let active = self.active.iter().map(|job| job.name().to_owned()).collect();
        CronJobStatus { active, last_schedule_time }
    }
}

fn kept(job: &Job) -> Child {
    Child::Keep(Job::named(job.name()))
}

fn latest(mut jobs: Vec<Job>, limit: u32) -> Vec<Job> {
    jobs.sort_by_key(|job| Reverse(scheduled_at(job)));
    jobs.truncate(limit as usize);
    jobs
}

fn scheduled_at(job: &Job) -> Option<Time> {
    job.metadata().annotations().get(SCHEDULED_AT)?.parse().ok()
}

/// Returns the Job of a run. Its name is derived from the time, so the same run is never started
/// twice.
fn job(cron_job: &CronJob, time: Time) -> Job {
    let template = cron_job.spec.job_template.view();
    let name = format!("{}-{}", dns_label_within(&cron_job.metadata.name, NAME_LIMIT), time.unix());
    let annotations = template.metadata().annotations().with(SCHEDULED_AT, time.to_string());
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
