//! Counts the requests for a new parent, which exists before the host or is created later.

use std::collections::BTreeMap;
use std::time::Duration;

use gyre_devcluster::faults::Plan;
use gyre_sim::kinds::{self, Kind, Name};
use gyre_sim::{Action, Cascade, Plugins, World, simulate};
use serde_json::{Value, json};

const PARENTS: usize = 10;
const QUIET: Duration = Duration::from_secs(120);

/// Counts requests for namespaced objects as `METHOD resource`, without lists and the inventory.
fn requests(world: &World, mark: usize) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    world.record.inspect(|sent| {
        for sent in &sent[mark..] {
            let Some((_, object)) = sent.path().split_once("/namespaces/") else { continue };
            let segments: Vec<&str> = object.split('/').skip(1).collect();
            let resource = match segments.as_slice() {
                [_, "gyre-inventory"] => continue,
                [resource] | [resource, _] => (*resource).to_owned(),
                [resource, _, subresource @ ..] => format!("{resource}/{}", subresource.join("/")),
                [] => continue,
            };
            *counts.entry(format!("{} {resource}", sent.method)).or_default() += 1;
        }
    });
    counts
}

fn check(plugin: &str, kind: Kind, spec: &Value, expected: &[(&str, usize)]) {
    let expected: BTreeMap<String, usize> =
        expected.iter().map(|(what, count)| ((*what).to_owned(), count * PARENTS)).collect();
    simulate(async {
        let plugins = Plugins::one(plugin);
        let world = World::new(&plugins, 0, Plan::default()).await;
        let create = async |of: &str| {
            for number in 0..PARENTS {
                world.people.create_in(&Name::new(kind, "default", &format!("{of}-{number}")), &json!({ "spec": spec })).await;
            }
        };
        let team = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "team-a" } });
        world.people.create(kinds::NAMESPACE, &team).await;
        // The first host creates the inventory.
        let first = world.host(&plugins);
        assert!(world.rest(QUIET).await, "{plugin}");
        first.kill().await;
        create("before").await;
        let mark = world.record.len();
        let host = world.host(&plugins);
        assert!(world.rest(QUIET).await, "{plugin}");
        assert_eq!(requests(&world, mark), expected, "{plugin}: parents that were there before the host");
        let mark = world.record.len();
        create("after").await;
        assert!(world.rest(QUIET).await, "{plugin}");
        assert_eq!(requests(&world, mark), expected, "{plugin}: parents that came later");
        host.kill().await;
    });
}

#[test]
fn an_echo_needs_one_post_of_its_job_and_one_patch_of_its_status_per_state() {
    // The Job is created, and completes.
    let expected = [("POST jobs", 1), ("PATCH echos/status", 2), ("POST events", 2)];
    check(gyre_artifacts::ECHO, kinds::ECHO, &json!({ "message": "hello" }), &expected);
}

#[test]
fn a_scheduled_echo_takes_one_post_of_its_cron_job_and_one_status() {
    let expected = [("POST cronjobs", 1), ("PATCH scheduledechos/status", 1), ("POST events", 1)];
    check(
        gyre_artifacts::SCHEDULED_ECHO,
        kinds::SCHEDULED_ECHO,
        &json!({ "message": "hello", "schedule": "0 0 1 1 *" }),
        &expected,
    );
}

#[test]
fn a_parent_without_children_takes_one_status() {
    check(gyre_artifacts::XCA, kinds::XCA, &json!({ "foo": "bar" }), &[("PATCH xcas/status", 1)]);
    let listeners = json!({ "listeners": [{ "name": "web", "port": 8080 }] });
    check(gyre_artifacts::GATEWAY, kinds::GATEWAY, &listeners, &[("PATCH gateways/status", 1), ("POST events", 1)]);
}

#[test]
fn a_child_of_each_strategy_is_created_with_one_post() {
    let expected = [("POST configmaps", 1), ("POST jobs", 1), ("POST secrets", 1), ("PATCH strategiess/status", 1)];
    let spec = json!({ "text": "one", "image": "busybox:1.0" });
    check(gyre_artifacts::probes::STRATEGIES, kinds::STRATEGIES, &spec, &expected);
}

#[test]
fn children_in_other_namespaces_take_one_more_patch_of_their_parent() {
    let expected = [("POST configmaps", 2), ("PATCH crossnamespaces", 1), ("PATCH crossnamespaces/status", 1)];
    check(gyre_artifacts::probes::CROSS_NAMESPACE, kinds::CROSS_NAMESPACE, &json!({ "namespace": "team-a" }), &expected);
}

/// The paths of the lists in which the host looked for children while all parents were deleted.
fn lists_of_a_deletion(plugin: &str, kind: Kind, spec: &Value) -> Vec<String> {
    simulate(async {
        let plugins = Plugins::one(plugin);
        let world = World::new(&plugins, 0, Plan::default()).await;
        world.people.act(&Action::CreateNamespace("team-a")).await;
        let name = |number: usize| Name::new(kind, "default", &format!("it-{number}"));
        for number in 0..PARENTS {
            world.people.create_in(&name(number), &json!({ "spec": spec })).await;
        }
        let host = world.host(&plugins);
        assert!(world.rest(QUIET).await, "{plugin}");
        let mark = world.record.len();
        for number in 0..PARENTS {
            world.people.act(&Action::Delete(name(number), Cascade::Background)).await;
        }
        assert!(world.rest(QUIET).await, "{plugin}");
        assert!(world.people.list(kind).await.is_empty(), "{plugin}");
        host.kill().await;
        world.record.inspect(|sent| {
            let sent = sent[mark..].iter().filter(|sent| !sent.is_watch() && sent.uri.contains("owner-uid"));
            sent.map(|sent| sent.path().to_owned()).collect()
        })
    })
}

#[test]
fn a_deletion_without_listed_children_lists_nothing() {
    let lists = lists_of_a_deletion(gyre_artifacts::probes::FINALIZING, kinds::FINALIZING, &json!({}));
    assert_eq!(lists, [""; 0]);
}

#[test]
fn a_deletion_looks_for_listed_children_where_they_are() {
    // The ConfigMap of each parent is listed; it could have a ClusterRole, too.
    let spec = json!({ "namespace": "team-a" });
    let lists = lists_of_a_deletion(gyre_artifacts::probes::CROSS_NAMESPACE, kinds::CROSS_NAMESPACE, &spec);
    assert_eq!(lists, ["/api/v1/namespaces/team-a/configmaps"; PARENTS]);
}

#[test]
fn one_answer_is_written_in_the_documented_order() {
    simulate(async {
        let plugins = Plugins::one(gyre_artifacts::probes::LANDLORD);
        let world = World::new(&plugins, 0, Plan::default()).await;
        let parent = Name::new(kinds::LANDLORD, "default", "it");
        let map = |namespace: &str, name: &str| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": namespace } });
        let own = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "own" } });
        let wants = |children: &[Value], text: &str| json!({ "spec": { "children": children, "status": { "text": text } } });
        let _host = world.host(&plugins);
        world.people.put(&parent, &wants(&[map("default", "y"), map("default", "x")], "first")).await;
        assert!(world.rest(QUIET).await);
        let mark = world.record.len();
        // The Namespace comes after what belongs into it.
        world.people.put(&parent, &wants(&[map("default", "b"), map("own", "c"), own, map("default", "a")], "second")).await;
        assert!(world.rest(QUIET).await);
        let written: Vec<String> = world.record.inspect(|sent| {
            let about = |path: &str| path.split_once("/v1/").map_or(path, |(_, path)| path).to_owned();
            let writes = sent[mark..].iter().filter(|sent| sent.is_write());
            writes.map(|sent| format!("{} {}", sent.method, about(sent.path()))).collect()
        });
        let expected = [
            "PATCH namespaces/default/landlords/it",
            "POST namespaces",
            "POST namespaces/default/configmaps",
            "POST namespaces/own/configmaps",
            "POST namespaces/default/configmaps",
            "DELETE namespaces/default/configmaps/x",
            "DELETE namespaces/default/configmaps/y",
            "PATCH namespaces/default/landlords/it/status",
            "POST namespaces/default/events",
        ];
        assert_eq!(written, expected);
    });
}
