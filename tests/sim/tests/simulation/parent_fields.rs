//! Fields of parents that their plugin sets, with people who edit them, and with hosts that are
//! late or killed.

use std::time::Duration;

use gyre_core::conflict::OnConflict;
use gyre_core::parent_fields::mark;
use gyre_devcluster::faults::Plan;
use gyre_devcluster::random::Random;
use gyre_engine::leadership::claim::Claim;
use gyre_engine::program::{Policy, Program, fixed};
use gyre_sim::kinds::{self, Name};
use gyre_sim::{Action, Plugins, World, simulate};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::faults::{QUIET, late_caches};
use crate::seeds::{Tried, try_each, try_seeds};

pub(crate) fn plugins() -> Plugins {
    Plugins::one(gyre_artifacts::probes::MARKING)
}

pub(crate) fn one() -> Name {
    Name::new(kinds::MARKING, "default", "one")
}

/// Returns the fields that the plugin sets, by the number that people choose; nothing for zero.
fn fields(size: u64) -> Option<Value> {
    (size > 0)
        .then(|| json!({ "metadata": { "labels": { "size": size.to_string() } }, "spec": { "note": format!("size {size}") } }))
}

/// People apply the whole object, without the fields of the plugin.
pub(crate) fn wants(size: u64) -> Action {
    let spec = fields(size).map_or_else(|| json!({}), |fields| json!({ "fields": fields }));
    Action::Put(one(), json!({ "spec": spec }))
}

pub(crate) async fn started(seed: u64, plan: Plan) -> World {
    World::set_up(&plugins(), seed, plan).await
}

/// Returns the differences from the fields that people want at last, and from what people have set.
pub(crate) async fn wrongs(world: &World, size: u64) -> Vec<String> {
    let Some(object) = world.people.get(&one()).await else { return vec!["it is gone".to_owned()] };
    let at = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let annotations = object.pointer("/metadata/annotations").cloned().unwrap_or_default();
    let is_marked = annotations.get(mark("marking")).is_some();
    let expected = (size > 0).then(|| size.to_string());
    let mut wrongs = Vec::new();
    if at("/metadata/labels/size") != expected {
        wrongs.push(format!("the label is {:?} instead of {expected:?}", at("/metadata/labels/size")));
    }
    if at("/spec/note") != expected.as_ref().map(|size| format!("size {size}")) {
        wrongs.push(format!("the note is {:?} with size {size}", at("/spec/note")));
    }
    if is_marked != (size > 0) {
        wrongs.push(format!("the mark is there: {is_marked}, with size {size}"));
    }
    if at("/metadata/labels/team").as_deref() != Some("web") {
        wrongs.push("a label of people is lost".to_owned());
    }
    wrongs
}

pub(crate) fn team() -> Action {
    Action::Edit(one(), json!({ "metadata": { "labels": { "team": "web" } } }))
}

#[test]
fn the_fields_are_those_of_the_last_answer_and_nothing_of_others_is_lost() {
    try_seeds("fields follow", 60, |seed| {
        simulate(async {
            let plan = if seed.is_multiple_of(2) { late_caches() } else { Plan::default() };
            let world = started(seed, plan).await;
            let mut random = Random::new(seed);
            let _host = world.host(&plugins());
            world.people.act(&wants(random.below(3))).await;
            world.people.act(&team()).await;
            let mut size = 0;
            for _ in 0..6 {
                size = random.below(3);
                world.people.act(&wants(size)).await;
                sleep(Duration::from_millis(random.below(1_500))).await;
            }
            world.calm_down();
            world.rest(QUIET).await;
            Tried { wrongs: wrongs(&world, size).await, counts: vec![("none", u64::from(size == 0))] }
        })
    });
}

#[test]
fn a_field_that_somebody_else_owns_is_refused_with_all_others_or_skipped_alone() {
    let fields =
        json!({ "fields": { "metadata": { "labels": { "size": "1", "team": "data" } }, "spec": { "note": "size 1" } } });
    for on_conflict in [OnConflict::Refuse, OnConflict::SkipField] {
        simulate(async {
            let world = started(0, Plan::default()).await;
            world.people.act(&wants(0)).await;
            world.people.act(&team()).await;
            let policy = Policy { on_conflict, ..Policy::default() };
            let programs = plugins().programs_with(|program| Program { policy: policy.clone(), ..program });
            let host = world.host_with(programs, Claim::always(), None);
            world.people.act(&Action::Edit(one(), json!({ "spec": fields }))).await;
            world.rest(QUIET).await;
            let object = world.people.get(&one()).await.unwrap();
            let is_skipped = on_conflict == OnConflict::SkipField;
            assert_eq!(object["metadata"]["labels"]["team"], "web", "the value of the other manager");
            let size = object.pointer("/metadata/labels/size").and_then(Value::as_str);
            assert_eq!(
                (size, object.pointer("/spec/note").is_some()),
                (is_skipped.then_some("1"), is_skipped),
                "{on_conflict:?}"
            );
            let events = world.people.list(kinds::EVENT).await;
            let reason = if is_skipped { "FieldsSkipped" } else { "Conflict" };
            assert!(events.iter().any(|event| event["reason"] == reason), "{on_conflict:?}: {events:?}");
            let writes = host.writes();
            sleep(QUIET).await;
            assert_eq!(host.writes(), writes, "the host writes although nothing changes");
        });
    }
}

#[test]
fn a_host_that_is_killed_after_any_of_its_writes_leaves_no_fields_behind() {
    try_each("killed after each write", 1..=6, |write| {
        simulate(async {
            let world = started(write, Plan::default()).await;
            let programs = fixed(plugins().programs().to_vec());
            let first = world.host_with(programs, Claim::always(), Some(write));
            world.people.act(&wants(1)).await;
            world.people.act(&team()).await;
            sleep(Duration::from_secs(5)).await;
            world.people.act(&wants(2)).await;
            sleep(Duration::from_secs(5)).await;
            world.people.act(&wants(0)).await;
            // Fewer writes than this may be all.
            let _ = tokio::time::timeout(Duration::from_secs(60), first.killed()).await;
            let _second = world.host(&plugins());
            world.rest(QUIET).await;
            let mut found = wrongs(&world, 0).await;
            world.people.act(&wants(2)).await;
            world.rest(QUIET).await;
            found.extend(wrongs(&world, 2).await);
            Tried { wrongs: found, counts: Vec::new() }
        })
    });
}

/// A person and the plugin want different values of one field.
#[test]
fn what_a_person_edits_is_theirs_and_nobody_writes_for_ever() {
    try_seeds("edited", 20, |seed| {
        simulate(async {
            let world = started(seed, Plan::default()).await;
            let mut random = Random::new(seed);
            let _host = world.host(&plugins());
            world.people.act(&wants(1)).await;
            sleep(Duration::from_millis(random.below(2_000))).await;
            world.people.act(&Action::Edit(one(), json!({ "metadata": { "labels": { "size": "mine" } } }))).await;
            sleep(Duration::from_millis(random.below(2_000))).await;
            world.people.act(&wants(2)).await;
            world.rest(QUIET).await;
            let object = world.people.get(&one()).await.unwrap_or_default();
            let before = object.pointer("/metadata/resourceVersion").cloned();
            sleep(Duration::from_secs(600)).await;
            let later = world.people.get(&one()).await.unwrap_or_default();
            let mut wrongs = Vec::new();
            if object.pointer("/metadata/labels/size") != Some(&json!("mine")) {
                wrongs.push(format!("the label is {:?}", object.pointer("/metadata/labels/size")));
            }
            if later.pointer("/metadata/resourceVersion").cloned() != before {
                wrongs.push("it is still written".to_owned());
            }
            Tried { wrongs, counts: Vec::new() }
        })
    });
}
