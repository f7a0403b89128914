//! Answers of which one part cannot be carried out.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may fail")]

mod toy;

use std::time::Duration;

use gyre_sdk::k8s::{ConfigMap, Job, Namespace, Secret};
use gyre_sdk::{Cluster, Kind, Manifest, NoSettings, NoStatus, Object, Plan, Reconciler, Result, Strategy};
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
            .crd(strict_definition())
            .child::<Namespace>(Strategy::Apply)
            .child::<ConfigMap>(Strategy::Apply)
            .child::<Secret>(Strategy::CreateOnly)
            .child::<Job>(Strategy::Recreate)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, cluster: &Cluster) -> Result<Plan> {
        let maps = cluster.children::<ConfigMap>()?;
        let seen: Vec<&str> = maps.iter().map(ConfigMap::name).collect();
        let status = if parent.spec.status.is_null() { json!({"seen": seen}) } else { parent.spec.status.clone() };
        Ok(Plan::children(parent.spec.children.iter().cloned()).status(status))
    }
}

/// Finalizes cluster-scoped parents, and has no children.
struct Finalizing;

impl Reconciler for Finalizing {
    type Parent = Object<Spec, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        Manifest::new("finalizing", "0.1.0", WIDE).crd(wide_definition()).finalizes()
    }

    fn reconcile(_: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        Ok(Plan::no_children())
    }
}

/// A plugin whose parents are cluster-scoped and contain its answer.
struct Tenants;

impl Reconciler for Tenants {
    type Parent = Object<Spec, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        Manifest::new("tenants", "0.1.0", WIDE)
            .crd(wide_definition())
            .child::<Namespace>(Strategy::Apply)
            .child::<ConfigMap>(Strategy::Apply)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        Ok(Plan::children(parent.spec.children.iter().cloned()))
    }
}

const WIDE: Kind = Kind::new("toys.gyre.dev/v1", "Wide");

fn wide_definition() -> String {
    let definition = toy::definition().replace("Namespaced", "Cluster").replace("Toy", "Wide").replace("toys\"", "wides\"");
    definition.replace("\"toys.toys.", "\"wides.toys.").replace("\"toy\"", "\"wide\"")
}

/// A definition of Toys whose status has a `phase` with few values.
fn strict_definition() -> String {
    let mut definition: Value = serde_json::from_str(&toy::definition()).unwrap();
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"] = json!({
        "status": {
            "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            "properties": {"phase": {"type": "string", "enum": ["Upright"]}},
        },
    });
    definition.to_string()
}

fn setup(children: &[Value], status: Value) -> Setup {
    let toy = object("toys.gyre.dev/v1", "Toy", "default/it").spec(json!({"children": children, "status": status}));
    World::of(Plugin::native::<Verbatim>()).with(toy).mounted(mount(false))
}

fn mount(adoption: bool) -> Value {
    json!({"adoption": adoption, "grants": {"writeNamespaces": "all"}})
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
fn a_cluster_scoped_tenant_writes_by_default_only_into_namespaces_that_are_its_children() {
    let tenant = |name: &str| [config_map(name, "rights"), config_map("default", "far"), namespace(name)];
    let wide = |name: &str| object("toys.gyre.dev/v1", "Wide", name).spec(json!({"children": tenant(name)}));
    let tenants = World::of(Plugin::native::<Tenants>()).with(wide("acme")).with(wide("kube-system"));
    let mut world = tenants.start().unwrap();
    world.settle().unwrap();
    assert!(world.find("ConfigMap acme/rights").unwrap().is_some(), "created together with its Namespace");
    for elsewhere in ["default/far", "kube-system/rights"] {
        assert!(world.find(&format!("ConfigMap {elsewhere}")).unwrap().is_none(), "{elsewhere}");
    }
    let wide = world.get("toys.gyre.dev/v1 Wide acme").unwrap();
    let is_ready = |condition: &&Value| condition["type"] == "Ready";
    let ready = wide["status"]["conditions"].as_array().unwrap().iter().find(is_ready).unwrap();
    assert_eq!(ready["reason"], "NamespaceNotGranted");
    let message = ready["message"].as_str().unwrap();
    assert!(message.contains("is in a namespace that is no child of its cluster-scoped parent"), "{message}");
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

#[test]
fn a_status_that_is_rejected_leaves_the_conditions_of_the_host() {
    let mut world = setup(&[], json!({"phase": "Sideways"})).start().unwrap();
    world.settle().unwrap();
    let toy = world.get("toys.gyre.dev/v1 Toy default/it").unwrap();
    assert_eq!(toy["status"]["phase"], Value::Null, "the schema does not allow it");
    let ready = condition(&world, "Ready");
    assert_eq!((&ready["status"], &ready["reason"]), (&json!("False"), &json!("Rejected")), "{toy}");
    let message = ready["message"].as_str().unwrap();
    assert!(
        message.starts_with("the API server rejects the status that the plugin returned: ") && message.contains("phase"),
        "{message}"
    );
    world.edit("toys.gyre.dev/v1 Toy default/it", |toy| toy["spec"]["status"] = json!({"phase": "Upright"})).unwrap();
    world.settle().unwrap();
    assert_eq!(world.get("toys.gyre.dev/v1 Toy default/it").unwrap()["status"]["phase"], "Upright");
    assert_eq!(condition(&world, "Ready")["status"], "True");
}

fn marked(mut object: Value, uid: &str) -> Value {
    object["metadata"]["labels"] = json!({"gyre.dev/plugin": "verbatim", "gyre.dev/owner-uid": uid});
    object
}

#[test]
fn forged_labels_make_no_child_in_the_parents_namespace() {
    let mut world = setup(&[config_map("default", "wanted")], Value::Null).start().unwrap();
    world.settle().unwrap();
    let uid = world.get("toys.gyre.dev/v1 Toy default/it").unwrap()["metadata"]["uid"].as_str().unwrap().to_owned();
    for name in ["forged", "later"] {
        world.put(marked(config_map("default", name), &uid)).unwrap();
    }
    let forged = world.get("ConfigMap default/forged").unwrap();
    world.settle().unwrap();
    assert_eq!(world.get("ConfigMap default/forged").unwrap(), forged, "neither changed nor deleted");
    let seen = |world: &World| world.get("toys.gyre.dev/v1 Toy default/it").unwrap()["status"]["seen"].clone();
    assert_eq!(seen(&world), json!(["wanted"]));
    let children = json!([config_map("default", "wanted"), config_map("default", "later")]);
    world.edit("toys.gyre.dev/v1 Toy default/it", |toy| toy["spec"]["children"] = children).unwrap();
    world.settle().unwrap();
    assert_eq!(seen(&world), json!(["later", "wanted"]));
    assert_eq!(world.get("ConfigMap default/later").unwrap()["metadata"]["ownerReferences"][0]["uid"], uid);
}

#[test]
fn children_of_a_parent_that_no_longer_exists_are_adopted_if_that_is_allowed() {
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "token", "namespace": "default"}});
    let children = [config_map("default", "map"), secret, config_map("far", "map")];
    let restored = children.clone().map(|child| marked(child, "of-the-backup"));
    for adoption in [false, true] {
        let mut setup = setup(&children, Value::Null).with(namespace("far")).mounted(mount(adoption));
        for child in &restored {
            setup = setup.with(child.clone());
        }
        let mut world = setup.start().unwrap();
        world.settle().unwrap();
        let ready = condition(&world, "Ready");
        if !adoption {
            let message = ready["message"].as_str().unwrap();
            assert!(message.contains("a parent that no longer exists (UID of-the-backup)"), "{message}");
            assert!(
                message.contains("allow the mount to adopt objects, or delete it, or give the child another name"),
                "{message}"
            );
            continue;
        }
        assert_eq!(ready["status"], "True", "{ready}");
        let uid = world.get("toys.gyre.dev/v1 Toy default/it").unwrap()["metadata"]["uid"].clone();
        for (child, is_near) in [("ConfigMap default/map", true), ("Secret default/token", true), ("ConfigMap far/map", false)]
        {
            let metadata = world.get(child).unwrap()["metadata"].clone();
            assert_eq!(metadata["labels"]["gyre.dev/owner-uid"], uid, "{child}");
            assert_eq!(metadata["ownerReferences"][0]["uid"] == uid, is_near, "{child}");
        }
        world.restart().unwrap();
        world.settle().unwrap().assert_nothing_done();
    }
}

#[test]
fn a_finalizer_alone_leaves_no_list_on_a_cluster_scoped_parent() {
    let toy = |name: &str| object("toys.gyre.dev/v1", "Wide", name).spec(json!({}));
    let mut world = World::of(Plugin::native::<Finalizing>()).with(toy("it")).start().unwrap();
    world.settle().unwrap();
    let parent = world.get("toys.gyre.dev/v1 Wide it").unwrap();
    assert_eq!(parent["metadata"]["finalizers"], json!(["gyre.dev/finalizing"]));
    assert_eq!(parent["metadata"].get("annotations"), None, "{parent}");
    world.delete("toys.gyre.dev/v1 Wide it").unwrap();
    world.settle().unwrap();
    assert!(world.find("toys.gyre.dev/v1 Wide it").unwrap().is_none());
}

#[test]
fn a_status_field_that_the_definition_lacks_is_reported_and_written_once_the_definition_has_it() {
    let mut world = setup(&[], json!({"phase": "Upright", "size": {"width": 1, "height": 2}})).start().unwrap();
    let now: Value = serde_json::from_str(&strict_definition()).unwrap();
    let mut old = now.clone();
    let size = json!({"type": "object", "properties": {"width": {"type": "integer"}}});
    old["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"] =
        json!({"type": "object", "properties": {"size": size}});
    world.put(old).unwrap();
    let status = |world: &World| world.get("toys.gyre.dev/v1 Toy default/it").unwrap()["status"].clone();

    let run = world.settle().unwrap();
    assert_eq!(status(&world), json!({"size": {"width": 1}}));
    let warnings: Vec<String> =
        run.events().into_iter().filter(|event| event.reason == "StatusFieldsDropped").map(|event| event.message).collect();
    assert_eq!(warnings.len(), 1, "{run:?}");
    for field in ["status.conditions", "status.observedGeneration", "status.phase", " and 1 more"] {
        assert!(warnings[0].contains(field), "{field}: {}", warnings[0]);
    }
    world.edit("toys.gyre.dev/v1 Toy default/it", |toy| toy["metadata"]["labels"] = json!({"a": "b"})).unwrap();
    world.settle().unwrap().assert_nothing_done();

    world.put(now).unwrap();
    world.advance(LONGER_THAN_A_RECHECK).unwrap();
    assert_eq!(status(&world)["size"], json!({"width": 1, "height": 2}));
    assert_eq!(status(&world)["phase"], "Upright");
    assert_eq!(condition(&world, "Ready")["status"], "True");
    world.advance(LONGER_THAN_A_RECHECK).unwrap();
    world.settle().unwrap();
    world.advance(LONGER_THAN_A_RECHECK).unwrap();
    world.settle().unwrap().assert_nothing_done();
}
