//! Laws and cases of parents that are being deleted.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::strategy::Strategy;

use super::laws::{children, is_in_granted_namespace, is_label_of_volume, is_owned, lingering_worlds, outlives_parent};
use super::model::parsed;
use super::*;
use crate::response::Response;

fn teardown(done: bool, children: Option<Vec<Child>>) -> Response {
    Response { children, done, ..Response::default() }
}

fn teardowns() -> impl Strategy<Value = Option<Response>> {
    let children = proptest::option::weighted(0.8, proptest::collection::vec(children(), 0..8));
    proptest::option::weighted(0.7, children.prop_map(|children| teardown(true, children)))
}

fn leaving(world: &World, teardown: Option<&Response>) -> DeletionPlan {
    world.with_input(|input| plan_deletion(input, teardown))
}

/// As the host does: once the plugin is done, nothing outside of the namespace is wanted.
fn execute(world: &mut World, plan: &Plan) {
    let desired = world.desired.replace(Vec::new());
    world.execute(plan);
    world.desired = desired;
}

/// States independently of the code what the garbage collector reaches.
fn is_reached_by_the_garbage_collector(world: &World, live: &Live) -> bool {
    world.parent.key.namespace.is_none() || world.parent.key.namespace == live.key.namespace
}

fn may_be_wanted(world: &World, children: &[Child], live: &Live) -> bool {
    children.iter().any(|child| {
        let (kind, namespace, name) = match child {
            Child::Keep(reference) => {
                (Some(reference.kind.clone()), reference.key.namespace.clone(), Some(reference.key.name.clone()))
            }
            Child::Apply(child) => {
                let object = Value::Object(child.object.clone());
                let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
                let kind = text("/apiVersion").zip(text("/kind"));
                let kind = kind.map(|(api_version, kind)| GroupVersionKind::from_api_version(&api_version, &kind));
                (kind, text("/metadata/namespace"), text("/metadata/name").filter(|name| name != "Bad_Name"))
            }
        };
        let Some(kind) = kind else { return true };
        let same_kind = kind.is_same(&live.kind);
        let name = name.filter(|name| !name.is_empty());
        let namespace = namespace.or_else(|| world.parent.key.namespace.clone());
        let may_be_any = name.is_none() || namespace.is_none();
        let same_namespace = live.key.namespace.is_none() || namespace == live.key.namespace;
        same_kind && (may_be_any || name == Some(live.key.name.clone()) && same_namespace)
    })
}

fn must_go<'world>(world: &'world World, teardown: Option<&Response>) -> Vec<&'world Live> {
    let wanted = teardown.and_then(|teardown| teardown.children.as_deref());
    let owned = world.observed.iter().filter(|live| is_owned(world, &parsed(live)));
    owned
        .filter(|live| {
            let unwanted = wanted.is_some_and(|children| !may_be_wanted(world, children, live));
            !outlives_parent(world, live) && (unwanted || !is_reached_by_the_garbage_collector(world, live))
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn a_parent_is_released_when_all_is_gone_that_must_go(mut world in lingering_worlds(), teardown in teardowns()) {
        for _ in 0..3 {
            let DeletionPlan { plan, finalizer } = leaving(&world, teardown.as_ref());
            execute(&mut world, &plan);
            let left = must_go(&world, teardown.as_ref());
            if finalizer == FinalizerAction::Remove {
                prop_assert!(left.is_empty(), "{:?} is left after {:?}", left, plan);
                // This stays so until the finalizer is removed.
                prop_assert_eq!(leaving(&world, teardown.as_ref()).finalizer, FinalizerAction::Remove);
                return Ok(());
            }
            world.finish_deletions();
        }
        let out_of_grants = world.observed.iter().filter(|live| is_owned(&world, &parsed(live))).find(|live| {
            !world.grants.allows_kind(&live.kind) || !world.grants.allows_deletion_in(live.key.namespace.as_deref())
        });
        prop_assert!(out_of_grants.is_some(), "{:?} never ends", leaving(&world, teardown.as_ref()));
    }

    #[test]
    fn leaving_touches_nothing_that_is_not_owned_by_uid(mut world in lingering_worlds(), teardown in teardowns()) {
        let foreign: Vec<Live> = world.observed.iter().filter(|live| !is_owned(&world, &parsed(live))).cloned().collect();
        for _ in 0..3 {
            let plan = leaving(&world, teardown.as_ref()).plan;
            execute(&mut world, &plan);
        }
        for live in foreign {
            prop_assert!(world.observed.contains(&live), "{:?} was touched", live);
        }
    }

    #[test]
    fn no_child_that_outlives_its_parent_goes_with_it(
        mut world in lingering_worlds(),
        teardown in teardowns(),
        done in any::<bool>(),
    ) {
        let before = world.clone();
        let teardown = teardown.map(|teardown| Response { done, ..teardown });
        for _ in 0..3 {
            let DeletionPlan { plan, finalizer } = leaving(&world, teardown.as_ref());
            for step in plan.steps.iter().filter(|step| matches!(step, Step::Delete { .. } | Step::Replace { .. })) {
                let live = before.observed.iter().find(|live| Some(live.uid.as_str()) == step.uid());
                prop_assert!(live.is_none_or(|live| !outlives_parent(&before, live)), "{step:?}");
            }
            execute(&mut world, &plan);
            // The garbage collector deletes what refers to the parent.
            let is_left = |live: &&Live| outlives_parent(&before, live) && is_owned(&before, &parsed(live));
            let is_free = |live: &Live| !refers_to_parent(&parsed(live)) || live.json.contains("deletionTimestamp");
            let may_be_written = |live: &&Live| world.grants.allows_kind(&live.kind) && world.grants.allows_deletion_in(live.key.namespace.as_deref());
            if finalizer == FinalizerAction::Remove {
                prop_assert!(world.observed.iter().filter(is_left).filter(may_be_written).all(is_free));
            }
        }
    }

    #[test]
    fn nothing_is_created_at_the_end(world in lingering_worlds(), teardown in teardowns()) {
        let plan = leaving(&world, teardown.as_ref()).plan;
        for step in &plan.steps {
            prop_assert!(matches!(step, Step::Apply { .. } | Step::Label { .. } | Step::Delete { .. }), "{:?}", step);
        }
        prop_assert!(plan.waiting.is_empty());
        let before: BTreeSet<String> = world.observed.iter().map(|live| live.uid.clone()).collect();
        let mut after = world.clone();
        execute(&mut after, &plan);
        prop_assert!(after.observed.iter().all(|live| before.contains(&live.uid)));
    }

    #[test]
    fn no_object_gets_two_steps_at_once(world in lingering_worlds(), teardown in teardowns()) {
        for plan in [world.plan(), leaving(&world, teardown.as_ref()).plan] {
            let others: Vec<&Step> = plan.steps.iter().filter(|step| !is_label_of_volume(step)).collect();
            let children: BTreeSet<&ObjectRef> = others.iter().map(|step| step.child()).collect();
            prop_assert_eq!(children.len(), others.len(), "{:?}", plan);
        }
    }

    #[test]
    fn until_the_plugin_is_done_a_deleted_parent_is_planned_as_any_other(
        mut world in lingering_worlds(),
        children in proptest::option::of(proptest::collection::vec(children(), 0..8)),
    ) {
        let before = world.clone();
        world.observed.retain(|live| !outlives_parent(&before, live));
        let DeletionPlan { plan, finalizer } = leaving(&world, Some(&teardown(false, children.clone())));
        prop_assert_ne!(finalizer, FinalizerAction::Remove);
        world.desired = children;
        prop_assert_eq!(plan, world.plan());
    }

    #[test]
    fn leaving_writes_nothing_outside_the_grants(world in lingering_worlds(), teardown in teardowns()) {
        let children = teardown.as_ref().and_then(|teardown| teardown.children.as_deref());
        for step in leaving(&world, teardown.as_ref()).plan.steps {
            prop_assert!(world.grants.allows_kind(&step.child().kind), "{:?}", step);
            prop_assert!(is_in_granted_namespace(&world, children, &step), "{:?}", step);
        }
    }

    #[test]
    fn leaving_is_the_same_for_the_same_inputs(world in lingering_worlds(), teardown in teardowns()) {
        let mut reversed = world.clone();
        reversed.observed.reverse();
        prop_assert_eq!(leaving(&world, teardown.as_ref()), leaving(&reversed, teardown.as_ref()));
    }

    #[test]
    fn nothing_exists_out_of_the_garbage_collectors_reach_without_a_finalizer(mut world in lingering_worlds()) {
        let plan = world.plan();
        let finalizer = world.with_input(|input| needs_finalizer(input, &plan, false));
        prop_assert!(world.with_input(|input| needs_finalizer(input, &plan, true)));
        let out_of_reach = |world: &World| {
            world.observed.iter().any(|live| is_owned(world, &parsed(live)) && !is_reached_by_the_garbage_collector(world, live))
        };
        let before = out_of_reach(&world);
        world.execute(&plan);
        prop_assert!(finalizer || !(before || out_of_reach(&world)), "{:?} without a finalizer", plan);
        // Nor does a finalizer stay without a reason.
        let rest = world.plan();
        world.finish_deletions();
        let held = world.with_input(|input| needs_finalizer(input, &rest, false));
        let creates = rest.steps.iter().any(|step| matches!(step, Step::Create { .. }));
        prop_assert!(!held || out_of_reach(&world) || creates, "{:?}", world.observed);
    }
}

fn refers_to_parent(object: &Value) -> bool {
    let references = object["metadata"]["ownerReferences"].as_array();
    references.into_iter().flatten().any(|reference| reference["uid"] == PARENT_UID)
}

pub(super) fn elsewhere(mut object: Value) -> Value {
    object["metadata"]["namespace"] = json!("other");
    object
}

fn steps(leaving: &DeletionPlan) -> Vec<String> {
    leaving.plan.steps.iter().map(|step| format!("{} {}", step.verb(), step.child())).collect()
}

fn wait(message: &str) -> FinalizerAction {
    FinalizerAction::Keep { message: message.to_owned() }
}

fn apply(object: Value) -> Child {
    Child::from(object.as_object().expect("an object").clone())
}

#[test]
fn without_a_finalizing_plugin_only_children_out_of_reach_of_the_garbage_collector_are_deleted() {
    let world = world();
    let near = created(&world, config_map("a", "x"));
    let far = created(&world, elsewhere(config_map("b", "x")));
    let mut going = created(&world, elsewhere(config_map("c", "x")));
    going["metadata"]["deletionTimestamp"] = json!("2024-01-01T00:00:00Z");
    let found = leaving(&world.clone().sees([near.clone(), far, going]).lists_all(), None);
    assert_eq!(steps(&found), ["delete ConfigMap.v1 other/b"]);
    assert_eq!(found.finalizer, wait("waiting until these are deleted: ConfigMap.v1 other/b, ConfigMap.v1 other/c"));
    assert_eq!(leaving(&world.sees([near]), None), DeletionPlan { plan: Plan::default(), finalizer: FinalizerAction::Remove });
}

#[test]
fn children_that_kubectl_has_orphaned_are_left() {
    let world = world();
    let mut orphan = created(&world, config_map("a", "x"));
    orphan["metadata"].as_object_mut().expect("an object").remove("ownerReferences");
    assert_eq!(
        leaving(&world.sees([orphan]), None),
        DeletionPlan { plan: Plan::default(), finalizer: FinalizerAction::Remove }
    );
}

#[test]
fn a_plugin_decides_what_goes_before_its_parent() {
    let world = world();
    let (map, job) = (created(&world, config_map("a", "x")), created(&world, job("j", "v1")));
    let world = world.sees([map.clone(), job]);
    let changed = vec![apply(config_map("a", "last words")), apply(config_map("new", "x"))];
    let first = leaving(&world, Some(&teardown(false, Some(changed.clone()))));
    assert_eq!(
        steps(&first),
        ["apply ConfigMap.v1 default/a", "create ConfigMap.v1 default/new", "delete Job.v1.batch default/j"]
    );
    assert_eq!(first.finalizer, wait("the plugin echo has not finished its teardown"));
    let last = leaving(&world, Some(&teardown(true, Some(changed))));
    assert_eq!(steps(&last), ["apply ConfigMap.v1 default/a", "delete Job.v1.batch default/j"]);
    assert_eq!(last.finalizer, wait("waiting until these are deleted: Job.v1.batch default/j"));
    for children in [None, Some(vec![apply(config_map("a", "x")), apply(super::job("j", "another"))])] {
        let left = leaving(&world, Some(&teardown(true, children)));
        assert_eq!(
            (steps(&left), left.finalizer),
            (vec![], FinalizerAction::Remove),
            "a Job is not run again while its parent goes"
        );
    }
}

#[test]
fn children_out_of_reach_of_the_garbage_collector_are_deleted_even_if_the_plugin_returns_them() {
    let world = world();
    let far = created(&world, elsewhere(config_map("a", "x")));
    let world = world.sees([far]).lists_all();
    for child in [
        apply(elsewhere(config_map("a", "x"))),
        apply(json!({})),
        Child::Keep(ObjectRef { kind: gvk("v1/ConfigMap"), key: ObjectKey::new(Some("other"), "a") }),
    ] {
        let found = leaving(&world, Some(&teardown(true, Some(vec![child]))));
        assert_eq!(steps(&found), ["delete ConfigMap.v1 other/a"]);
    }
}

#[test]
fn a_parent_waits_for_children_that_may_not_be_deleted_and_the_message_names_the_remedy() {
    let world = world();
    let far = created(&world, elsewhere(config_map("a", "x")));
    let mut world = world.sees([far]).lists_all();
    world.grants = Grants::new(&manifest(), Namespaces::Only(["default".to_owned()].into()));
    let found = leaving(&world, None);
    assert_eq!(found.plan.refusals.len(), 1);
    let FinalizerAction::Keep { message } = found.finalizer else { panic!("released") };
    assert_eq!(
        message,
        "an object is no longer wanted and cannot be deleted: ConfigMap.v1 other/a is in a namespace that the mount is not configured for: \
         add \"other\" to the mount's key namespaces, or mount it for all namespaces; or leave this child behind by the annotation \
         gyre.dev/release=true on the parent"
    );
}

#[test]
fn long_lists_are_cut() {
    let world = world();
    let objects: Vec<Value> = ["a", "b", "c", "d", "e"].map(|name| created(&world, elsewhere(config_map(name, "x")))).into();
    let FinalizerAction::Keep { message } = leaving(&world.sees(objects).lists_all(), None).finalizer else {
        panic!("released")
    };
    let named = "ConfigMap.v1 other/a, ConfigMap.v1 other/b, ConfigMap.v1 other/c";
    assert_eq!(message, format!("waiting until these are deleted: {named} and 2 more"));
}

#[test]
fn the_annotation_releases_unless_it_is_false() {
    assert_eq!([None, Some("false"), Some("true"), Some(""), Some("yes")].map(is_released), [false, false, true, true, true]);
    assert_eq!(finalizer("echo"), "gyre.dev/echo");
}
