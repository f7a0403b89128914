//! A reconcile with the same inputs as the last call does not call the plugin.

use std::time::Instant;

use serde_json::{Value, json};

use crate::harness::{Cluster, Host, config_map, guest};

fn counts(host: &Host, plugin: &str) -> (f64, f64) {
    (host.calls(plugin), host.memo_hits(plugin))
}

/// Applies an unchanged object, which changes only its managers and its resource version.
fn change_nothing(cluster: &Cluster, object: &Value, manager: &str) {
    let folder = crate::harness::Folder::new();
    let path = folder.put("object.json", object.to_string());
    cluster.kubectl(&["apply", "--server-side", &format!("--field-manager={manager}"), "-f", &path]);
}

#[test]
fn a_change_without_a_new_value_calls_no_plugin() {
    let Some(cluster) = Cluster::for_test("memo", &["memo"]) else { return };
    let host = cluster.host(&[gyre_artifacts::probes::READER], &["memo"]);
    let parent = guest("Reader", "memo", "it", json!({ "get": "it" }));
    let read = config_map("memo", "it", json!({ "text": "read" }));
    cluster.apply_all(&[parent.clone(), read.clone(), guest("Reader", "memo", "fence", json!({ "get": "fence" }))]);
    cluster.all_ready("memo", "reader", 2);
    cluster.settled(&host);
    let Some(quiet) = cluster.audit_mark() else { return };

    let (calls, hits) = counts(&host, "reader");
    change_nothing(&cluster, &parent, "another");
    cluster.eventually("a memo hit", || (host.memo_hits("reader") > hits).then_some(()));
    cluster.settled(&host);
    assert_eq!(counts(&host, "reader"), (calls, hits + 1.0), "of the parent");

    // A read object without a change does not even requeue the parent. The fence comes later.
    let plans = host.plans_about("memo/it");
    change_nothing(&cluster, &read, "another");
    cluster.apply(&config_map("memo", "fence", json!({})).to_string());
    cluster.eventually("the fence", || (cluster.get("memo", "configmap", "fence-copy")?["data"]["get"] == "{}").then_some(()));
    cluster.settled(&host);
    assert_eq!(host.plans_about("memo/it"), plans, "of what is read");
    let of_it = |name: &str| name == "it" || name == "it-copy";
    let writes: Vec<_> = cluster.requests(quiet).into_iter().filter(|event| event.is_write() && of_it(&event.name)).collect();
    assert!(writes.is_empty(), "{writes:?}");

    cluster.touch("memo", "reader", "it", "really");
    cluster.eventually("a call", || (host.plans_about("memo/it") > plans).then_some(()));
}

#[test]
fn a_call_that_read_the_clock_is_made_again() {
    let Some(cluster) = Cluster::for_test("clock", &["clock"]) else { return };
    let host = cluster.host(&[gyre_artifacts::probes::CLOCKWORK], &["clock"]);
    let parents = [("blind", json!({ "blind": true })), ("seeing", json!({}))]
        .map(|(name, spec)| guest("Clockwork", "clock", name, spec));
    cluster.apply_all(&parents);
    cluster.all_ready("clock", "clockwork", 2);
    cluster.settled(&host);
    let [blind, seeing] = &parents;
    let (calls, hits) = counts(&host, "clockwork");
    change_nothing(&cluster, blind, "another");
    cluster.eventually("a memo hit", || (host.memo_hits("clockwork") > hits).then_some(()));
    cluster.settled(&host);
    assert_eq!(counts(&host, "clockwork"), (calls, hits + 1.0));
    change_nothing(&cluster, seeing, "another");
    cluster.eventually("a call", || (host.calls("clockwork") > calls).then_some(()));
    cluster.settled(&host);
    assert_eq!(counts(&host, "clockwork"), (calls + 1.0, hits + 1.0), "the time may have made a difference");
}

#[test]
fn a_plugin_is_called_again_when_it_asked_to_be_and_nothing_is_written() {
    const DELAY_MILLISECONDS: u64 = 200;
    let Some(cluster) = Cluster::for_test("requeue", &["requeue"]) else { return };
    let host = cluster.host(&[gyre_artifacts::probes::CLOCKWORK], &["requeue"]);
    let start = Instant::now();
    let parent = guest("Clockwork", "requeue", "it", json!({ "blind": true, "requeueMilliseconds": DELAY_MILLISECONDS }));
    cluster.apply(&parent.to_string());
    cluster.ready("requeue", "clockwork", "it");
    cluster.settled(&host);
    let before = host.calls("clockwork");
    let Some(quiet) = cluster.audit_mark() else { return };
    let calls = cluster.eventually("five more calls", || Some(host.calls("clockwork")).filter(|calls| *calls >= before + 5.0));
    // One call for each delay, and some for the creation, the child and the status.
    let most = start.elapsed().as_secs_f64() * 1000.0 / DELAY_MILLISECONDS as f64 + 4.0;
    assert!(calls <= most, "{calls} calls, {most} at most");
    let requests = cluster.requests(quiet);
    assert!(requests.is_empty(), "{requests:?}");
}
