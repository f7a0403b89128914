use super::*;

fn namespace(world: &mut World, name: &str) {
    world.create(json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name },
        "spec": { "finalizers": ["kubernetes"] }, "status": { "phase": "Active" },
    }));
    world.rest();
}

#[test]
fn a_namespace_always_has_its_account_and_certificates() {
    let mut world = World::new();
    namespace(&mut world, "some");
    for (plural, name) in [("serviceaccounts", "default"), ("configmaps", "kube-root-ca.crt")] {
        assert!(world.get(plural, "some", name).is_some());
        world.delete(plural, "some", name, None);
        world.rest();
        assert!(world.get(plural, "some", name).is_some(), "{name} is made again");
    }
}

#[test]
fn a_deleted_namespace_ends_with_nothing_in_it() {
    let mut world = World::new();
    namespace(&mut world, "some");
    for name in ["a", "b"] {
        let mut object = config_map(name, &[]);
        object::set_metadata(&mut object, "namespace", json!("some"));
        world.create(object);
    }
    let mut job = jobs::job("work", 3, 2, json!({}));
    object::set_metadata(&mut job, "namespace", json!("some"));
    world.create(job);
    world.rest();
    world.delete("namespaces", "", "some", None);
    world.pass(60, |_| ());
    assert!(world.get("namespaces", "", "some").is_none());
    for (.., plural, _, scope) in KINDS {
        if scope == Scope::Namespaced {
            assert_eq!(world.list(plural, Some("some")), Vec::<Value>::new(), "{plural}");
        }
    }
}

#[test]
fn a_namespace_says_what_it_waits_for() {
    let mut world = World::new();
    namespace(&mut world, "some");
    let mut held = config_map("held", &[]);
    object::set_metadata(&mut held, "namespace", json!("some"));
    object::set_metadata(&mut held, "finalizers", json!(["example.dev/wait"]));
    world.create(held);
    world.rest();
    world.delete("namespaces", "", "some", None);
    world.rest();
    let found = world.get("namespaces", "", "some").unwrap();
    let message = |kind: &str| {
        let conditions = found["status"]["conditions"].as_array().unwrap();
        let condition = conditions.iter().find(|condition| condition["type"] == kind).unwrap();
        (condition["status"].as_str().unwrap().to_owned(), condition["message"].as_str().unwrap().to_owned())
    };
    let is = |status: &str, message: &str| (status.to_owned(), message.to_owned());
    let remaining = "Some resources are remaining: configmaps. has 1 resource instances";
    assert_eq!(message("NamespaceContentRemaining"), is("True", remaining));
    let finalizers = "Some content in the namespace has finalizers remaining: example.dev/wait in 1 resource instances";
    assert_eq!(message("NamespaceFinalizersRemaining"), is("True", finalizers));
    let deleted = "All content successfully deleted, may be waiting on finalization";
    assert_eq!(message("NamespaceDeletionContentFailure"), is("False", deleted));

    let mut held = world.get("configmaps", "some", "held").unwrap();
    object::remove_metadata(&mut held, "finalizers");
    world.update(held);
    world.rest();
    assert!(world.get("namespaces", "", "some").is_none());
}
