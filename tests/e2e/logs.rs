use serde_json::{Value, json};

use crate::harness::{Cluster, Host, guest};

const GATEWAY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../plugins/gateway/samples/gateway.yaml");

fn host(cluster: &Cluster, namespace: &str, arguments: &[&str]) -> Host {
    let host = cluster.host_with(&[gyre_artifacts::GATEWAY], &[namespace], arguments);
    cluster.kubectl(&["apply", "-n", namespace, "-f", GATEWAY]);
    cluster.ready(namespace, "gateway.app.example.com", "hello");
    host
}

fn of_the_plugin(cluster: &Cluster, host: &Host) -> String {
    cluster.eventually("the plugin's line", || {
        let log = host.log();
        log.lines().find(|line| line.contains("the desired state of Gateway hello")).map(str::to_owned)
    })
}

#[test]
fn in_json_each_line_of_the_host_or_a_plugin_names_its_reconcile() {
    let Some(cluster) = Cluster::for_test("log-json", &["log-json"]) else { return };
    let host = host(&cluster, "log-json", &["--log-level", "info,gyre=debug", "--log-format", "json"]);
    let parse = |line: &str| -> Value { serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")) };
    let of_the_plugin = parse(&of_the_plugin(&cluster, &host));
    assert_eq!((&of_the_plugin["target"], &of_the_plugin["level"]), (&json!("plugin"), &json!("INFO")));
    let reconcile = &of_the_plugin["span"];
    assert_eq!(reconcile["name"], "reconcile");
    assert_eq!((&reconcile["mount"], &reconcile["object"]), (&json!("gateway"), &json!("log-json/hello")));
    assert!(reconcile["id"].is_u64(), "{reconcile}");

    let log = host.log();
    let whole = log.rsplit_once('\n').expect("lines").0;
    let lines: Vec<Value> = whole.lines().map(parse).collect();
    let of_the_reconcile = lines.iter().filter(|line| line["span"]["id"] == reconcile["id"]);
    let targets: Vec<&str> = of_the_reconcile.filter_map(|line| line["target"].as_str()).collect();
    assert!(targets.contains(&"plugin") && targets.iter().any(|target| target.starts_with("gyre_engine::")), "{targets:?}");
    let ids = lines.iter().filter(|line| line["message"] == "reconciled").map(|line| line["span"]["id"].as_u64());
    let ids: Vec<u64> = ids.map(|id| id.expect("an id")).collect();
    let distinct: std::collections::BTreeSet<_> = ids.iter().collect();
    assert_eq!(distinct.len(), ids.len(), "each reconcile has one of its own");
}

#[test]
fn in_text_a_line_names_its_reconcile() {
    let Some(cluster) = Cluster::for_test("log-text", &["log-text"]) else { return };
    let host = host(&cluster, "log-text", &["--log-format", "text"]);
    let line = of_the_plugin(&cluster, &host);
    assert!(line.contains("INFO reconcile{mount=gateway object=log-text/hello id="), "{line}");
    assert!(line.contains(" plugin: "), "{line}");
}

#[test]
fn each_target_has_a_level_of_its_own() {
    let Some(cluster) = Cluster::for_test("log-levels", &["log-levels"]) else { return };
    let levels = |filter: &str| {
        let host = host(&cluster, "log-levels", &["--log-level", filter]);
        cluster.settled(&host);
        let log = host.log();
        cluster.kubectl(&["delete", "-n", "log-levels", "gateway.app.example.com", "hello"]);
        (
            log.contains("the desired state of Gateway hello"),
            log.contains("gyre_engine::host: reconciled"),
            log.contains("gyre::plugins: loaded"),
        )
    };
    // The tests need the line with the address of the host.
    assert_eq!(levels("warn,gyre_engine::admin=info,plugin=info"), (true, false, false));
    assert_eq!(levels("warn,gyre_engine::admin=info,gyre_engine::host=debug"), (false, true, false));
    assert_eq!(levels("info,plugin=off"), (false, false, true));
}

#[test]
fn a_panic_is_a_line_that_names_the_object_at_any_level() {
    let namespace = "log-panic";
    let plugin = gyre_artifacts::guests::PANICS;
    let Some(cluster) = Cluster::for_test(namespace, &[namespace]) else { return };
    cluster.install_crds(&[plugin]);
    for (filter, has_rest) in [("error,gyre_engine::admin=info", false), ("info", false), ("info,plugin=debug", true)] {
        let host = cluster.host_with(&[plugin], &[namespace], &["--log-level", filter]);
        cluster.apply_all(&[guest("Panics", namespace, "it", json!({}))]);
        let failed = |log: &str| log.lines().filter(|line| line.contains("ERROR")).count();
        cluster.eventually("two failures", || (failed(&host.log()) >= 2).then_some(()));
        let log = host.log();
        let whole = log.rsplit_once('\n').expect("lines").0;
        let said = |line: &&str| line.contains("panicked") && (!has_rest || line.contains("ERROR"));
        let lines: Vec<&str> = whole.lines().filter(said).collect();
        assert_eq!(lines.len(), failed(whole), "{filter}: {log}");
        for line in lines {
            assert!(line.contains("ERROR") && line.contains("panics.rs:5:36: the guest gives up"), "{filter}: {line}");
            assert!(line.contains("mount=panics object=log-panic/it "), "{filter}: {line}");
        }
        assert_eq!(whole.contains("thread '<unnamed>'"), has_rest, "{filter}: {log}");
        assert!(!whole.contains("RUST_BACKTRACE"), "nobody can set it: {log}");
        // Each line begins with its time, so no line is the continuation of another.
        assert!(whole.lines().all(|line| line.starts_with("20")), "{filter}: {log}");
    }
}

#[test]
fn logs_are_text_or_json() {
    let Some(cluster) = Cluster::for_test("log-format", &["log-format"]) else { return };
    for (format, is_json) in [("json", true), ("text", false)] {
        let host = cluster.host_with(&[gyre_artifacts::GATEWAY], &["log-format"], &["--log-format", format]);
        let log = host.log();
        let first = log.lines().next().expect("a line");
        assert_eq!(serde_json::from_str::<Value>(first).is_ok(), is_json, "{first}");
    }
}
