//! Generated values of Secrets are made once, whatever happens to hosts.

use std::collections::BTreeMap;
use std::time::Duration;

use gyre_core::grants::Adoption;
use gyre_devcluster::faults::{Fault, Plan, Requests, Rule};
use gyre_devcluster::random::Random;
use gyre_engine::leadership::claim::Claim;
use gyre_engine::program::fixed;
use gyre_sim::kinds::{self, Name};
use gyre_sim::{Action, Plugins, World, simulate};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::faults::{QUIET, late_caches};
use crate::seeds::{Tried, try_each, try_seeds};

const DAY: Duration = Duration::from_secs(86_400);

/// The delay of all events of Secrets in [`late_secrets`].
const LATE: Duration = Duration::from_secs(30);

/// The longest time until the caches have followed a few events that are late.
const FOLLOWED: Duration = Duration::from_secs(600);

/// `chosen by hand`, in base64.
const BY_HAND: &str = "Y2hvc2VuIGJ5IGhhbmQ=";

/// `postgresql://other:chosen by hand@db-0.default.svc:5432/other?sslmode=verify-full`, in base64.
const URL_BY_HAND: &str = concat!(
    "cG9zdGdyZXNxbDovL290aGVyOmNob3NlbiBieSBoYW5kQGRiLTAuZGVmYXVsdC5zdmM6NTQzMi9vdGhlcj9zc2xt",
    "b2RlPXZlcmlmeS1mdWxs",
);

fn plugins() -> Plugins {
    Plugins::one(gyre_artifacts::DATABASE)
}

fn parent() -> Name {
    Name::new(kinds::DATABASE, "default", "db-0")
}

fn secret() -> Name {
    Name::new(kinds::SECRET, "default", "db-0")
}

fn database(epoch: u64) -> Action {
    database_of("app", epoch)
}

fn database_of(name: &str, epoch: u64) -> Action {
    Action::Put(parent(), json!({ "spec": { "name": name, "passwordEpoch": epoch } }))
}

/// Caches of Secrets are behind, and all others are not.
fn late_secrets() -> Plan {
    let requests = Requests { verbs: vec!["watch".to_owned()], resource: "secrets".to_owned(), ..Requests::default() };
    let rules = vec![Rule { requests, faults: vec![(Fault::EventDelayed, 1.0)] }];
    Plan { rules, event_delay: LATE..=LATE, ..Plan::default() }
}

async fn started(seed: u64, plan: Plan) -> World {
    World::set_up(&plugins(), seed, plan).await
}

async fn values(world: &World) -> BTreeMap<String, Value> {
    let secret = world.people.get(&secret()).await;
    let data = secret.as_ref().and_then(|secret| secret.get("data")?.as_object());
    data.into_iter().flatten().map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// The values that differ between a moment and a later one, except those that were missing.
fn lost(what: &str, before: &BTreeMap<String, Value>, after: &BTreeMap<String, Value>) -> Vec<String> {
    let differs = |(key, value): &(&String, &Value)| after.get(*key) != Some(*value);
    before.iter().filter(differs).map(|(key, _)| format!("{what}: {key} was made twice")).collect()
}

#[test]
fn a_host_that_is_killed_after_any_of_its_writes_makes_no_value_twice() {
    try_each("killed after each write", 1..=12, |write| {
        simulate(async {
            let world = started(write, Plan::default()).await;
            let programs = fixed(plugins().programs().to_vec());
            let first = world.host_with(programs, Claim::always(), Some(write));
            world.people.act(&database(0)).await;
            // Fewer writes than this may be all.
            let _ = tokio::time::timeout(Duration::from_secs(60), first.killed()).await;
            let before = values(&world).await;
            drop(world.host(&plugins()));
            world.rest(QUIET).await;
            let after = values(&world).await;
            let mut wrongs = lost("after the host was killed", &before, &after);
            if after.len() != 7 {
                wrongs.push(format!("the Secret has {} values", after.len()));
            }
            world.people.act(&database(1)).await;
            world.rest(QUIET).await;
            let last = values(&world).await;
            let changed: Vec<&String> =
                last.iter().filter(|(key, value)| after.get(*key) != Some(*value)).map(|(key, _)| key).collect();
            if changed != ["password", "password.scram", "url"] {
                wrongs.push(format!("another epoch changed {changed:?}"));
            }
            Tried { wrongs, counts: vec![("values before the kill", before.len() as u64)] }
        })
    });
}

/// The worst case: both write, with caches that are late.
#[test]
fn of_two_hosts_that_both_create_a_secret_one_wins_and_the_values_stay() {
    try_seeds("two writers", 15, |seed| {
        simulate(async {
            let plan = if seed.is_multiple_of(2) { late_caches() } else { Plan::default() };
            let world = started(seed, plan).await;
            let mut random = Random::new(seed);
            let _hosts = [world.host(&plugins()), world.host(&plugins())];
            sleep(Duration::from_millis(random.below(3_000))).await;
            world.people.act(&database(0)).await;
            let mut first = BTreeMap::new();
            let mut wrongs = Vec::new();
            for _ in 0..40 {
                sleep(Duration::from_millis(random.below(2_000))).await;
                let now = values(&world).await;
                wrongs.extend(lost("with two writers", &first, &now));
                first = now;
            }
            world.calm_down();
            world.rest(QUIET).await;
            wrongs.extend(lost("in the end", &first, &values(&world).await));
            Tried { wrongs, counts: vec![("values", first.len() as u64)] }
        })
    });
}

/// A person edits the Secret, and at once the plugin asks for another text. The host decides by the
/// Secret as it was before.
#[test]
fn an_edit_that_the_cache_does_not_show_yet_is_not_overwritten() {
    // Until the first apply, the Secret is as the POST has created it.
    for applies in [0, 1] {
        simulate(async {
            let world = started(0, late_secrets()).await;
            let host = world.host(&plugins());
            sleep(FOLLOWED).await;
            for epoch in 0..=applies {
                world.people.act(&database(epoch)).await;
                assert!(world.rest(FOLLOWED).await);
            }
            assert_eq!(values(&world).await.len(), 7);
            let mark = world.record.len();
            world.people.act(&Action::Edit(secret(), json!({ "data": { "password": BY_HAND } }))).await;
            world.people.act(&database_of("other", applies)).await;
            sleep(LATE / 10).await;
            let attempts = world.record.inspect(|sent| {
                let about_it = sent[mark..].iter().filter(|sent| sent.path().ends_with("/secrets/db-0"));
                about_it.count()
            });
            assert!(attempts > 0, "after {applies} applies, the host has not tried before it knew of the edit");
            assert_eq!(values(&world).await["password"], BY_HAND, "after {applies} applies, it is overwritten");
            assert!(world.rest(FOLLOWED).await);
            let after = values(&world).await;
            assert_eq!((&after["password"], &after["url"]), (&json!(BY_HAND), &json!(URL_BY_HAND)), "after {applies} applies");
            host.kill().await;
        });
    }
}

/// The certificate is valid for 90 days, and renewed when 30 are left. Most of the time passes
/// without a host, because each simulated day of a host takes seconds.
#[test]
fn certificates_are_renewed_in_time_without_a_call_and_nothing_else_changes() {
    simulate(async {
        let world = started(0, Plan::default()).await;
        let first = world.host(&plugins());
        world.people.act(&database(0)).await;
        world.rest(QUIET).await;
        let (before, writes) = (values(&world).await, first.writes());
        sleep(DAY).await;
        assert_eq!(values(&world).await, before);
        assert_eq!(first.writes(), writes, "nothing is written when nothing differs");
        first.kill().await;
        sleep(57 * DAY).await;
        let second = world.host(&plugins());
        world.rest(QUIET).await;
        let writes = second.writes();
        sleep(DAY).await;
        assert_eq!(values(&world).await, before);
        assert_eq!(second.writes(), writes, "nothing is written when nothing differs");
        sleep(2 * DAY).await;
        let after = values(&world).await;
        let changed: Vec<&String> =
            after.iter().filter(|(key, value)| before.get(*key) != Some(*value)).map(|(key, _)| key).collect();
        assert_eq!(changed, ["tls.crt", "tls.key"]);
        second.kill().await;
    });
}

#[test]
fn values_survive_a_restore_from_yesterdays_backup_and_a_move_to_another_cluster() {
    simulate(async {
        let world = started(0, Plan::default()).await;
        let host = world.host(&plugins());
        world.people.act(&database(0)).await;
        world.rest(QUIET).await;
        let first = values(&world).await;
        let backup = world.cluster().with_server(|server| server.backup());
        world.people.act(&database(1)).await;
        world.rest(QUIET).await;
        assert_ne!(values(&world).await, first);
        world.cluster().with_server(|server| server.restore_backup(&backup));
        sleep(Duration::from_secs(400)).await;
        world.rest(QUIET).await;
        assert_eq!(lost("after the restore", &first, &values(&world).await), [""; 0]);
        let stored = world.people.get(&secret()).await.expect("a Secret");
        host.kill().await;

        // Another cluster has another key of digests, and other UIDs.
        let other = started(1, Plan::default()).await;
        let metadata = json!({ "annotations": stored["metadata"]["annotations"], "labels": stored["metadata"]["labels"] });
        other.people.create_in(&secret(), &json!({ "metadata": metadata, "data": stored["data"] })).await;
        let mut adopting = plugins().programs().to_vec();
        for program in &mut adopting {
            program.grants = program.grants.clone().with_adoption(Adoption::Allowed);
        }
        drop(other.host_with(fixed(adopting), Claim::always(), None));
        other.people.act(&database(0)).await;
        other.rest(QUIET).await;
        assert_eq!(values(&other).await, first);
        assert!(other.people.get(&Name::new(kinds::STATEFUL_SET, "default", "db-0")).await.is_some(), "it runs with them");
    });
}
