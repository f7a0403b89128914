//! Generated values of Secrets are made once, whatever happens to hosts.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use gyre_core::generated::{DigestKey, GENERATED_ANNOTATION, Live, shown};
use gyre_core::object::GroupVersionKind;
use gyre_devcluster::faults::{Fault, Plan, Requests, Rule};
use gyre_devcluster::random::Random;
use gyre_devcluster::store::Resource;
use gyre_engine::leadership::claim::Claim;
use gyre_engine::program::fixed;
use gyre_engine::record::{CallRecord, Listening};
use gyre_sim::kinds::{self, Name};
use gyre_sim::{Action, Plugins, World, simulate};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::faults::QUIET;
use crate::subjects::{
    Hosts, Subject, adopting, after_each_write, killed_after_each_write, ready, restored_from_a_backup, take_over, under_faults,
};

const DAY: Duration = Duration::from_secs(86_400);
/// The number of values in the Secret of a Database.
const VALUES: usize = 7;
/// The passwords that people choose, in base64.
const CHOSEN: [&str; 2] = ["Y2hvc2VuIDE=", "Y2hvc2VuIDI="];

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

/// A Database, whose Secret people change, too.
#[derive(Clone, Default)]
struct Database {
    /// The highest one that people have asked for.
    epoch: u64,
    /// The last change of the cluster that was judged.
    revision: u64,
    last_call: Arc<Mutex<Option<Arc<CallRecord>>>>,
    _listening: Option<Arc<Listening>>,
}

pub(crate) fn plugins() -> Plugins {
    Plugins::one(gyre_artifacts::DATABASE)
}

fn parent() -> Name {
    Name::new(kinds::DATABASE, "default", "db-0")
}

pub(crate) fn secret() -> Name {
    Name::new(kinds::SECRET, "default", "db-0")
}

pub(crate) fn database(epoch: u64) -> Action {
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

/// People change or remove a value of the Secret.
fn edited(key: &str, value: Option<&str>) -> Action {
    Action::Edit(secret(), json!({ "data": { key: value } }))
}

pub(crate) async fn started(seed: u64, plan: Plan) -> World {
    World::set_up(&plugins(), seed, plan).await
}

pub(crate) async fn values(world: &World) -> BTreeMap<String, Value> {
    let secret = world.people.get(&secret()).await;
    let data = secret.as_ref().and_then(|secret| secret.get("data")?.as_object());
    data.into_iter().flatten().map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// Returns the epoch of the password that the Secret records.
fn epoch(secret: &Value) -> u64 {
    let record = secret["metadata"]["annotations"][GENERATED_ANNOTATION].as_str().unwrap_or("{}");
    let record: Value = serde_json::from_str(record).expect("a record");
    record["values"]["password"]["epoch"].as_u64().unwrap_or_default()
}

/// Returns the values that a change of the Secret has replaced or removed without a reason. The
/// other two follow from the password.
fn replaced(before: &Value, after: &Value) -> Vec<&'static str> {
    let has_reason = |key: &str| match key {
        "password" => epoch(after) > epoch(before) || CHOSEN.iter().any(|chosen| after["data"]["password"] == **chosen),
        // People remove it, and it is made again with its certificate.
        "tls.key" => after["data"][key].is_null(),
        "tls.crt" => before["data"]["tls.key"].is_null(),
        _ => false,
    };
    let is_replaced = |key: &&str| !before["data"][*key].is_null() && before["data"][*key] != after["data"][*key];
    ["ca.crt", "ca.key", "password", "tls.crt", "tls.key"]
        .into_iter()
        .filter(is_replaced)
        .filter(|key| !has_reason(key))
        .collect()
}

impl Subject for Database {
    fn plugins(&self) -> Plugins {
        plugins()
    }

    async fn prepare(&mut self, world: &World) {
        let last_call = Arc::<Mutex<Option<Arc<CallRecord>>>>::default();
        self.last_call = Arc::clone(&last_call);
        let listening = world.recordings.listen(None, move |record| *last_call.lock() = Some(Arc::clone(record)));
        self._listening = Some(Arc::new(listening));
        self.revision = world.cluster().revision();
        world.people.act(&database(0)).await;
    }

    fn action(&mut self, random: &mut Random) -> Action {
        match random.below(10) {
            0 | 1 => {
                self.epoch += 1;
                database(self.epoch)
            }
            // A lower one changes nothing.
            2 => database(random.below(self.epoch + 1)),
            3 => edited("password", Some(CHOSEN[0])),
            4 => edited("password", Some(CHOSEN[1])),
            5 => edited("tls.key", None),
            6 => Action::DeleteChild(secret()),
            _ => database(self.epoch),
        }
    }

    fn step(&mut self, number: usize) -> Option<Vec<Action>> {
        let steps = [
            vec![database(0)],
            vec![database(1)],
            vec![edited("password", Some(CHOSEN[0]))],
            vec![edited("tls.key", None)],
            vec![database(2)],
            vec![Action::DeleteChild(secret())],
            vec![database(1)],
        ];
        steps.into_iter().nth(number)
    }

    async fn wrongs_now(&mut self, world: &World) -> Vec<String> {
        world.cluster().with_server(|server| {
            let since = std::mem::replace(&mut self.revision, server.store().revision());
            let secrets = Resource::new("", "secrets");
            let changes = server.store().changes_since(&secrets, since).expect("nothing is forgotten yet");
            let of_secret = changes.filter(|change| *change.key.name == *secret().name);
            let versions = of_secret.filter_map(|change| Some((change.before.as_ref()?, &change.after)));
            let keys = versions.flat_map(|(before, after)| replaced(&before.value, &after.value));
            keys.map(|key| format!("{key} was made twice, or lost")).collect()
        })
    }

    /// All values are there, and the plugin was called with their digests.
    async fn wrongs_at_rest(&mut self, world: &World) -> Vec<String> {
        let found = world.people.get(&secret()).await.unwrap_or_default();
        let live = Live::of(&found);
        let text = |key: &str| live.values().get(key).map(|value| String::from_utf8_lossy(value).into_owned());
        let mut wrongs = Vec::new();
        if live.values().len() != VALUES {
            wrongs.push(format!("the Secret has {:?}", live.values().keys()));
        }
        let url = text("password")
            .map(|password| format!("postgresql://app:{password}@db-0.default.svc:5432/app?sslmode=verify-full"));
        if text("url") != url {
            wrongs.push("the connection string has another password".to_owned());
        }
        let database = world.people.get(&parent()).await.unwrap_or_default();
        if ready(&database) != ("True", "Running") {
            wrongs.push(format!("the Database is {}", database["status"]));
        }
        let key = world.people.get(&Name::new(kinds::SECRET, "default", "gyre-digests")).await.unwrap_or_default();
        let expected = shown(&found, DigestKey::of_secret(&key).as_ref()).unwrap_or_default();
        let call = self.last_call.lock().clone();
        let secrets = call.as_ref().and_then(|call| call.children.get(&GroupVersionKind::from_api_version("v1", "Secret")));
        let seen = secrets.and_then(|secrets| secrets.first()).map(|json| serde_json::from_slice::<Value>(json).expect("JSON"));
        let seen = seen.unwrap_or_default();
        if seen["data"] != expected["data"] {
            wrongs.push(format!("the plugin saw {} instead of {}", seen["data"], expected["data"]));
        }
        wrongs
    }
}

#[test]
fn a_host_that_is_killed_after_any_of_its_writes_makes_no_value_twice() {
    killed_after_each_write("values, killed after each write", &Database::default());
}

/// The worst case: both write, with caches that are late.
#[test]
fn of_two_hosts_that_both_create_a_secret_one_wins_and_the_values_stay() {
    under_faults("values of two writers", 18, Hosts::AtOnce, &Database::default());
}

#[test]
fn values_survive_a_restore_from_yesterdays_backup() {
    restored_from_a_backup("values and a restore", 8, &Database::default());
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
fn values_survive_a_move_to_another_cluster_in_which_a_host_is_killed_after_any_of_its_writes() {
    let stored = simulate(async {
        let world = started(0, Plan::default()).await;
        let _host = world.host(&plugins());
        world.people.act(&database(0)).await;
        world.rest(QUIET).await;
        world.people.get(&secret()).await.expect("a Secret")
    });
    let metadata = json!({ "annotations": stored["metadata"]["annotations"], "labels": stored["metadata"]["labels"] });
    let moved = json!({ "metadata": metadata, "data": stored["data"] });
    after_each_write("values that move", |last_write| {
        simulate(async {
            // Another cluster has another key of digests, and other UIDs.
            let world = started(1, Plan::default()).await;
            world.people.create_in(&secret(), &moved).await;
            let plugins = plugins().with(adopting);
            let first = world.host_with(fixed(plugins.programs().to_vec()), Claim::always(), last_write);
            world.people.act(&database(0)).await;
            let writes = take_over(&world, &plugins, first, last_write).await;
            world.rest(QUIET).await;
            let mut wrongs = Vec::new();
            if world.people.get(&secret()).await.unwrap_or_default()["data"] != stored["data"] {
                wrongs.push("the values are not those of the first cluster".to_owned());
            }
            if world.people.get(&Name::new(kinds::STATEFUL_SET, "default", "db-0")).await.is_none() {
                wrongs.push("nothing runs with the values".to_owned());
            }
            (writes, wrongs)
        })
    });
}
