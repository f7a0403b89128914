//! Limits on how often the host calls a plugin and writes while only time passes.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may fail")]

mod toy;

use std::time::Duration;

use gyre_sdk::k8s::ConfigMap;
use gyre_sdk::{Cluster, Condition, Event, Manifest, NoSettings, NoStatus, Object, Plan, Reconciler, Result, Strategy, Time};
use gyre_test::{Plugin, World, object};
use serde::Deserialize;
use serde_json::json;

use self::toy::TOY;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    writes: String,
    requeue_milliseconds: Option<u64>,
}

struct KeepsWriting;

impl Reconciler for KeepsWriting {
    type Parent = Object<Spec, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        Manifest::new("restless", "0.1.0", TOY).crd(toy::definition()).child::<ConfigMap>(Strategy::Apply)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, cluster: &Cluster) -> Result<Plan> {
        let now = || (cluster.now() - Time::from_unix(0)).as_millis().to_string();
        let map = |name: &str, text: &str| ConfigMap::new(name).with_data([("text", text)]);
        let plan = match parent.spec.writes.as_str() {
            "condition" => Plan::no_children().condition(Condition::new("Ticking", true, "Ticks", now())),
            "status" => Plan::no_children().status(json!({"now": now()})),
            "event" => Plan::no_children().event(Event::normal("Ticks", now())),
            "child" => Plan::children([map("it", &now())]),
            "another child" => Plan::children([map(&format!("it-{}", now()), "new")]),
            // Derived from the last plan, without the clock.
            "counter" => {
                let found = cluster.child::<ConfigMap>("it")?;
                let count = found.and_then(|map| map.data().get("text")?.parse::<u64>().ok()).unwrap_or(0);
                Plan::children([map("it", &(count + 1).to_string())])
            }
            "when it changes" => Plan::no_children().status(json!({"now": parent.metadata.labels.get("now")})),
            _ => Plan::no_children(),
        };
        let delay = parent.spec.requeue_milliseconds.map(Duration::from_millis);
        Ok(Plan { requeue_after: delay, ..plan })
    }
}

fn world(writes: &str, requeue_milliseconds: Option<u64>) -> World {
    let spec = json!({"writes": writes, "requeueMilliseconds": requeue_milliseconds});
    let toy = object("toys.gyre.dev/v1", "Toy", "default/it").spec(spec);
    World::of(Plugin::native::<KeepsWriting>()).with(toy).start().unwrap()
}

fn revision(world: &mut World) -> u64 {
    world.put(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "marker", "namespace": "default"}})).unwrap();
    let marker = world.get("Secret default/marker").unwrap();
    world.delete("Secret default/marker").unwrap();
    marker["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap()
}

fn writes(world: &mut World, step: Duration, steps: usize) -> Vec<u64> {
    let mut before = revision(world);
    let mut each = |_| {
        world.advance(step).unwrap();
        let after = revision(world);
        let wrote = after - before - 2;
        before = after;
        wrote
    };
    (0..steps).map(&mut each).collect()
}

const SECOND: Duration = Duration::from_secs(1);

/// After this time the burst is used up, whatever the back-off.
const FIRST: Duration = Duration::from_secs(300);

fn slowed_down(world: &World) -> usize {
    world.list("events.k8s.io/v1 Event").unwrap().iter().filter(|event| event["reason"] == "SlowedDown").count()
}

#[test]
fn a_parent_that_never_converges_gets_a_burst_and_then_one_reconcile_a_minute() {
    for (what, requeue) in [
        ("condition", Some(1)),
        ("status", Some(1)),
        ("child", Some(1)),
        ("another child", Some(1)),
        ("status", None),
        ("counter", None),
    ] {
        let mut world = world(what, requeue);
        // The burst, and one reconcile per minute of up to 4 writes: create, delete, status, Event.
        let first = writes(&mut world, FIRST, 1).iter().sum::<u64>();
        assert!(first <= 26 * 4, "{what}: {first} writes at first");
        let then = writes(&mut world, 10 * SECOND, 60);
        let busy: Vec<usize> = then.iter().enumerate().filter(|(_, wrote)| **wrote > 0).map(|(step, _)| step).collect();
        assert!((9..=11).contains(&busy.len()), "{what}: in 10 minutes it is written for in these steps of 10 s: {busy:?}");
        assert!(then.iter().all(|wrote| *wrote <= 4), "{what}: {then:?}");
        assert_eq!(slowed_down(&world), 1, "{what}");
    }
}

#[test]
fn a_parent_that_is_written_once_a_minute_is_not_slowed_down() {
    for what in ["condition", "child", "another child"] {
        let mut world = world(what, Some(60_000));
        let _start = writes(&mut world, 30 * SECOND, 1);
        // Longer than the burst would last.
        let then = writes(&mut world, 60 * SECOND, 45);
        assert!(then.iter().all(|wrote| (1..=4).contains(wrote)), "{what}: {then:?}");
        assert_eq!(slowed_down(&world), 0, "{what}");
    }
}

#[test]
fn an_object_with_a_new_event_each_minute_has_25_and_then_one_in_five_minutes() {
    let mut world = world("event", Some(60_000));
    let each = writes(&mut world, 60 * SECOND, 60);
    let (first, then) = each.split_at(40);
    assert!(first[..20].iter().all(|wrote| *wrote >= 1), "{first:?}");
    assert_eq!(then.iter().sum::<u64>(), 4, "{then:?}");
}

#[test]
fn a_change_of_an_input_is_answered_at_once_and_brings_the_burst_back() {
    let mut world = world("condition", Some(1));
    let _slowed = writes(&mut world, FIRST, 1);
    assert_eq!(slowed_down(&world), 1);
    world.edit("Toy default/it", |toy| toy["spec"]["more"] = json!(1)).unwrap();
    let after = writes(&mut world, SECOND, 60);
    assert!(after[0] > 0, "{after:?}");
    let sum: u64 = after.iter().sum();
    assert!((19..=30).contains(&sum), "{after:?}");
}

#[test]
fn a_plugin_that_follows_changes_of_others_is_never_slowed_down() {
    let mut world = world("when it changes", None);
    let _settled = writes(&mut world, 5 * SECOND, 1);
    for number in 0..100 {
        world.edit("Toy default/it", |toy| toy["metadata"]["labels"] = json!({"now": number.to_string()})).unwrap();
        world.advance(Duration::from_millis(100)).unwrap();
        assert_eq!(world.get("Toy default/it").unwrap()["status"]["now"], number.to_string());
    }
    assert_eq!(slowed_down(&world), 0);
}

#[test]
fn the_requeue_floor_of_a_mount_limits_requeues() {
    let spec = json!({"writes": "nothing", "requeueMilliseconds": 1});
    for (floor, calls) in [(1_000, 11), (5_000, 3), (100, 101)] {
        let toy = object("toys.gyre.dev/v1", "Toy", "default/it").spec(spec.clone());
        let world = World::of(Plugin::native::<KeepsWriting>()).with(toy);
        let mut world = world.mounted(json!({"minRequeueAfter": format!("{floor}ms")})).start().unwrap();
        world.settle_with_faults().unwrap();
        world.advance(Duration::from_secs(10)).unwrap();
        let run = world.settle_with_faults().unwrap();
        assert!(run.calls().len().abs_diff(calls) <= calls / 3 + 2, "{} calls with a floor of {floor} ms", run.calls().len());
    }
}
