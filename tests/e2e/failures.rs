use std::time::Instant;

use serde_json::{Value, json};

use crate::harness::{Cluster, Folder, Host, condition, guest};

fn fickle(namespace: &str, name: &str, fail: &str) -> Value {
    guest("Fickle", namespace, name, json!({ "fail": fail }))
}

fn failures(host: &Host, object: &str) -> usize {
    let span = format!(" object={object} ");
    host.log().lines().filter(|line| line.contains(&span) && line.contains("the reconcile failed")).count()
}

fn gauge(host: &Host, name: &str) -> f64 {
    host.metric(name, &["plugin=\"fickle\""])
}

#[test]
fn each_kind_of_failure_is_retried_in_its_own_way() {
    const DELAY_MILLISECONDS: u64 = 300;
    let Some(cluster) = Cluster::for_test("failures", &["failures"]) else { return };
    let host = cluster.host(&[gyre_artifacts::probes::FICKLE], &["failures"]);
    let start = Instant::now();
    cluster.apply_all(&[
        fickle("failures", "well", ""),
        fickle("failures", "transient", "transient"),
        guest("Fickle", "failures", "retry-after", json!({ "fail": "retry-after", "delayMilliseconds": DELAY_MILLISECONDS })),
        fickle("failures", "terminal", "terminal"),
    ]);
    for (name, reason, kind) in [
        ("transient", "PluginTransient", "Reconciling"),
        ("retry-after", "PluginRetryAfter", "Reconciling"),
        ("terminal", "PluginTerminal", "Stalled"),
    ] {
        let object = cluster.reason("failures", "fickle", name, "Ready", reason);
        assert_eq!(condition(&object, "Ready").unwrap()["message"], "spec.fail says so", "{name}");
        assert_eq!(condition(&object, kind).unwrap()["status"], "True", "{name}");
        cluster.eventually("the event", || cluster.events("failures", name, reason).pop());
        assert!(host.metric("gyre_plugin_problems_total", &["\"fickle\"", reason]) >= 1.0);
    }
    let tries = cluster.eventually("some more tries", || {
        let [transient, later] = ["transient", "retry-after"].map(|name| failures(&host, &format!("failures/{name}")));
        (transient >= 8 && later >= 3).then_some(later)
    });
    let most = start.elapsed().as_secs_f64() * 1000.0 / DELAY_MILLISECONDS as f64 + 2.0;
    assert!(tries as f64 <= most, "{tries} tries where {most} are due at most");
    assert_eq!(failures(&host, "failures/terminal"), 1, "it is not tried again");
    assert_eq!(cluster.events("failures", "transient", "PluginTransient").len(), 1, "the same is said once");
    cluster.touch("failures", "fickle", "terminal", "again");
    cluster.eventually("a change to bring it back", || (failures(&host, "failures/terminal") == 2).then_some(()));

    cluster.apply_all(&["transient", "retry-after", "terminal"].map(|name| fickle("failures", name, "")));
    for object in cluster.all_ready("failures", "fickle", 4) {
        for kind in ["Reconciling", "Stalled"] {
            assert!(condition(&object, kind).is_none(), "{object}");
        }
    }
}

#[test]
fn a_parked_object_is_visible_everywhere_and_is_retried_after_a_change() {
    let Some(cluster) = Cluster::for_test("shelved", &["shelved"]) else { return };
    let folder = Folder::new();
    let configuration = |mounts: Value| folder.put("gyre.yaml", json!({ "mounts": mounts }).to_string());
    let file = configuration(json!([{
        "plugin": gyre_artifacts::probes::FICKLE, "namespaces": ["shelved"], "maxRetries": 2,
    }]));
    let host = cluster.host_with(&[], &[], &["--config", &file]);
    cluster.apply_all(&[
        fickle("shelved", "a", "transient"),
        fickle("shelved", "b", "transient"),
        fickle("shelved", "c", "transient"),
        fickle("shelved", "well", ""),
    ]);
    cluster.eventually("three to be parked", || (gauge(&host, "gyre_parked_objects") == 3.0).then_some(()));
    cluster.settled(&host);
    for name in ["a", "b", "c"] {
        assert_eq!(failures(&host, &format!("shelved/{name}")), 3, "the first try and two more");
        let object = cluster.get("shelved", "fickle", name).unwrap();
        assert_eq!(condition(&object, "Stalled").unwrap()["reason"], "PluginTransient", "{object}");
        assert!(condition(&object, "Reconciling").is_none(), "{object}");
        assert_eq!(cluster.events("shelved", name, "RetriesExhausted").len(), 1);
    }
    let queue = &host.state_of("fickle")["queue"];
    let parked = ["a", "b", "c"].map(|name| json!({ "object": format!("shelved/{name}"), "failures": 3 }));
    assert_eq!((&queue["parkedCount"], &queue["parked"]), (&json!(3), &json!(parked)));

    cluster.apply(&fickle("shelved", "a", "").to_string());
    cluster.ready("shelved", "fickle", "a");
    cluster.touch("shelved", "fickle", "b", "again");
    cluster.eventually("three more tries", || (failures(&host, "shelved/b") == 6).then_some(()));
    cluster.eventually("two to be parked", || (gauge(&host, "gyre_parked_objects") == 2.0).then_some(()));
    cluster.delete("shelved", "fickle", "b");
    cluster.eventually("one to be parked", || (gauge(&host, "gyre_parked_objects") == 1.0).then_some(()));
    assert_eq!(host.state_of("fickle")["queue"]["parkedCount"], 1);
    assert_eq!(failures(&host, "shelved/c"), 3);

    configuration(json!([]));
    cluster.eventually("none to be parked", || (gauge(&host, "gyre_parked_objects") == 0.0).then_some(()));
}

#[test]
fn a_plugin_that_keeps_failing_by_its_own_fault_is_not_called_until_it_is_replaced() {
    let Some(cluster) = Cluster::for_test("quarantine", &["quarantine"]) else { return };
    let folder = Folder::new();
    let component = std::fs::read(gyre_artifacts::probes::FICKLE).unwrap();
    let plugin = folder.put("fickle.wasm", &component);
    let host = cluster.host_with(&[&plugin, gyre_artifacts::ECHO], &["quarantine"], &["--quarantine-after", "3"]);
    let names = ["a", "b", "c"];
    cluster.apply_all(&names.map(|name| fickle("quarantine", name, "trap")));
    cluster.eventually("the quarantine", || (gauge(&host, "gyre_plugin_quarantined") == 1.0).then_some(()));
    for name in names {
        let object = cluster.reason("quarantine", "fickle", name, "Ready", "Quarantined");
        let message = condition(&object, "Ready").unwrap()["message"].as_str().unwrap();
        assert!(message.contains("Trapped"), "{message}");
        cluster.eventually("the event", || cluster.events("quarantine", name, "Quarantined").pop());
    }
    let state = host.state_of("fickle");
    assert_eq!((&state["quarantine"]["reason"], state["quarantine"]["faults"].as_u64() >= Some(3)), (&json!("Trapped"), true));
    assert!(state["quarantine"]["probeInSeconds"].as_u64() <= Some(30), "{state}");

    // Neither mended parents nor new ones. Another plugin is not affected.
    let calls = host.calls("fickle");
    cluster.apply_all(&names.map(|name| fickle("quarantine", name, "")));
    cluster.apply(&fickle("quarantine", "new", "").to_string());
    cluster.reason("quarantine", "fickle", "new", "Ready", "Quarantined");
    cluster.apply(
        &json!({
            "apiVersion": "mmontes.io/v1alpha1", "kind": "Echo", "metadata": { "name": "it", "namespace": "quarantine" },
            "spec": { "message": "none the worse" },
        })
        .to_string(),
    );
    cluster.eventually("the neighbour's Job", || cluster.get("quarantine", "job", "it"));
    assert_eq!(host.calls("fickle"), calls);
    assert_eq!(host.state_of("echo")["quarantine"], Value::Null);

    // A custom section changes the digest of the plugin. The new plugin is called at once, not
    // probed.
    let section = [0, 5, 4, b'n', b'o', b't', b'e'];
    folder.put("fickle.wasm", [component.as_slice(), &section].concat());
    cluster.all_ready("quarantine", "fickle", names.len() + 1);
    assert_eq!(gauge(&host, "gyre_plugin_quarantined"), 0.0);
    assert_eq!(host.state_of("fickle")["quarantine"], Value::Null);
}

#[test]
fn objects_that_make_the_plugin_fault_quarantine_only_their_namespaces() {
    let names = ["one-tenant-a", "one-tenant-b", "one-tenant-c", "quiet-tenant", "new-tenant"];
    let [_, _, _, quiet, new] = names;
    let Some(cluster) = Cluster::for_test("one-tenant", &names) else { return };
    let host = cluster.host_with(&[gyre_artifacts::probes::FICKLE], &names, &["--call-deadline", "10s"]);
    let floods =
        |namespace: &str| (0..6).map(|number| fickle(namespace, &format!("flood-{number}"), "flood")).collect::<Vec<_>>();
    let quarantined = |count: f64| {
        cluster.eventually("the namespaces to be quarantined", || {
            (host.metric("gyre_plugin_quarantined_namespaces", &["fickle"]) == count).then_some(())
        });
    };
    // The first call of this host is of the flooding namespace, as after a takeover.
    cluster.apply_all(&floods(names[0]));
    quarantined(1.0);
    let held = cluster.reason(names[0], "fickle", "flood-0", "Ready", "Quarantined");
    let message = condition(&held, "Ready").unwrap()["message"].as_str().unwrap();
    assert!(message.contains("TooManyChildren"), "{message}");
    cluster.apply(&fickle(quiet, "it", "").to_string());
    cluster.ready(quiet, "fickle", "it");
    cluster.eventually("the plugin not to be quarantined", || (gauge(&host, "gyre_plugin_quarantined") == 0.0).then_some(()));
    cluster.eventually("the objects to say that their namespace is quarantined", || {
        let held = cluster.reason(names[0], "fickle", "flood-5", "Ready", "Quarantined");
        let message = condition(&held, "Ready")?["message"].as_str()?;
        message.contains(&format!("objects in the namespace {}", names[0])).then_some(())
    });

    cluster.apply_all(&[floods(names[1]), floods(names[2])].concat());
    quarantined(3.0);
    assert_eq!(gauge(&host, "gyre_plugin_quarantined"), 0.0);
    let calls = host.calls("fickle");
    cluster.touch(quiet, "fickle", "it", "again");
    for (namespace, name) in [(quiet, "another"), (new, "it")] {
        cluster.apply(&fickle(namespace, name, "").to_string());
        cluster.ready(namespace, "fickle", name);
    }
    assert!(host.calls("fickle") >= calls + 2.0);
    let state = host.state_of("fickle");
    assert_eq!(state["quarantine"], Value::Null);
    let held: Vec<_> = state["quarantinedFor"].as_array().unwrap().iter().map(|held| held["namespace"].clone()).collect();
    assert_eq!(held, names[..3], "{state}");
    cluster.apply(&fickle(names[0], "new", "").to_string());
    cluster.reason(names[0], "fickle", "new", "Ready", "Quarantined");
}
