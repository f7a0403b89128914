//! Cases of children that stay when their parent is deleted.

use super::*;

fn volume(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Volume", "metadata": {"name": name}, "spec": {"size": "1Gi"}})
}

/// The child as an earlier version has created it, of which the kind did not outlive the parent.
fn of_earlier_version(world: &World) -> Value {
    let mut data = created(world, volume("data"));
    let reference =
        json!({"apiVersion": "example.com/v1", "kind": "Echo", "name": "hello", "uid": PARENT_UID, "controller": true});
    data["metadata"]["ownerReferences"] = json!([{"uid": "another"}, reference]);
    data["metadata"]["annotations"].as_object_mut().expect("an object").remove(OUTLIVES_ANNOTATION);
    data
}

fn leaving(world: &World) -> DeletionPlan {
    world.with_input(|input| plan_deletion(input, None))
}

fn verbs(plan: &Plan) -> Vec<&'static str> {
    plan.steps.iter().map(Step::verb).collect()
}

#[test]
fn it_is_deleted_if_it_is_unwanted_but_not_with_its_parent() {
    let base = world();
    let world = base.clone().sees([created(&base, volume("data"))]);
    assert_eq!(verbs(&world.clone().wants([volume("data")]).plan()), [""; 0]);
    assert_eq!(verbs(&world.clone().wants([]).plan()), ["delete"]);
    assert_eq!(leaving(&world), DeletionPlan { plan: Plan::default(), finalizer: FinalizerAction::Remove });
}

#[test]
fn it_stays_if_its_kind_is_no_longer_declared() {
    let base = world();
    let mut world = base.clone().sees([created(&base, volume("data"))]).wants([]);
    let mut manifest = manifest();
    manifest.children.retain(|child| child.kind.kind != "Volume");
    world.grants = world.grants.for_manifest(&manifest);
    assert_eq!((verbs(&world.plan()), verbs(&leaving(&world).plan)), (vec![], vec![]));
}

#[test]
fn a_child_of_an_earlier_version_loses_its_reference_and_no_other() {
    for strategy in [Strategy::Apply, Strategy::CreateOnly] {
        let base = world();
        let mut manifest = manifest();
        manifest.children.iter_mut().for_each(|child| child.strategy = strategy);
        let mut world = base.clone().sees([of_earlier_version(&base)]);
        world.grants = world.grants.for_manifest(&manifest);
        let wanted = world.clone().wants([volume("data")]);
        // Also while the plugin waits, and while the parent is being deleted.
        for plan in [wanted.plan(), world.plan(), leaving(&world).plan] {
            let [Step::Label { annotations, owner_references: Some(references), .. }] = plan.steps.as_slice() else {
                panic!("{plan:?}")
            };
            assert_eq!(references, &[json!({"uid": "another"})]);
            assert_eq!(annotations.get(OUTLIVES_ANNOTATION).map(String::as_str), Some("default/hello"));
        }
        // An unwanted one, too, because its deletion may be held up.
        assert_eq!(verbs(&world.clone().wants([]).plan()), ["label", "delete"]);
        let mut after = wanted;
        after.execute(&after.plan());
        assert_eq!(after.plan(), Plan::default());
    }
}

/// Controllers copy labels to objects of theirs.
#[test]
fn an_object_with_the_labels_alone_is_not_deleted() {
    let base = world();
    let mut data = created(&base, volume("data"));
    data["metadata"]["annotations"].as_object_mut().expect("an object").remove(OUTLIVES_ANNOTATION);
    assert_eq!(base.sees([data]).wants([]).plan(), Plan::default());
}

#[test]
fn it_is_in_the_namespace_of_its_parent() {
    let mut far = volume("data");
    far["metadata"]["namespace"] = json!("other");
    let plan = world().wants([far]).plan();
    assert_eq!(plan.steps, []);
    assert!(plan.refusals[0].message.contains("has to be in the namespace of the parent"), "{:?}", plan.refusals);
}

#[test]
fn a_new_parent_of_the_name_gets_it_back_if_the_mount_adopts() {
    let base = world();
    let data = created(&base, volume("data"));
    let cases = [
        (Adoption::Refused, "hello", None, None),
        (Adoption::Allowed, "hello", None, Some("apply")),
        (Adoption::Allowed, "hello", Some(false), Some("apply")),
        (Adoption::Allowed, "hello", Some(true), None),
        (Adoption::Allowed, "another", None, None),
    ];
    for (adoption, name, owner_exists, expected) in cases {
        let mut world = base.clone().wants([volume("data")]);
        world.parent.uid = "another-uid".to_owned();
        world.parent.key.name = name.to_owned();
        world.grants = world.grants.with_adoption(adoption);
        let plan = world.plan();
        let [Step::Create { desired }] = plan.steps.as_slice() else { panic!("{plan:?}") };
        let existing = world.with_input(|input| on_existing(input, desired, &data, None, |_| owner_exists));
        let verb = match &existing {
            Existing::Step(step) => Some(step.verb()),
            Existing::Refuse(_) => None,
            other => panic!("{other:?}"),
        };
        assert_eq!(verb, expected, "{adoption:?} {name} {owner_exists:?}");
    }
}
