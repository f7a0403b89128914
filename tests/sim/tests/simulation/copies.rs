//! Copies of Secrets, whose kind is that of their parents: each is where the Secret names a
//! namespace, no copy is copied, and none is left behind, whatever happens to hosts.

use std::collections::{BTreeMap, BTreeSet};

use gyre_devcluster::random::Random;
use gyre_sim::kinds::{self, Name};
use gyre_sim::{Action, Cascade, Plugins, World};
use serde_json::{Value, json};

use crate::subjects::{Hosts, Subject, killed_after_each_write, restored_from_a_backup, under_faults};

/// The annotation of a Secret with the namespaces of its copies.
pub(crate) const TO: &str = "replicator.gyre.dev/to";
pub(crate) const SOURCES: [&str; 2] = ["one", "two"];
const TARGETS: [&str; 4] = ["", "team-*", "team-a", "team-a, team-b"];

#[derive(Clone)]
pub(crate) struct Replicator;

/// A Secret of people, with its namespaces and a value.
pub(crate) fn source(name: &str, to: &str, value: usize) -> Action {
    let object = json!({
        "metadata": { "annotations": { TO: to } },
        "stringData": { "token": value.to_string() },
    });
    Action::Put(Name::new(kinds::SECRET, "default", name), object)
}

fn targets(to: &str) -> BTreeSet<&'static str> {
    match to {
        "team-*" | "team-a, team-b" => BTreeSet::from(["team-a", "team-b"]),
        "team-a" => BTreeSet::from(["team-a"]),
        _ => BTreeSet::new(),
    }
}

impl Subject for Replicator {
    fn plugins(&self) -> Plugins {
        Plugins::one(gyre_artifacts::REPLICATOR)
    }

    async fn prepare(&mut self, world: &World) {
        world.people.act(&Action::CreateNamespace("team-b")).await;
    }

    fn action(&mut self, random: &mut Random) -> Action {
        let mut pick = |count: usize| usize::try_from(random.below(count as u64)).expect("an index");
        let name = SOURCES[pick(SOURCES.len())];
        match pick(6) {
            0 => Action::Delete(Name::new(kinds::SECRET, "default", name), Cascade::Background),
            1 => Action::DeleteChild(Name::new(kinds::SECRET, "team-a", name)),
            _ => source(name, TARGETS[pick(TARGETS.len())], pick(3)),
        }
    }

    fn step(&mut self, number: usize) -> Option<Vec<Action>> {
        let deleted = Action::Delete(Name::new(kinds::SECRET, "default", "two"), Cascade::Background);
        let steps = [vec![source("one", "team-*", 1), source("two", "team-a", 1)], vec![source("one", "team-a", 2), deleted]];
        steps.into_iter().nth(number)
    }

    /// Compares the copies with those that the Secrets of people name.
    async fn wrongs_at_rest(&mut self, world: &World) -> Vec<String> {
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
}

#[test]
fn copies_are_where_their_secret_names_a_namespace_and_nowhere_else() {
    under_faults("copies", 24, Hosts::InTurns, &Replicator);
}

#[test]
fn a_host_that_is_killed_after_any_of_its_writes_leaves_no_copy_behind() {
    killed_after_each_write("copies, killed after each write", &Replicator);
}

#[test]
fn copies_follow_a_restore_from_yesterdays_backup() {
    restored_from_a_backup("copies and a restore", 10, &Replicator);
}
