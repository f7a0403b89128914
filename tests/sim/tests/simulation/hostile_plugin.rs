//! A plugin that asks for more than its mount grants.

use std::collections::BTreeMap;
use std::time::Duration;

use gyre_core::generated::MOST_VALUES;
use gyre_core::grants::{Grants, Namespaces};
use gyre_core::plan::{PLUGIN_LABEL, RefusalReason};
use gyre_devcluster::faults::Plan;
use gyre_engine::leadership::claim::Claim;
use gyre_engine::program::{Policy, Program};
use gyre_sandbox::Limits;
use gyre_sim::kinds::{self, Name};
use gyre_sim::{Plugins, World, simulate};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::faults::QUIET;
use crate::subjects::{RECHECKED, readiness_of};

fn plugins() -> Plugins {
    Plugins::one(gyre_artifacts::probes::OVERREACHING)
}

fn parent() -> Name {
    Name::new(kinds::OVERREACHING, "default", "it")
}

/// Returns a cluster with a parent for which the plugin makes this attack.
async fn world(attack: &str) -> World {
    let world = World::new(&plugins(), 0, Plan::default()).await;
    world.people.put(&parent(), &json!({ "spec": { "attack": attack } })).await;
    world
}

/// Returns the condition `Ready` of the parent.
async fn readiness_of_parent(world: &World) -> Value {
    let parent = world.people.get(&parent()).await.unwrap();
    readiness_of(&parent).cloned().unwrap_or_default()
}

/// Returns the `data` of the Secrets that the plugin has, by their names.
async fn secrets(world: &World) -> BTreeMap<String, Value> {
    let secrets = world.people.list(kinds::SECRET).await.into_iter();
    let of_plugin = secrets.filter(|secret| secret["metadata"]["labels"][PLUGIN_LABEL] == "overreaching");
    of_plugin.map(|secret| (secret["metadata"]["name"].to_string(), secret["data"].clone())).collect()
}

#[test]
fn what_is_not_granted_is_refused_without_a_request() {
    for (attack, reason) in [
        ("finalizers", RefusalReason::InvalidParentFields),
        ("owners", RefusalReason::InvalidParentFields),
        ("account", RefusalReason::ParentFieldNotGranted),
        ("deletion", RefusalReason::ParentDeletionNotGranted),
    ] {
        simulate(async {
            let world = world(attack).await;
            let by_default = |program: Program| Program { grants: Grants::new(program.manifest(), Namespaces::All), ..program };
            let _host = world.host_with(plugins().programs_with(by_default), Claim::always(), None);
            world.rest(QUIET).await;
            let ready = readiness_of_parent(&world).await;
            assert_eq!((&ready["status"], &ready["reason"]), (&json!("False"), &json!(reason.as_str())), "{attack}");
            let writes: Vec<String> = world.record.inspect(|sent| {
                let of_parent = sent.iter().filter(|sent| sent.is_write() && sent.path().ends_with("/overreachings/it"));
                of_parent.map(|sent| format!("{sent:?}")).collect()
            });
            assert_eq!(writes, [""; 0], "{attack}");
        });
    }
}

#[test]
fn a_plugin_that_copies_its_parents_gets_no_copies_of_copies() {
    simulate(async {
        let world = world("copies").await;
        let first = world.host(&plugins());
        world.rest(QUIET).await;
        first.kill().await;
        // Another host sees the copy before it knows of any parent.
        let _second = world.host(&plugins());
        sleep(RECHECKED).await;
        let objects = world.people.list(kinds::OVERREACHING).await;
        let found: Vec<(&str, Option<&str>)> = objects
            .iter()
            .map(|object| &object["metadata"])
            .map(|metadata| (metadata["name"].as_str().unwrap(), metadata["labels"][PLUGIN_LABEL].as_str()))
            .collect();
        assert_eq!(found, [("it", None), ("it-copy", Some("overreaching"))]);
        assert_eq!(readiness_of_parent(&world).await["status"], "True");
    });
}

#[test]
fn of_10_000_certificates_those_within_the_limit_are_made_and_only_once() {
    simulate(async {
        let world = world("certificates").await;
        // The answer is large, and the machine may be busy.
        let limits = Limits { deadline: Duration::from_secs(600), ..Limits::default() };
        let policy = Policy { limits, ..Policy::default() };
        let unhurried = |program: Program| Program { policy: policy.clone(), ..program };
        let host = world.host_with(plugins().programs_with(unhurried), Claim::always(), None);
        world.rest(QUIET).await;
        let (made, writes) = (secrets(&world).await, host.writes());
        // A certificate is two values: it has a private key.
        assert_eq!(made.len(), MOST_VALUES / 2);
        assert!(made.values().all(|data| data["tls.crt"].is_string() && data["tls.key"].is_string()));
        let ready = readiness_of_parent(&world).await;
        assert_eq!(ready["reason"], "InvalidChild", "{ready}");
        let refused = format!("{} children are refused for this reason", 10_000 - made.len());
        assert!(ready["message"].as_str().unwrap().starts_with(&refused), "{ready}");
        sleep(RECHECKED).await;
        assert_eq!((secrets(&world).await, host.writes()), (made, writes));
    });
}
