//! The Jobs of a CronJob: which stay, and what the status says of them.

use std::cmp::Reverse;

use gyre_sdk::k8s::Job;
use gyre_sdk::{Child, Condition, Plan, Time};

use crate::api::{ActiveJob, CronJob, CronJobStatus, SCHEDULED_AT};

/// The Jobs of a CronJob.
pub(crate) struct Jobs {
    active: Vec<Job>,
    /// Of those that have ended, the ones within the history limits.
    finished: Vec<Job>,
    failures: usize,
    last_run: Option<Time>,
    is_suspended: bool,
}

impl Jobs {
    pub(crate) fn of(cron_job: &CronJob, all: Vec<Job>) -> Self {
        let last_run = last_run(cron_job, &all);
        let (ended, active): (Vec<Job>, Vec<Job>) = all.into_iter().partition(has_ended);
        let (failed, succeeded): (Vec<Job>, Vec<Job>) = ended.into_iter().partition(Job::is_failed);
        let failures = failed.len();
        let mut finished = latest(succeeded, cron_job.spec.successful_jobs_history_limit);
        finished.extend(latest(failed, cron_job.spec.failed_jobs_history_limit));
        Self { active, finished, failures, last_run, is_suspended: cron_job.spec.suspend }
    }

    /// Returns the time of the last run that was started.
    pub(crate) fn last_run(&self) -> Option<Time> {
        self.last_run
    }

    pub(crate) fn has_active(&self) -> bool {
        !self.active.is_empty()
    }

    /// Returns a plan in which the active Jobs stay, and the finished ones within the limits.
    pub(crate) fn keep_all(&self) -> Plan {
        Plan::children(self.finished.iter().chain(&self.active).map(kept))
    }

    /// Returns a plan in which the active Jobs are deleted.
    pub(crate) fn keep_finished(&self) -> Plan {
        Plan::children(self.finished.iter().map(kept))
    }

    /// Adds the status and the conditions of the tutorial.
    pub(crate) fn report(&self, plan: Plan, last_schedule_time: Option<Time>) -> Plan {
        let active = self.active.iter().map(active_job).collect();
        let plan = plan.status(CronJobStatus { active, last_schedule_time });
        plan.condition(self.available()).condition(self.progressing()).condition(self.degraded())
    }

    fn available(&self) -> Condition {
        if self.is_suspended {
            Condition::new("Available", false, "Suspended", "the CronJob is suspended")
        } else if self.failures > 0 {
            Condition::new("Available", false, "JobsFailed", self.failures_message())
        } else if self.has_active() {
            Condition::new("Available", true, "JobsActive", self.active_message())
        } else {
            Condition::new("Available", true, "AllJobsCompleted", "no Job is active")
        }
    }

    fn progressing(&self) -> Condition {
        if self.has_active() {
            Condition::new("Progressing", true, "JobsActive", self.active_message())
        } else {
            Condition::new("Progressing", false, "NoJobsActive", "no Job is active")
        }
    }

    fn degraded(&self) -> Condition {
        if self.failures > 0 {
            Condition::new("Degraded", true, "JobsFailed", self.failures_message())
        } else {
            Condition::new("Degraded", false, "NoJobsFailed", "no Job has failed")
        }
    }

    fn active_message(&self) -> String {
        format!("active Jobs: {}", self.active.len())
    }

    fn failures_message(&self) -> String {
        format!("failed Jobs: {}", self.failures)
    }
}

/// The Jobs may be gone, and the status may not be written yet: the later of both counts.
fn last_run(cron_job: &CronJob, jobs: &[Job]) -> Option<Time> {
    let recorded = cron_job.status.as_ref().and_then(|status| status.last_schedule_time);
    let observed = jobs.iter().filter_map(scheduled_at).max();
    recorded.max(observed)
}

fn has_ended(job: &Job) -> bool {
    job.is_complete() || job.is_failed()
}

fn scheduled_at(job: &Job) -> Option<Time> {
    job.metadata().annotations().get(SCHEDULED_AT)?.parse().ok()
}

/// Returns the Jobs that started last.
fn latest(mut jobs: Vec<Job>, limit: u32) -> Vec<Job> {
    jobs.sort_by_key(|job| Reverse(job.status().start_time()));
    jobs.truncate(limit as usize);
    jobs
}

fn kept(job: &Job) -> Child {
    Child::Keep(Job::named(job.name()))
}

fn active_job(job: &Job) -> ActiveJob {
    ActiveJob { name: job.name().to_owned(), uid: job.metadata().uid().unwrap_or_default().to_owned() }
}
