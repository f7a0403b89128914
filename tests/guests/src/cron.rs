//! A CronJob as a plugin, for the probes `cron*`: it is right, or has one fault.
//!
//! A Job is created for each due time, also the one before the first call. While a Job runs, it is
//! kept and no other is created; afterwards, the last due time is made up for.

use std::time::Duration;

use gyre_sdk::k8s::{Container, Job, JobSpec, PodSpec, PodTemplateSpec, RestartPolicy};
use gyre_sdk::{Cluster, Context as _, Failure, Manifest, NoSettings, Object, Plan, Reconciler, Result, Strategy, Time};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::of_spec;

/// The fault of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is right.
    None,
    /// Creates a Job only if it is called within a second of the due time.
    LosesRuns,
    /// Creates a Job although another one runs.
    Overlaps,
    /// Decides by the Jobs that exist, not by the status.
    RunsAgain,
    /// Writes the status in one answer, and returns the Job in the next one.
    ClaimsRefused,
}

/// The spec of the parents.
#[derive(Deserialize)]
pub struct Spec {
    /// `*/N * * * *`: at each N-th minute of an hour.
    schedule: String,
}

/// The status of the parents.
#[derive(Clone, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// The last due time for which a Job was created.
    last_schedule_time: Option<Time>,
    /// The last Job. Only the fault `ClaimsRefused` writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_job: Option<String>,
}

/// The plugin of a probe.
pub trait Cron: 'static {
    /// Its parent kind.
    const KIND: &'static str;
    /// Its fault.
    const FAULT: Fault;
}

impl<C: Cron> Reconciler for Probe<C> {
    type Parent = Object<Spec, Status>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        let schedule = json!({"type": "string", "pattern": r"^\*/(1|2|5|10|15|20|30) \* \* \* \*$"});
        let spec = json!({"type": "object", "required": ["schedule"], "properties": {"schedule": schedule}});
        crate::probe_with_version(C::KIND, |version| version["schema"] = of_spec(&spec)).child::<Job>(Strategy::CreateOnly)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, cluster: &Cluster) -> Result<Plan> {
        let interval = interval(&parent.spec.schedule)?;
        let now = cluster.now();
        let since_epoch = u64::try_from(now.unix()).terminal("the clock is before 1970")?;
        let due = since_epoch / interval * interval;
        let due_time = Time::from_unix(0) + Duration::from_secs(due);
        let name = format!("{}-{}", parent.metadata.name, due / 60);
        let jobs = cluster.children::<Job>()?;
        let has_ended = |job: &Job| job.is_complete() || job.is_failed();

        let mut status = parent.status.clone().unwrap_or_default();
        let exists = jobs.iter().any(|job| job.name() == name);
        let is_recorded = match C::FAULT {
            Fault::RunsAgain => exists,
            _ => status.last_schedule_time.is_some_and(|last| last >= due_time),
        };
        let may_start = match C::FAULT {
            Fault::LosesRuns => since_epoch - due < 1 && jobs.iter().all(has_ended),
            Fault::Overlaps => true,
            _ => jobs.iter().all(has_ended),
        };
        let requeue = due_time + Duration::from_secs(interval) - now;
        if C::FAULT == Fault::ClaimsRefused && !is_recorded && may_start {
            status.last_schedule_time = Some(due_time);
            return Ok(Plan::keep_children().status(status).requeue_after(requeue));
        }
        let mut plan = Plan::no_children().requeue_after(requeue);
        for job in &jobs {
            plan = plan.keep_child(Job::named(job.name()));
        }
        let is_started = match C::FAULT {
            Fault::ClaimsRefused => status.last_job.as_ref() == Some(&name),
            _ => is_recorded,
        };
        if !is_started && (exists || may_start) {
            if !exists {
                plan = plan.apply(job(&name));
            }
            status.last_schedule_time = Some(due_time);
            status.last_job = (C::FAULT == Fault::ClaimsRefused).then_some(name);
        }
        Ok(plan.status(status))
    }
}

fn job(name: &str) -> Job {
    let container = Container::new("main", "busybox");
    let pod = PodSpec::new().with_containers([container]).with_restart_policy(RestartPolicy::Never);
    let template = PodTemplateSpec::new().with_spec(pod);
    Job::new(name).with_spec(JobSpec::new().with_ttl_seconds_after_finished(300).with_template(template))
}

/// A plugin that reconciles as a [`Cron`] says.
pub struct Probe<C>(std::marker::PhantomData<C>);

/// The interval of a schedule in seconds.
fn interval(schedule: &str) -> Result<u64, Failure> {
    let minutes = schedule.strip_prefix("*/").and_then(|rest| rest.strip_suffix(" * * * *"));
    let minutes = minutes.and_then(|minutes| minutes.parse::<u64>().ok()).filter(|minutes| *minutes > 0);
    let minutes = minutes.ok_or_else(|| Failure::terminal(format!("the schedule {schedule:?} is not \"*/N * * * *\"")))?;
    Ok(60 * minutes)
}

/// Exports a probe with this parent kind and fault.
#[macro_export]
macro_rules! cron {
    ($kind:ident, $fault:ident) => {
        struct $kind;

        impl $crate::cron::Cron for $kind {
            const KIND: &'static str = stringify!($kind);
            const FAULT: $crate::cron::Fault = $crate::cron::Fault::$fault;
        }

        gyre_sdk::export!($crate::cron::Probe<$kind>);
    };
}
