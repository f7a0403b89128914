use super::deletion::elsewhere;
use super::*;

fn steps(plan: &Plan) -> Vec<String> {
    plan.steps
        .iter()
        .map(|step| {
            let cause = match step {
                Step::Apply { cause, .. } => format!(" {cause:?}"),
                Step::Replace { cause, confirm, .. } => format!(" {cause:?} {confirm:?}"),
                Step::Delete { propagation, .. } => format!(" {propagation:?}"),
                Step::Label { labels, .. } => format!(" {labels:?}"),
                Step::Create { .. } => String::new(),
            };
            format!("{} {}{cause}", step.verb(), step.child())
        })
        .collect()
}

fn refusals(plan: &Plan) -> Vec<(RefusalReason, Option<String>)> {
    plan.refusals.iter().map(|refusal| (refusal.reason, refusal.child.as_ref().map(ToString::to_string))).collect()
}

#[test]
fn a_child_is_created_with_everything_that_makes_it_ours() {
    let mut child = config_map("a", "x");
    child["status"] = json!({});
    child["metadata"] = json!({
        "name": "a", "uid": "forged", "resourceVersion": "1", "managedFields": [], "generateName": "a-",
        "ownerReferences": [{"uid": "somebody", "controller": true}],
        "labels": {"app": "a", PLUGIN_LABEL: "another"}, "annotations": {DIGEST_ANNOTATION: "forged"},
    });
    let plan = world().wants([child]).plan();
    let [Step::Create { desired }] = plan.steps.as_slice() else { panic!("{plan:?}") };
    assert_eq!(
        Value::Object(desired.object.clone()),
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "data": {"text": "x"},
            "metadata": {
                "name": "a", "namespace": "default",
                "labels": {"app": "a", PLUGIN_LABEL: PLUGIN, OWNER_UID_LABEL: PARENT_UID},
                "annotations": {DIGEST_ANNOTATION: desired.digest},
                "ownerReferences": [{
                    "apiVersion": "example.com/v1", "kind": "Echo", "name": "hello", "uid": PARENT_UID,
                    "controller": true, "blockOwnerDeletion": true,
                }],
            },
        })
    );
    assert_eq!(desired.child.to_string(), "ConfigMap.v1 default/a");
    assert_eq!(desired.digest.len(), 32);
}

#[test]
fn an_owner_reference_is_only_written_where_the_garbage_collector_follows_it() {
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "gyre:a", "namespace": "ignored"},
    });
    let mut elsewhere = config_map("a", "x");
    elsewhere["metadata"]["namespace"] = json!("other");
    let mut cluster_parent = world();
    cluster_parent.parent.key.namespace = None;
    for (world, child, referenced) in [
        (world(), config_map("a", "x"), true),
        (world(), elsewhere.clone(), false),
        (world(), role.clone(), false),
        (cluster_parent.clone(), elsewhere, true),
        (cluster_parent, role, true),
    ] {
        let object = created(&world, child);
        assert_eq!(object["metadata"].get("ownerReferences").is_some(), referenced, "{object}");
        assert_eq!(object["metadata"]["labels"][OWNER_UID_LABEL], PARENT_UID);
        if object["kind"] == "ClusterRole" {
            assert_eq!(object["metadata"].get("namespace"), None);
        }
    }
}

#[test]
fn a_child_that_is_right_gets_no_step_and_one_that_is_not_gets_one() {
    let base = world();
    let (map, old_job) = (created(&base, config_map("a", "x")), created(&base, job("j", "v1")));
    let mut drifted_map = map.clone();
    drifted_map["data"]["text"] = json!("by hand");
    let mut stripped_map = map.clone();
    stripped_map["metadata"]["annotations"] = json!({});
    let mut drifted_job = old_job.clone();
    drifted_job["spec"]["template"]["spec"]["containers"][0]["image"] = json!("by hand");
    let mut stripped_job = old_job.clone();
    stripped_job["metadata"]["labels"] = json!({});
    for (live, wanted, expected) in [
        (&map, config_map("a", "x"), None),
        (&map, config_map("a", "y"), Some("apply ConfigMap.v1 default/a DesiredChanged")),
        (&drifted_map, config_map("a", "x"), Some("apply ConfigMap.v1 default/a Drifted { path: \"data.text\" }")),
        (
            &stripped_map,
            config_map("a", "x"),
            Some("apply ConfigMap.v1 default/a Drifted { path: \"metadata.annotations[\\\"gyre.dev/desired-digest\\\"]\" }"),
        ),
        (&old_job, job("j", "v1"), None),
        (&old_job, job("j", "v2"), Some("replace Job.v1.batch default/j DesiredChanged NotNeeded")),
        (
            &drifted_job,
            job("j", "v1"),
            Some("replace Job.v1.batch default/j Drifted { path: \"spec.template.spec.containers[0].image\" } ByDryRun"),
        ),
        (
            &stripped_job,
            job("j", "v1"),
            Some("apply Job.v1.batch default/j Drifted { path: \"metadata.labels[\\\"gyre.dev/owner-uid\\\"]\" }"),
        ),
    ] {
        let plan = base.clone().sees([live.clone()]).wants([wanted]).plan();
        assert_eq!(steps(&plan), Vec::from_iter(expected), "{live}");
        if let [Step::Apply { desired, uid, .. }] = plan.steps.as_slice() {
            assert_eq!(desired.object["metadata"]["uid"], json!(uid), "an apply must not be able to create");
        }
    }
}

#[test]
fn a_create_only_child_is_never_touched_again() {
    let secret =
        |text: &str| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"k": text}});
    let live = created(&world(), secret("x"));
    assert_eq!(world().sees([live]).wants([secret("y")]).plan(), Plan::default());
}

#[test]
fn string_data_that_is_no_map_of_strings_is_refused() {
    for (field, value, said) in [
        ("stringData", json!("x"), "has stringData that is not an object"),
        ("stringData", json!({"port": 1}), "has a value in stringData that is not a string, for \"port\""),
        ("data", json!("x"), "has data that is not an object"),
    ] {
        let mut secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"k": "x"}});
        secret[field] = value;
        let plan = world().wants([secret]).plan();
        assert_eq!(refusals(&plan), [(RefusalReason::InvalidChild, Some("Secret.v1 default/s".to_owned()))]);
        assert!(plan.refusals[0].message.contains(said), "{:?}", plan.refusals);
    }
}

#[test]
fn what_could_be_created_and_never_applied_is_refused_with_the_entry() {
    let check = |container: Value, said: &str| {
        let mut job = job("j", "v1");
        let containers = &mut job["spec"]["template"]["spec"]["containers"];
        for (field, value) in container.as_object().unwrap() {
            containers[0][field] = value.clone();
        }
        let plan = world().wants([job]).plan();
        let expected = format!("Job.v1.batch default/j has two elements with the same key in a list: {said}");
        assert_eq!(Vec::from_iter(plan.refusals.iter().map(|refusal| &*refusal.message)), [expected]);
        assert_eq!(plan.steps, []);
    };
    let at = "spec.template.spec.containers[0]";
    let env = json!([{"name": "A", "value": "1"}, {"name": "B"}, {"name": "A", "value": "2"}]);
    check(json!({"env": env}), &format!("{at}.env[2] has name \"A\", and so has element 0: remove one"));
    check(
        json!({"ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "TCP"}]}),
        &format!("{at}.ports[1] has containerPort 80, protocol \"TCP\", and so has element 0: remove one"),
    );
    // Custom kinds are checked by the API server when they are created.
    let spec = json!({"containers": [{"name": "a"}, {"name": "a"}]});
    let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec});
    let mut world = world();
    world.scopes.insert(gvk("example.com/v1/Widget"), Scope::Namespaced);
    assert_eq!(steps(&world.wants([widget]).plan()), ["create Widget.v1.example.com default/w"]);
}

#[test]
fn an_answer_of_the_api_server_is_remembered_until_something_changes() {
    let base = world();
    let mut live = created(&base, config_map("a", "1000m"));
    live["data"]["text"] = json!("1");
    let digest = live["metadata"]["annotations"][DIGEST_ANNOTATION].as_str().unwrap().to_owned();
    let accepted = AcceptedForm::of(&digest, &live);
    let plan_for = |live: &Value, wanted: Value| {
        let mut world = base.clone().sees([live.clone()]).wants([wanted]);
        world.observed[0].accepted = Some(Remembered { plugin: PLUGIN, form: accepted.clone() });
        steps(&world.plan()).len()
    };
    assert_eq!(plan_for(&live, config_map("a", "1000m")), 0);
    live["metadata"]["resourceVersion"] = json!("6");
    live["metadata"]["generation"] = json!(3);
    live["metadata"]["managedFields"] = json!([]);
    live["status"] = json!({"changed": true});
    assert_eq!(plan_for(&live, config_map("a", "1000m")), 0, "a change of the status is none of what was answered");
    assert_eq!(plan_for(&live, config_map("a", "2")), 1);
    live["data"]["text"] = json!("by hand");
    assert_eq!(plan_for(&live, config_map("a", "1000m")), 1);
}

#[test]
fn a_child_that_is_being_deleted_is_waited_for() {
    let mut map = created(&world(), config_map("a", "x"));
    map["metadata"]["deletionTimestamp"] = json!("2024-01-01T00:00:00Z");
    let child = ObjectRef { kind: gvk("v1/ConfigMap"), key: ObjectKey::new(Some("default"), "a") };
    let wanted = world().sees([map.clone()]).wants([config_map("a", "y")]).plan();
    assert_eq!(wanted, Plan { waiting: vec![gone_first(&child)], ..Plan::default() });
    let unwanted = world().sees([map]).wants([]).plan();
    assert_eq!(unwanted, Plan { leaving: vec![child], ..Plan::default() });
}

#[test]
fn owned_objects_that_are_not_desired_are_deleted_last() {
    let base = world();
    let (map, old_job) = (created(&base, config_map("old", "x")), created(&base, job("old", "x")));
    // A kind that an earlier version of the plugin declared, and one in another version.
    let mut pod = map.clone();
    pod["kind"] = json!("Pod");
    let mut beta = created(&base, job("kept", "x"));
    beta["apiVersion"] = json!("batch/v1beta1");
    let plan = base.sees([pod, map, old_job, beta]).wants([config_map("new", "x"), job("kept", "x")]).plan();
    assert_eq!(
        steps(&plan),
        [
            "create ConfigMap.v1 default/new",
            "delete ConfigMap.v1 default/old Foreground",
            "delete Pod.v1 default/old Background",
            "delete Job.v1.batch default/old Background",
        ]
    );
    let keep = |name: &str, namespace: Option<&str>| {
        Child::Keep(ObjectRef { kind: gvk("batch/v1/Job"), key: ObjectKey::new(namespace, name) })
    };
    let mut keeping = world().sees([created(&world(), job("a", "x")), created(&world(), job("b", "x"))]);
    keeping.desired = Some(vec![keep("a", None), keep("b", Some("default")), keep("absent", None), keep("a", None)]);
    assert_eq!(keeping.plan(), Plan::default());
    keeping.desired = None;
    assert_eq!(keeping.plan(), Plan::default());
}

#[test]
fn an_object_that_two_caches_hold_is_one_object() {
    let base = world();
    let current = created(&base, job("j", "x"));
    let mut beta = current.clone();
    beta["apiVersion"] = json!("batch/v1beta1");
    beta["spec"] = json!({"in": "another form"});
    for (wanted, expected) in [
        (vec![], vec!["delete Job.v1.batch default/j Background"]),
        (vec![job("j", "x")], vec![]),
        (vec![job("j", "y")], vec!["replace Job.v1.batch default/j DesiredChanged NotNeeded"]),
    ] {
        for observed in [[current.clone(), beta.clone()], [beta.clone(), current.clone()]] {
            assert_eq!(steps(&base.clone().sees(observed).wants(wanted.clone()).plan()), expected);
        }
    }
    // Fields of another version cannot be compared, but the digest can.
    assert_eq!(base.clone().sees([beta.clone()]).wants([job("j", "x")]).plan(), Plan::default());
    assert_eq!(base.sees([beta]).wants([job("j", "y")]).plan().steps.len(), 1);
}

#[test]
fn what_is_not_ours_is_not_touched_whatever_its_name() {
    let base = world();
    let map = created(&base, config_map("a", "x"));
    let other_uid = |pointer: &str, value: Value| {
        let mut map = map.clone();
        *map.pointer_mut(pointer).unwrap() = value;
        map
    };
    for foreign in [
        other_uid("/metadata/ownerReferences/0/uid", json!("another")),
        other_uid("/metadata/labels", json!({PLUGIN_LABEL: "another", OWNER_UID_LABEL: PARENT_UID})),
        other_uid("/metadata", json!({"name": "a", "namespace": "default", "uid": "u", "labels": {PLUGIN_LABEL: PLUGIN}})),
        other_uid("/metadata/labels", json!("nonsense")),
    ] {
        let seen = base.clone().sees([foreign.clone()]);
        assert_eq!(seen.clone().wants([]).plan(), Plan::default(), "{foreign}");
        assert_eq!(steps(&seen.wants([config_map("a", "y")]).plan()), ["create ConfigMap.v1 default/a"], "{foreign}");
    }
    let mut garbled = base.clone().sees([map.clone()]).wants([]);
    garbled.observed[0].json = "{".to_owned();
    assert_eq!(garbled.plan(), Plan::default());
    let mut contradictory = base.sees([map]).wants([]);
    contradictory.observed[0].uid = "another".to_owned();
    assert_eq!(contradictory.plan(), Plan::default());
}

/// Anybody who may create objects in the namespace may forge these labels.
#[test]
fn in_the_parents_namespace_labels_alone_own_an_object_only_under_a_wanted_name() {
    for parent_namespace in [Some("default"), None] {
        let mut base = world();
        base.parent.key.namespace = parent_namespace.map(str::to_owned);
        let mut map = config_map("a", "x");
        map["metadata"]["namespace"] = json!("default");
        let mut forged = created(&base, map.clone());
        forged["metadata"].as_object_mut().unwrap().remove("ownerReferences");
        let world = base.sees([forged]);
        assert_eq!(world.clone().wants([]).plan(), Plan::default(), "it is not deleted");
        map["metadata"]["name"] = json!("b");
        assert_eq!(steps(&world.clone().wants([map.clone()]).plan()), ["create ConfigMap.v1 default/b"]);
        map["metadata"]["name"] = json!("a");
        assert_eq!(steps(&world.wants([map]).plan()), ["apply ConfigMap.v1 default/a Adopted"]);
    }
}

#[test]
fn refusals_name_the_remedy() {
    use RefusalReason::{InvalidChild, KindNotGranted, NamespaceNotGranted, NotServed, UndeclaredKind};
    let object = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
    let map = |metadata: &str| object(&format!(r#"{{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {metadata}}}"#));
    let mut world = world();
    let only = |namespaces: &[&str]| Namespaces::Only(namespaces.iter().map(|name| (*name).to_owned()).collect());
    let kinds = manifest().children.into_iter().map(|child| child.kind).filter(|kind| kind.kind != "Secret").collect();
    world.grants = Grants::new(&manifest(), only(&["default"])).with_kinds(Kinds::Only(kinds));
    for (child, reason, named, advice) in [
        (object("{}"), InvalidChild, None, "set its apiVersion and kind"),
        (object(r#"{"kind": "Job"}"#), InvalidChild, None, "has no apiVersion"),
        (map("null"), InvalidChild, None, "set metadata.name"),
        (map(r#"{"generateName": "a-"}"#), InvalidChild, None, "give each child a fixed name"),
        (map(r#"{"name": "A/../b"}"#), InvalidChild, None, "use at most 253"),
        (map(r#"{"name": "a", "namespace": 1}"#), InvalidChild, None, "cannot be in the namespace 1"),
        (map(r#"{"name": "a", "namespace": "a/b"}"#), InvalidChild, None, "use at most 63"),
        (map(r#"{"name": "a", "labels": []}"#), InvalidChild, Some("ConfigMap.v1 default/a"), "an object of strings"),
        (map(r#"{"name": "a", "annotations": {"x": 1}}"#), InvalidChild, Some("ConfigMap.v1 default/a"), "write it in quotes"),
        (
            map(r#"{"name": "a", "namespace": "other"}"#),
            NamespaceNotGranted,
            Some("ConfigMap.v1 other/a"),
            "add \"other\" to the mount's key namespaces",
        ),
        (
            object(r#"{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r"}}"#),
            NamespaceNotGranted,
            Some("ClusterRole.v1.rbac.authorization.k8s.io r"),
            "mount it for all namespaces",
        ),
        (
            object(r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}"#),
            UndeclaredKind,
            Some("Pod.v1 default/p"),
            "declare it",
        ),
        (
            object(r#"{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}"#),
            KindNotGranted,
            Some("Secret.v1 default/s"),
            "add it to the kinds",
        ),
        (
            object(r#"{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}"#),
            NotServed,
            Some("Widget.v1.example.com default/w"),
            "CustomResourceDefinition",
        ),
    ] {
        let plan = world.clone().wants([child.clone()]).plan();
        assert_eq!(refusals(&plan), [(reason, named.map(str::to_owned))], "{child}");
        assert!(plan.refusals[0].message.contains(advice), "{}", plan.refusals[0].message);
        assert_eq!(plan.steps, [], "{child}");
    }
}

#[test]
fn a_parent_is_no_child_of_its_own_although_others_of_its_kind_are() {
    let mut world = world();
    world.parent.kind = gvk("v1/ConfigMap");
    let name = world.parent.key.name.clone();
    for adoption in [Adoption::Refused, Adoption::Allowed] {
        world.grants = world.grants.with_adoption(adoption);
        let plan = world.clone().wants([config_map(&name, "x"), config_map("copy", "x")]).plan();
        assert_eq!(refusals(&plan), [(RefusalReason::InvalidChild, Some(format!("ConfigMap.v1 default/{name}")))]);
        assert!(plan.refusals[0].message.contains("is the parent itself"), "{}", plan.refusals[0].message);
        assert_eq!(steps(&plan), ["create ConfigMap.v1 default/copy"]);
    }
}

#[test]
fn a_name_that_is_wanted_twice_is_refused_the_second_time() {
    let mut explicit = config_map("a", "y");
    explicit["metadata"]["namespace"] = json!("default");
    let plan = world().wants([config_map("a", "x"), explicit]).plan();
    assert_eq!(refusals(&plan), [(RefusalReason::InvalidChild, Some("ConfigMap.v1 default/a".to_owned()))]);
    let [Step::Create { desired }] = plan.steps.as_slice() else { panic!("{plan:?}") };
    assert_eq!(desired.object["data"]["text"], "x");
}

#[test]
fn nothing_is_lost_because_of_a_bad_output() {
    let base = world();
    let seen = base.clone().sees([created(&base, config_map("a", "x")), created(&base, job("j", "x"))]);
    let no_name = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}});
    assert_eq!(steps(&seen.clone().wants([no_name]).plan()), ["delete Job.v1.batch default/j Background"]);
    assert_eq!(steps(&seen.clone().wants([json!({})]).plan()), [""; 0]);
    let mut refused = config_map("a", "x");
    refused["metadata"]["labels"] = json!(1);
    assert_eq!(steps(&seen.clone().wants([refused]).plan()), ["delete Job.v1.batch default/j Background"]);
    let mut not_served = seen.wants([config_map("a", "y")]);
    not_served.scopes.remove(&gvk("v1/ConfigMap"));
    assert_eq!(steps(&not_served.plan()), ["delete Job.v1.batch default/j Background"]);
}

#[test]
fn objects_outside_of_the_grants_are_not_deleted() {
    let base = world();
    let mut seen = base.clone().sees([created(&base, config_map("a", "x")), created(&base, job("j", "x"))]).wants([]);
    let jobs = Kinds::Only([gvk("batch/v1/Job")].into());
    seen.grants = Grants::new(&manifest(), Namespaces::Only(["other".to_owned()].into())).with_kinds(jobs);
    let plan = seen.plan();
    assert_eq!(plan.steps, []);
    assert_eq!(
        refusals(&plan),
        [
            (RefusalReason::KindNotGranted, Some("ConfigMap.v1 default/a".to_owned())),
            (RefusalReason::NamespaceNotGranted, Some("Job.v1.batch default/j".to_owned())),
        ]
    );
}

#[test]
fn a_child_outside_of_its_parents_namespace_needs_a_grant_of_its_namespace() {
    let named = WriteNamespaces::Named(["shared".to_owned()].into());
    for (granted, parent, child, is_written) in [
        (WriteNamespaces::OfParent, Some("default"), "default", true),
        (WriteNamespaces::OfParent, Some("default"), "kube-system", false),
        (WriteNamespaces::OfParent, None, "kube-system", false),
        (named.clone(), Some("default"), "default", true),
        (named.clone(), Some("default"), "shared", true),
        (named.clone(), Some("default"), "kube-system", false),
        (named.clone(), None, "shared", true),
        (named, None, "kube-system", false),
        (WriteNamespaces::All, Some("default"), "kube-system", true),
        (WriteNamespaces::All, None, "kube-system", true),
    ] {
        let mut world = world();
        world.grants = Grants::new(&manifest(), Namespaces::All).with_write_namespaces(granted.clone());
        world.parent.key.namespace = parent.map(str::to_owned);
        let mut map = config_map("a", "x");
        map["metadata"]["namespace"] = json!(child);
        let plan = world.wants([map]).plan();
        let expected = if is_written {
            vec![]
        } else {
            vec![(RefusalReason::NamespaceNotGranted, Some(format!("ConfigMap.v1 {child}/a")))]
        };
        assert_eq!(refusals(&plan), expected, "{granted:?} {parent:?}");
        assert_eq!(plan.steps.len(), usize::from(is_written), "{granted:?} {parent:?} {child}");
        for refusal in &plan.refusals {
            assert!(
                refusal.message.ends_with("add \"kube-system\" to the mount's key grants.writeNamespaces"),
                "{}",
                refusal.message
            );
        }
    }
}

#[test]
fn children_of_a_cluster_scoped_parent_may_be_in_namespaces_that_are_its_children() {
    let mut base = world();
    base.grants = Grants::new(&manifest(), Namespaces::All);
    base.parent.key.namespace = None;
    let own = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "own" } });
    let within = |namespace: &str| {
        let mut map = config_map("a", "x");
        map["metadata"]["namespace"] = json!(namespace);
        map
    };
    let created_together = base.clone().wants([own.clone(), within("own"), within("other")]).plan();
    assert_eq!(steps(&created_together), ["create Namespace.v1 own", "create ConfigMap.v1 own/a"]);
    let refused = [(RefusalReason::NamespaceNotGranted, Some("ConfigMap.v1 other/a".to_owned()))];
    assert_eq!(refusals(&created_together), refused);

    let foreign = json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "other", "uid": "other", "resourceVersion": "1" },
    });
    let there = base.clone().sees([created(&base, own), foreign]);
    let kept = |name: &str| Child::Keep(ObjectRef { kind: gvk("v1/Namespace"), key: ObjectKey::new(None::<String>, name) });
    let mut keeps = there.wants([within("own"), within("other")]);
    keeps.desired.as_mut().unwrap().extend([kept("own"), kept("other")]);
    assert_eq!(steps(&keeps.plan()), ["create ConfigMap.v1 own/a"], "keeping a namespace does not make it the parent's");
    assert_eq!(refusals(&keeps.plan()), refused);
}

#[test]
fn a_grant_of_namespaces_may_be_a_pattern() {
    let granted = WriteNamespaces::Named(["team-*".to_owned()].into());
    for (namespace, is_written) in [("team-a", true), ("team", false), ("my-team-a", false)] {
        let mut world = world();
        world.grants = Grants::new(&manifest(), Namespaces::All).with_write_namespaces(granted.clone());
        let mut map = config_map("a", "x");
        map["metadata"]["namespace"] = json!(namespace);
        assert_eq!(world.wants([map]).plan().steps.len(), usize::from(is_written), "{namespace}");
    }
}

#[test]
fn a_grant_of_namespaces_is_no_wider_than_the_mount() {
    let mut world = world();
    let mount = Namespaces::Only(["default".to_owned()].into());
    for granted in [WriteNamespaces::All, WriteNamespaces::Named(["other".to_owned()].into())] {
        world.grants = Grants::new(&manifest(), mount.clone()).with_write_namespaces(granted);
        let plan = world.clone().wants([elsewhere(config_map("a", "x"))]).plan();
        assert_eq!(refusals(&plan), [(RefusalReason::NamespaceNotGranted, Some("ConfigMap.v1 other/a".to_owned()))]);
    }
}

/// As after an upgrade from a version that wrote everywhere.
#[test]
fn owned_objects_outside_of_the_granted_namespaces_stay_as_long_as_they_are_desired() {
    let base = world();
    let mut world = base.clone().sees([created(&base, elsewhere(config_map("a", "x")))]).lists_all();
    world.grants = Grants::new(&manifest(), Namespaces::All);
    let changed = world.clone().wants([elsewhere(config_map("a", "y"))]).plan();
    assert_eq!(refusals(&changed), [(RefusalReason::NamespaceNotGranted, Some("ConfigMap.v1 other/a".to_owned()))]);
    assert_eq!(changed.steps, []);
    assert_eq!(steps(&world.wants([]).plan()), ["delete ConfigMap.v1 other/a Foreground"]);
}

#[test]
fn an_object_that_bears_the_name_is_ours_or_adopted_or_left_alone() {
    let base = world().wants([config_map("a", "x")]);
    let ours = created(&world(), config_map("a", "x"));
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut object = ours.clone();
        change(&mut object);
        object
    };
    let bare = json!({"metadata": {"name": "a", "namespace": "default", "uid": "u"}, "data": {"text": "theirs"}});
    let controlled = |owner: Value| changed(&|object| object["metadata"]["ownerReferences"] = json!([owner.clone()]));
    let adopting = Grants::new(&manifest(), Namespaces::All).with_adoption(Adoption::Allowed);
    let decide = |world: &World, live: &Value| {
        let Some(Step::Create { desired }) = world.plan().steps.pop() else { panic!("no creation") };
        world.with_input(|input| on_existing(input, &desired, live, None, |uid| Some(uid != "gone")))
    };
    let shown = |existing: Existing| match existing {
        Existing::Step(step) => steps(&Plan { steps: vec![step], ..Plan::default() }).pop().unwrap(),
        Existing::Nothing => "nothing".to_owned(),
        Existing::Wait(message) => format!("wait: {message}"),
        Existing::Refuse(refusal) => format!("{}: {}", refusal.reason.as_str(), refusal.message),
    };
    let adopter = World { grants: adopting, ..base.clone() };
    let going = changed(&|object| object["metadata"]["deletionTimestamp"] = json!("2024-01-01T00:00:00Z"));
    let foreign_going = json!({"metadata": {"name": "a", "uid": "u", "deletionTimestamp": "2024-01-01T00:00:00Z"}});
    let stripped = changed(&|object| object["metadata"]["labels"] = json!({}));
    let labelled_by_another = changed(&|object| {
        object["metadata"] = json!({"name": "a", "uid": "u", "labels": {PLUGIN_LABEL: "x", OWNER_UID_LABEL: "y"}})
    });
    let marked = |plugin: &str, uid: &str| {
        changed(&|object| {
            let metadata = object["metadata"].as_object_mut().expect("an object");
            metadata.remove("ownerReferences");
            metadata.insert("labels".to_owned(), json!({PLUGIN_LABEL: plugin, OWNER_UID_LABEL: uid}));
        })
    };
    let (of_gone_parent, of_gone_parent_of_another) = (marked(PLUGIN, "gone"), marked("another", "gone"));
    let labelled = marked(PLUGIN, PARENT_UID);
    let earlier =
        controlled(json!({"apiVersion": "example.com/v1", "kind": "Echo", "name": "hello", "uid": "old", "controller": true}));
    let another =
        controlled(json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": "d", "controller": true}));
    for (world, live, expected) in [
        (&base, &ours, "nothing"),
        (&base, &stripped, "apply ConfigMap.v1 default/a Drifted { path: \"metadata.labels"),
        (&base, &going, "wait: ConfigMap.v1 default/a is being deleted"),
        (&adopter, &foreign_going, "wait: ConfigMap.v1 default/a is being deleted"),
        (&base, &earlier, "wait: ConfigMap.v1 default/a belongs to an earlier Echo of the same name"),
        (&base, &another, "ForeignObject: ConfigMap.v1 default/a exists and is controlled by Deployment.v1.apps d"),
        (&base, &labelled_by_another, "ForeignObject: ConfigMap.v1 default/a exists and is labelled as a child of x (UID y)"),
        (&base, &bare, "ForeignObject: ConfigMap.v1 default/a exists, and nothing marks it as a child of this parent"),
        (&base, &json!({}), "ForeignObject: "),
        (&adopter, &bare, "apply ConfigMap.v1 default/a Adopted"),
        (&adopter, &another, "ForeignObject: "),
        (&adopter, &labelled_by_another, "ForeignObject: "),
        (
            &base,
            &of_gone_parent,
            "ForeignObject: ConfigMap.v1 default/a exists, and is labelled as a child of a parent that no longer exists (UID gone)",
        ),
        (&adopter, &of_gone_parent, "apply ConfigMap.v1 default/a Adopted"),
        (&adopter, &of_gone_parent_of_another, "ForeignObject: "),
        (&base, &labelled, "apply ConfigMap.v1 default/a Adopted"),
    ] {
        let found = shown(decide(world, live));
        assert!(found.starts_with(expected), "{found:?} for {live}");
    }
    let secret = World {
        desired: adopter
            .clone()
            .wants([json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}})])
            .desired,
        ..adopter
    };
    let unlabelled = json!({"metadata": {"name": "a", "namespace": "default", "uid": "u",
        "ownerReferences": ours["metadata"]["ownerReferences"]}});
    assert_eq!(
        shown(decide(&secret, &unlabelled)),
        format!("label Secret.v1 default/a {{{OWNER_UID_LABEL:?}: {:?}, {PLUGIN_LABEL:?}: \"echo\"}}", base.parent.uid)
    );
    let orphan = json!({"metadata": {"name": "a", "namespace": "default", "uid": "u", "ownerReferences": [{"uid": "theirs"}],
        "labels": {PLUGIN_LABEL: PLUGIN, OWNER_UID_LABEL: "gone"}}});
    let Existing::Step(Step::Label { labels, owner_references, .. }) = decide(&secret, &orphan) else { panic!("not adopted") };
    assert_eq!(labels[OWNER_UID_LABEL], base.parent.uid);
    let owners: Vec<Value> = owner_references.into_iter().flatten().map(|reference| reference["uid"].clone()).collect();
    assert_eq!(owners, [json!("theirs"), json!(PARENT_UID)]);
    assert!(shown(decide(&secret, &bare)).contains("hand it over with the labels gyre.dev/plugin=echo"));
}

#[test]
fn an_object_that_lost_all_marks_when_the_host_stored_it_is_ours() {
    let maps = world().wants([config_map("a", "x")]);
    let secrets = world().wants([json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}})]);
    let bare = json!({"metadata": {"name": "a", "namespace": "default", "uid": "u"}});
    let mut partly = bare.clone();
    partly["metadata"]["labels"] = json!({PLUGIN_LABEL: PLUGIN});
    let mut given_away = bare.clone();
    given_away["metadata"]["labels"] = json!({PLUGIN_LABEL: "x", OWNER_UID_LABEL: "y"});
    for (world, live, unmarked, verb) in [
        (&maps, &bare, "u", Some("apply")),
        (&maps, &partly, "u", Some("apply")),
        (&secrets, &bare, "u", Some("label")),
        (&maps, &bare, "another", None),
        (&maps, &given_away, "u", None),
    ] {
        let Some(Step::Create { desired }) = world.plan().steps.pop() else { panic!("no creation") };
        let existing = world.with_input(|input| on_existing(input, &desired, live, Some(unmarked), |_| Some(true)));
        let step = match &existing {
            Existing::Step(step) => Some(step),
            _ => None,
        };
        assert_eq!(step.map(Step::verb), verb, "{live} {existing:?}");
        assert!(step.is_none_or(|step| step.uid() == Some("u")), "{existing:?}");
    }
}

/// The CronJob controller would take a Job whose controller has the name of a CronJob.
#[test]
fn a_job_has_no_controller_and_is_its_parents_all_the_same() {
    let world = world().wants([job("a", "v1")]);
    let ours = created(&world, job("a", "v1"));
    assert_eq!(
        ours["metadata"]["ownerReferences"],
        json!([{"apiVersion": "example.com/v1", "kind": "Echo", "name": "hello", "uid": PARENT_UID, "blockOwnerDeletion": true}])
    );
    let Some(Step::Create { desired }) = world.plan().steps.pop() else { panic!("no creation") };
    let decide = |change: &dyn Fn(&mut Value)| {
        let mut live = ours.clone();
        change(&mut live["metadata"]);
        world.with_input(|input| on_existing(input, &desired, &live, None, |_| Some(true)))
    };
    let is_refused = |existing: Existing| matches!(existing, Existing::Refuse(_));
    let reference = |change: &dyn Fn(&mut Value)| {
        let mut reference = ours["metadata"]["ownerReferences"][0].clone();
        change(&mut reference);
        json!([reference])
    };
    assert_eq!(decide(&|_| {}), Existing::Nothing);
    assert!(
        matches!(decide(&|metadata| metadata["labels"] = json!({})), Existing::Step(Step::Apply { .. })),
        "labels come back"
    );
    // As earlier versions and echoperator wrote it.
    let controlled = reference(&|reference| reference["controller"] = json!(true));
    assert_eq!(decide(&|metadata| metadata["ownerReferences"] = controlled.clone()), Existing::Nothing);
    let of_the_last = reference(&|reference| reference["uid"] = json!("old"));
    assert!(matches!(decide(&|metadata| metadata["ownerReferences"] = of_the_last.clone()), Existing::Wait(_)));
    // A user's reference, to have the garbage collector delete their object.
    assert!(is_refused(decide(&|metadata| {
        metadata["labels"] = json!({});
        metadata["annotations"] = json!({});
    })));
    assert!(is_refused(decide(&|metadata| metadata["labels"][PLUGIN_LABEL] = json!("another"))));
}

#[test]
fn the_digest_is_of_what_the_plugin_wants_and_of_nothing_else() {
    let digest = |world: &World, child: Value| created(world, child)["metadata"]["annotations"][DIGEST_ANNOTATION].clone();
    let mut upgraded = world();
    upgraded.parent.kind.version = "v2".to_owned();
    let mut returned = created(&world(), config_map("a", "x"));
    returned["metadata"]["managedFields"] = json!([]);
    let expected = digest(&world(), config_map("a", "x"));
    assert_eq!(digest(&upgraded, config_map("a", "x")), expected);
    assert_eq!(digest(&world(), returned), expected, "returning the object as it was read changes nothing");
    assert_ne!(digest(&world(), config_map("a", "y")), expected);
    // Fixed, because a change of the computation would write every child in every cluster.
    assert_eq!(expected, "597cbb7c4bfe4309a1fefa8c9ba52a96");
    let canonical =
        r#"{"apiVersion":"v1","data":{"text":"x"},"kind":"ConfigMap","metadata":{"name":"a","namespace":"default"}}"#;
    let sha: String = Sha256::digest(canonical).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(expected, sha[..32]);
}

#[test]
fn maps_are_sorted_as_digests_need_them() {
    let map: Map<String, Value> = serde_json::from_str(r#"{"b": {"d": 1, "c": 2}, "a": 3}"#).expect("JSON");
    assert_eq!(Value::Object(map).to_string(), r#"{"a":3,"b":{"c":2,"d":1}}"#, "serde_json's preserve_order must stay off");
}
