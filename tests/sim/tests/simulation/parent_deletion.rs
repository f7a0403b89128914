//! Deletions of parents that their plugin asks for, with hosts that are late or killed.

use std::time::Duration;

use gyre_devcluster::faults::Plan;
use gyre_devcluster::random::Random;
use gyre_engine::leadership::claim::Claim;
use gyre_engine::program::fixed;
use gyre_sim::kinds::{self, Name};
use gyre_sim::{Action, Plugins, World, simulate};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::faults::{QUIET, late_caches};
use crate::seeds::{Tried, try_each, try_seeds};

const TTL: &str = "cleaner.gyre.dev/ttl-seconds";

fn plugins() -> Plugins {
    Plugins::one(gyre_artifacts::CLEANER)
}

fn job(name: &'static str) -> Name {
    Name::new(kinds::JOB, "default", name)
}

/// A Job that is deleted as soon as it has ended. It is suspended, so that nothing runs it.
fn suspended(name: &'static str) -> Action {
    let container = json!({ "name": "main", "image": "busybox:1.37" });
    let pod = json!({ "spec": { "restartPolicy": "Never", "containers": [container] } });
    let spec = json!({ "suspend": true, "template": pod });
    Action::Put(job(name), json!({ "metadata": { "annotations": { TTL: "0" } }, "spec": spec }))
}

fn ended(name: &'static str) -> Action {
    let at = "2020-01-01T00:00:00Z";
    let condition = |kind: &str| json!({ "type": kind, "status": "True", "lastTransitionTime": at });
    let conditions = [condition("SuccessCriteriaMet"), condition("Complete")];
    Action::EditStatus(job(name), json!({ "status": { "startTime": at, "completionTime": at, "conditions": conditions } }))
}

fn kept(name: &'static str) -> Action {
    Action::Edit(job(name), json!({ "metadata": { "annotations": { TTL: "keep" } } }))
}

async fn started(seed: u64, plan: Plan) -> World {
    World::set_up(&plugins(), seed, plan).await
}

/// The preconditions name the version that the plugin saw.
#[test]
fn what_somebody_keeps_at_the_last_moment_is_not_deleted() {
    try_seeds("kept at the last moment", 60, |seed| {
        simulate(async {
            let plan = if seed.is_multiple_of(2) { late_caches() } else { Plan::default() };
            let world = started(seed, plan).await;
            let mut random = Random::new(seed);
            let _host = world.host(&plugins());
            world.people.act(&suspended("one")).await;
            sleep(Duration::from_millis(random.below(2_000))).await;
            world.people.act(&ended("one")).await;
            let longest = if seed.is_multiple_of(3) { 5 } else { 1_000 };
            sleep(Duration::from_millis(random.below(longest))).await;
            world.people.act(&kept("one")).await;
            let is_kept = world.people.get(&job("one")).await.is_some();
            world.calm_down();
            world.rest(QUIET).await;
            let exists = world.people.get(&job("one")).await.is_some();
            let wrongs = (is_kept && !exists).then(|| "it was deleted after somebody had kept it".to_owned());
            Tried { wrongs: wrongs.into_iter().collect(), counts: vec![("kept", u64::from(is_kept))] }
        })
    });
}

#[test]
fn a_host_that_is_killed_after_any_of_its_writes_deletes_what_is_due_and_nothing_else() {
    try_each("killed after each write", 1..=4, |write| {
        simulate(async {
            let world = started(write, Plan::default()).await;
            let programs = fixed(plugins().programs().to_vec());
            let first = world.host_with(programs, Claim::always(), Some(write));
            for name in ["one", "two", "three"] {
                world.people.act(&suspended(name)).await;
            }
            for name in ["one", "two"] {
                world.people.act(&ended(name)).await;
            }
            // Fewer writes than this may be all.
            let _ = tokio::time::timeout(Duration::from_secs(60), first.killed()).await;
            let _second = world.host(&plugins());
            world.rest(QUIET).await;
            let mut wrongs = Vec::new();
            for (name, expected) in [("one", false), ("two", false), ("three", true)] {
                if world.people.get(&job(name)).await.is_some() != expected {
                    wrongs.push(format!("{name} should exist: {expected}"));
                }
            }
            Tried { wrongs, counts: Vec::new() }
        })
    });
}

/// A controller makes the object again at once, and the plugin deletes it at once.
#[test]
fn a_parent_that_is_made_again_and_again_is_deleted_less_and_less() {
    try_each("made again and again", 1..=2, |seed| {
        simulate(async {
            let world = started(seed, Plan::default()).await;
            let _host = world.host(&plugins());
            let mut made = 0_u64;
            // An hour.
            for _ in 0..720 {
                let exists: Option<Value> = world.people.get(&job("one")).await;
                if exists.is_none() {
                    world.people.act(&suspended("one")).await;
                    world.people.act(&ended("one")).await;
                    made += 1;
                }
                sleep(Duration::from_secs(5)).await;
            }
            let wrongs = (!(5..=12).contains(&made)).then(|| format!("it was made {made} times in an hour"));
            Tried { wrongs: wrongs.into_iter().collect(), counts: vec![("made", made)] }
        })
    });
}
