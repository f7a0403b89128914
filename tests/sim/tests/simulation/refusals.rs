//! A refused step is not repeated when something else changes.

use std::time::Duration;

use gyre_devcluster::faults::Plan;
use gyre_sim::kinds::{self, Name};
use gyre_sim::{Action, Plugins, World, simulate};
use serde_json::{Value, json};

const QUIET: Duration = Duration::from_secs(20);
/// The interval at which the host attempts refused steps again.
const RECHECK: Duration = Duration::from_secs(300);

fn secret(name: &str) -> Name {
    Name::new(kinds::SECRET, "default", name)
}

fn parent() -> Name {
    Name::new(kinds::VERBATIM, "default", "it")
}

fn wanting(value: &str) -> Value {
    let child = |name: &str| {
        json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name }, "data": { "a": value } })
    };
    json!({ "spec": { "children": [child("refused"), child("sibling")] } })
}

fn annotation(value: usize) -> Value {
    json!({ "metadata": { "annotations": { "restarted": value.to_string() } } })
}

/// Returns the requests about the refused child since `mark`, as `METHOD code`.
fn attempts(world: &World, mark: usize) -> Vec<String> {
    world.record.inspect(|sent| {
        let about_it = sent[mark..].iter().filter(|sent| {
            !sent.is_watch() && (sent.path().ends_with("/secrets/refused") || sent.path().ends_with("/secrets"))
        });
        about_it.map(|sent| format!("{} {}", sent.method, sent.code)).collect()
    })
}

/// Changes the sibling as in a rollout, faster than any back-off.
async fn change_sibling(world: &World, times: usize) {
    for number in 0..times {
        world.people.act(&Action::Edit(secret("sibling"), annotation(number))).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(world.rest(QUIET).await);
}

#[test]
fn a_conflicting_apply_is_repeated_only_when_an_input_of_it_changes_or_it_is_due() {
    simulate(async {
        let plugins = Plugins::one(gyre_artifacts::probes::VERBATIM);
        let world = World::new(&plugins, 0, Plan::default()).await;
        world.people.put(&parent(), &wanting("YQ==")).await;
        let host = world.host(&plugins);
        assert!(world.rest(QUIET).await);
        let mut mark = world.record.len();
        let mut since = || {
            let found = attempts(&world, mark);
            mark = world.record.len();
            found
        };
        // Another manager applies another value, so it would apply it again.
        world.people.put(&secret("refused"), &json!({ "data": { "a": "Yg==" } })).await;
        assert!(world.rest(QUIET).await);
        assert_eq!(since().last().map(String::as_str), Some("PATCH 409"));

        change_sibling(&world, 5).await;
        assert_eq!(since(), [""; 0], "only the sibling has changed");
        world.people.act(&Action::Edit(secret("refused"), annotation(1))).await;
        assert!(world.rest(QUIET).await);
        assert_eq!(since(), ["PATCH 409"], "the child has changed");
        world.people.act(&Action::Edit(parent(), annotation(1))).await;
        assert!(world.rest(QUIET).await);
        assert_eq!(since(), ["PATCH 409"], "a person has changed the parent");
        world.people.put(&parent(), &wanting("Yw==")).await;
        assert!(world.rest(QUIET).await);
        assert_eq!(since(), ["PATCH 409"], "another child is desired");
        tokio::time::sleep(RECHECK).await;
        assert_eq!(since(), ["PATCH 409"], "it was due");
        change_sibling(&world, 5).await;
        assert_eq!(since(), [""; 0]);
        world.people.put(&secret("refused"), &json!({})).await;
        assert!(world.rest(QUIET).await);
        assert_eq!(since(), ["PATCH 200"], "the other manager has released the field");
        assert_eq!(world.people.get(&secret("refused")).await.unwrap()["data"]["a"], "Yw==");
        host.stop().await;
    });
}

#[test]
fn a_taken_name_is_tried_only_when_an_input_changes_or_it_is_due() {
    simulate(async {
        let plugins = Plugins::one(gyre_artifacts::probes::VERBATIM);
        let world = World::new(&plugins, 0, Plan::default()).await;
        assert!(world.people.take_name(&secret("refused"), &json!({})));
        world.people.put(&parent(), &wanting("YQ==")).await;
        let host = world.host(&plugins);
        assert!(world.rest(QUIET).await);
        let parents_read = |mark: usize| world.record.inspect(|sent| sent[mark..].iter().filter(|sent| sent.is_get_of("verbatims")).count());
        let mark = world.record.len();
        change_sibling(&world, 5).await;
        assert_eq!(attempts(&world, mark), [""; 0]);
        assert_eq!(parents_read(mark), 0, "the parent is read only before a creation");
        let mark = world.record.len();
        world.people.act(&Action::DeleteChild(secret("refused"))).await;
        tokio::time::sleep(RECHECK).await;
        assert_eq!(attempts(&world, mark), ["POST 201"]);
        host.stop().await;
    });
}
