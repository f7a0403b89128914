//! Simulated time passes in few steps: none while nothing is due, and few for each run of a
//! schedule. The tests count the steps; each prints the time that it took.
#![expect(clippy::unwrap_used, reason = "a test may fail")]

mod toy;

use std::time::{Duration, Instant};

use gyre_sdk::k8s::{ConfigMap, Container, Job, JobSpec, PodSpec, PodTemplateSpec, RestartPolicy};
use gyre_sdk::{Cluster, Manifest, NoSettings, Object, Plan, Reconciler, Result, Strategy, Time};
use gyre_test::{Plugin, World, object};
use serde::{Deserialize, Serialize};
use serde_json::json;

use self::toy::TOY;

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    last_run: Option<u64>,
    #[serde(default)]
    active: Vec<String>,
}

/// The minute of the call, and the time until the next one.
fn minute(cluster: &Cluster) -> (u64, Duration) {
    let now = cluster.now() - Time::from_unix(0);
    let minute = now.as_secs() / 60;
    (minute, MINUTE * u32::try_from(minute + 1).unwrap() - now)
}

/// Has a Job each minute, and deletes those that have ended.
struct JobEachMinute;

/// Has a ConfigMap each minute, and deletes those before.
struct MapEachMinute;

impl Reconciler for JobEachMinute {
    type Parent = Object<serde_json::Value, Status>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        Manifest::new("each-minute", "0.1.0", TOY).crd(toy::definition()).child::<Job>(Strategy::CreateOnly)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, cluster: &Cluster) -> Result<Plan> {
        let (due, delay) = minute(cluster);
        let jobs = cluster.children::<Job>()?;
        let active: Vec<String> = jobs.iter().filter(|job| !job.is_complete()).map(|job| job.name().to_owned()).collect();
        let mut plan = Plan::no_children().requeue_after(delay);
        for job in &active {
            plan = plan.keep_child(Job::named(job));
        }
        if parent.status.as_ref().and_then(|status| status.last_run) != Some(due) {
            plan = plan.apply(job(&format!("{}-{due}", parent.metadata.name)));
        }
        Ok(plan.status(Status { last_run: Some(due), active }))
    }
}

fn job(name: &str) -> Job {
    let container = Container::new("main", "busybox");
    let pod = PodSpec::new().with_containers([container]).with_restart_policy(RestartPolicy::Never);
    Job::new(name).with_spec(JobSpec::new().with_template(PodTemplateSpec::new().with_spec(pod)))
}

impl Reconciler for MapEachMinute {
    type Parent = Object<serde_json::Value>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        Manifest::new("each-minute", "0.1.0", TOY).crd(toy::definition()).child::<ConfigMap>(Strategy::Apply)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, cluster: &Cluster) -> Result<Plan> {
        let (due, delay) = minute(cluster);
        let map = ConfigMap::new(format!("{}-{due}", parent.metadata.name)).with_data([("due", due.to_string())]);
        Ok(Plan::children([map]).requeue_after(delay).status(Status { last_run: Some(due), active: Vec::new() }))
    }
}

/// Has nothing to do.
struct Idle;

impl Reconciler for Idle {
    type Parent = Object<serde_json::Value>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        Manifest::new("idle", "0.1.0", TOY).crd(toy::definition()).child::<Job>(Strategy::CreateOnly)
    }

    fn reconcile(_: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        Ok(Plan::no_children())
    }
}

fn world(plugin: Plugin) -> World {
    let toy = object("toys.gyre.dev/v1", "Toy", "default/it").spec(json!({}));
    let mut world = World::of(plugin).pods_run_for(Duration::from_secs(5)).with(toy).start().unwrap();
    world.settle().unwrap();
    world
}

/// Lets time pass, and returns the number of steps. Prints the time that it took.
fn steps(what: &str, world: &mut World, time: Duration) -> u64 {
    let (before, began) = (world.steps().unwrap(), Instant::now());
    world.advance(time).unwrap();
    let steps = world.steps().unwrap() - before;
    println!("{what}: {steps} steps in {:.1?}", began.elapsed());
    steps
}

#[test]
fn a_day_in_which_nothing_is_due_takes_no_steps() {
    let mut world = world(Plugin::native::<Idle>());
    // The timer wheel has a few levels, at each of which the clock stops.
    assert!(steps("an idle day", &mut world, DAY) <= 20);
    assert!(steps("an idle year", &mut world, 365 * DAY) <= 40);
    world.settle().unwrap().assert_nothing_done();
}

#[test]
fn a_day_with_a_run_each_minute_takes_few_steps_for_each_run() {
    let mut world = world(Plugin::native::<MapEachMinute>());
    let steps = steps("a day with a ConfigMap each minute", &mut world, DAY);
    assert!(steps <= 5 * 1440, "{steps} steps");
    assert_eq!(world.settle().unwrap().children().len(), 1440);
}

#[test]
fn an_hour_with_a_job_each_minute_takes_few_steps_for_each_job() {
    let mut world = world(Plugin::native::<JobEachMinute>());
    let steps = steps("an hour with a Job each minute", &mut world, 60 * MINUTE);
    assert!(steps <= 15 * 60, "{steps} steps");
    assert_eq!(world.settle().unwrap().children().len(), 60);
    assert!(world.list("Job").unwrap().len() <= 2);
}

#[test]
fn a_schedule_of_a_minute_is_no_restlessness_in_20_minutes_and_in_a_day() {
    for (what, time) in [("20 minutes", 20 * MINUTE), ("a day", DAY)] {
        let mut world = world(Plugin::native::<JobEachMinute>());
        let steps = steps(&format!("{what} with a Job each minute"), &mut world, time);
        let runs = time.as_secs() / 60;
        assert!(steps <= 15 * runs, "{steps} steps");
        let run = world.settle().unwrap();
        assert_eq!(run.children().len(), usize::try_from(runs).unwrap());
        let events = world.list("events.k8s.io/v1 Event").unwrap();
        let slowed: Vec<_> = events.iter().filter(|event| event["reason"] == "SlowedDown").collect();
        assert!(slowed.is_empty(), "{what}: {slowed:?}");
    }
}

#[test]
fn the_delay_of_a_schedule_is_shown_without_latency() {
    let toy = object("toys.gyre.dev/v1", "Toy", "default/it").spec(json!({}));
    let mut world = World::of(Plugin::native::<JobEachMinute>()).at("2026-01-01T00:00:05Z").with(toy).start().unwrap();
    let run = world.settle().unwrap();
    assert_eq!(run.summary()["parents"][0]["again"], "in 55s");
}
