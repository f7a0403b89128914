//! What happens to the rest of an answer of which one part cannot be carried out.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may fail")]

mod toy;

use std::time::Duration;

use gyre_core::grants::{Adoption, WriteNamespaces};
use gyre_sdk::{Cluster, Failure, Kind, Manifest, NoSettings, NoStatus, Object, Reconciler, Response, Strategy};
use gyre_test::{Plugin, Setup, World, object};
use serde::Deserialize;
use serde_json::{Value, json};

use self::toy::TOY;

/// Longer than the interval of 5 minutes after which the host tries refused children again.
const LONGER_THAN_A_RECHECK: Duration = Duration::from_secs(400);

#[derive(Deserialize)]
struct Spec {
    #[serde(default)]
    children: Vec<Value>,
    #[serde(default)]
    status: Value,
}

/// Answers what its parent says, and puts the names of the ConfigMaps that it sees into the status.
struct Verbatim;

impl Reconciler for Verbatim {
    type Parent = Object<Spec, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        Manifest::new("verbatim", "0.1.0", TOY)
            .crd(toy::definition())
            .child(Kind::new("v1", "Namespace"), Strategy::Apply)
            .child(Kind::new("v1", "ConfigMap"), Strategy::Apply)
            .child(Kind::new("v1", "Secret"), Strategy::CreateOnly)
            .child(Kind::new("batch/v1", "Job"), Strategy::Recreate)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Response, Failure> {
        let answer = parent.spec.children.iter().try_fold(Response::children(), |answer, child| answer.apply(child))?;
        if parent.spec.status.is_null() { Ok(answer) } else { answer.status(&parent.spec.status) }
    }
}

fn setup(children: &[Value], status: Value) -> Setup {
    let toy = object("toys.gyre.dev/v1", "Toy", "default/it").spec(json!({"children": children, "status": status}));
    World::of(Plugin::native::<Verbatim>()).with(toy).mounted(|program| {
        program.grants = program.grants.clone().with_write_namespaces(WriteNamespaces::All);
    })
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

fn config_map(namespace: &str, name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}})
}

fn job(name: &str) -> Value {
    let pod = json!({"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]});
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "default"}, "spec": {"template": {"spec": pod}}})
}

fn condition(world: &World, kind: &str) -> Value {
    let toy = world.get("toys.gyre.dev/v1 Toy default/it").unwrap();
    let conditions = toy["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.into_iter().find(|condition| condition["type"] == kind).unwrap_or_default()
}

#[test]
fn a_tenant_named_as_a_system_namespace_gets_nothing_in_it() {
    // The Namespace comes last, to show that the order in the answer makes no difference.
    let tenant = |name: &str| [config_map(name, "rights"), config_map("default", "near"), namespace(name)];
    let mut world = setup(&tenant("kube-system"), Value::Null).start().unwrap();
    world.settle().unwrap();
    assert!(world.find("ConfigMap kube-system/rights").unwrap().is_none());
    assert!(world.find("ConfigMap default/near").unwrap().is_some(), "the other children are written");
    assert_eq!(condition(&world, "Ready")["reason"], "ForeignObject");
    let message = condition(&world, "Ready")["message"].as_str().unwrap().to_owned();
    assert!(
        message.contains("ConfigMap.v1 kube-system/rights is not written, because its Namespace kube-system is a child"),
        "{message}"
    );

    world.edit("toys.gyre.dev/v1 Toy default/it", |toy| toy["spec"]["children"] = json!(tenant("tenant"))).unwrap();
    world.settle().unwrap();
    assert!(world.find("ConfigMap tenant/rights").unwrap().is_some());
    assert_eq!(condition(&world, "Ready")["status"], "True");
}

#[test]
fn the_status_of_an_answer_is_held_until_all_its_children_are_written() {
    let foreign = object("batch/v1", "Job", "default/run-1").spec(job("run-1")["spec"].clone());
    let status = json!({"lastScheduleTime": "2026-01-01T00:00:00Z"});
    let mut world = setup(&[job("run-1")], status.clone()).with(foreign).start().unwrap();
    world.settle().unwrap();
    let stored = |world: &World| world.get("toys.gyre.dev/v1 Toy default/it").unwrap()["status"]["lastScheduleTime"].clone();
    assert_eq!(condition(&world, "Ready")["reason"], "ForeignObject");
    assert_eq!(stored(&world), Value::Null, "the Job of this time does not run");
    world.delete("batch/v1 Job default/run-1").unwrap();
    world.advance(LONGER_THAN_A_RECHECK).unwrap();
    assert_eq!(condition(&world, "Ready")["status"], "True");
    assert_eq!(stored(&world), status["lastScheduleTime"]);
}
