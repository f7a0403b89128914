//! Deletes finished Jobs after a time to live, from the settings or an annotation of the Job.
//!
//! ```text
//!   Job ── runs ─────────────────────────────▶ stays
//!       ── ended, its time is not over ──────▶ stays until then
//!       ── ended, its time is over ──────────▶ deleted, with its Pods
//!       ── has a controller, or its own TTL ─▶ stays: others delete it
//! ```
//!
//! The operator grants it with `grants.deleteParents` of the mount. What is absent: children,
//! status and conditions, because Jobs belong to others.

use std::time::Duration;

use gyre_sdk::k8s::Job;
use gyre_sdk::{Cluster, Event, Manifest, Plan, Reconciler, Result, Schema, Time};
use serde::Deserialize;

/// The annotation of a Job with its own time to live, in seconds, or [`KEEP`].
pub const TTL: &str = "cleaner.gyre.dev/ttl-seconds";

/// The value of [`TTL`] with which a Job is never deleted.
pub const KEEP: &str = "keep";

/// The plugin.
pub struct Cleaner;

gyre_sdk::export!(Cleaner);

/// For how long finished Jobs stay.
#[derive(Debug, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct TimeToLive {
    /// Seconds for which a Job stays after it has succeeded.
    #[schema(default = 3600)]
    pub succeeded_seconds: u64,
    /// Seconds for which a Job stays after it has failed.
    #[schema(default = 86400)]
    pub failed_seconds: u64,
}

impl Default for TimeToLive {
    fn default() -> Self {
        Self { succeeded_seconds: 60 * 60, failed_seconds: 24 * 60 * 60 }
    }
}

impl Reconciler for Cleaner {
    type Parent = Job;
    type Settings = TimeToLive;

    fn manifest() -> Manifest {
        Manifest::new("cleaner", env!("CARGO_PKG_VERSION"), Job::KIND)
            .description(env!("CARGO_PKG_DESCRIPTION"))
            .deletes_parent()
    }

    fn reconcile(job: &Job, settings: &TimeToLive, cluster: &Cluster) -> Result<Plan> {
        if is_left_to_others(job) {
            return Ok(Plan::keep_children());
        }
        let Some((end, usual)) = ended(job, settings) else { return Ok(Plan::keep_children()) };
        let time_to_live = match own_time_to_live(job) {
            None => usual,
            Some(Ok(None)) => return Ok(Plan::keep_children()),
            Some(Ok(Some(own))) => own,
            Some(Err(message)) => return Ok(Plan::keep_children().event(Event::warning("InvalidTtl", message))),
        };
        Ok(Plan::keep_children().delete_parent_at(end + time_to_live, cluster.now()))
    }
}

/// Returns whether Kubernetes deletes the Job, or the controller that made it, such as a CronJob.
fn is_left_to_others(job: &Job) -> bool {
    let has_controller = job.metadata().owner_references().any(|owner| owner.controller() == Some(true));
    has_controller || job.spec().ttl_seconds_after_finished().is_some()
}

/// Returns when the Job ended, and its usual time to live; `None` while it runs.
fn ended(job: &Job, settings: &TimeToLive) -> Option<(Time, Duration)> {
    let since = |kind: &str| {
        let condition = job.status().conditions().find(|condition| condition.type_() == Some(kind))?;
        condition.last_transition_time()
    };
    if job.is_complete() {
        Some((since("Complete")?, Duration::from_secs(settings.succeeded_seconds)))
    } else if job.is_failed() {
        Some((since("Failed")?, Duration::from_secs(settings.failed_seconds)))
    } else {
        None
    }
}

/// Returns the time to live that the Job names itself; `Some(Ok(None))` if it is to be kept.
fn own_time_to_live(job: &Job) -> Option<std::result::Result<Option<Duration>, String>> {
    let annotations = job.metadata().annotations();
    let text = annotations.get(TTL)?;
    if text == KEEP {
        return Some(Ok(None));
    }
    let seconds = text.parse().map(|seconds| Some(Duration::from_secs(seconds)));
    Some(seconds.map_err(|_| format!("the annotation {TTL} is {text:?}: give a number of seconds, or {KEEP:?}")))
}

#[cfg(test)]
mod tests;
