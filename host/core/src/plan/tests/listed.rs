//! Laws and cases of the list of children that no ownerReference can name.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Strategy;

use super::laws::{is_labelled, is_owned, lingering_worlds};
use super::model::parsed;
use super::*;

fn child() -> impl Strategy<Value = ObjectRef> {
    let kind = select(vec!["v1/ConfigMap", "batch/v1/Job", "batch/v1beta1/Job", "rbac.authorization.k8s.io/v1/ClusterRole"]);
    let namespace = select(vec![None, Some("a"), Some("a-longer-name")]);
    (kind, namespace, "[a-z]([-.a-z0-9]{0,20}[a-z0-9])?")
        .prop_map(|(kind, namespace, name)| ObjectRef { kind: gvk(kind), key: ObjectKey::new(namespace, name) })
}

fn list_of<'a>(children: impl IntoIterator<Item = &'a ObjectRef>) -> ChildList {
    let mut list = ChildList::default();
    children.into_iter().for_each(|child| list.insert(&child.kind, &child.key));
    list
}

fn elsewhere(mut object: Value) -> Value {
    object["metadata"]["namespace"] = json!("other");
    object
}

proptest! {
    #[test]
    fn a_list_survives_a_round_trip(children in vec(child(), 0..40), others in vec(child(), 0..40), seed in any::<u64>()) {
        let list = list_of(&children);
        let text = list.to_text();
        prop_assert!(text.len() <= list.size().max(2), "{} bytes of at most {}", text.len(), list.size());
        prop_assert_eq!(&ChildList::read(Some(&text), true), &list);
        let mut shuffled = children.clone();
        shuffled.sort_by_key(|child| Sha256::digest(format!("{seed}{child}")).to_vec());
        prop_assert_eq!(list_of(&shuffled).to_text(), text, "the order makes no difference");
        let other = list_of(&others);
        for child in children.iter().chain(&others) {
            let (here, there) = (list.contains(&child.kind, &child.key), other.contains(&child.kind, &child.key));
            prop_assert_eq!(list.union(&other).contains(&child.kind, &child.key), here || there);
            prop_assert_eq!(list.without(&other).contains(&child.kind, &child.key), here && !there);
        }
    }

    #[test]
    fn listed_children_are_looked_for_where_they_are_and_nowhere_else(
        children in vec(child(), 0..40),
        namespaces in select(vec![Namespaces::All, Namespaces::Only(["a".to_owned(), "b".to_owned()].into())]),
    ) {
        let list = list_of(&children);
        for kind in ["v1/ConfigMap", "batch/v1/Job", "rbac.authorization.k8s.io/v1/ClusterRole"].map(gvk) {
            let scope = if kind.kind == "ClusterRole" { Scope::Cluster } else { Scope::Namespaced };
            let of_kind = children.iter().filter(|child| child.kind.kind == kind.kind);
            let expected: BTreeSet<Option<&str>> = match scope {
                Scope::Cluster => of_kind.map(|_| None).collect(),
                Scope::Namespaced => {
                    let names = of_kind.filter_map(|child| child.key.namespace.as_deref());
                    names.filter(|name| namespaces.contain(name)).map(Some).collect()
                }
            };
            let places = list.places(&kind, scope, &namespaces);
            prop_assert_eq!(places.iter().copied().collect::<BTreeSet<_>>(), expected);
            let missing = ChildList::read(None, true);
            prop_assert_eq!(missing.places(&kind, scope, &namespaces), namespaces.places(scope));
        }
    }

    #[test]
    fn any_text_of_the_annotation_can_be_read(text in ".{0,200}", has_finalizer in any::<bool>()) {
        prop_assert!(!ChildList::read(Some(&text), has_finalizer).is_missing());
    }

    #[test]
    fn forged_labels_own_nothing_and_delay_nothing(world in lingering_worlds(), forged in vec(child(), 1..6)) {
        let mut world = world;
        world.parent.children = world.parent.children.union(&ChildList::default());
        let before = world.clone();
        let wanted: Vec<Identity> = before.with_input(desired).iter().map(|desired| name(&desired.child)).collect();
        for (number, ObjectRef { kind, key }) in forged.into_iter().enumerate() {
            let key = ObjectKey { namespace: key.namespace.map(|namespace| format!("tenant-{namespace}")), ..key };
            let child = ObjectRef { kind: kind.clone(), key: key.clone() };
            let is_taken = world.observed.iter().any(|live| live.kind == kind && live.key == key);
            if is_taken || wanted.contains(&name(&child)) || world.parent.key.namespace.is_none() {
                continue;
            }
            let mut object = json!({
                "apiVersion": kind.api_version(), "kind": kind.kind,
                "metadata": {
                    "name": key.name, "uid": format!("forged-{number}"), "resourceVersion": "1", "finalizers": ["tenant/stays"],
                    "labels": {PLUGIN_LABEL: PLUGIN, OWNER_UID_LABEL: PARENT_UID},
                    "annotations": {DIGEST_ANNOTATION: "0"},
                    "ownerReferences": [{"apiVersion": "example.com/v1", "kind": "Echo", "name": "hello", "uid": PARENT_UID, "controller": number % 2 == 0}],
                },
            });
            if let Some(namespace) = &key.namespace {
                object["metadata"]["namespace"] = json!(namespace);
            }
            world.observed.push(Live::new(&object));
        }
        prop_assert_eq!(world.plan(), before.plan());
        let leaving = |world: &World| world.with_input(|input| plan_deletion(input, None));
        prop_assert_eq!(leaving(&world), leaving(&before));
        let plan = world.plan();
        let needs = |world: &World| world.with_input(|input| needs_finalizer(input, &plan, false));
        prop_assert_eq!(needs(&world), needs(&before));
        let list = |world: &World| world.with_input(|input| child_list(input, &plan));
        prop_assert_eq!(list(&world), list(&before));
    }

    #[test]
    fn a_list_contains_the_desired_children(mut world in lingering_worlds()) {
        world.parent.children = ChildList::read(None, true);
        let plan = world.plan();
        let before = world.clone();
        world.execute(&plan);
        if before.desired.is_none() || before.parent.key.namespace.is_none() {
            return Ok(());
        }
        for live in &world.observed {
            let is_far = live.key.namespace != before.parent.key.namespace;
            let deletes = |step: &Step| matches!(step, Step::Delete { .. }) && step.uid() == Some(live.uid.as_str());
            if is_far && is_labelled(&world, &parsed(live)) && plan.steps.iter().any(deletes) {
                prop_assert!(!is_owned(&world, &parsed(live)), "{:?} is deleted, and not waited for", live);
            }
        }
    }
}

#[test]
fn a_forged_list_leads_nowhere() {
    let list = ChildList::read(Some(r#"{"ConfigMap":{"":["a"],"..":["a"],"a/../b":["a"],"a?x":["a"],"a":["a"]}}"#), true);
    assert_eq!(list.places(&gvk("v1/ConfigMap"), Scope::Namespaced, &Namespaces::All), [Some("a")]);
}

#[test]
fn one_list_of_all_namespaces_replaces_many_of_one() {
    let mut list = ChildList::default();
    let names: BTreeSet<String> = (0..100).map(|number| format!("team-{number}")).collect();
    names.iter().for_each(|name| list.insert(&gvk("v1/ConfigMap"), &ObjectKey::new(Some(name), "it")));
    let places = |within: &Namespaces| list.places(&gvk("v1/ConfigMap"), Scope::Namespaced, within).len();
    assert_eq!((places(&Namespaces::All), places(&Namespaces::Only(names))), (1, 100));
}

fn name(child: &ObjectRef) -> Identity {
    identity(&child.kind, child.key.namespace.as_deref(), &child.key.name)
}

#[test]
fn the_text_of_a_list_is_fixed() {
    // A change of it would write every parent in every cluster that has such children.
    let children = [
        ("batch/v1/Job", Some("b"), "two"),
        ("batch/v1/Job", Some("b"), "one"),
        ("rbac.authorization.k8s.io/v1/ClusterRole", None, "gyre:x"),
        ("v1/ConfigMap", Some("a"), "it"),
    ];
    let children = children.map(|(kind, namespace, name)| ObjectRef { kind: gvk(kind), key: ObjectKey::new(namespace, name) });
    let text =
        r#"{"ClusterRole.rbac.authorization.k8s.io":{"":["gyre:x"]},"ConfigMap":{"a":["it"]},"Job.batch":{"b":["one","two"]}}"#;
    assert_eq!(list_of(&children).to_text(), text);
    assert_eq!(ChildList::default().to_text(), "{}");
    assert_eq!(list_annotation("site"), "children.gyre.dev/site");
}

#[test]
fn both_sides_are_needed() {
    let base = world();
    let far = created(&base, elsewhere(config_map("a", "x")));
    let unlisted = base.clone().sees([far.clone()]).wants([]);
    assert_eq!(unlisted.plan(), Plan::default());
    let listed = unlisted.clone().lists_all();
    assert_eq!(listed.plan().steps.len(), 1, "it is not wanted any more");
    for (label, value) in [(OWNER_UID_LABEL, "another"), (PLUGIN_LABEL, "another")] {
        let mut of_another = far.clone();
        of_another["metadata"]["labels"][label] = json!(value);
        assert_eq!(base.clone().sees([of_another]).lists_all().wants([]).plan(), Plan::default(), "{label}");
    }
    // A wanted child is listed before it is read, and then it is a child again.
    let wanted = unlisted.wants([elsewhere(config_map("a", "x"))]);
    let plan = wanted.plan();
    assert!(matches!(plan.steps.as_slice(), [Step::Create { .. }]), "{plan:?}");
    let mut after = wanted.clone();
    after.execute(&plan);
    assert_eq!(after.observed, wanted.observed);
    assert_eq!(after.plan(), Plan::default());
}

#[test]
fn without_a_list_labels_are_believed_once_and_nothing_is_waited_for() {
    let base = world();
    let objects = ["wanted", "unwanted", "going"].map(|name| {
        let mut object = created(&base, elsewhere(config_map(name, "x")));
        object["metadata"]["finalizers"] = json!(["tenant/stays"]);
        if name == "going" {
            object["metadata"]["deletionTimestamp"] = json!("2024-01-01T00:00:00Z");
        }
        object
    });
    let mut world = base.sees(objects).wants([elsewhere(config_map("wanted", "x"))]);
    world.parent.children = ChildList::read(None, true);
    world.execute(&world.plan());
    assert_eq!(world.parent.children.to_text(), r#"{"ConfigMap":{"other":["wanted"]}}"#);
    assert!(
        world
            .live(&ObjectRef { kind: gvk("v1/ConfigMap"), key: ObjectKey::new(Some("other"), "unwanted") })
            .is_some_and(|live| live.json.contains("deletionTimestamp"))
    );
    assert_eq!(world.plan(), Plan::default());

    world.parent.children = ChildList::read(None, true);
    world.desired = None;
    let DeletionPlan { plan, finalizer } = world.with_input(|input| plan_deletion(input, None));
    assert_eq!(plan.steps.iter().map(|step| step.child().key.name.as_str()).collect::<Vec<_>>(), ["wanted"]);
    assert_ne!(finalizer, FinalizerAction::Remove);
    world.desired = Some(Vec::new());
    world.execute(&plan);
    assert_eq!(world.with_input(|input| plan_deletion(input, None)).finalizer, FinalizerAction::Remove);
}

#[test]
fn without_a_list_a_kept_child_is_listed_so_that_it_is_deleted_with_its_parent() {
    let base = world();
    let mut kept = created(&base, elsewhere(config_map("kept", "x")));
    kept["metadata"]["annotations"][PRUNE_ANNOTATION] = json!("false");
    let mut world = base.sees([kept]).wants([]);
    world.parent.children = ChildList::read(None, true);
    let plan = world.plan();
    assert_eq!((plan.steps.len(), plan.kept.len()), (0, 1));
    world.execute(&plan);
    assert_eq!(world.parent.children.to_text(), r#"{"ConfigMap":{"other":["kept"]}}"#);
    assert_eq!(world.plan().kept.len(), 1, "it is still a child");

    world.desired = None;
    let DeletionPlan { plan, finalizer } = world.with_input(|input| plan_deletion(input, None));
    assert_eq!(plan.steps.iter().map(|step| step.child().key.name.as_str()).collect::<Vec<_>>(), ["kept"]);
    assert_ne!(finalizer, FinalizerAction::Remove);
}

#[test]
fn children_beyond_what_the_list_holds_are_refused_and_the_others_are_not() {
    let many = (0..20_000).map(|number| elsewhere(config_map(&format!("with-a-name-that-is-rather-long-{number:05}"), "x")));
    let near = config_map("near", "x");
    let plan = world().wants(many.chain([near])).plan();
    let refused = plan.refusals.iter().filter(|refusal| refusal.reason == RefusalReason::ChildListFull).count();
    assert_eq!(refused + plan.steps.len(), 20_001);
    assert!(matches!(plan.steps.last(), Some(Step::Create { desired }) if desired.child.key.name == "near"));
    assert!(plan.steps.len() > 3_000, "{} have room", plan.steps.len());
    let list = world().with_input(|input| child_list(input, &plan));
    assert!(list.to_text().len() <= LARGEST_LIST);
    let message = &plan.refusals[0].message;
    assert!(message.contains("exceed 131072 bytes") && message.contains("return fewer of these children"), "{message}");
}
