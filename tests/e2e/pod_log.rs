use gyre_controlplane::AuditEvent;
use serde_json::json;

use crate::harness::{Cluster, Folder, Host, finalizers};

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../plugins/pod-log/samples/pod.yaml");

fn run(cluster: &Cluster, folder: &Folder) -> Host {
    let selector = "pod-log.gyre.dev/watch=true";
    let mount = json!({ "plugin": gyre_artifacts::POD_LOG, "namespaces": ["pod-log"], "selector": selector, "maxRetries": 5 });
    let file = folder.put("gyre.yaml", json!({ "mounts": [mount] }).to_string());
    cluster.host_with(&[], &[], &["--config", &file])
}

fn is_logged(cluster: &Cluster, host: &Host, line: &str) {
    cluster.eventually(line, || host.log().contains(line).then_some(()));
}

#[test]
fn changes_of_pods_are_logged_and_a_deletion_while_the_host_is_down_is_not_missed() {
    let Some(cluster) = Cluster::for_test("pod-log", &["pod-log"]) else { return };
    let Some(start) = cluster.audit_mark() else { return };
    let folder = Folder::new();
    let host = run(&cluster, &folder);
    cluster.kubectl(&["apply", "-n", "pod-log", "-f", SAMPLE]);
    is_logged(&cluster, &host, "Sync/Add/Update for Pod hello");
    cluster.eventually("the finalizer", || {
        (finalizers(&cluster.get("pod-log", "pod", "hello")?) == ["gyre.dev/pod-log"]).then_some(())
    });
    cluster.settled(&host);
    cluster.delete("pod-log", "pod", "hello");
    is_logged(&cluster, &host, "Pod hello does not exist anymore");
    cluster.gone("pod-log", "pod", &["hello"]);

    cluster.kubectl(&["apply", "-n", "pod-log", "-f", SAMPLE]);
    cluster.eventually("the finalizer", || (!finalizers(&cluster.get("pod-log", "pod", "hello")?).is_empty()).then_some(()));
    drop(host);
    cluster.delete("pod-log", "pod", "hello");
    assert!(cluster.get("pod-log", "pod", "hello").is_some(), "it waits to be reported");
    let host = run(&cluster, &folder);
    is_logged(&cluster, &host, "Pod hello does not exist anymore");
    cluster.gone("pod-log", "pod", &["hello"]);
    cluster.settled(&host);

    // Only the kubelet writes the status of a Pod.
    let of_status = |event: &&AuditEvent| event.is_write() && (event.subresource == "status" || event.resource == "events");
    let requests = cluster.requests(start);
    assert_eq!(requests.iter().filter(of_status).count(), 0, "{requests:?}");
}
