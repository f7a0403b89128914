//! A host is killed after any of its writes, before the answer, and another takes over.

use gyre_devcluster::faults::Plan;
use gyre_devcluster::random::Random;
use gyre_engine::leadership::claim::Claim;
use gyre_engine::program::fixed;
use gyre_sim::script;
use gyre_sim::{Plugins, World};

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
