//! Fields of parents that their plugin sets, with people who edit and apply them, and with hosts
//! that are late or killed.

use std::time::Duration;

use gyre_core::conflict::OnConflict;
use gyre_core::parent_fields::mark;
use gyre_devcluster::faults::Plan;
use gyre_devcluster::random::Random;
use gyre_engine::leadership::claim::Claim;
use gyre_engine::program::{Policy, Program};
use gyre_sim::kinds::{self, Name};
use gyre_sim::{Action, Plugins, Sent, World, simulate};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::faults::QUIET;
use crate::seeds::{Tried, try_seeds};
use crate::subjects::{Hosts, Subject, killed_after_each_write, ready, restored_from_a_backup, under_faults};

/// The value of the label that people apply.
const APPLIED: &str = "theirs";

/// A parent with fields of its plugin, of which people set one.
#[derive(Clone)]
pub(crate) struct Marking {
    pub(crate) on_conflict: OnConflict,
    /// The number that people choose last.
    pub(crate) size: u64,
    /// The value of the label that people have set last, unless they have given it up.
    pub(crate) label: Option<&'static str>,
}

/// An action of people.
#[derive(Clone, Copy)]
enum Change {
    /// They apply the whole object with this number, without the label.
    Size(u64),
    /// They edit the label, or remove it.
    Edit(Option<&'static str>),
    /// They apply the whole object with the label.
    Apply,
}

fn plugins() -> Plugins {
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

/// Returns the object of people, without the fields of the plugin.
fn sized(size: u64) -> Value {
    // With a field of their own, `spec` stays when the plugin's are withdrawn.
    let mut spec = json!({ "wait": false });
    if let Some(fields) = fields(size) {
        spec["fields"] = fields;
    }
    json!({ "spec": spec })
}

pub(crate) fn wants(size: u64) -> Action {
    Action::Put(one(), sized(size))
}

async fn started(seed: u64, plan: Plan) -> World {
    World::set_up(&plugins(), seed, plan).await
}

fn team() -> Action {
    Action::Edit(one(), json!({ "metadata": { "labels": { "team": "web" } } }))
}

impl Marking {
    /// Returns the action, and remembers what follows from it.
    fn after(&mut self, change: Change) -> Action {
        match change {
            Change::Size(size) => {
                self.size = size;
                self.label = self.label.filter(|label| *label != APPLIED);
                wants(size)
            }
            Change::Edit(label) => {
                self.label = label;
                Action::Edit(one(), json!({ "metadata": { "labels": { "size": label } } }))
            }
            Change::Apply => {
                self.label = Some(APPLIED);
                let mut object = sized(self.size);
                object["metadata"] = json!({ "labels": { "size": APPLIED } });
                Action::Put(one(), object)
            }
        }
    }
}

impl Subject for Marking {
    fn plugins(&self) -> Plugins {
        match self.on_conflict {
            OnConflict::Refuse => plugins(),
            OnConflict::SkipField => plugins().with(|program| Program {
                policy: Policy { on_conflict: OnConflict::SkipField, ..program.policy.clone() },
                ..program
            }),
        }
    }

    async fn prepare(&mut self, world: &World) {
        world.people.act(&wants(0)).await;
        world.people.act(&team()).await;
    }

    fn action(&mut self, random: &mut Random) -> Action {
        self.after(match random.below(8) {
            0 | 1 => Change::Edit(Some("mine")),
            2 | 3 => Change::Edit(None),
            4 => Change::Apply,
            _ => Change::Size(random.below(3)),
        })
    }

    fn step(&mut self, number: usize) -> Option<Vec<Action>> {
        let steps = [
            Change::Size(1),
            Change::Size(2),
            Change::Edit(Some("mine")),
            Change::Size(1),
            Change::Edit(None),
            Change::Apply,
            Change::Size(2),
            Change::Size(0),
        ];
        steps.get(number).map(|change| vec![self.after(*change)])
    }

    async fn wrongs_now(&mut self, world: &World) -> Vec<String> {
        let object = world.people.get(&one()).await.unwrap_or_default();
        let labels = &object["metadata"]["labels"];
        let mut wrongs = Vec::new();
        if labels["team"] != "web" {
            wrongs.push(format!("a label of people is lost: {labels}"));
        }
        if let Some(label) = self.label
            && labels["size"] != label
        {
            wrongs.push(format!("people have set the label {label}, and it is {}", labels["size"]));
        }
        wrongs
    }

    /// All fields are refused if people own one of them, unless it is skipped.
    async fn wrongs_at_rest(&mut self, world: &World) -> Vec<String> {
        let object = world.people.get(&one()).await.unwrap_or_default();
        let size = (self.size > 0).then(|| self.size.to_string());
        let is_refused = self.label.is_some() && size.is_some() && self.on_conflict == OnConflict::Refuse;
        let (label, note) = (&object["metadata"]["labels"]["size"], &object["spec"]["note"]);
        let is_marked = object["metadata"]["annotations"].get(mark("marking")).is_some();
        let mut wrongs = Vec::new();
        if self.label.is_none() && label.as_str() != size.as_deref() {
            wrongs.push(format!("the label is {label} with size {size:?}"));
        }
        let expected = size.as_ref().map(|size| format!("size {size}"));
        if !is_refused && (note.as_str(), is_marked) != (expected.as_deref(), size.is_some()) {
            wrongs.push(format!("the note is {note} with size {size:?}, and the mark is there: {is_marked}"));
        }
        let expected = if is_refused { ("False", "Conflict") } else { ("True", "Reconciled") };
        if ready(&object) != expected {
            wrongs.push(format!("it is {:?} instead of {expected:?}", ready(&object)));
        }
        wrongs
    }
}

/// The plugin with each policy about conflicts.
fn subjects() -> [Marking; 2] {
    [OnConflict::Refuse, OnConflict::SkipField].map(|on_conflict| Marking { on_conflict, size: 0, label: None })
}

/// People edit and apply one of the fields, and give it up again.
#[test]
fn the_fields_are_those_of_the_last_answer_and_nothing_of_others_is_lost() {
    for subject in subjects() {
        under_faults(&format!("fields, {:?}", subject.on_conflict), 18, Hosts::InTurns, &subject);
    }
}

#[test]
fn a_host_that_is_killed_after_any_of_its_writes_leaves_no_fields_behind() {
    for subject in subjects() {
        killed_after_each_write(&format!("fields, killed after each write, {:?}", subject.on_conflict), &subject);
    }
}

#[test]
fn fields_of_a_parent_follow_a_restore_from_yesterdays_backup() {
    for subject in subjects() {
        restored_from_a_backup(&format!("fields and a restore, {:?}", subject.on_conflict), 8, &subject);
    }
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

/// A status that somebody else writes causes a call, but the fields would be refused again.
#[test]
fn refused_fields_are_not_requested_again_when_a_status_changes() {
    simulate(async {
        let world = started(0, Plan::default()).await;
        world.people.act(&wants(1)).await;
        world.people.act(&Action::Edit(one(), json!({ "metadata": { "labels": { "size": "mine" } } }))).await;
        let _host = world.host(&plugins());
        world.rest(QUIET).await;
        let before = world.record.len();
        world.people.act(&Action::EditStatus(one(), json!({ "status": { "conditions": [] } }))).await;
        world.rest(QUIET).await;
        let count = |end: &str| {
            let is_about_it = |sent: &&Sent| sent.is_write() && sent.path().ends_with(end);
            world.record.inspect(|sent| sent[before..].iter().filter(is_about_it).count())
        };
        assert_eq!((count("/markings/one"), count("/markings/one/status")), (0, 1));
        let object = world.people.get(&one()).await.unwrap();
        assert_eq!(ready(&object), ("False", "Conflict"));
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
