//! Children that are no longer desired: which deletions are held, and which children are kept.
#![expect(clippy::expect_used, clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may fail")]

mod toy;

use std::time::Duration;

use gyre_sdk::k8s::ConfigMap;
use gyre_sdk::{Cluster, Manifest, NoSettings, NoStatus, Object, Plan, Reconciler, Result, Strategy};
use gyre_test::{Plugin, Setup, World, object};
use serde::Deserialize;
use serde_json::{Value, json};

use self::toy::TOY;

const PARENTS: usize = 40;
const HOUR: Duration = Duration::from_secs(3600);

#[derive(Deserialize)]
struct Spec {
    #[serde(default)]
    children: Vec<Value>,
}

fn manifest() -> Manifest {
    Manifest::new("maps", "0.1.0", TOY).crd(toy::definition()).child::<ConfigMap>(Strategy::Apply)
}

/// Answers what its parent says.
struct Verbatim;

impl Reconciler for Verbatim {
    type Parent = Object<Spec, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        manifest()
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        Ok(Plan::children(parent.spec.children.iter().cloned()))
    }
}

/// The next version, which returns no children.
struct Empty;

impl Reconciler for Empty {
    type Parent = Object<Spec, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        manifest()
    }

    fn reconcile(_: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        Ok(Plan::no_children())
    }
}

fn map(namespace: &str, name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}})
}

fn toy(number: usize) -> String {
    format!("toys.gyre.dev/v1 Toy default/toy-{number}")
}

fn guarded(setup: Setup) -> Setup {
    // The defaults of a mount.
    let guard = json!({"children": 25, "percent": 30});
    setup.mounted(json!({"deletionGuard": guard, "grants": {"writeNamespaces": "all"}}))
}

/// Parents with one ConfigMap each.
fn many() -> World {
    let toy = |number: usize| {
        let children = json!([map("default", &format!("map-{number}"))]);
        object("toys.gyre.dev/v1", "Toy", &format!("default/toy-{number}")).spec(json!({"children": children}))
    };
    let setup = (0..PARENTS).fold(World::of(Plugin::native::<Verbatim>()), |setup, number| setup.with(toy(number)));
    let mut world = guarded(setup).start().unwrap();
    world.settle().unwrap();
    assert_eq!(maps(&world), PARENTS);
    world
}

fn maps(world: &World) -> usize {
    let is_child = |map: &&Value| map["metadata"]["labels"]["gyre.dev/plugin"] == "maps";
    world.list("ConfigMap").unwrap().iter().filter(is_child).count()
}

fn ready(world: &World, number: usize) -> Value {
    let toy = world.get(toy(number).as_str()).unwrap();
    let conditions = toy["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.into_iter().find(|condition| condition["type"] == "Ready").unwrap_or_default()
}

fn annotate(world: &mut World, number: usize, annotation: &str, value: &str) {
    world.edit(toy(number).as_str(), |toy| toy["metadata"]["annotations"][annotation] = json!(value)).unwrap();
}

fn today(world: &World) -> String {
    world.now().unwrap().to_string().split_once('T').unwrap().0.to_owned()
}

/// The release that the condition names, for this day.
fn release(world: &World, day: &str) -> String {
    let message = ready(world, 1)["message"].as_str().unwrap().to_owned();
    let (_, release) = message.split_once("annotate the parent with gyre.dev/release-deletions=").expect("a remedy");
    release.split_once("YYYY-MM-DD").expect("a day").0.to_owned() + day
}

#[test]
fn a_version_that_returns_no_children_deletes_nothing_until_it_is_released() {
    let mut world = many();
    world.upgrade(Plugin::native::<Empty>()).unwrap();
    world.advance(HOUR).unwrap();
    assert_eq!(maps(&world), PARENTS);
    for number in 0..PARENTS {
        assert_eq!(ready(&world, number)["reason"], "DeletionHeld");
    }
    for _ in 0..5 {
        world.restart().unwrap();
        world.advance(HOUR).unwrap();
    }
    assert_eq!(maps(&world), PARENTS, "a restart lets nothing through");

    let today = today(&world);
    let release_of = |day: &str| release(&world, day);
    let (valid, old) = (release_of(&today), release_of("2025-12-30"));
    annotate(&mut world, 0, "gyre.dev/release-deletions", &old);
    annotate(&mut world, 1, "gyre.dev/release-deletions", &format!("000000000000/{today}"));
    annotate(&mut world, 2, "gyre.dev/release-deletions", &valid);
    world.settle().unwrap();
    assert_eq!(maps(&world), PARENTS - 1);
    assert_eq!(ready(&world, 2)["status"], "True");
    for number in 0..PARENTS {
        annotate(&mut world, number, "gyre.dev/release-deletions", &valid);
    }
    world.settle().unwrap();
    assert_eq!(maps(&world), 0);
}

#[test]
fn a_version_that_is_taken_back_leaves_everything_as_it_was() {
    let mut world = many();
    world.upgrade(Plugin::native::<Empty>()).unwrap();
    world.advance(HOUR).unwrap();
    world.upgrade(Plugin::native::<Verbatim>()).unwrap();
    world.settle().unwrap();
    assert_eq!(maps(&world), PARENTS);
    for number in 0..PARENTS {
        assert_eq!(ready(&world, number)["reason"], "Reconciled");
    }
    // Few deletions are let through, also by a new host once it has seen all parents.
    for (number, restarts) in [(0, false), (1, true)] {
        world.edit(toy(number).as_str(), |toy| toy["spec"]["children"] = json!([])).unwrap();
        if restarts {
            world.restart().unwrap();
        }
        world.advance(Duration::from_secs(30)).unwrap();
        assert_eq!(maps(&world), PARENTS - 1 - number);
    }
}

/// Otherwise, the host would write a list without the children, and forget them.
#[test]
fn a_parent_gets_no_list_while_the_deletion_of_a_child_that_belongs_on_it_is_held() {
    let mut setup = World::of(Plugin::native::<Empty>());
    for number in 0..PARENTS {
        let (name, uid) = (format!("default/toy-{number}"), format!("uid-{number}"));
        let toy = object("toys.gyre.dev/v1", "Toy", &name).uid(&uid).finalizer("gyre.dev/maps").spec(json!({}));
        let mut child = map("far", &format!("map-{number}"));
        child["metadata"]["labels"] = json!({"gyre.dev/plugin": "maps", "gyre.dev/owner-uid": uid});
        setup = setup.with(toy).with(child);
    }
    let mut world = guarded(setup.with(object("v1", "Namespace", "far"))).start().unwrap();
    world.advance(HOUR).unwrap();
    assert_eq!((maps(&world), &ready(&world, 1)["reason"]), (PARENTS, &json!("DeletionHeld")));
    let release = release(&world, &today(&world));
    for number in 0..PARENTS {
        annotate(&mut world, number, "gyre.dev/release-deletions", &release);
    }
    world.settle().unwrap();
    assert_eq!(maps(&world), 0);
    assert_eq!(world.get(toy(0).as_str()).unwrap()["metadata"].get("finalizers"), None);
}

#[test]
fn a_child_that_says_so_is_kept_until_its_parent_is_deleted() {
    let mut kept = map("default", "kept");
    kept["metadata"]["annotations"] = json!({"gyre.dev/prune": "false"});
    let children = json!([kept, map("default", "other")]);
    let toy = object("toys.gyre.dev/v1", "Toy", "default/toy-0").spec(json!({"children": children}));
    let mut world = guarded(World::of(Plugin::native::<Verbatim>()).with(toy)).start().unwrap();
    world.settle().unwrap();

    world.edit(self::toy(0).as_str(), |toy| toy["spec"]["children"] = json!([])).unwrap();
    let run = world.settle().unwrap();
    assert_eq!(maps(&world), 1, "the other one is deleted");
    assert_eq!(ready(&world, 0)["status"], "True");
    let events = run.events();
    let event = events.iter().find(|event| event.reason == "ChildKept").expect("an Event");
    assert_eq!(
        event.message,
        "no longer desired, but not deleted, because of the annotation gyre.dev/prune=false: ConfigMap.v1 default/kept"
    );
    world.restart().unwrap();
    world.settle().unwrap().assert_nothing_done();

    world.edit(self::toy(0).as_str(), |toy| toy["spec"]["children"] = children.clone()).unwrap();
    world.settle().unwrap();
    assert_eq!((maps(&world), &ready(&world, 0)["status"]), (2, &json!("True")), "it is a child as before");
    world.edit(self::toy(0).as_str(), |toy| toy["spec"]["children"] = json!([])).unwrap();
    world.settle().unwrap();
    world.edit("ConfigMap default/kept", |map| map["metadata"]["annotations"]["gyre.dev/prune"] = json!("true")).unwrap();
    world.settle().unwrap();
    assert_eq!(maps(&world), 0);

    world.edit(self::toy(0).as_str(), |toy| toy["spec"]["children"] = children.clone()).unwrap();
    world.settle().unwrap();
    world.edit(self::toy(0).as_str(), |toy| toy["spec"]["children"] = json!([])).unwrap();
    world.settle().unwrap();
    world.delete(self::toy(0).as_str()).unwrap();
    world.settle().unwrap();
    assert_eq!(maps(&world), 0, "the garbage collector deletes it with its parent");
}
