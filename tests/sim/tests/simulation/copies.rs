//! Copies of Secrets, whose kind is that of their parents: each is where the Secret names a
//! namespace, no copy is copied, and none is left behind, whatever happens to hosts.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use gyre_devcluster::faults::Plan;
use gyre_devcluster::random::Random;
use gyre_engine::leadership::claim::Claim;
use gyre_engine::program::fixed;
use gyre_sim::kinds::{self, Name};
use gyre_sim::{Action, Cascade, Plugins, World, simulate};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::faults::{QUIET, late};
use crate::seeds::{Tried, try_each, try_seeds};

/// The annotation of a Secret with the namespaces of its copies.
pub(crate) const TO: &str = "replicator.gyre.dev/to";
pub(crate) const SOURCES: [&str; 2] = ["one", "two"];
const TARGETS: [&str; 4] = ["", "team-*", "team-a", "team-a, team-b"];

pub(crate) fn plugins() -> Plugins {
    Plugins::one(gyre_artifacts::REPLICATOR)
}

/// A Secret of people, with its namespaces and a value.
pub(crate) fn source(name: &str, to: &str, value: u64) -> Action {
    let object = json!({
        "metadata": { "annotations": { TO: to } },
        "stringData": { "token": value.to_string() },
    });
    Action::Put(Name::new(kinds::SECRET, "default", name), object)
}

fn action(random: &mut Random) -> Action {
    let pick = |random: &mut Random, count: usize| usize::try_from(random.below(count as u64)).expect("an index");
    let name = SOURCES[pick(random, SOURCES.len())];
    match random.below(6) {
        0 => Action::Delete(Name::new(kinds::SECRET, "default", name), Cascade::Background),
        1 => Action::DeleteChild(Name::new(kinds::SECRET, "team-a", name)),
        _ => source(name, TARGETS[pick(random, TARGETS.len())], random.below(3)),
    }
}

pub(crate) async fn started(seed: u64, plan: Plan) -> World {
    let world = World::set_up(&plugins(), seed, plan).await;
    world.people.act(&Action::CreateNamespace("team-b")).await;
    world
}

fn targets(to: &str) -> BTreeSet<&'static str> {
    match to {
        "team-*" | "team-a, team-b" => BTreeSet::from(["team-a", "team-b"]),
        "team-a" => BTreeSet::from(["team-a"]),
        _ => BTreeSet::new(),
    }
}

/// Returns the differences between the copies and those that the Secrets of people name.
pub(crate) async fn wrongs(world: &World) -> Vec<String> {
    let (mut expected, mut found) = (BTreeMap::new(), BTreeMap::new());
    for secret in world.people.list(kinds::SECRET).await {
        let text = |pointer: &str| secret.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (namespace, name, token) = (text("/metadata/namespace"), text("/metadata/name"), text("/data/token"));
        if !SOURCES.contains(&&*name) {
            continue;
        }
        if namespace != "default" {
            found.insert((namespace, name), token);
            continue;
        }
        for target in targets(&text("/metadata/annotations/replicator.gyre.dev~1to")) {
            expected.insert((target.to_owned(), name.clone()), token.clone());
        }
    }
    let differs = found != expected;
    differs.then(|| format!("the copies are {found:?} instead of {expected:?}")).into_iter().collect()
}

#[test]
fn copies_are_where_their_secret_names_a_namespace_and_nowhere_else() {
    try_seeds("copies", 30, |seed| {
        simulate(async {
            let world = started(seed, late(seed)).await;
            let mut random = Random::new(seed);
            let mut hosts = vec![world.host_with_lease(&plugins()), world.host_with_lease(&plugins())];
            for step in 0..40 {
                world.people.act(&action(&mut random)).await;
                sleep(Duration::from_millis(random.below(3_000))).await;
                if step % 20 == 19 {
                    hosts.remove(0).kill().await;
                    hosts.push(world.host_with_lease(&plugins()));
                }
            }
            world.calm_down();
            sleep(Duration::from_secs(400)).await;
            world.rest(QUIET).await;
            Tried { wrongs: wrongs(&world).await, counts: Vec::new() }
        })
    });
}

#[test]
fn a_host_that_is_killed_after_any_of_its_writes_leaves_no_copy_behind() {
    try_each("copies, killed after each write", 1..=16, |write| {
        simulate(async {
            let world = started(write, Plan::default()).await;
            let first = world.host_with(fixed(plugins().programs().to_vec()), Claim::always(), Some(write));
            world.people.act(&source("one", "team-*", 1)).await;
            world.people.act(&source("two", "team-a", 1)).await;
            sleep(Duration::from_secs(5)).await;
            world.people.act(&source("one", "team-a", 2)).await;
            world.people.act(&Action::Delete(Name::new(kinds::SECRET, "default", "two"), Cascade::Background)).await;
            let _ = tokio::time::timeout(Duration::from_secs(60), first.killed()).await;
            drop(world.host(&plugins()));
            sleep(Duration::from_secs(400)).await;
            world.rest(QUIET).await;
            Tried { wrongs: wrongs(&world).await, counts: Vec::new() }
        })
    });
}

#[test]
fn copies_follow_a_restore_from_yesterdays_backup() {
    try_seeds("copies and a restore", 10, |seed| {
        simulate(async {
            let world = started(seed, Plan::default()).await;
            let mut random = Random::new(seed);
            let _host = world.host(&plugins());
            for _ in 0..12 {
                world.people.act(&action(&mut random)).await;
            }
            world.rest(QUIET).await;
            let backup = world.cluster().with_server(|server| server.backup());
            for _ in 0..12 {
                world.people.act(&action(&mut random)).await;
            }
            world.rest(QUIET).await;
            world.cluster().with_server(|server| server.restore_backup(&backup));
            sleep(Duration::from_secs(800)).await;
            world.rest(QUIET).await;
            Tried { wrongs: wrongs(&world).await, counts: Vec::new() }
        })
    });
}
