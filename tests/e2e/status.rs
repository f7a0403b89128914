//! The status: fields of the plugin and of the host, written with as few requests as possible.

use gyre_controlplane::{AuditEvent, Mark};
use serde_json::{Value, json};

use crate::harness::{Cluster, condition, guest};

fn writes(cluster: &Cluster, since: Mark, resource: &str) -> Vec<String> {
    let requests = cluster.requests(since);
    let of_it = requests.iter().filter(|event| event.is_write() && event.resource == resource);
    of_it.map(|event: &AuditEvent| format!("{} {}/{} -> {}", event.verb, event.name, event.subresource, event.code)).collect()
}

#[test]
fn a_status_without_room_for_conditions_is_written_once() {
    let Some(cluster) = Cluster::for_test("slim", &["slim"]) else { return };
    let Some(start) = cluster.audit_mark() else { return };
    let plugins = [gyre_artifacts::probes::SLIM];
    let host = cluster.host(&plugins, &["slim"]);
    cluster.apply(&guest("Slim", "slim", "it", json!({})).to_string());
    cluster.eventually("the status", || {
        (cluster.get("slim", "slim", "it")?["status"] == json!({ "phase": "Done" })).then_some(())
    });
    cluster.touch("slim", "slim", "it", "yes");
    cluster.settled(&host);
    assert_eq!(writes(&cluster, start, "slims"), ["patch it/status -> 200"]);

    drop(host);
    let restart = cluster.audit_mark().unwrap();
    let host = cluster.host(&plugins, &["slim"]);
    cluster.eventually("a call", || (host.calls("slim") >= 1.0).then_some(()));
    cluster.settled(&host);
    assert!(writes(&cluster, restart, "slims").is_empty());
}

#[test]
fn a_status_without_a_subresource_converges() {
    let Some(cluster) = Cluster::for_test("bare", &["bare"]) else { return };
    let host = cluster.host(&[gyre_artifacts::probes::BARE], &["bare"]);
    let parent = |text: &str| cluster.apply(&guest("Bare", "bare", "it", json!({ "text": text })).to_string());
    let seen = |text: &str| {
        cluster.eventually("the text in the status", || {
            cluster.get("bare", "bare", "it").filter(|object| object["status"]["seen"] == text)
        })
    };
    parent("first");
    seen("first");
    cluster.settled(&host);
    let Some(quiet) = cluster.audit_mark() else { return };
    parent("second");
    seen("second");
    cluster.settled(&host);
    let object = cluster.get("bare", "bare", "it").unwrap();
    assert_eq!(writes(&cluster, quiet, "bares"), ["patch it/ -> 200"]);
    // The write of the status increments the generation, which causes no further write.
    let calls = host.calls("bare");
    cluster.touch("bare", "bare", "it", "yes");
    cluster.eventually("a call", || (host.calls("bare") > calls).then_some(()));
    cluster.settled(&host);
    let after = cluster.get("bare", "bare", "it").unwrap();
    assert_eq!((&after["metadata"]["generation"], &after["status"]), (&object["metadata"]["generation"], &object["status"]));
    assert!(object["status"].get("observedGeneration").is_none(), "it would never be the latest: {object}");
    assert_eq!(condition(&object, "Ready").unwrap()["status"], "True");
}

#[test]
fn conditions_have_a_transition_time_and_a_generation() {
    const LONG_AGO: &str = "2001-02-03T04:05:06Z";
    let Some(cluster) = Cluster::for_test("transitions", &["transitions"]) else { return };
    let host = cluster.host(&[gyre_artifacts::probes::FICKLE], &["transitions"]);
    let parent = |fail: &str| {
        cluster.apply(&guest("Fickle", "transitions", "it", json!({ "fail": fail })).to_string());
    };
    let ready_of = |object: &Value| condition(object, "Ready").unwrap().clone();
    let Some(start) = cluster.audit_mark() else { return };
    parent("terminal");
    let failed = cluster.reason("transitions", "fickle", "it", "Ready", "PluginTerminal");
    cluster.settled(&host);
    assert_eq!(writes(&cluster, start, "fickles"), ["patch it/status -> 200"]);
    assert_eq!(failed["status"]["observedGeneration"], 1);
    assert_eq!(ready_of(&failed)["observedGeneration"], 1);

    let mut conditions = failed["status"]["conditions"].clone();
    for condition in conditions.as_array_mut().unwrap() {
        condition["lastTransitionTime"] = json!(LONG_AGO);
    }
    cluster.patch_status("transitions", "fickle", "it", &json!({ "conditions": conditions }));
    let start = cluster.audit_mark().unwrap();
    parent("retry-after");
    let still_failed = cluster.reason("transitions", "fickle", "it", "Ready", "PluginRetryAfter");
    assert_eq!(still_failed["status"]["observedGeneration"], 2);
    let ready = ready_of(&still_failed);
    assert_eq!((&ready["status"], &ready["lastTransitionTime"]), (&json!("False"), &json!(LONG_AGO)), "another reason");
    assert_ne!(condition(&still_failed, "Reconciling").unwrap()["lastTransitionTime"], LONG_AGO, "it was not so before");

    parent("");
    let well = cluster.ready("transitions", "fickle", "it");
    assert_ne!(ready_of(&well)["lastTransitionTime"], LONG_AGO, "another status");
    assert_eq!((&well["status"]["observedGeneration"], &ready_of(&well)["observedGeneration"]), (&json!(3), &json!(3)));
    cluster.touch("transitions", "fickle", "it", "yes");
    cluster.settled(&host);
    assert_eq!(writes(&cluster, start, "fickles").len(), 2, "one for each change of what it says");
}

#[test]
fn conditions_of_others_stay_in_a_status() {
    let Some(cluster) = Cluster::for_test("others", &["others"]) else { return };
    let host = cluster.host(&[gyre_artifacts::probes::FICKLE], &["others"]);
    cluster.apply(&guest("Fickle", "others", "it", json!({})).to_string());
    let object = cluster.ready("others", "fickle", "it");
    let mut conditions = object["status"]["conditions"].clone();
    conditions.as_array_mut().unwrap().push(json!({
        "type": "Audited", "status": "True", "reason": "Seen", "message": "", "lastTransitionTime": "2001-02-03T04:05:06Z",
    }));
    cluster.patch_status("others", "fickle", "it", &json!({ "conditions": conditions }));
    cluster.apply(&guest("Fickle", "others", "it", json!({ "fail": "terminal" })).to_string());
    let object = cluster.reason("others", "fickle", "it", "Ready", "PluginTerminal");
    assert_eq!(condition(&object, "Audited").unwrap()["reason"], "Seen");

    cluster.kubectl(&[
        "patch",
        "-n",
        "others",
        "fickle",
        "it",
        "--subresource=status",
        "--type=json",
        "-p",
        r#"[{"op":"remove","path":"/status"}]"#,
    ]);
    cluster.reason("others", "fickle", "it", "Ready", "PluginTerminal");
    cluster.settled(&host);
}
