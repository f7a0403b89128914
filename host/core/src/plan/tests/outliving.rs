//! Cases of children that stay when their parent is deleted.

use super::*;

fn volume(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Volume", "metadata": {"name": name}, "spec": {"size": "1Gi"}})
}

fn reference() -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Echo", "name": "hello", "uid": PARENT_UID, "controller": true})
}

fn leaving(world: &World) -> DeletionPlan {
    world.with_input(|input| plan_deletion(input, None))
}

fn verbs(plan: &Plan) -> Vec<&'static str> {
    plan.steps.iter().map(Step::verb).collect()
}

#[test]
fn it_refers_to_no_parent_and_the_parent_lists_it() {
    let world = world().wants([volume("data")]);
    let plan = world.plan();
    let [Step::Create { desired }] = plan.steps.as_slice() else { panic!("{plan:?}") };
    let metadata = &desired.object["metadata"];
    assert_eq!(
        (metadata.get("ownerReferences"), &metadata["annotations"][OUTLIVES_ANNOTATION]),
        (None, &json!("default/hello"))
    );
    let (finalizer, list) = world.with_input(|input| (needs_finalizer(input, &plan, false), child_list(input, &plan)));
    assert_eq!((finalizer, list.to_text().as_str()), (true, r#"{"Volume":{"default":["data"]}}"#));
}

#[test]
fn it_is_deleted_if_it_is_unwanted_but_not_with_its_parent() {
    let base = world();
    let data = created(&base, volume("data"));
    let world = base.sees([data]).lists_all();
    assert_eq!(verbs(&world.clone().wants([volume("data")]).plan()), [""; 0]);
    assert_eq!(verbs(&world.clone().wants([]).plan()), ["delete"]);
    assert_eq!(leaving(&world), DeletionPlan { plan: Plan::default(), finalizer: FinalizerAction::Remove });
}

#[test]
fn it_stays_if_its_kind_is_no_longer_declared_to_outlive_the_parent() {
    let base = world();
    let mut world = base.clone().sees([created(&base, volume("data"))]).lists_all();
    let mut manifest = manifest();
    manifest.children.iter_mut().for_each(|child| child.outlives_parent = false);
    world.grants = world.grants.for_manifest(&manifest);
    assert_eq!(verbs(&leaving(&world).plan), [""; 0]);
    // An apply gives it the reference of an ordinary child.
    assert_eq!(verbs(&world.wants([volume("data")]).plan()), ["apply"]);
}

#[test]
fn a_child_of_an_earlier_version_loses_its_reference() {
    let base = world();
    let mut data = created(&base, volume("data"));
    data["metadata"]["ownerReferences"] = json!([reference()]);
    data["metadata"]["annotations"].as_object_mut().expect("an object").remove(OUTLIVES_ANNOTATION);
    let mut world = base.sees([data]).wants([volume("data")]);
    assert_eq!(verbs(&leaving(&world).plan), [""; 0], "it stays also before the first plan");
    assert_eq!(verbs(&world.plan()), ["apply"]);
    world.execute(&world.plan());
    assert_eq!(world.plan(), Plan::default());
    assert!(!world.observed[0].json.contains("ownerReferences"), "{}", world.observed[0].json);
}

#[test]
fn a_child_that_is_created_only_once_loses_its_reference_too() {
    let base = world();
    let mut manifest = manifest();
    manifest.children.iter_mut().for_each(|child| child.strategy = Strategy::CreateOnly);
    let mut data = created(&base, volume("data"));
    data["metadata"]["ownerReferences"] = json!([reference(), {"uid": "another"}]);
    let mut world = base.sees([data]).wants([volume("data")]);
    world.grants = world.grants.for_manifest(&manifest);
    let plan = world.plan();
    let [Step::Label { annotations, owner_references: Some(references), .. }] = plan.steps.as_slice() else {
        panic!("{plan:?}")
    };
    assert_eq!(references, &[json!({"uid": "another"})]);
    assert_eq!(annotations.get(OUTLIVES_ANNOTATION).map(String::as_str), Some("default/hello"));
    world.execute(&plan);
    assert_eq!(world.plan(), Plan::default());
}

#[test]
fn a_new_parent_of_the_name_gets_it_back_if_the_mount_adopts() {
    let base = world();
    let data = created(&base, volume("data"));
    for (adoption, expected) in [(Adoption::Refused, None), (Adoption::Allowed, Some("apply"))] {
        let mut world = base.clone().wants([volume("data")]);
        world.parent.uid = "another-uid".to_owned();
        world.grants = world.grants.with_adoption(adoption);
        let plan = world.plan();
        let [Step::Create { desired }] = plan.steps.as_slice() else { panic!("{plan:?}") };
        let existing = world.with_input(|input| on_existing(input, desired, &data, None, |_| true));
        let verb = match &existing {
            Existing::Step(step) => Some(step.verb()),
            Existing::Refuse(refusal) => {
                assert!(refusal.message.contains("a parent that no longer exists"), "{}", refusal.message);
                None
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(verb, expected);
    }
}
