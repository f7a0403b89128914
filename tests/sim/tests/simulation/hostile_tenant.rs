//! A tenant who takes marks off objects and forges others, takes the names of children, writes
//! statuses, and changes objects again and again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use gyre_core::conflict::OnConflict;
use gyre_core::groups::{Group, pause};
use gyre_core::parent_fields::mark;
use gyre_core::plan::{DIGEST_ANNOTATION, OWNER_UID_LABEL, PLUGIN_LABEL};
use gyre_devcluster::faults::Plan;
use gyre_engine::leadership::claim::Claim;
use gyre_engine::program::Policy;
use gyre_sandbox::Limits;
use gyre_sim::kinds::{self, Name};
use gyre_sim::{Action, Cascade, World, simulate, touched};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::copies::Replicator;
use crate::faults::QUIET;
use crate::groups::{MIB, Tenants, config_maps, grown_group, is_of_group, member, readiness};
use crate::parent_fields::Marking;
use crate::seeds::{Tried, try_each};
use crate::subjects::{RECHECKED, Subject as _, started};
use crate::{copies, generated, groups, parent_fields};

/// A parent whose fields are refused if people own one of them.
const MARKING: Marking = Marking { on_conflict: OnConflict::Refuse, size: 0, label: None };

fn secret(namespace: &str) -> Name {
    Name::new(kinds::SECRET, namespace, "one")
}

/// Returns the namespaces of the Secrets `one`.
async fn namespaces(world: &World) -> Vec<String> {
    let secrets = world.people.list(kinds::SECRET).await;
    let metadata = secrets.iter().map(|secret| &secret["metadata"]).filter(|metadata| metadata["name"] == "one");
    metadata.map(|metadata| metadata["namespace"].as_str().unwrap().to_owned()).collect()
}

/// The copy asks for copies in another namespace, and in place of the Secret that it is a copy of.
#[test]
fn a_copy_is_no_parent_until_its_marks_are_removed_and_then_its_copies_are_not() {
    for (labels, annotations, is_parent) in [
        (json!({ PLUGIN_LABEL: null }), json!({}), false),
        (json!({ OWNER_UID_LABEL: null }), json!({}), false),
        (json!({}), json!({ DIGEST_ANNOTATION: null }), false),
        (json!({ PLUGIN_LABEL: null }), json!({ DIGEST_ANNOTATION: null }), true),
        (json!({ PLUGIN_LABEL: "somebody" }), json!({}), true),
    ] {
        simulate(async {
            let (world, replicator) = started(&Replicator, 0, Plan::default()).await;
            let host = world.host(&replicator.plugins());
            world.people.act(&copies::source("one", "team-a", 1)).await;
            world.rest(QUIET).await;
            let before = world.people.get(&secret("default")).await.unwrap()["data"].clone();
            let mut metadata = json!({ "labels": labels, "annotations": annotations });
            metadata["annotations"][copies::TO] = json!("default, team-b");
            world.people.act(&Action::Edit(secret("team-a"), json!({ "metadata": metadata }))).await;
            sleep(RECHECKED).await;
            let expected: &[&str] = if is_parent { &["default", "team-a", "team-b"] } else { &["default", "team-a"] };
            assert_eq!(namespaces(&world).await, expected, "{metadata}");
            assert_eq!(world.people.get(&secret("default")).await.unwrap()["data"], before, "{metadata}");
            let writes = host.writes();
            sleep(RECHECKED).await;
            assert_eq!(host.writes(), writes, "{metadata}: it does not come to rest");
        });
    }
}

/// The label names the Secret itself as the owner, or another one.
#[test]
fn a_secret_that_somebody_labels_as_a_copy_is_not_deleted_and_followed_again_without_the_label() {
    for owner in copies::SOURCES {
        simulate(async {
            let (world, mut replicator) = started(&Replicator, 0, Plan::default()).await;
            let _host = world.host(&replicator.plugins());
            for name in copies::SOURCES {
                world.people.act(&copies::source(name, "team-a", 1)).await;
            }
            world.rest(QUIET).await;
            let uid = async |name: &str| {
                let secret = world.people.get(&Name::new(kinds::SECRET, "default", name)).await.unwrap();
                secret["metadata"]["uid"].clone()
            };
            let (before, owner) = (uid("one").await, uid(owner).await);
            let label = async |labels: Value| {
                let patch = json!({ "metadata": { "labels": labels } });
                world.people.act(&Action::Edit(secret("default"), patch)).await;
            };
            label(json!({ PLUGIN_LABEL: "replicator", OWNER_UID_LABEL: owner })).await;
            world.people.act(&copies::source("one", "team-a", 2)).await;
            sleep(RECHECKED).await;
            assert_eq!(uid("one").await, before);
            assert_eq!(replicator.wrongs_at_rest(&world).await.len(), 1, "it is no parent, so its copy stays as it was");
            label(json!({ PLUGIN_LABEL: null, OWNER_UID_LABEL: null })).await;
            world.rest(QUIET).await;
            assert_eq!(replicator.wrongs_at_rest(&world).await, [""; 0]);
        });
    }
}

/// The host makes the values before it knows whether the name is free.
#[test]
fn a_secret_that_somebody_creates_at_any_moment_gets_no_values() {
    try_each("a Secret created before each request", 1..=8, |request| {
        simulate(async {
            let world = generated::started(request, Plan::default()).await;
            let _host = world.host(&generated::plugins());
            world.rest(QUIET).await;
            let so_far = world.record.inspect(|sent| sent.iter().filter(|sent| !sent.is_watch()).count());
            let request = so_far + usize::try_from(request).expect("a number");
            let (told, tells) = std::sync::mpsc::channel();
            let people = world.people.clone();
            let content = json!({ "data": { "password": "bWluZQ==" } });
            world.record.before(request, move || {
                told.send(people.take_name(&generated::secret(), &content)).expect("a listener");
            });
            world.people.act(&generated::database(0)).await;
            world.rest(QUIET).await;
            let is_taken = tells.try_recv().unwrap_or(false);
            let values = generated::values(&world).await;
            let runs = world.people.get(&Name::new(kinds::STATEFUL_SET, "default", "db-0")).await.is_some();
            let (expected, foreign) = if is_taken { ((1, false), vec![generated::secret()]) } else { ((7, true), Vec::new()) };
            let mut wrongs = touched(&world.people, &foreign).await;
            if (values.len(), runs) != expected {
                wrongs.push(format!("taken: {is_taken}, but {} values, and it runs: {runs}", values.len()));
            }
            Tried { wrongs, counts: vec![("names taken", u64::from(is_taken))] }
        })
    });
}

#[test]
fn a_field_that_somebody_keeps_changing_costs_few_requests_for_each_change() {
    const ROUNDS: usize = 20;
    /// An attempt to set the fields, a status that says how it ended, and another attempt.
    const MOST_FOR_EACH: usize = 3;
    simulate(async {
        let (world, mut marking) = started(&MARKING, 0, Plan::default()).await;
        let _host = world.host(&marking.plugins());
        marking.size = 1;
        world.people.act(&parent_fields::wants(1)).await;
        world.rest(QUIET).await;
        let before = world.record.len();
        let label = |value: Value| json!({ "metadata": { "labels": { "size": value } } });
        let of_mark = |value: Value| json!({ "metadata": { "annotations": { mark("marking"): value } } });
        // The mark says that the fields were set.
        let changes =
            [label(json!("mine")), label(Value::Null), of_mark(Value::Null), of_mark(json!("forged")), of_mark(Value::Null)];
        for change in changes.iter().cycle().take(ROUNDS * changes.len()) {
            world.people.act(&Action::Edit(parent_fields::one(), change.clone())).await;
            sleep(Duration::from_secs(1)).await;
        }
        sleep(RECHECKED).await;
        let writes = world.record.inspect(|sent| {
            sent[before..].iter().filter(|sent| sent.is_write() && sent.path().contains("/markings/one")).count()
        });
        let most = MOST_FOR_EACH * ROUNDS * changes.len();
        assert!((ROUNDS..=most).contains(&writes), "{writes} requests for {} changes", ROUNDS * changes.len());
        assert_eq!(marking.wrongs_at_rest(&world).await, [""; 0]);
    });
}

/// The mark says that the plugin has set fields, which would be withdrawn again and again.
#[test]
fn a_mark_of_fields_that_somebody_forges_is_removed_once() {
    simulate(async {
        let (world, mut marking) = started(&MARKING, 0, Plan::default()).await;
        let forged = json!({ "metadata": { "annotations": { mark("marking"): "forged" } }, "spec": { "wait": false } });
        world.people.act(&Action::Put(parent_fields::one(), forged)).await;
        let host = world.host(&marking.plugins());
        world.rest(QUIET).await;
        assert_eq!(marking.wrongs_at_rest(&world).await, [""; 0]);
        let writes = host.writes();
        sleep(RECHECKED).await;
        assert_eq!(host.writes(), writes);
    });
}

#[test]
fn a_group_that_somebody_makes_for_no_member_is_deleted_and_nothing_else_changes() {
    simulate(async {
        let (world, plugins, _) = grown_group(Policy::default(), 3).await;
        let host = world.host(&plugins);
        world.rest(QUIET).await;
        let (members, writes) = (world.people.list(kinds::GROUPED).await, host.writes());
        let group = Group::of_value("grouped", "nobody".to_owned());
        let name = Name::cluster(kinds::PARENT_GROUP, &group.name);
        let forged = json!({ "spec": group.object("grouped")["spec"] });
        world.people.act(&Action::Put(name.clone(), forged)).await;
        world.people.act(&Action::EditStatus(name, json!({ "status": { "given": 100 } }))).await;
        world.rest(QUIET).await;
        let groups = world.people.list(kinds::PARENT_GROUP).await;
        let values: Vec<&Value> = groups.iter().map(|group| &group["spec"]["value"]).collect();
        assert_eq!(values, ["one"]);
        assert_eq!(world.people.list(kinds::GROUPED).await, members);
        assert_eq!(config_maps(&world).await, 3);
        // The deletion of the group, and an Event at most.
        assert!(host.writes() - writes <= 2, "{} writes", host.writes() - writes);
    });
}

#[test]
fn an_address_that_somebody_writes_into_a_status_is_given_to_one_claim_only() {
    simulate(async {
        let (world, mut tenants) = started(&Tenants, 0, Plan::default()).await;
        let _host = world.host(&tenants.plugins());
        for number in [1, 2] {
            world.people.act(&groups::wants("default", number, "core")).await;
            // The time of creation has seconds.
            sleep(Duration::from_secs(5)).await;
        }
        let addresses = async || {
            let claims = world.people.list(kinds::ADDRESS_CLAIM).await;
            claims.into_iter().map(|claim| claim["status"]["address"].clone()).collect::<Vec<_>>()
        };
        let forge = async |number: u64, address: &Value| {
            let status = json!({ "status": { "address": address } });
            world.people.act(&Action::EditStatus(groups::claim("default", number), status)).await;
            world.rest(QUIET).await;
        };
        let given = addresses().await;
        // The address of the older claim, and one that is not of the pool.
        for address in [&given[0], &json!("203.0.113.9")] {
            forge(2, address).await;
            assert_eq!(addresses().await, given, "{address}");
        }
        // Of two claims with one address, the older one keeps it.
        forge(1, &given[1]).await;
        assert_eq!(addresses().await, [given[1].clone(), given[0].clone()]);
        assert_eq!(tenants.wrongs_at_rest(&world).await, [""; 0]);
    });
}

#[test]
fn members_that_keep_changing_cause_one_call_in_each_pause() {
    const MEMBERS: usize = 400;
    simulate(async {
        let (world, plugins, _) = grown_group(Policy::default(), MEMBERS).await;
        let _host = world.host(&plugins);
        world.rest(QUIET).await;
        let calls = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&calls);
        let _listening = world.recordings.listen(None, move |_| {
            counter.fetch_add(1, Ordering::Relaxed);
        });
        let began = Instant::now();
        for number in 0..MEMBERS {
            let change = json!({ "metadata": { "annotations": { "changed": "yes" } } });
            world.people.act(&Action::Edit(member(number), change)).await;
            sleep(Duration::from_millis(1)).await;
        }
        let pauses = began.elapsed().as_millis() / pause(MEMBERS).as_millis();
        world.rest(QUIET).await;
        let most = usize::try_from(pauses).expect("a number") + 2;
        let calls = calls.load(Ordering::Relaxed);
        assert!((2..=most).contains(&calls), "{calls} calls in {pauses} pauses, for {MEMBERS} changes");
    });
}

#[test]
fn a_group_that_is_too_large_stops_no_other_group() {
    simulate(async {
        // A quarter of it is for members.
        let limits = Limits { memory_bytes: 4 * MIB, ..Limits::default() };
        let (world, _, programs) = grown_group(Policy { limits, ..Policy::default() }, 0).await;
        for number in 0..3 {
            world.people.act(&is_of_group(number, &json!({ "text": "x".repeat(400 * 1_024) }))).await;
        }
        world.people.act(&Action::Put(member(3), json!({ "spec": { "group": "two" } }))).await;
        let _host = world.host_with(programs, Claim::always(), None);
        world.rest(QUIET).await;
        let members = world.people.list(kinds::GROUPED).await;
        let told: Vec<&Value> = members.iter().map(|member| &member["status"]["members"]).collect();
        assert_eq!(told, [&Value::Null, &Value::Null, &Value::Null, &json!(1)]);
        assert_eq!(config_maps(&world).await, 1);
    });
}

#[test]
fn the_children_of_a_group_that_loses_all_members_at_once_are_held() {
    const MEMBERS: usize = 30;
    simulate(async {
        let (world, plugins, _) = grown_group(Policy::default(), MEMBERS).await;
        let host = world.host(&plugins);
        world.rest(QUIET).await;
        host.kill().await;
        for number in 0..MEMBERS {
            world.people.act(&Action::Delete(member(number), Cascade::Background)).await;
        }
        let _host = world.host(&plugins);
        sleep(RECHECKED).await;
        let ready = readiness(&world).await;
        assert_eq!((config_maps(&world).await, &ready["reason"]), (MEMBERS, &json!("DeletionHeld")), "{ready}");
        for number in 0..MEMBERS {
            world.people.act(&is_of_group(number, &json!({}))).await;
        }
        world.rest(QUIET).await;
        assert_eq!((config_maps(&world).await, &readiness(&world).await["status"]), (MEMBERS, &json!("True")));
    });
}
