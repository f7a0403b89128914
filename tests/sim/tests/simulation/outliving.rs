//! Children that outlive their parent: nobody deletes them or makes them twice, whatever happens to
//! hosts, and a parent of the same name gets them back only if the mount adopts.

use std::collections::BTreeMap;
use std::time::Duration;

use gyre_core::grants::Adoption;
use gyre_devcluster::faults::{Fault, Plan, Requests, Rule};
use gyre_devcluster::random::Random;
use gyre_sim::kinds::{self, Name};
use gyre_sim::{Action, Cascade, Plugins, World, simulate};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::faults::QUIET;
use crate::seeds::{Tried, try_seeds};
use crate::subjects::{Hosts, Subject, adopting, killed_after_each_write, ready, restored_from_a_backup, under_faults};

const NAMES: [&str; 2] = ["one", "two"];

/// Two parents. Another plugin has an object with the name of a child of the second one.
#[derive(Clone)]
struct Outliving {
    adoption: Adoption,
    /// The UIDs of children that people have not deleted.
    seen: BTreeMap<Name, Value>,
    foreign: Option<Value>,
}

fn plugins() -> Plugins {
    Plugins::one(gyre_artifacts::probes::OUTLIVING)
}

fn parent(name: &str) -> Name {
    Name::new(kinds::OUTLIVING, "default", name)
}

fn wants(name: &str, text: &str) -> Action {
    Action::Put(parent(name), json!({ "spec": { "text": text } }))
}

/// Returns the children that outlive a parent, without the one whose name is taken.
fn children() -> [Name; 3] {
    [(kinds::CONFIG_MAP, "one"), (kinds::SECRET, "one"), (kinds::SECRET, "two")]
        .map(|(kind, name)| Name::new(kind, "default", name))
}

fn foreign() -> Name {
    Name::new(kinds::CONFIG_MAP, "default", "two")
}

impl Subject for Outliving {
    fn plugins(&self) -> Plugins {
        match self.adoption {
            Adoption::Allowed => plugins().with(adopting),
            Adoption::Refused => plugins(),
        }
    }

    async fn prepare(&mut self, world: &World) {
        let metadata = json!({
            "labels": { "gyre.dev/plugin": "other", "gyre.dev/owner-uid": "another" },
            "annotations": { "gyre.dev/outlives-parent": "default/two" },
        });
        world.people.put(&foreign(), &json!({ "metadata": metadata, "data": { "text": "theirs" } })).await;
        self.foreign = world.people.get(&foreign()).await;
    }

    fn action(&mut self, random: &mut Random) -> Action {
        let mut pick = |count: usize| usize::try_from(random.below(count as u64)).expect("an index");
        let name = NAMES[pick(NAMES.len())];
        match pick(8) {
            0 => Action::Delete(parent(name), Cascade::Background),
            1 => Action::Delete(parent(name), Cascade::Foreground),
            2 => {
                let child = children()[pick(3)].clone();
                self.seen.remove(&child);
                Action::DeleteChild(child)
            }
            3 => Action::Edit(children()[0].clone(), json!({ "data": { "text": "edited" } })),
            _ => wants(name, &format!("text {}", pick(3))),
        }
    }

    fn step(&mut self, number: usize) -> Option<Vec<Action>> {
        let deleted = |name, cascade| Action::Delete(parent(name), cascade);
        let steps = [
            vec![wants("one", "a"), wants("two", "a")],
            vec![wants("one", "b")],
            vec![deleted("one", Cascade::Background), deleted("two", Cascade::Foreground)],
            vec![wants("one", "c"), wants("two", "c")],
            vec![deleted("one", Cascade::Background)],
        ];
        steps.into_iter().nth(number)
    }

    async fn wrongs_now(&mut self, world: &World) -> Vec<String> {
        let mut wrongs = Vec::new();
        for child in children() {
            let found = world.people.get(&child).await.unwrap_or_default();
            let (uid, references) = (&found["metadata"]["uid"], &found["metadata"]["ownerReferences"]);
            if let Some(before) = self.seen.remove(&child)
                && before != *uid
            {
                wrongs.push(format!("{child} was deleted, or made twice: {found}"));
            }
            if !references.is_null() {
                wrongs.push(format!("{child} would go with its parent: {references}"));
            }
            if !uid.is_null() {
                self.seen.insert(child, uid.clone());
            }
        }
        let found = world.people.get(&foreign()).await;
        if found != self.foreign {
            wrongs.push(format!("{}, which belongs to another plugin, is {found:?}", foreign()));
        }
        wrongs
    }

    async fn wrongs_at_rest(&mut self, world: &World) -> Vec<String> {
        let mut wrongs = Vec::new();
        for name in NAMES {
            let parent = world.people.get(&parent(name)).await.unwrap_or_default();
            let account = world.people.get(&Name::new(kinds::SERVICE_ACCOUNT, "default", name)).await;
            if account.is_none() != parent.is_null() {
                wrongs.push(format!("{account:?} is the ServiceAccount of {parent}"));
            }
            if parent.is_null() {
                continue;
            }
            let mut has_all = foreign().name != name;
            for child in children().into_iter().filter(|child| child.name == name) {
                let found = world.people.get(&child).await.unwrap_or_default();
                let is_its = found["metadata"]["labels"]["gyre.dev/owner-uid"] == parent["metadata"]["uid"];
                has_all &= is_its;
                let may_be_of_an_earlier_parent = self.adoption == Adoption::Refused && !found.is_null();
                if !is_its && !may_be_of_an_earlier_parent {
                    wrongs.push(format!("{child} is not that of {parent}: {found}"));
                }
                if is_its && child.kind == kinds::CONFIG_MAP && found["data"] != parent["spec"] {
                    wrongs.push(format!("{child} is not as {parent} wants it: {found}"));
                }
            }
            let expected = if has_all { ("True", "Written") } else { ("False", "ForeignObject") };
            if ready(&parent) != expected {
                wrongs.push(format!("{parent} is not {expected:?}"));
            }
        }
        wrongs
    }
}

fn subjects() -> [Outliving; 2] {
    [Adoption::Refused, Adoption::Allowed].map(|adoption| Outliving { adoption, seen: BTreeMap::new(), foreign: None })
}

#[test]
fn children_outlive_their_parents_under_faults_and_takeovers() {
    for subject in subjects() {
        under_faults(&format!("children that outlive, adoption {:?}", subject.adoption), 18, Hosts::InTurns, &subject);
    }
}

#[test]
fn children_outlive_their_parents_if_a_host_is_killed_after_any_of_its_writes() {
    for subject in subjects() {
        let name = format!("children that outlive, killed after each write, adoption {:?}", subject.adoption);
        killed_after_each_write(&name, &subject);
    }
}

#[test]
fn children_that_outlive_their_parents_follow_a_restore_from_yesterdays_backup() {
    for subject in subjects() {
        restored_from_a_backup(&format!("children that outlive and a restore, adoption {:?}", subject.adoption), 8, &subject);
    }
}

/// The cache shows that the plugin no longer wants the children before it shows that the parent is
/// gone.
#[test]
fn children_that_are_no_longer_wanted_stay_if_their_parent_is_deleted_first() {
    let requests =
        Requests { verbs: vec!["watch".to_owned()], resource: "outlivings.guests.gyre.dev".to_owned(), ..Requests::default() };
    let rules = vec![Rule { requests, faults: vec![(Fault::EventDelayed, 1.0)] }];
    let event_delay = Duration::from_millis(1)..=Duration::from_secs(2);
    let plan = Plan { rules, event_delay, ..Plan::default() };
    try_seeds("no longer wanted", 40, |seed| {
        simulate(async {
            let world = World::set_up(&plugins(), seed, plan.clone()).await;
            let _host = world.host(&plugins());
            world.people.act(&wants("one", "a")).await;
            world.rest(QUIET).await;
            world.people.act(&wants("one", "")).await;
            sleep(Duration::from_millis(Random::new(seed).below(1_000))).await;
            world.people.act(&Action::Delete(parent("one"), Cascade::Background)).await;
            let there = world.people.snapshot([kinds::CONFIG_MAP, kinds::SECRET]).await;
            let left: Vec<Name> = children().into_iter().filter(|child| there.contains_key(child)).collect();
            world.rest(QUIET).await;
            let there = world.people.snapshot([kinds::CONFIG_MAP, kinds::SECRET]).await;
            let lost = left.iter().filter(|child| !there.contains_key(*child));
            let wrongs = lost.map(|child| format!("{child} was deleted after its parent")).collect();
            Tried { wrongs, counts: vec![("children left", left.len() as u64)] }
        })
    });
}
