use crate::harness::{Cluster, condition};

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../plugins/xca/samples/xca.yaml");

#[test]
fn an_xca_becomes_active_once_and_stays_so() {
    let Some(cluster) = Cluster::for_test("xca", &["xca"]) else { return };
    let plugins = [gyre_artifacts::XCA];
    let host = cluster.host(&plugins, &["xca"]);
    cluster.kubectl(&["apply", "-n", "xca", "-f", SAMPLE]);
    let xca = cluster.ready("xca", "xca", "hello");
    assert_eq!(xca["status"]["active"], true);
    let since = xca["status"]["last_update_time"].as_str().unwrap();
    assert!(since.ends_with('Z') && since.starts_with("20"), "{since}");
    assert_eq!(condition(&xca, "Ready").unwrap()["observedGeneration"], 1);
    cluster.settled(&host);
    let Some(quiet) = cluster.audit_mark() else { return };

    cluster.touch("xca", "xca", "hello", "yes");
    cluster.settled(&host);
    drop(host);
    let host = cluster.host(&plugins, &["xca"]);
    cluster.eventually("a call", || (host.calls("xca") >= 1.0).then_some(()));
    cluster.settled(&host);
    assert_eq!(cluster.get("xca", "xca", "hello").unwrap()["status"], xca["status"]);
    let writes: Vec<_> = cluster.requests(quiet).into_iter().filter(|event| event.is_write()).collect();
    assert!(writes.is_empty(), "{writes:?}");

    cluster.patch_status("xca", "xca", "hello", &serde_json::json!({ "active": false }));
    cluster.eventually("it to be active again", || {
        (cluster.get("xca", "xca", "hello")?["status"]["active"] == true).then_some(())
    });
    cluster.kubectl(&["delete", "-n", "xca", "xca", "hello"]);
    cluster.settled(&host);
    assert_eq!(host.metric("controller_runtime_reconcile_errors_total", &["\"xca\""]), 0.0);
}
