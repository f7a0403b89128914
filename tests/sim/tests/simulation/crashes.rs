//! A host is killed after any of its writes, before the answer, and another takes over.

use std::time::Duration;

use gyre_devcluster::faults::{Fault, Plan, Requests, Rule};
use gyre_devcluster::random::Random;
use gyre_engine::leadership::claim::{Claim, ClaimSender};
use gyre_engine::program::fixed;
use gyre_sim::kinds::{self, Name};
use gyre_sim::script;
use gyre_sim::{Action, Cascade, Plugins, World, simulate};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::faults::{QUIET, Run, Script, compared, drawn, scripted};
use crate::seeds::{Tried, try_each, try_seeds};

const MOMENTS: u64 = 3;

fn story() -> Script {
    Script { batches: script::story(), foreign: Vec::new() }
}

fn undisturbed(plugins: &Plugins, seed: u64, script: Script) -> Run {
    scripted(plugins, (seed, Plan::default()), script, QUIET, |world| drop(world.host(plugins)))
}

fn killed_after(plugins: &Plugins, seed: u64, script: Script, write: u64) -> Run {
    scripted(plugins, (seed, Plan::default()), script, QUIET, |world| {
        let first = world.host_with(fixed(plugins.programs().to_vec()), Claim::always(), Some(write));
        let (world, plugins): (World, Plugins) = (world.clone(), plugins.clone());
        tokio::spawn(async move {
            first.killed().await;
            drop(world.host(&plugins));
        });
    })
}

#[test]
fn a_host_that_is_killed_after_any_of_its_writes_changes_nothing_in_the_end() {
    let plugins = Plugins::all();
    let calm = undisturbed(&plugins, 0, story());
    try_each("killed after each write of the story", 1..=calm.writes, |write| {
        let run = killed_after(&plugins, 0, story(), write);
        let writes = run.writes;
        Tried { wrongs: compared(&calm, run), counts: vec![("writes", writes)] }
    });
}

#[test]
fn a_host_that_is_killed_after_some_of_its_writes_changes_nothing_in_the_end() {
    let plugins = Plugins::all();
    try_seeds("killed after some writes", 25, |seed| {
        let calm = undisturbed(&plugins, seed, drawn(seed));
        let mut random = Random::new(seed);
        let mut tried = Tried::default();
        for _ in 0..MOMENTS {
            let write = random.below(calm.writes) + 1;
            let run = killed_after(&plugins, seed, drawn(seed), write);
            tried.counts.push(("kills", 1));
            tried.wrongs.extend(compared(&calm, run).iter().map(|wrong| format!("killed after write {write}: {wrong}")));
        }
        tried
    });
}

/// The next host watches already, but learns of ConfigMaps a minute late: it sees that the parent
/// is deleted before it sees the child.
#[test]
fn a_parent_stays_until_the_child_is_gone_that_a_killed_host_created_elsewhere() {
    let plugins = Plugins::one(gyre_artifacts::probes::CROSS_NAMESPACE);
    let delay = Duration::from_secs(60);
    let requests = Requests { verbs: vec!["watch".to_owned()], resource: "configmaps".to_owned(), ..Requests::default() };
    let rules = vec![Rule { requests, faults: vec![(Fault::EventDelayed, 1.0)] }];
    let plan = Plan { rules, event_delay: delay..=delay, ..Plan::default() };
    try_each("killed before the deletion of the parent", 1..=5, |write| {
        simulate(async {
            let world = World::set_up(&plugins, 0, plan.clone()).await;
            let parent = Name::new(kinds::CROSS_NAMESPACE, "default", "cross-0");
            let child = Name::new(kinds::CONFIG_MAP, "team-a", "default-cross-0");
            let (holder, claim) = ClaimSender::new();
            let _next = world.host_with(fixed(plugins.programs().to_vec()), claim, None);
            let first = world.host_with(fixed(plugins.programs().to_vec()), Claim::always(), Some(write));
            sleep(10 * delay).await;
            world.people.act(&Action::Put(parent.clone(), json!({ "spec": { "namespace": "team-a" } }))).await;
            first.killed().await;
            let was_created = world.people.get(&child).await.is_some();

            world.people.act(&Action::Delete(parent.clone(), Cascade::Background)).await;
            holder.hold_until(Instant::now() + 1000 * delay);
            world.people.wait_until_gone_if_going(&parent).await;
            let is_left = world.people.get(&child).await.is_some();
            let wrongs = if is_left { vec![format!("{parent} is gone, and {child} is left")] } else { Vec::new() };
            Tried { wrongs, counts: vec![("children", u64::from(was_created))] }
        })
    });
}
