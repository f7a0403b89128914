//! Teardown: its order, what delays it, and how it works without the plugin. A finalizer that a
//! host leaves behind would keep an object and its namespace for ever.

use gyre_controlplane::AuditEvent;
use serde_json::{Value, json};

use crate::harness::{Cluster, Folder, Host, condition, finalizers, guest, with_kind, writing_to_all};

const FINALIZER: &str = "gyre.dev/finalizing";

fn finalizing(namespace: &str, name: &str, finalize: &str) -> Value {
    guest("Finalizing", namespace, name, json!({ "finalize": finalize }))
}

/// Returns the number of objects of these kinds in a namespace that have a finalizer of the host.
fn count_held(cluster: &Cluster, namespace: &str, kinds: &[&str]) -> usize {
    let objects = kinds.iter().flat_map(|kind| cluster.list(namespace, kind));
    let is_held = |object: &Value| finalizers(object).iter().any(|finalizer| finalizer.starts_with("gyre.dev/"));
    objects.filter(is_held).count()
}

#[test]
fn children_are_deleted_in_the_order_of_the_plugin_and_then_the_parent() {
    let Some(cluster) = Cluster::for_test("order", &["order"]) else { return };
    let _host = cluster.host(&[gyre_artifacts::probes::FINALIZING], &["order"]);
    cluster.apply(&finalizing("order", "it", "").to_string());
    let parent = cluster.ready("order", "finalizing", "it");
    assert_eq!(finalizers(&parent), [FINALIZER]);
    let hold = |finalizers: Value| {
        let patch = json!({ "metadata": { "finalizers": finalizers } }).to_string();
        cluster.kubectl(&["patch", "-n", "order", "configmap", "it-a", "--type=merge", "-p", &patch]);
    };
    hold(json!(["test.gyre.dev/hold"]));
    cluster.delete("order", "finalizing", "it");
    let is_going = |kind: &str, name: &str| {
        let object = cluster.get("order", kind, name).unwrap_or_else(|| panic!("{kind} {name} is gone"));
        object["metadata"].get("deletionTimestamp").is_some()
    };
    cluster.eventually("the first child to be deleted", || is_going("configmap", "it-a").then_some(()));
    let waiting = cluster.reason("order", "finalizing", "it", "Ready", "Finalizing");
    let message = condition(&waiting, "Ready").unwrap()["message"].as_str().unwrap();
    assert_eq!(message, "the plugin finalizing has not finished its teardown");
    assert_eq!((finalizers(&waiting), is_going("configmap", "it-b")), (vec![FINALIZER], false), "the second is still wanted");
    cluster.kubectl(&["delete", "-n", "order", "configmap", "it-b"]);
    cluster.eventually("the second child to be there again", || cluster.get("order", "configmap", "it-b"));
    assert!(is_going("configmap", "it-a"));
    hold(json!(null));
    cluster.gone("order", "finalizing", &["it"]);
    cluster.gone("order", "configmap", &["it-a", "it-b"]);
}

#[test]
fn a_parent_whose_plugin_cannot_finalize_stays_and_says_how_to_release_it() {
    let Some(cluster) = Cluster::for_test("stuck", &["stuck"]) else { return };
    let host = cluster.host(&[gyre_artifacts::probes::FINALIZING], &["stuck"]);
    let names = ["fail", "trap", "never"];
    cluster.apply_all(&names.map(|name| finalizing("stuck", name, name)));
    cluster.all_ready("stuck", "finalizing", names.len());
    cluster.kubectl(&["delete", "--wait=false", "-n", "stuck", "finalizing", "--all"]);
    for (name, reason) in [("fail", "PluginTransient"), ("trap", "Trapped"), ("never", "Finalizing")] {
        let parent = cluster.reason("stuck", "finalizing", name, "Ready", reason);
        assert_eq!(finalizers(&parent), [FINALIZER], "{name}");
        let message = condition(&parent, "Ready").unwrap()["message"].as_str().unwrap();
        assert!(name == "never" || message.contains("gyre.dev/release"), "{name}: {message}");
    }
    cluster.eventually("the event", || cluster.events("stuck", "fail", "PluginTransient").pop());
    cluster.kubectl(&["annotate", "-n", "stuck", "finalizing", "never", "gyre.dev/release=false"]);
    cluster.kubectl(&["annotate", "-n", "stuck", "finalizing", "fail", "trap", "gyre.dev/release=true"]);
    cluster.gone("stuck", "finalizing", &["fail", "trap"]);
    cluster.settled(&host);
    assert!(cluster.get("stuck", "finalizing", "never").is_some());
    cluster.kubectl(&["annotate", "--overwrite", "-n", "stuck", "finalizing", "never", "gyre.dev/release=true"]);
    cluster.gone("stuck", "finalizing", &["never"]);
}

/// Starts a host with a plugin that finalizes and another one, and creates their parents. The
/// parent `leaving` is deleted and cannot finish.
fn with_parents(cluster: &Cluster, namespace: &str, run: impl FnOnce() -> Host) -> Host {
    let host = run();
    cluster.apply_all(&[
        finalizing(namespace, "living", ""),
        finalizing(namespace, "leaving", "never"),
        guest("Fickle", namespace, "plain", json!({})),
    ]);
    cluster.all_ready(namespace, "finalizing", 2);
    cluster.delete(namespace, "finalizing", "leaving");
    cluster.reason(namespace, "finalizing", "leaving", "Ready", "Finalizing");
    host
}

fn assert_released(cluster: &Cluster, namespace: &str) {
    cluster.gone(namespace, "finalizing", &["leaving"]);
    cluster.eventually("the finalizers to go", || (count_held(cluster, namespace, &["finalizing"]) == 0).then_some(()));
    let living = cluster.get(namespace, "finalizing", "living").unwrap();
    assert!(living["metadata"].get("deletionTimestamp").is_none());
    for child in ["living-a", "living-b"] {
        assert!(cluster.get(namespace, "configmap", child).is_some(), "unmounting deletes nothing: {child}");
    }
}

#[test]
fn a_host_that_starts_without_a_plugin_releases_its_parents() {
    let Some(cluster) = Cluster::for_test("missing", &["missing"]) else { return };
    let folder = Folder::new();
    let configuration = |plugins: &[&str]| {
        let mounts: Vec<Value> = plugins.iter().map(|plugin| json!({ "plugin": plugin, "namespaces": ["missing"] })).collect();
        folder.put("gyre.yaml", json!({ "name": "missing", "mounts": mounts }).to_string())
    };
    let run =
        |plugins: &[&str]| cluster.host_with(&[], &[], &["--home-namespace", "missing", "--config", &configuration(plugins)]);
    let both = [gyre_artifacts::probes::FINALIZING, gyre_artifacts::probes::FICKLE];
    drop(with_parents(&cluster, "missing", || run(&both)));
    let host = run(&both[1..]);
    assert_released(&cluster, "missing");
    cluster.eventually("the inventory to know", || {
        let inventory = cluster.get("missing", "configmap", "missing-inventory")?;
        (inventory["data"].as_object()?.keys().collect::<Vec<_>>() == ["fickle"]).then_some(())
    });
    drop(host);
    let _host = run(&both);
    cluster.eventually("the finalizer", || {
        (finalizers(&cluster.get("missing", "finalizing", "living")?) == [FINALIZER]).then_some(())
    });
}

/// Hosts that share an inventory would remove each other's finalizers.
#[test]
fn deployments_without_a_name_do_not_release_each_others_parents() {
    let Some(cluster) = Cluster::for_test("unnamed", &["unnamed"]) else { return };
    let folder = Folder::new();
    let run = |file: &str, plugin: &str| {
        let mounts = json!([{ "plugin": plugin, "namespaces": ["unnamed"] }]);
        let file = folder.put(file, json!({ "mounts": mounts }).to_string());
        cluster.host_with(&[], &[], &["--config", &file])
    };
    let first = run("first.yaml", gyre_artifacts::probes::FINALIZING);
    cluster.apply_all(&[finalizing("unnamed", "it", ""), guest("Fickle", "unnamed", "it", json!({}))]);
    cluster.ready("unnamed", "finalizing", "it");
    cluster.settled(&first);
    let Some(mark) = cluster.audit_mark() else { return };
    let second = run("second.yaml", gyre_artifacts::probes::FICKLE);
    cluster.eventually("the second one to work", || (second.calls("fickle") > 0.0).then_some(()));
    cluster.settled(&second);
    cluster.settled(&first);
    assert!(!second.log().contains("no longer mounted"), "{}", second.log());
    let is_about_parents = |event: &AuditEvent| event.resource == "finalizings" && event.verb == "patch";
    assert_eq!(cluster.requests(mark).into_iter().find(is_about_parents), None);
    assert_eq!(finalizers(&cluster.get("unnamed", "finalizing", "it").unwrap()), [FINALIZER]);
}

#[test]
fn a_host_that_starts_without_a_plugin_deletes_cross_namespace_children_of_deleted_parents() {
    let Some(cluster) = Cluster::for_test("abandoned", &["abandoned", "abandoned-far"]) else { return };
    let folder = Folder::new();
    let probe = with_kind(gyre_artifacts::probes::CROSS_NAMESPACE, "CrossNamespace", "AbandonedThing");
    let plugin = folder.put("abandoned-thing.wasm", probe);
    cluster.install_crds(&[&plugin]);
    let run = |plugins: &[&str]| {
        let file = writing_to_all(&folder, plugins, &["abandoned", "abandoned-far"]);
        cluster.host_with(&[], &[], &["--name", "abandoned", "--home-namespace", "abandoned", "--config", &file])
    };
    let host = run(&[&plugin, gyre_artifacts::probes::FICKLE]);
    let parent = |name: &str| guest("AbandonedThing", "abandoned", name, json!({ "namespace": "abandoned-far" }));
    cluster.apply_all(&["going", "living"].map(parent));
    cluster.all_ready("abandoned", "abandonedthing", 2);
    drop(host);
    cluster.delete("abandoned", "abandonedthing", "going");
    let _host = run(&[gyre_artifacts::probes::FICKLE]);
    cluster.gone("abandoned", "abandonedthing", &["going"]);
    assert!(cluster.get("abandoned-far", "configmap", "abandoned-going").is_none(), "it goes before its parent");
    cluster.eventually("the finalizer to go", || (count_held(&cluster, "abandoned", &["abandonedthing"]) == 0).then_some(()));
    assert!(cluster.get("abandoned-far", "configmap", "abandoned-living").is_some(), "unmounting deletes nothing");
}

#[test]
fn unmounting_every_plugin_leaves_no_finalizer_behind() {
    let Some(cluster) = Cluster::for_test("unmount", &["unmount"]) else { return };
    let folder = Folder::new();
    let configuration = |mounts: Value| folder.put("gyre.yaml", json!({ "mounts": mounts }).to_string());
    let mount = |plugin: &str| json!({ "plugin": plugin, "namespaces": ["unmount"] });
    let file = configuration(json!([mount(gyre_artifacts::probes::FINALIZING), mount(gyre_artifacts::probes::FICKLE)]));
    let host = with_parents(&cluster, "unmount", || cluster.host_with(&[], &[], &["--config", &file]));
    configuration(json!([]));
    assert_released(&cluster, "unmount");
    assert_eq!(count_held(&cluster, "unmount", &["finalizing", "fickle"]), 0);
    assert_eq!(host.http("/readyz").0, "HTTP/1.0 200 OK");
}

#[test]
fn deleting_every_plugin_leaves_no_finalizer_behind() {
    let Some(cluster) = Cluster::for_test("deleted", &["deleted"]) else { return };
    let folder = Folder::new();
    folder.put_plugin("finalizing.wasm", gyre_artifacts::probes::FINALIZING);
    folder.put_plugin("fickle.wasm", gyre_artifacts::probes::FICKLE);
    let folder_path = folder.path();
    let arguments = ["--plugin-dir", &folder_path, "--plugin-dir-grace=0"];
    let _host = with_parents(&cluster, "deleted", || cluster.host_with(&[], &["deleted"], &arguments));
    for file in ["finalizing.wasm", "fickle.wasm"] {
        folder.remove(file);
    }
    assert_released(&cluster, "deleted");
    assert_eq!(count_held(&cluster, "deleted", &["finalizing", "fickle"]), 0);
}

#[test]
fn a_namespace_full_of_parents_can_be_deleted() {
    const EACH: usize = 6;
    let Some(cluster) = Cluster::for_test("full", &["full"]) else { return };
    let plugins = [
        gyre_artifacts::probes::FINALIZING,
        gyre_artifacts::probes::VERSIONED,
        gyre_artifacts::probes::STRATEGIES,
        gyre_artifacts::probes::FICKLE,
        gyre_artifacts::ECHO,
    ];
    let host = cluster.host(&plugins, &["full"]);
    let mut parents = Vec::new();
    for number in 0..EACH {
        let name = format!("p-{number}");
        parents.push(finalizing("full", &name, ""));
        parents.push(guest("Versioned", "full", &name, json!({})));
        parents.push(guest("Strategies", "full", &format!("s-{number}"), json!({})));
        parents.push(guest("Fickle", "full", &name, json!({ "fail": if number % 2 == 0 { "transient" } else { "" } })));
        parents.push(json!({
            "apiVersion": "mmontes.io/v1alpha1", "kind": "Echo", "metadata": { "name": name, "namespace": "full" },
            "spec": { "message": "about to go" },
        }));
    }
    cluster.apply_all(&parents);
    for kind in ["finalizing", "versioned", "strategies", "echo"] {
        cluster.all_ready("full", kind, EACH);
    }
    assert_eq!(count_held(&cluster, "full", &["finalizing"]), EACH);
    cluster.kubectl(&["delete", "--wait=false", "namespace", "full"]);
    namespaces_are_gone(&cluster, &["full"]);
    cluster.settled(&host);
}

#[test]
fn namespaces_with_children_in_each_other_can_be_deleted_at_once() {
    let Some(cluster) = Cluster::for_test("mutual", &["mutual-a", "mutual-b"]) else { return };
    let folder = Folder::new();
    let probe = with_kind(gyre_artifacts::probes::CROSS_NAMESPACE, "CrossNamespace", "CrossingBorder");
    let plugin = folder.put("crossing-border.wasm", probe);
    cluster.install_crds(&[&plugin]);
    let file = writing_to_all(&folder, &[&plugin], &["mutual-a", "mutual-b"]);
    let host = cluster.host_with(&[], &[], &["--config", &file]);
    let parents: Vec<Value> = (0..6)
        .flat_map(|number| {
            [("mutual-a", "mutual-b"), ("mutual-b", "mutual-a")]
                .map(|(here, there)| guest("CrossingBorder", here, &format!("p-{number}"), json!({ "namespace": there })))
        })
        .collect();
    cluster.apply_all(&parents);
    for namespace in ["mutual-a", "mutual-b"] {
        cluster.all_ready(namespace, "crossingborder", 6);
        assert_eq!(count_held(&cluster, namespace, &["crossingborder"]), 6);
    }
    cluster.kubectl(&["delete", "--wait=false", "namespace", "mutual-a", "mutual-b"]);
    namespaces_are_gone(&cluster, &["mutual-a", "mutual-b"]);
    cluster.settled(&host);
}

#[test]
fn a_deleted_kind_disappears_and_may_be_recreated() {
    let Some(cluster) = Cluster::for_test("disposable", &["disposable"]) else { return };
    let folder = Folder::new();
    let plugin = folder.put("disposable.wasm", with_kind(gyre_artifacts::probes::FINALIZING, "Finalizing", "Disposable"));
    cluster.install_crds(&[&plugin]);
    let host = cluster.host(&[&plugin, gyre_artifacts::ECHO], &["disposable"]);
    let parent = |name: &str| guest("Disposable", "disposable", name, json!({}));
    cluster.apply_all(&["a", "b", "c"].map(parent));
    cluster.all_ready("disposable", "disposable", 3);
    cluster.kubectl(&["delete", "--wait=false", "crd", "disposables.guests.gyre.dev"]);
    cluster.eventually("the kind to go, and its objects before it", || {
        cluster.kubectl(&["get", "crd", "disposables.guests.gyre.dev", "--ignore-not-found"]).is_empty().then_some(())
    });
    cluster.apply(
        &json!({
            "apiVersion": "mmontes.io/v1alpha1", "kind": "Echo", "metadata": { "name": "it", "namespace": "disposable" },
            "spec": { "message": "still here" },
        })
        .to_string(),
    );
    cluster.eventually("the neighbour's Job", || cluster.get("disposable", "job", "it"));
    let awaited = |expected: serde_json::Value| {
        cluster.eventually("the kinds that the mount waits for", || {
            assert!(host.http("/readyz").0.contains(" 200 "), "one kind does not make the host unready");
            (host.state_of("disposable")["awaitedKinds"] == expected).then_some(())
        });
    };
    awaited(json!(["Disposable.v1.guests.gyre.dev"]));
    assert!(host.metric("gyre_awaited_kinds", &["Disposable.v1.guests.gyre.dev"]) >= 1.0);
    cluster.install_crds(&[&plugin]);
    cluster.apply(&parent("again").to_string());
    cluster.ready("disposable", "disposable", "again");
    awaited(json!([]));
    cluster.delete("disposable", "disposable", "again");
    cluster.gone("disposable", "disposable", &["again"]);
    cluster.eventually("the host to be ready", || (host.http("/readyz").0 == "HTTP/1.0 200 OK").then_some(()));
}

fn namespaces_are_gone(cluster: &Cluster, namespaces: &[&str]) {
    let get: Vec<&str> = ["get", "namespace", "--ignore-not-found"].iter().chain(namespaces).copied().collect();
    cluster.eventually("the namespaces to go", || cluster.kubectl(&get).is_empty().then_some(()));
}
