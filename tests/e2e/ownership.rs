use gyre_controlplane::AuditEvent;
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};

use crate::harness::{Cluster, Folder, condition, config_map, finalizers, guest, with_kind, writing_to_all};

fn uid(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap()
}

/// Locks the Worldwides, which are cluster-scoped. Each test deletes its own.
fn worldwides() -> MutexGuard<'static, ()> {
    static WORLDWIDES: Mutex<()> = Mutex::new(());
    WORLDWIDES.lock()
}

fn labels(object: &Value) -> (&Value, &Value) {
    let labels = &object["metadata"]["labels"];
    (&labels["gyre.dev/plugin"], &labels["gyre.dev/owner-uid"])
}

#[test]
fn cross_namespace_children_are_deleted_with_their_parent() {
    let Some(cluster) = Cluster::for_test("far", &["far", "far-away"]) else { return };
    // One of the children is cluster-scoped, so the host is not confined to namespaces.
    let folder = Folder::new();
    let file = writing_to_all(&folder, &[gyre_artifacts::probes::CROSS_NAMESPACE], &[]);
    let host = cluster.host_with(&[], &[], &["--config", &file]);
    let parent = |spec: Value| guest("CrossNamespace", "far", "it", spec).to_string();
    cluster.apply(&parent(json!({ "clusterScoped": false })));
    let without = cluster.ready("far", "crossnamespace", "it");
    assert!(finalizers(&without).is_empty(), "the garbage collector reaches the one child: {without}");

    cluster.apply(&parent(json!({ "namespace": "far-away", "clusterScoped": true })));
    let parent_with = cluster.ready("far", "crossnamespace", "it");
    assert_eq!(finalizers(&parent_with), ["gyre.dev/cross-namespace"]);
    let near = cluster.get("far", "configmap", "it").unwrap();
    let far = cluster.get("far-away", "configmap", "far-it").unwrap();
    let role = cluster.get("far", "clusterrole", "far-it").unwrap();
    assert_eq!(near["metadata"]["ownerReferences"][0]["uid"], uid(&parent_with));
    for child in [&near, &far, &role] {
        assert_eq!(labels(child), (&json!("cross-namespace"), &json!(uid(&parent_with))), "{child}");
    }
    for child in [&far, &role] {
        assert!(child["metadata"].get("ownerReferences").is_none(), "none is allowed: {child}");
    }

    // The host finds the parent of a deleted child without an owner reference.
    cluster.kubectl(&["delete", "-n", "far-away", "configmap", "far-it"]);
    cluster.eventually("it to be made again", || cluster.get("far-away", "configmap", "far-it"));

    cluster.apply(&parent(json!({ "namespace": "far-away" })));
    cluster.gone("far", "clusterrole", &["far-it"]);
    cluster.settled(&host);
    assert_eq!(finalizers(&cluster.get("far", "crossnamespace", "it").unwrap()), ["gyre.dev/cross-namespace"]);
    cluster.apply(&parent(json!({ "clusterScoped": false })));
    cluster.gone("far-away", "configmap", &["far-it"]);
    cluster.eventually("the finalizer to go", || {
        finalizers(&cluster.get("far", "crossnamespace", "it")?).is_empty().then_some(())
    });

    cluster.apply(&parent(json!({ "namespace": "far-away", "clusterScoped": true })));
    cluster.ready("far", "crossnamespace", "it");
    let hold = |finalizers: Value| {
        let patch = json!({ "metadata": { "finalizers": finalizers } }).to_string();
        cluster.kubectl(&["patch", "-n", "far-away", "configmap", "far-it", "--type=merge", "-p", &patch]);
    };
    hold(json!(["test.gyre.dev/hold"]));
    cluster.delete("far", "crossnamespace", "it");
    cluster.gone("far", "clusterrole", &["far-it"]);
    let waiting = cluster.reason("far", "crossnamespace", "it", "Ready", "Finalizing");
    let message = condition(&waiting, "Ready").unwrap()["message"].as_str().unwrap();
    assert!(message.contains("far-away/far-it"), "{message}");
    hold(json!(null));
    cluster.gone("far-away", "configmap", &["far-it"]);
    cluster.gone("far", "crossnamespace", &["it"]);
    cluster.gone("far", "configmap", &["it"]);
}

/// Returns the list of children: `null` if it is missing, and its text if that is not JSON.
fn listed(parent: &Value) -> Value {
    let text = parent["metadata"]["annotations"]["children.gyre.dev/cross-namespace"].as_str();
    text.map_or(Value::Null, |text| serde_json::from_str(text).unwrap_or_else(|_| json!(text)))
}

/// Returns a ConfigMap with the labels of a child of a CrossNamespace, and a finalizer.
fn forged(namespace: &str, parent: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": "forged", "namespace": namespace, "finalizers": ["test.gyre.dev/hold"],
            "labels": { "gyre.dev/plugin": "cross-namespace", "gyre.dev/owner-uid": uid(parent) },
            "annotations": { "gyre.dev/desired-digest": "0" },
        },
    })
}

#[test]
fn a_parent_lists_its_cross_namespace_children() {
    let Some(cluster) = Cluster::for_test("child-list", &["child-list", "child-list-far"]) else { return };
    let folder = Folder::new();
    let file = writing_to_all(&folder, &[gyre_artifacts::probes::CROSS_NAMESPACE], &[]);
    let host = cluster.host_with(&[], &[], &["--config", &file]);
    let parent = |spec: Value| guest("CrossNamespace", "child-list", "it", spec).to_string();
    let now = || cluster.get("child-list", "crossnamespace", "it").unwrap();
    let both = json!({
        "ClusterRole.rbac.authorization.k8s.io": { "": ["child-list-it"] }, "ConfigMap": { "child-list-far": ["child-list-it"] },
    });
    cluster.apply(&parent(json!({ "namespace": "child-list-far", "clusterScoped": true })));
    cluster.ready("child-list", "crossnamespace", "it");
    assert_eq!(listed(&now()), both);
    let far = || cluster.get("child-list-far", "configmap", "child-list-it").unwrap();
    let before = uid(&far()).to_owned();

    cluster.apply(&parent(json!({ "namespace": "child-list-far" })));
    cluster.eventually("the list to be shorter", || {
        (listed(&now()) == json!({ "ConfigMap": { "child-list-far": ["child-list-it"] } })).then_some(())
    });
    // The list is no input, so the next reconcile is a memo hit.
    cluster.settled(&host);
    let (calls, hits) = (host.calls("cross-namespace"), host.memo_hits("cross-namespace"));
    cluster.create(&forged("child-list-far", &now()).to_string());
    cluster.eventually("the parent to be looked at", || (host.memo_hits("cross-namespace") > hits).then_some(()));
    cluster.settled(&host);
    assert_eq!(host.calls("cross-namespace"), calls);
    assert!(cluster.get("child-list-far", "configmap", "forged").unwrap()["metadata"].get("deletionTimestamp").is_none());

    let annotate = |value: &str| {
        let annotation = format!("children.gyre.dev/cross-namespace{value}");
        cluster.kubectl(&["annotate", "--overwrite", "-n", "child-list", "crossnamespace", "it", &annotation]);
        cluster.eventually("the list to be there again", || {
            (listed(&now()) == json!({ "ConfigMap": { "child-list-far": ["child-list-it"] } })).then_some(())
        });
        cluster.settled(&host);
        assert_eq!(uid(&far()), before);
    };
    annotate("=nonsense");
    let not_labelled = r#"={"ConfigMap":{"child-list-far":["child-list-it","kube-root-ca.crt"]}}"#;
    annotate(not_labelled);

    cluster.apply(&parent(json!({ "clusterScoped": false })));
    cluster.gone("child-list-far", "configmap", &["child-list-it"]);
    cluster.eventually("finalizer and list to go", || {
        let parent = now();
        (finalizers(&parent).is_empty() && listed(&parent).is_null()).then_some(())
    });
    cluster.delete("child-list", "crossnamespace", "it");
    cluster.gone("child-list", "crossnamespace", &["it"]);
    let forged = cluster.get("child-list-far", "configmap", "forged").unwrap();
    assert!(forged["metadata"].get("deletionTimestamp").is_none(), "it is none of the parent's: {forged}");
    cluster.kubectl(&[
        "patch",
        "-n",
        "child-list-far",
        "configmap",
        "forged",
        "--type=merge",
        "-p",
        r#"{"metadata":{"finalizers":null}}"#,
    ]);
}

/// As earlier versions left them: the parent has the finalizer, and no list.
#[test]
fn children_of_a_version_without_lists_are_listed_and_forged_ones_delay_nothing() {
    let Some(cluster) = Cluster::for_test("unlisted", &["unlisted", "unlisted-far"]) else { return };
    let folder = Folder::new();
    let file = writing_to_all(&folder, &[gyre_artifacts::probes::CROSS_NAMESPACE], &[]);
    let run = || cluster.host_with(&[], &[], &["--config", &file]);
    let host = run();
    let parents =
        ["living", "going"].map(|name| guest("CrossNamespace", "unlisted", name, json!({ "namespace": "unlisted-far" })));
    cluster.apply_all(&parents);
    cluster.all_ready("unlisted", "crossnamespace", 2);
    let far = |name: &str| cluster.get("unlisted-far", "configmap", &format!("unlisted-{name}"));
    let before = uid(&far("living").unwrap()).to_owned();
    drop(host);
    for name in ["living", "going"] {
        cluster.kubectl(&["annotate", "-n", "unlisted", "crossnamespace", name, "children.gyre.dev/cross-namespace-"]);
        let mut forged = forged("unlisted-far", &cluster.get("unlisted", "crossnamespace", name).unwrap());
        forged["metadata"]["name"] = json!(format!("forged-{name}"));
        cluster.create(&forged.to_string());
    }
    cluster.delete("unlisted", "crossnamespace", "going");

    let host = run();
    cluster.gone("unlisted", "crossnamespace", &["going"]);
    assert!(far("going").is_none(), "it went before its parent");
    cluster.eventually("the list", || {
        let list = listed(&cluster.get("unlisted", "crossnamespace", "living")?);
        (list == json!({ "ConfigMap": { "unlisted-far": ["unlisted-living"] } })).then_some(())
    });
    cluster.settled(&host);
    assert_eq!(uid(&far("living").unwrap()), before);
    cluster.delete("unlisted", "crossnamespace", "living");
    cluster.gone("unlisted", "crossnamespace", &["living"]);
    assert!(far("living").is_none());
    for name in ["living", "going"] {
        let name = format!("forged-{name}");
        assert!(cluster.get("unlisted-far", "configmap", &name).is_some());
        cluster.kubectl(&[
            "patch",
            "-n",
            "unlisted-far",
            "configmap",
            &name,
            "--type=merge",
            "-p",
            r#"{"metadata":{"finalizers":null}}"#,
        ]);
    }
}

#[test]
fn the_garbage_collector_reaches_all_children_of_a_cluster_scoped_parent() {
    let Some(cluster) = Cluster::for_test("worldwide", &["worldwide"]) else { return };
    let _worldwides = worldwides();
    let folder = Folder::new();
    let file = writing_to_all(&folder, &[gyre_artifacts::probes::WORLDWIDE], &[]);
    let host = cluster.host_with(&[], &[], &["--config", &file]);
    let parent = |spec: Value| {
        json!({
            "apiVersion": "guests.gyre.dev/v1", "kind": "Worldwide", "metadata": { "name": "worldwide-it" }, "spec": spec,
        })
        .to_string()
    };
    // The child has no namespace, and neither has the parent.
    cluster.apply(&parent(json!({ "namespace": null })));
    let refused = cluster.reason("", "worldwide", "worldwide-it", "Stalled", "InvalidChild");
    assert_eq!(condition(&refused, "Ready").unwrap()["status"], "False");
    let event = cluster.eventually("the event", || cluster.events("default", "worldwide-it", "InvalidChild").pop());
    assert_eq!(event["type"], "Warning");

    cluster.apply(&parent(json!({ "namespace": "worldwide" })));
    let parent = cluster.ready("", "worldwide", "worldwide-it");
    assert!(finalizers(&parent).is_empty(), "{parent}");
    let role = cluster.get("", "clusterrole", "worldwide-it").unwrap();
    let map = cluster.get("worldwide", "configmap", "worldwide-it").unwrap();
    for child in [&role, &map] {
        assert_eq!(child["metadata"]["ownerReferences"][0]["uid"], uid(&parent), "{child}");
    }
    cluster.kubectl(&["delete", "-n", "worldwide", "configmap", "worldwide-it"]);
    cluster.eventually("the ConfigMap", || cluster.get("worldwide", "configmap", "worldwide-it"));
    cluster.kubectl(&["delete", "worldwide", "worldwide-it"]);
    cluster.gone("", "clusterrole", &["worldwide-it"]);
    cluster.gone("worldwide", "configmap", &["worldwide-it"]);
    cluster.settled(&host);
}

/// Otherwise, tenants could make the plugin write into other namespaces.
#[test]
fn a_child_in_another_namespace_is_refused_until_the_namespace_is_granted() {
    let Some(cluster) = Cluster::for_test("trespass", &["trespass", "trespass-shared"]) else { return };
    let folder = Folder::new();
    let plugin =
        folder.put("plugin.wasm", with_kind(gyre_artifacts::probes::CROSS_NAMESPACE, "CrossNamespace", "TrespassingMap"));
    cluster.install_crds(&[&plugin]);
    let configure =
        |grants: Value| folder.put("gyre.yaml", json!({ "mounts": [{ "plugin": plugin, "grants": grants }] }).to_string());
    let file = configure(json!({}));
    let host = cluster.host_with(&[], &[], &["--config", &file]);
    let parent = |name: &str, namespace: &str| guest("TrespassingMap", "trespass", name, json!({ "namespace": namespace }));
    let mark = cluster.audit_mark();
    cluster.apply_all(&[parent("into-system", "kube-system"), parent("into-shared", "trespass-shared")]);
    for name in ["into-system", "into-shared"] {
        let refused = cluster.reason("trespass", "trespassingmap", name, "Stalled", "NamespaceNotGranted");
        let message = condition(&refused, "Ready").unwrap()["message"].as_str().unwrap();
        assert!(message.contains("to the mount's key grants.writeNamespaces"), "{message}");
        assert!(finalizers(&refused).is_empty(), "nothing is written that would need one: {refused}");
        assert!(cluster.get("trespass", "configmap", name).is_some(), "what can be done is done");
    }
    cluster.eventually("the event", || cluster.events("trespass", "into-system", "NamespaceNotGranted").pop());
    cluster.settled(&host);
    assert!(cluster.get("kube-system", "configmap", "trespass-into-system").is_none());
    if let Some(mark) = mark {
        let is_far =
            |event: &AuditEvent| event.resource == "configmaps" && event.namespace != "trespass" && event.verb != "list";
        assert_eq!(cluster.requests(mark).into_iter().find(is_far), None, "not even a look");
    }

    configure(json!({ "writeNamespaces": ["trespass-shared"] }));
    cluster.ready("trespass", "trespassingmap", "into-shared");
    assert!(cluster.get("trespass-shared", "configmap", "trespass-into-shared").is_some());
    cluster.settled(&host);
    assert!(cluster.get("kube-system", "configmap", "trespass-into-system").is_none());
    configure(json!({ "writeNamespaces": "all" }));
    cluster.ready("trespass", "trespassingmap", "into-system");
    assert!(cluster.get("kube-system", "configmap", "trespass-into-system").is_some());

    // A child outside of the grant stays while it is desired, and is deleted afterwards.
    configure(json!({ "writeNamespaces": "parent" }));
    cluster.reason("trespass", "trespassingmap", "into-system", "Stalled", "NamespaceNotGranted");
    cluster.settled(&host);
    assert!(cluster.get("kube-system", "configmap", "trespass-into-system").is_some());
    cluster.apply(&parent("into-system", "trespass").to_string());
    cluster.gone("kube-system", "configmap", &["trespass-into-system"]);
    cluster.delete("trespass", "trespassingmap", "into-shared");
    cluster.gone("trespass", "trespassingmap", &["into-shared"]);
    assert!(cluster.get("trespass-shared", "configmap", "trespass-into-shared").is_none(), "it goes before its parent");
    cluster.eventually("the finalizer to go", || {
        finalizers(&cluster.get("trespass", "trespassingmap", "into-system")?).is_empty().then_some(())
    });
}

#[test]
fn children_of_a_cluster_scoped_parent_are_confined_to_the_granted_namespaces() {
    let Some(cluster) = Cluster::for_test("listed", &["listed"]) else { return };
    let _worldwides = worldwides();
    let folder = Folder::new();
    let mounts = json!([{ "plugin": gyre_artifacts::probes::WORLDWIDE, "grants": { "writeNamespaces": ["list*"] } }]);
    let file = folder.put("gyre.yaml", json!({ "mounts": mounts }).to_string());
    let _host = cluster.host_with(&[], &[], &["--config", &file]);
    let parent = |name: &str, namespace: &str| {
        json!({
            "apiVersion": "guests.gyre.dev/v1", "kind": "Worldwide", "metadata": { "name": name },
            "spec": { "namespace": namespace },
        })
    };
    cluster.apply_all(&[parent("listed-in", "listed"), parent("listed-out", "kube-system")]);
    cluster.ready("", "worldwide", "listed-in");
    assert!(cluster.get("listed", "configmap", "listed-in").is_some());
    let refused = cluster.reason("", "worldwide", "listed-out", "Stalled", "NamespaceNotGranted");
    let message = condition(&refused, "Ready").unwrap()["message"].as_str().unwrap();
    assert!(message.contains("add \"kube-system\" to the mount's key grants.writeNamespaces"), "{message}");
    assert!(cluster.get("kube-system", "configmap", "listed-out").is_none());
    assert!(cluster.get("", "clusterrole", "listed-out").is_some(), "a kind of no namespace is granted with the kind");
    cluster.kubectl(&["delete", "worldwide", "listed-in", "listed-out"]);
    cluster.gone("", "clusterrole", &["listed-in", "listed-out"]);
}

#[test]
fn a_child_in_an_absent_namespace_is_created_once_it_exists() {
    let Some(cluster) = Cluster::for_test("later", &["later"]) else { return };
    let folder = Folder::new();
    let probe = with_kind(gyre_artifacts::probes::CROSS_NAMESPACE, "CrossNamespace", "LaterNamespace");
    let plugin = folder.put("later-namespace.wasm", probe);
    cluster.install_crds(&[&plugin]);
    let file = writing_to_all(&folder, &[&plugin], &["later", "later-there"]);
    let _host = cluster.host_with(&[], &[], &["--config", &file]);
    cluster.apply(&guest("LaterNamespace", "later", "it", json!({ "namespace": "later-there" })).to_string());
    let parent = cluster.reason("later", "laternamespace", "it", "Ready", "NotFound");
    let message = condition(&parent, "Ready").unwrap()["message"].as_str().unwrap();
    assert!(message.contains("later-there"), "{message}");
    assert!(cluster.get("later", "configmap", "it").is_some(), "what can be done is done");
    cluster.kubectl(&["create", "namespace", "later-there"]);
    cluster.ready("later", "laternamespace", "it");
    assert!(cluster.get("later-there", "configmap", "later-it").is_some());
}

#[test]
fn a_foreign_object_is_refused_and_adopted_only_if_allowed() {
    let Some(cluster) = Cluster::for_test("adopt", &["adopt"]) else { return };
    let plugins = [gyre_artifacts::probes::STRATEGIES];
    let of_others = [
        config_map("adopt", "it", json!({ "mine": "stays", "text": "mine" })),
        json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "it", "namespace": "adopt" },
            "stringData": { "text": "mine" },
        }),
        // Labelled as the child of another parent, and therefore not pruned.
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": "stray", "namespace": "adopt", "labels": {
                "gyre.dev/plugin": "strategies", "gyre.dev/owner-uid": "00000000-0000-0000-0000-000000000000",
            } },
        }),
    ];
    // Created, not applied: with an applied object, adoption would be a conflict.
    cluster.create(&json!({ "apiVersion": "v1", "kind": "List", "items": of_others }).to_string());
    let object = |kind: &str, name: &str| cluster.get("adopt", kind, name).unwrap();
    let before = [object("configmap", "it"), object("secret", "it"), object("configmap", "stray")];

    let host = cluster.host(&plugins, &["adopt"]);
    cluster.apply(&guest("Strategies", "adopt", "it", json!({ "text": "ours" })).to_string());
    let parent = cluster.reason("adopt", "strategies", "it", "Ready", "ForeignObject");
    let message = condition(&parent, "Ready").unwrap()["message"].as_str().unwrap();
    for named in ["ConfigMap.v1 adopt/it", "Secret.v1 adopt/it"] {
        assert!(message.contains(named), "{message}");
    }
    cluster.eventually("the events", || (cluster.events("adopt", "it", "ForeignObject").len() == 2).then_some(()));
    assert!(cluster.get("adopt", "job", "it").is_some(), "what is not in the way is done");
    cluster.settled(&host);
    assert_eq!([object("configmap", "it"), object("secret", "it"), object("configmap", "stray")], before);
    drop(host);

    let host = cluster.host_with(&plugins, &["adopt"], &["--adopt"]);
    let adopted = cluster.eventually("the ConfigMap to be adopted", || {
        Some(object("configmap", "it")).filter(|object| object["data"]["text"] == "ours")
    });
    assert_eq!((uid(&adopted), &adopted["data"]["mine"]), (uid(&before[0]), &json!("stays")));
    assert_eq!(labels(&adopted), (&json!("strategies"), &json!(uid(&parent))));
    assert_eq!(adopted["metadata"]["ownerReferences"][0]["uid"], uid(&parent));
    let message = cluster.eventually("only the Secret to be refused", || {
        let parent = object("strategies", "it");
        let message = condition(&parent, "Ready")?["message"].as_str()?.to_owned();
        (!message.contains("ConfigMap.v1")).then_some(message)
    });
    assert!(message.contains("Secret.v1 adopt/it"), "{message}");
    cluster.settled(&host);
    assert_eq!([object("secret", "it"), object("configmap", "stray")], before[1..]);

    cluster.kubectl(&["delete", "-n", "adopt", "secret", "it"]);
    cluster.touch("adopt", "strategies", "it", "again");
    cluster.ready("adopt", "strategies", "it");
}

#[test]
fn each_strategy_brings_its_children_to_the_desired_state() {
    let Some(cluster) = Cluster::for_test("strategies", &["strategies"]) else { return };
    let host = cluster.host(&[gyre_artifacts::probes::STRATEGIES], &["strategies"]);
    let parent = |spec: Value| cluster.apply(&guest("Strategies", "strategies", "it", spec).to_string());
    let child = |kind: &str| cluster.get("strategies", kind, "it");
    parent(json!({ "text": "first", "image": "busybox:1" }));
    cluster.ready("strategies", "strategies", "it");
    let (map, job, secret) = (child("configmap").unwrap(), child("job").unwrap(), child("secret").unwrap());

    parent(json!({ "text": "second", "image": "busybox:2" }));
    let another = cluster.eventually("another Job", || child("job").filter(|another| uid(another) != uid(&job)));
    assert_eq!(another["spec"]["template"]["spec"]["containers"][0]["image"], "busybox:2");
    cluster.ready("strategies", "strategies", "it");
    let changed = child("configmap").unwrap();
    assert_eq!((uid(&changed), &changed["data"]["text"]), (uid(&map), &json!("second")), "apply: in place");
    assert_eq!(child("secret").unwrap(), secret, "create-only: never touched again");
    cluster.kubectl(&["delete", "-n", "strategies", "secret", "it"]);
    let anew = cluster.eventually("another Secret", || child("secret"));
    assert_ne!(anew["data"], secret["data"], "create-only: what does not exist is created");

    parent(json!({ "text": "third", "image": "busybox:2", "keep": true }));
    cluster.ready("strategies", "strategies", "it");
    assert_eq!(child("configmap").unwrap()["data"]["text"], "second");
    cluster.kubectl(&["delete", "-n", "strategies", "configmap", "it"]);
    cluster.touch("strategies", "strategies", "it", "later");
    cluster.settled(&host);
    // The fence: the Secret is recreated by a reconcile that began after the ConfigMap was gone.
    cluster.kubectl(&["delete", "-n", "strategies", "secret", "it"]);
    cluster.eventually("the Secret", || child("secret"));
    cluster.settled(&host);
    assert!(child("configmap").is_none(), "keep: what does not exist is not created");
    parent(json!({ "text": "third", "image": "busybox:2" }));
    cluster.eventually("the ConfigMap", || child("configmap").filter(|map| map["data"]["text"] == "third"));
    cluster.settled(&host);
    assert_eq!(uid(&child("job").unwrap()), uid(&another), "what does not change is not made anew");
}

#[test]
fn a_child_may_have_a_strategy_of_its_own() {
    let Some(cluster) = Cluster::for_test("own-strategy", &["own-strategy"]) else { return };
    let host = cluster.host(&[gyre_artifacts::probes::STRATEGIES], &["own-strategy"]);
    let parent = |text: &str, recreate: &[&str]| {
        let spec = json!({ "text": text, "recreate": recreate });
        cluster.apply(&guest("Strategies", "own-strategy", "it", spec).to_string());
    };
    let child = |kind: &str| cluster.get("own-strategy", kind, "it");
    let text = |map: &Value, text: &str| map["data"]["text"] == text;
    parent("first", &[]);
    cluster.ready("own-strategy", "strategies", "it");
    let first = child("configmap").unwrap();

    parent("second", &["ConfigMap"]);
    let second = cluster.eventually("another ConfigMap", || child("configmap").filter(|map| text(map, "second")));
    assert_ne!(uid(&second), uid(&first), "it is made again");

    // Another strategy alone writes nothing.
    for recreate in [&[][..], &["ConfigMap"], &[]] {
        parent("second", recreate);
        cluster.ready("own-strategy", "strategies", "it");
    }
    cluster.settled(&host);
    assert_eq!(child("configmap").unwrap(), second);
    parent("third", &[]);
    let third = cluster.eventually("a change in place", || child("configmap").filter(|map| text(map, "third")));
    assert_eq!(uid(&third), uid(&second));

    // The manifest declares nothing stronger for Secrets: the refused child stays as it is.
    let secret = child("secret").unwrap();
    parent("fourth", &["Secret"]);
    let refused = cluster.reason("own-strategy", "strategies", "it", "Ready", "UndeclaredStrategy");
    let message = &condition(&refused, "Ready").unwrap()["message"];
    assert!(message.as_str().unwrap().contains("names the strategy recreate"), "{refused}");
    cluster.eventually("the ConfigMap", || child("configmap").filter(|map| text(map, "fourth")));
    cluster.settled(&host);
    assert_eq!(child("secret").unwrap(), secret);
}

#[test]
fn dependents_of_children_are_deleted_as_the_manifest_says() {
    let Some(cluster) = Cluster::for_test("propagate", &["propagate"]) else { return };
    let _host = cluster.host(&[gyre_artifacts::probes::PROPAGATING], &["propagate"]);
    let parent = |wanted: bool| guest("Propagating", "propagate", "it", json!({ "wanted": wanted })).to_string();
    cluster.apply(&parent(true));
    cluster.ready("propagate", "propagating", "it");
    // Each child owns an object with a finalizer of another controller.
    let kinds = ["ConfigMap", "Secret", "ServiceAccount"];
    let of_child = |kind: &str| {
        let uid = uid(&cluster.get("propagate", kind, "it").unwrap()).to_owned();
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": format!("of-{}", kind.to_lowercase()), "namespace": "propagate", "finalizers": ["test.gyre.dev/hold"],
                "ownerReferences": [{
                    "apiVersion": "v1", "kind": kind, "name": "it", "uid": uid, "controller": true, "blockOwnerDeletion": true,
                }],
            },
        })
    };
    let owned = json!({ "apiVersion": "v1", "kind": "List", "items": kinds.map(of_child) });
    cluster.create(&owned.to_string());
    let owned = |name: &str| cluster.get("propagate", "configmap", name).unwrap()["metadata"].clone();
    let is_going = |name: &str| {
        cluster.eventually(&format!("{name} to be deleted"), || owned(name).get("deletionTimestamp").is_some().then_some(()));
    };

    cluster.apply(&parent(false));
    cluster.gone("propagate", "configmap", &["it"]);
    cluster.eventually("the orphan", || owned("of-configmap").get("ownerReferences").is_none().then_some(()));
    cluster.gone("propagate", "serviceaccount", &["it"]);
    is_going("of-serviceaccount");
    is_going("of-secret");
    let secret = cluster.get("propagate", "secret", "it").expect("what it owns goes first");
    assert_eq!(finalizers(&secret), ["foregroundDeletion"]);
    cluster.kubectl(&[
        "patch",
        "-n",
        "propagate",
        "configmap",
        "of-secret",
        "--type=merge",
        "-p",
        r#"{"metadata":{"finalizers":null}}"#,
    ]);
    cluster.gone("propagate", "secret", &["it"]);
    cluster.ready("propagate", "propagating", "it");
    assert!(owned("of-configmap").get("deletionTimestamp").is_none());
}

#[test]
fn a_change_of_an_immutable_field_is_reported_and_tried_once() {
    let Some(cluster) = Cluster::for_test("immutable", &["immutable"]) else { return };
    let host = cluster.host(&[gyre_artifacts::probes::IMMUTABLE], &["immutable"]);
    let parent = |text: &str| cluster.apply(&guest("Immutable", "immutable", "it", json!({ "text": text })).to_string());
    parent("first");
    cluster.ready("immutable", "immutable", "it");
    let before = cluster.get("immutable", "configmap", "it").unwrap();
    let Some(start) = cluster.audit_mark() else { return };
    parent("second");
    let refused = cluster.reason("immutable", "immutable", "it", "Ready", "ImmutableField");
    assert_eq!(condition(&refused, "Stalled").unwrap()["status"], "True");
    cluster.eventually("the event", || cluster.events("immutable", "it", "ImmutableField").pop());
    cluster.settled(&host);
    let attempts = |since| {
        let is_refused =
            |event: &gyre_controlplane::AuditEvent| event.is_write() && !event.succeeded() && event.resource == "configmaps";
        cluster.requests(since).into_iter().filter(is_refused).count()
    };
    assert_eq!(attempts(start), 1, "the API server said no once");
    assert_eq!(uid(&cluster.get("immutable", "configmap", "it").unwrap()), uid(&before));

    cluster.kubectl(&["delete", "-n", "immutable", "configmap", "it"]);
    cluster.ready("immutable", "immutable", "it");
    let after = cluster.get("immutable", "configmap", "it").unwrap();
    assert_eq!(after["data"]["text"], "second");
    assert_ne!(uid(&after), uid(&before));
}

#[test]
fn children_of_a_kind_that_a_later_version_does_not_declare_are_pruned() {
    let Some(cluster) = Cluster::for_test("narrowing", &["narrowing", "narrowing-home"]) else { return };
    let folder = Folder::new();
    let plugin = folder.put_plugin("narrowing.wasm", gyre_artifacts::probes::WIDENED);
    let run = || cluster.host_with(&[&plugin], &["narrowing"], &["--name", "narrowing", "--home-namespace", "narrowing-home"]);
    let host = run();
    let foreign = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "foreign", "namespace": "narrowing" } });
    cluster.apply(&foreign.to_string());
    cluster.apply_all(&[guest("Narrowing", "narrowing", "a", json!({})), guest("Narrowing", "narrowing", "b", json!({}))]);
    cluster.all_ready("narrowing", "narrowing", 2);
    let secrets = || -> Vec<String> {
        let secrets = cluster.list("narrowing", "secrets");
        secrets.iter().map(|secret| secret["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    };
    let maps = || ["a", "b"].map(|name| uid(&cluster.get("narrowing", "configmap", name).unwrap()).to_owned());
    assert_eq!(secrets(), ["a", "b", "foreign"]);
    let before = maps();

    folder.put_plugin("narrowing.wasm", gyre_artifacts::probes::NARROWED);
    cluster.eventually("the Secrets to be pruned", || (secrets() == ["foreign"]).then_some(()));
    folder.put_plugin("narrowing.wasm", gyre_artifacts::probes::WIDENED);
    cluster.eventually("the Secrets to be there again", || (secrets() == ["a", "b", "foreign"]).then_some(()));
    cluster.settled(&host);

    // The host stores the declared kinds in the cluster.
    drop(host);
    folder.put_plugin("narrowing.wasm", gyre_artifacts::probes::NARROWED);
    let _host = run();
    cluster.eventually("the Secrets to be pruned", || (secrets() == ["foreign"]).then_some(()));
    assert_eq!(maps(), before, "what is still wanted was never touched");
}

#[test]
fn a_child_that_outlives_its_parent_stays_and_a_new_parent_gets_it_back_if_the_mount_adopts() {
    let namespace = "outliving";
    let Some(cluster) = Cluster::for_test(namespace, &[namespace]) else { return };
    let plugins = [gyre_artifacts::probes::OUTLIVING];
    let host = cluster.host(&plugins, &[namespace]);
    let parent = |text: &str| guest("Outliving", namespace, "it", json!({ "text": text })).to_string();
    cluster.apply(&parent("first"));
    let first = cluster.ready(namespace, "outliving", "it");
    let object = |kind: &str| cluster.get(namespace, kind, "it");
    let data = ["configmap", "secret"].map(|kind| object(kind).unwrap());
    for child in &data {
        let metadata = &child["metadata"];
        assert_eq!(metadata.get("ownerReferences"), None, "{child}");
        assert_eq!(metadata["annotations"]["gyre.dev/outlives-parent"], "outliving/it");
    }
    cluster.eventually("the plugin to see it", || (object("outliving")?["status"]["seen"] == 1).then_some(()));
    cluster.settled(&host);

    cluster.delete(namespace, "outliving", "it");
    cluster.gone(namespace, "outliving", &["it"]);
    cluster.gone(namespace, "serviceaccount", &["it"]);
    let left = ["configmap", "secret"].map(|kind| object(kind).unwrap());
    assert_eq!(left.each_ref().map(uid), data.each_ref().map(uid));

    cluster.apply(&parent("second"));
    let refused = cluster.reason(namespace, "outliving", "it", "Ready", "ForeignObject");
    assert_ne!(uid(&refused), uid(&first));
    let message = condition(&refused, "Ready").unwrap()["message"].as_str().unwrap();
    assert!(message.contains("a parent that no longer exists"), "{message}");
    drop(host);

    let _host = cluster.host_with(&plugins, &[namespace], &["--adopt"]);
    let second = cluster.ready(namespace, "outliving", "it");
    let taken = ["configmap", "secret"].map(|kind| object(kind).unwrap());
    assert_eq!(taken.each_ref().map(uid), data.each_ref().map(uid));
    for child in &taken {
        assert_eq!(labels(child), (&json!("outliving"), &json!(uid(&second))));
    }
    assert_eq!(taken[0]["data"]["text"], "second");
    assert_eq!(taken[1]["data"], data[1]["data"], "it is created only once");
}
