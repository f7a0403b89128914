use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

#[test]
fn a_dependent_goes_after_its_last_owner() {
    let mut world = World::new();
    let (first, second) = (world.create(config_map("first", &[])), world.create(config_map("second", &[])));
    world.create(config_map("both", &[&first, &second]));
    world.create(config_map("one", &[&first]));
    world.rest();
    world.delete("configmaps", "default", "first", None);
    world.rest();
    assert!(world.get("configmaps", "default", "one").is_none());
    let both = world.get("configmaps", "default", "both").unwrap();
    assert_eq!(object::owner_uids(&both).collect::<Vec<_>>(), [object::uid(&second).unwrap()]);
    world.delete("configmaps", "default", "second", None);
    world.rest();
    assert!(world.get("configmaps", "default", "both").is_none());
}

#[test]
fn an_owner_of_another_namespace_counts_as_absent() {
    let mut world = World::new();
    world.create(
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "other" }, "status": { "phase": "Active" } }),
    );
    let owner = world.create(config_map("owner", &[]));
    let mut dependent = config_map("dependent", &[&owner]);
    object::set_metadata(&mut dependent, "namespace", json!("other"));
    world.create(dependent);
    world.rest();
    assert!(world.get("configmaps", "other", "dependent").is_none());
    assert_eq!(world.reasons("dependent"), ["OwnerRefInvalidNamespace"]);
    let event = world.list("events", Some("other")).remove(0);
    let uid = object::uid(&owner).unwrap();
    let message =
        format!("ownerRef [v1/ConfigMap, namespace: other, name: owner, uid: {uid}] does not exist in namespace \"other\"");
    assert_eq!(event["message"], message.as_str());
}

#[test]
fn an_owner_of_an_unknown_kind_is_left_alone() {
    let mut world = World::new();
    let unknown = json!({ "apiVersion": "example.dev/v1", "kind": "Thing", "metadata": { "name": "x", "uid": "1" } });
    world.create(config_map("dependent", &[&unknown]));
    world.rest();
    assert!(world.get("configmaps", "default", "dependent").is_some());
}

#[test]
fn a_reference_to_an_unknown_kind_does_not_mean_a_deleted_object_with_the_same_uid() {
    let mut world = World::new();
    let owner = world.create(config_map("owner", &[]));
    let mut unknown = owner.clone();
    unknown["apiVersion"] = json!("example.dev/v1");
    unknown["kind"] = json!("Thing");
    world.create(config_map("dependent", &[&unknown]));
    world.rest();
    world.delete("configmaps", "default", "owner", None);
    world.rest();
    assert!(world.get("configmaps", "default", "dependent").is_some());
}

#[test]
fn a_namespaced_owner_of_a_cluster_scoped_object_is_left_alone() {
    let mut world = World::new();
    let absent = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "x", "uid": "1" } });
    world.create(
        json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "n", "ownerReferences": [reference(&absent)] } }),
    );
    world.rest();
    assert!(world.get("nodes", "", "n").is_some());
}

#[test]
fn foreground_waits_for_a_child_that_a_finalizer_holds() {
    let mut world = World::new();
    let parent = world.create(config_map("parent", &[]));
    let mut child = config_map("child", &[&parent]);
    object::set_metadata(&mut child, "finalizers", json!(["example.dev/wait"]));
    world.create(child);
    world.rest();
    world.delete("configmaps", "default", "parent", Some(Propagation::Foreground));
    world.rest();
    assert!(world.get("configmaps", "default", "parent").is_some());
    let mut child = world.get("configmaps", "default", "child").unwrap();
    assert!(object::is_deleting(&child));
    object::remove_metadata(&mut child, "finalizers");
    world.update(child);
    world.rest();
    assert!(world.get("configmaps", "default", "child").is_none());
    assert!(world.get("configmaps", "default", "parent").is_none());
}

#[test]
fn objects_that_own_each_other_can_be_deleted_in_the_foreground() {
    let mut world = World::new();
    let first = world.create(config_map("first", &[]));
    let second = world.create(config_map("second", &[&first]));
    let mut first = world.get("configmaps", "default", "first").unwrap();
    object::set_metadata(&mut first, "ownerReferences", json!([reference(&second)]));
    world.update(first);
    world.rest();
    world.delete("configmaps", "default", "first", Some(Propagation::Foreground));
    world.rest();
    let left: Vec<String> = world.names("configmaps");
    assert!(!left.iter().any(|name| name == "first" || name == "second"), "{left:?}");
}

/// A forest: each object has at most two owners, among the objects before it.
fn forest() -> impl Strategy<Value = Vec<BTreeSet<usize>>> {
    let owners = |place: usize| proptest::collection::btree_set(0..place.max(1), 0..3);
    (2..12_usize).prop_flat_map(move |size| (0..size).map(owners).collect::<Vec<_>>()).prop_map(|mut owners| {
        if let Some(first) = owners.first_mut() {
            first.clear();
        }
        owners
    })
}

fn propagation() -> impl Strategy<Value = Option<Propagation>> {
    prop_oneof![
        Just(None),
        Just(Some(Propagation::Background)),
        Just(Some(Propagation::Foreground)),
        Just(Some(Propagation::Orphan)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn exactly_the_objects_without_owners_are_deleted_and_children_before_foreground_parents(
        owners in forest(), victim in any::<prop::sample::Index>(), how in propagation()
    ) {
        let mut world = World::new();
        let mut made: Vec<Value> = Vec::new();
        for (place, owners) in owners.iter().enumerate() {
            let owners: Vec<&Value> = owners.iter().map(|owner| &made[*owner]).collect();
            let object = world.create(config_map(&format!("object-{place}"), &owners));
            made.push(object);
        }
        world.rest();
        let before = world.server.revision();
        let victim = victim.index(owners.len());
        world.delete("configmaps", "default", &format!("object-{victim}"), how);
        world.rest();

        let mut gone = BTreeSet::from([victim]);
        if how != Some(Propagation::Orphan) {
            for (place, owners) in owners.iter().enumerate() {
                if !owners.is_empty() && owners.iter().all(|owner| gone.contains(owner)) {
                    gone.insert(place);
                }
            }
        }
        for (place, owners) in owners.iter().enumerate() {
            let found = world.get("configmaps", "default", &format!("object-{place}"));
            prop_assert_eq!(found.is_none(), gone.contains(&place), "object-{}", place);
            if let Some(found) = found {
                let expected: Vec<&str> = owners.iter().filter(|owner| !gone.contains(owner)).filter_map(|owner| object::uid(&made[*owner])).collect();
                prop_assert_eq!(object::owner_uids(&found).collect::<Vec<_>>(), expected);
            }
        }
        if how == Some(Propagation::Foreground) {
            let resource = resource("configmaps");
            let changes = world.server.registry.store.changes_since(&resource, before).unwrap();
            let deleted = changes.filter(|change| change.presence == crate::store::Presence::Deleted);
            let at: BTreeMap<String, u64> = deleted.map(|change| (change.key.name.to_string(), change.revision)).collect();
            for child in gone.iter().filter(|child| owners[**child].contains(&victim)) {
                let (child, victim) = (at[&format!("object-{child}")], at[&format!("object-{victim}")]);
                prop_assert!(child < victim);
            }
        }
    }
}
