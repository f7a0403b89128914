use serde_json::json;

use crate::harness::{Cluster, Folder};

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../plugins/gateway/samples/gateway.yaml");

#[test]
fn a_gateway_is_logged_synced_and_requeued() {
    let Some(cluster) = Cluster::for_test("gateway", &["gateway"]) else { return };
    let folder = Folder::new();
    let configuration = json!({ "mounts": [{ "plugin": gyre_artifacts::GATEWAY, "namespaces": ["gateway"], "workers": 2 }] });
    let file = folder.put("gyre.yaml", configuration.to_string());
    let host = cluster.host_with(&[], &[], &["--config", &file]);
    cluster.kubectl(&["apply", "-n", "gateway", "-f", SAMPLE]);
    cluster.ready("gateway", "gateway.app.example.com", "hello");
    let logged = || {
        let log = host.log();
        let lines = log.lines().filter(|line| line.contains("the desired state of Gateway hello"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(logged().iter().any(|line| line.contains("listeners") && line.contains("8080")), "{:?}", logged());
    let event = cluster.eventually("the event", || cluster.events("gateway", "hello", "Synced").pop());
    assert_eq!((&event["type"], &event["message"]), (&json!("Normal"), &json!("Student synced successfully")));
    assert_eq!(host.metric("controller_runtime_max_concurrent_reconciles", &["\"gateway\""]), 2.0);

    let before = logged().len();
    cluster.touch("gateway", "gateway.app.example.com", "hello", "yes");
    cluster.eventually("another line", || (logged().len() > before).then_some(()));
    cluster.settled(&host);
    assert_eq!(cluster.events("gateway", "hello", "Synced").len(), 1);
    // The plugin requeues every 30 s.
    let state = host.state_of("gateway");
    let delayed = &state["queue"]["delayed"][0];
    assert_eq!((&delayed["object"], &delayed["failures"]), (&json!("gateway/hello"), &json!(0)));
    assert!(delayed["dueInSeconds"].as_u64() <= Some(30), "{state}");
}
