//! Laws and cases of children whose Namespace or CustomResourceDefinition is a child, too.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Strategy;

use super::laws::{is_owned, lingering_worlds, owns_namespace};
use super::model::{Fate, parsed};
use super::*;

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.example.com"}, "spec": {"group": "example.com", "names": {"kind": "Gadget"}},
    })
}

fn gadget() -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "it"}})
}

fn within(namespace: &str, mut object: Value) -> Value {
    object["metadata"]["namespace"] = json!(namespace);
    object
}

/// As a person creates an object.
fn foreign(mut object: Value) -> Value {
    object["metadata"]["uid"] = json!(format!("foreign-{}", object["metadata"]["name"]));
    object
}

/// States independently of the code which objects an object needs: its Namespace, and its CRD.
fn needs(object: &Value, other: &Value) -> bool {
    let is_namespace = other["apiVersion"] == "v1" && other["kind"] == "Namespace";
    let is_definition = other["kind"] == "CustomResourceDefinition";
    is_namespace && object["metadata"]["namespace"] == other["metadata"]["name"]
        || is_definition && object["kind"] == other["spec"]["names"]["kind"]
}

fn named(world: &World) -> Vec<Value> {
    let children = world.desired.iter().flatten().map(|child| match child {
        Child::Apply(child) => Value::Object(child.object.clone()),
        Child::Keep(reference) => json!({
            "apiVersion": reference.kind.api_version(), "kind": reference.kind.kind, "metadata": {"name": reference.key.name},
        }),
    });
    children
        .filter(|child| child["metadata"]["name"].as_str().is_some_and(|name| !name.is_empty() && name != "Bad_Name"))
        .collect()
}

/// The objects that were created or changed, other than by a deletion.
fn written_since(before: &World, after: &World) -> Vec<Value> {
    let is_new = |live: &&Live| before.observed.iter().all(|other| (&other.uid, &other.json) != (&live.uid, &live.json));
    let written = after.observed.iter().filter(is_new).map(parsed);
    written.filter(|object| object["metadata"].get("deletionTimestamp").is_none()).collect()
}

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    vec(select(vec![Fate::Done, Fate::Done, Fate::AnswerLost, Fate::NotSent, Fate::Half]), 16)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn nothing_is_written_whose_namespace_or_definition_is_named_but_not_owned(
        world in lingering_worlds(), allows_all in any::<bool>(), fates in fates(),
    ) {
        let mut world = world;
        if allows_all {
            world.grants = Grants::new(&manifest(), Namespaces::All).with_write_namespaces(WriteNamespaces::All);
        }
        let before = world.clone();
        let plan = world.plan();
        world.execute_with(&plan, |step| fates.get(step).copied().unwrap_or(Fate::Done));
        for object in written_since(&before, &world) {
            for other in named(&before).iter().filter(|other| needs(&object, other)) {
                let is_it = |live: &&Live| live.kind.kind == other["kind"] && live.key.name == other["metadata"]["name"];
                let there = world.observed.iter().find(is_it);
                prop_assert!(there.is_some_and(|there| is_owned(&world, &parsed(there))), "{} is written, and {:?} is not ours", object, there);
            }
        }
    }

    #[test]
    fn a_cluster_scoped_parent_writes_by_default_only_into_namespaces_that_are_its_children(
        world in lingering_worlds(), fates in fates(),
    ) {
        let mut world = world;
        world.parent.key.namespace = None;
        world.grants = Grants::new(&manifest(), Namespaces::All);
        let before = world.clone();
        let plan = world.plan();
        world.execute_with(&plan, |step| fates.get(step).copied().unwrap_or(Fate::Done));
        for object in written_since(&before, &world) {
            let Some(namespace) = object["metadata"]["namespace"].as_str() else { continue };
            let is_own = owns_namespace(&before, namespace) || owns_namespace(&world, namespace);
            prop_assert!(is_own, "{object} is written");
        }
    }

    #[test]
    fn prerequisites_come_first(world in lingering_worlds()) {
        let plan = world.plan();
        let is_prerequisite = |step: &&Step| comes_first(&step.child().kind);
        let written: Vec<&Step> = plan.steps.iter().filter(|step| !matches!(step, Step::Delete { .. })).collect();
        let first = written.iter().take_while(|step| is_prerequisite(step)).count();
        prop_assert_eq!(first, written.iter().filter(|step| is_prerequisite(step)).count());
    }
}

/// Executes a plan, and returns what exists then, what was held back, and the refusals of the plan.
fn executed(mut world: World) -> (Vec<String>, Vec<String>, Vec<(RefusalReason, String)>) {
    let plan = world.plan();
    world.execute(&plan);
    let there = world.observed.iter().map(|live| format!("{} {}", live.kind.kind, live.key)).collect();
    let held = world.held.iter().map(|child| format!("{} {}", child.kind.kind, child.key)).collect();
    let refusals = plan.refusals.into_iter().map(|refusal| (refusal.reason, refusal.message)).collect();
    (there, held, refusals)
}

#[test]
fn nothing_is_written_into_a_foreign_namespace_that_the_answer_names() {
    let answer = [within("kube-system", config_map("a", "x")), namespace("kube-system"), config_map("near", "x")];
    let (there, held, _) = executed(world().wants(answer.clone()).sees([foreign(namespace("kube-system"))]));
    assert_eq!(there, ["Namespace kube-system", "ConfigMap default/near"]);
    assert_eq!(held, ["ConfigMap kube-system/a"]);
    // Without a Namespace among the children, grants decide alone.
    let (there, ..) = executed(world().wants(answer[..1].to_vec()).sees([foreign(namespace("kube-system"))]));
    assert_eq!(there, ["Namespace kube-system", "ConfigMap kube-system/a"]);
    // The Namespace is written first, wherever it is in the answer.
    let (there, held, _) = executed(world().wants(answer));
    assert_eq!(there, ["Namespace kube-system", "ConfigMap kube-system/a", "ConfigMap default/near"]);
    assert_eq!(held, [""; 0]);
}

#[test]
fn children_of_a_namespace_that_the_parent_owns_are_written_although_it_is_refused() {
    let base = world();
    let mut changed = namespace("ours");
    changed["metadata"]["labels"] = json!(["not", "labels"]);
    let ours = created(&base, namespace("ours"));
    let world = base.sees([ours]).lists_all().wants([changed, within("ours", config_map("a", "x"))]);
    let (there, held, refusals) = executed(world);
    assert_eq!((there.as_slice(), held.len()), (&["Namespace ours".to_owned(), "ConfigMap ours/a".to_owned()][..], 0));
    assert_eq!(refusals.iter().map(|(reason, _)| *reason).collect::<Vec<_>>(), [RefusalReason::InvalidChild]);
}

#[test]
fn what_is_known_beforehand_is_refused_in_the_plan_with_a_reason() {
    let mut world = world();
    world.scopes.remove(&gvk("apiextensions.k8s.io/v1/CustomResourceDefinition"));
    let (there, _, refusals) = executed(world.wants([gadget(), definition()]));
    assert_eq!(there, [""; 0]);
    let reasons: Vec<RefusalReason> = refusals.iter().map(|(reason, _)| *reason).collect();
    assert_eq!(reasons, [RefusalReason::NotServed, RefusalReason::PrerequisiteRefused]);
    let message = &refusals[1].1;
    assert!(message.starts_with("Gadget.v1.example.com default/it is not written, because the CustomResourceDefinition of its kind is a child, too, and does not belong to this parent"), "{message}");
}

#[test]
fn a_custom_resource_is_not_written_if_its_definition_is_foreign() {
    let (there, held, _) = executed(world().wants([gadget(), definition()]).sees([foreign(definition())]));
    assert_eq!((there.len(), held.as_slice()), (1, &["Gadget default/it".to_owned()][..]));
}

#[test]
fn children_wait_for_a_namespace_that_is_being_deleted() {
    let base = world();
    let mut going = created(&base, namespace("ours"));
    going["metadata"]["deletionTimestamp"] = json!("2024-01-01T00:00:00Z");
    let plan = base.sees([going]).lists_all().wants([namespace("ours"), within("ours", config_map("a", "x"))]).plan();
    assert_eq!(plan.steps, []);
    let messages: Vec<&str> = plan.waiting.iter().map(|waiting| waiting.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "Namespace.v1 ours is being deleted, and will be created once it is gone",
            "ConfigMap.v1 ours/a is written once its Namespace ours, which is a child, too, exists",
        ]
    );
}

#[test]
fn the_end_of_a_step_decides_whether_its_namespace_is_ours() {
    let base = world();
    let child = Step::Delete {
        child: ObjectRef { kind: gvk("v1/ConfigMap"), key: ObjectKey::new(Some("n"), "a") },
        uid: "u".to_owned(),
        propagation: Propagation::Background,
    };
    let Some(Step::Create { desired }) = base.clone().wants([namespace("n")]).plan().steps.pop() else { panic!("no creation") };
    let Some(inner) = base.wants([within("n", config_map("a", "x"))]).plan().steps.pop() else { panic!("no creation") };
    let create = Step::Create { desired: desired.clone() };
    let apply = Step::Apply { desired: desired.clone(), uid: "u".to_owned(), cause: Cause::DesiredChanged };
    let adopt = Step::Apply { desired: desired.clone(), uid: "u".to_owned(), cause: Cause::Adopted };
    let label = Step::Label {
        child: desired.child.clone(),
        uid: "u".to_owned(),
        labels: BTreeMap::new(),
        annotations: BTreeMap::new(),
        owner_references: None,
    };
    let replace = Step::Replace {
        desired,
        uid: "u".to_owned(),
        propagation: Propagation::Background,
        cause: Cause::DesiredChanged,
        confirm: Confirm::NotNeeded,
    };
    for (step, free) in [
        (&create, vec![StepEnd::Done]),
        (&apply, vec![StepEnd::Done, StepEnd::Refused, StepEnd::Failed]),
        (&adopt, vec![StepEnd::Done]),
        (&label, vec![StepEnd::Done, StepEnd::Refused, StepEnd::Failed]),
        (&replace, vec![StepEnd::Done, StepEnd::Refused]),
    ] {
        for end in [StepEnd::Done, StepEnd::Refused, StepEnd::Waits, StepEnd::Gone, StepEnd::Failed] {
            let mut holds = Holds::default();
            holds.record(step, end);
            assert_eq!(holds.held(&inner).is_none(), free.contains(&end), "{} {end:?}", step.verb());
            assert_eq!(holds.held(&child), None, "what is no longer wanted is deleted in any case");
        }
    }
}
