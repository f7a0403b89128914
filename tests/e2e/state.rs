use serde_json::{Value, json};

use crate::harness::Cluster;

#[test]
fn the_state_of_a_host_shows_mounts_claims_queues_and_watches() {
    let Some(cluster) = Cluster::for_test("state", &["state"]) else { return };
    let host = cluster.host_with(&[gyre_artifacts::ECHO], &["state"], &["--ha"]);
    cluster.apply(
        r#"{"apiVersion":"mmontes.io/v1alpha1","kind":"Echo","metadata":{"name":"it","namespace":"state"},"spec":{"message":"hello"}}"#,
    );
    cluster.ready("state", "echo", "it");
    cluster.settled(&host);
    let state: Value = serde_json::from_str(&host.http("/debug/state").1).expect("JSON");
    assert_eq!(state["version"], env!("CARGO_PKG_VERSION"));

    let echo = &state["mounts"][0];
    let expected = json!({
        "name": "echo", "plugin": "echo", "phase": "Running", "reason": null, "leads": true, "parent": "Echo.v1alpha1.mmontes.io",
        "parents": 1, "remembered": 1, "awaitedKinds": [], "unprunedKinds": [], "quarantine": null, "quarantinedFor": [],
        "isChangingOver": false, "calls": { "running": 0, "overdueSeconds": 0 },
    });
    for (field, value) in expected.as_object().expect("fields") {
        assert_eq!(&echo[field], value, "{field} of {echo}");
    }
    assert_eq!((&echo["claim"]["isOf"], &echo["claim"]["isHeld"]), (&json!("the host"), &json!(true)));
    let held_for = echo["claim"]["heldForMilliseconds"].as_u64().expect("milliseconds");
    assert!((1..=10_000).contains(&held_for), "the renew deadline is ten seconds: {echo}");
    let queue = json!({
        "entries": 0, "queued": 0, "queuedAtLowPriority": 0, "inProgress": 0, "longestInProgressSeconds": 0, "failing": 0, "parkedCount": 0, "parked": [],
        "delayed": [],
    });
    assert_eq!(echo["queue"], queue);

    let watches: Vec<_> = state["watches"].as_array().expect("watches").iter().collect();
    let of = |kind: &str| watches.iter().find(|watch| watch["kind"] == kind).unwrap_or_else(|| panic!("{kind} in {state}"));
    let parents = of("Echo.v1alpha1.mmontes.io");
    assert_eq!((&parents["namespace"], &parents["objects"], &parents["synced"]), (&json!("state"), &json!(1), &json!(true)));
    let jobs = of("Job.v1.batch");
    assert_eq!((&jobs["labelSelector"], &jobs["error"]), (&json!("gyre.dev/plugin"), &Value::Null));
    assert_eq!(state["leaving"], json!([]));
}

#[test]
fn a_host_without_election_always_has_its_claims() {
    let Some(cluster) = Cluster::for_test("state-alone", &["state-alone"]) else { return };
    let host = cluster.host(&[gyre_artifacts::ECHO], &["state-alone"]);
    let claim =
        cluster.eventually("a claim", || Some(host.find_state_of("echo")?["claim"].clone()).filter(|claim| !claim.is_null()));
    assert_eq!(claim, json!({ "isOf": "a host without leader election", "isHeld": true, "heldForMilliseconds": null }));
}
