//! A refused step is not repeated when something else changes.

use std::time::Duration;

use gyre_core::conflict::OnConflict;
use gyre_devcluster::faults::Plan;
use gyre_engine::leadership::claim::Claim;
use gyre_engine::program::{Policy, Program};
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
    let child =
        |name: &str| json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name }, "data": { "a": value } });
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
        let parents_read =
            |mark: usize| world.record.inspect(|sent| sent[mark..].iter().filter(|sent| sent.is_get_of("verbatims")).count());
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

fn deployment(image: &str) -> Value {
    let containers = json!([{ "name": "main", "image": image }]);
    let template = json!({ "metadata": { "labels": { "app": "it" } }, "spec": { "containers": containers } });
    let spec = json!({ "replicas": 2, "selector": { "matchLabels": { "app": "it" } }, "template": template });
    let child = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "it" }, "spec": spec });
    json!({ "spec": { "children": [child] } })
}

/// Another manager applies the number of replicas, and then the plugin returns another image.
async fn with_another_manager(on_conflict: OnConflict) -> (World, Name) {
    let plugins = Plugins::one(gyre_artifacts::probes::VERBATIM);
    let world = World::new(&plugins, 0, Plan::default()).await;
    let child = Name::new(kinds::DEPLOYMENT, "default", "it");
    let with_policy = |program: Program| Program { policy: Policy { on_conflict, ..program.policy.clone() }, ..program };
    drop(world.host_with(plugins.programs_with(with_policy), Claim::always(), None));
    world.people.put(&parent(), &deployment("app:1")).await;
    assert!(world.rest(QUIET).await);
    world.people.put(&child, &json!({ "spec": { "replicas": 5 } })).await;
    assert!(world.rest(QUIET).await);
    world.people.put(&parent(), &deployment("app:2")).await;
    assert!(world.rest(QUIET).await);
    (world, child)
}

/// Returns the image, the number of replicas, and the reason of `Ready`.
async fn state(world: &World, child: &Name) -> (Value, Value, Value) {
    let (child, parent) = (world.people.get(child).await.unwrap(), world.people.get(&parent()).await.unwrap());
    let conditions = parent["status"]["conditions"].as_array().unwrap();
    let ready = conditions.iter().find(|condition| condition["type"] == "Ready").unwrap();
    let spec = &child["spec"];
    (spec["template"]["spec"]["containers"][0]["image"].clone(), spec["replicas"].clone(), ready["reason"].clone())
}

#[test]
fn a_conflict_about_a_field_refuses_the_child_or_skips_the_field_as_the_policy_says() {
    simulate(async {
        let (world, child) = with_another_manager(OnConflict::Refuse).await;
        assert_eq!(state(&world, &child).await, (json!("app:1"), json!(5), json!("Conflict")));

        let (world, child) = with_another_manager(OnConflict::SkipField).await;
        assert_eq!(state(&world, &child).await, (json!("app:2"), json!(5), json!("Reconciled")));
        let events = world.people.list(kinds::EVENT).await;
        let skipped: Vec<&Value> = events.iter().filter(|event| event["reason"] == "FieldsSkipped").collect();
        assert_eq!(skipped.len(), 1, "{events:?}");
        let note = skipped[0]["note"].as_str().unwrap();
        assert!(note.contains(r#".spec.replicas (by "somebody")"#), "{note}");
        let mark = world.record.len();
        world.people.act(&Action::Edit(parent(), annotation(1))).await;
        assert!(world.rest(QUIET).await);
        let writes = |sent: &[gyre_sim::Sent]| sent[mark..].iter().filter(|sent| sent.is_write()).count();
        assert_eq!(world.record.inspect(writes), 0, "the child is as accepted");

        // The other manager releases the field, so the default takes its place.
        world.people.put(&child, &json!({})).await;
        assert!(world.rest(QUIET).await);
        assert_eq!(state(&world, &child).await, (json!("app:2"), json!(2), json!("Reconciled")));
    });
}
