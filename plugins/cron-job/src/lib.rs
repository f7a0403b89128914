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

mod api;
mod jobs;
mod schedule;

use std::time::Duration;

use gyre_sdk::k8s::Job;
use gyre_sdk::names::dns_label_within;
use gyre_sdk::{Cluster, Context as _, Manifest, NoSettings, Plan, Reconciler, Result, Strategy, Time};

pub use api::{ActiveJob, ConcurrencyPolicy, CronJob, CronJobSpec, CronJobStatus};

use api::SCHEDULED_AT;
use jobs::Jobs;
use schedule::Schedule;

/// The name of a Job may have 63 characters, of which the time of its run takes 11.
const NAME_LIMIT: usize = 52;

/// The plugin.
pub struct CronJobReconciler;

gyre_sdk::export!(CronJobReconciler);

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
    let is_new = run > last_run.unwrap_or(cron_job.metadata.creation_timestamp);
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

#[cfg(test)]
mod tests;
