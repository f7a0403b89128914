use serde_json::{Value, json};

use crate::harness::{Cluster, condition, finalizers, guest};

#[test]
fn an_inventory_that_cannot_be_written_delays_only_mounts_with_finalizers() {
    let Some(cluster) = Cluster::for_test("unwritable", &["unwritable"]) else { return };
    let config_map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "immutable": true,
        "metadata": { "name": "unwritable-inventory", "namespace": "unwritable" },
    });
    cluster.apply(&config_map.to_string());
    let plugins = [gyre_artifacts::probes::FICKLE, gyre_artifacts::probes::FINALIZING];
    let arguments = ["--name", "unwritable", "--home-namespace", "unwritable"];
    let host = cluster.host_with(&plugins, &["unwritable"], &arguments);
    cluster.apply_all(&[
        guest("Fickle", "unwritable", "it", json!({})),
        guest("Finalizing", "unwritable", "it", json!({ "finalize": "" })),
    ]);
    cluster.ready("unwritable", "fickle", "it");
    let parent = cluster.reason("unwritable", "finalizing", "it", "Ready", "InventoryNotWritten");
    let message = condition(&parent, "Ready").unwrap()["message"].as_str().unwrap();
    assert!(message.contains("the ConfigMap unwritable/unwritable-inventory"), "{message}");
    assert!(finalizers(&parent).is_empty(), "a later start would not know of it: {parent}");
    assert!(cluster.get("unwritable", "configmap", "it-a").is_none(), "nothing is made before the finalizer is there");
    let (status, checks) = host.http("/readyz");
    assert_eq!(status, "HTTP/1.0 503 Service Unavailable", "{checks}");
    let check = checks.lines().find(|line| line.contains("inventory")).expect("a check");
    assert!(check.starts_with("[-]inventory failed: cannot use the ConfigMap unwritable/unwritable-inventory"), "{check}");
    assert!(check.contains("immutable") && check.contains("finalizing"), "it says why, and of which mounts: {check}");

    cluster.delete("unwritable", "configmap", "unwritable-inventory");
    cluster.eventually("the inventory to be written", || {
        let inventory = cluster.get("unwritable", "configmap", "unwritable-inventory")?;
        (inventory["data"].as_object()?.keys().collect::<Vec<_>>() == ["fickle", "finalizing"]).then_some(())
    });
    cluster.touch("unwritable", "finalizing", "it", "again");
    let parent: Value = cluster.ready("unwritable", "finalizing", "it");
    assert_eq!(finalizers(&parent), ["gyre.dev/finalizing"]);
    cluster.eventually("the host to be ready", || (host.http("/readyz").0 == "HTTP/1.0 200 OK").then_some(()));
}
