use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::Stdio;

use gyre_controlplane::tools;
use parking_lot::MutexGuard;
use serde_json::{Value, json};

use crate::harness::{Cluster, Host, guest, guest_crds};

const KNOWN: &str = include_str!("../chart/metrics.txt");

const OPEN_METRICS: &str = "Accept: application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5\r\n";

pub(crate) fn echos(namespace: &str, numbers: std::ops::Range<usize>) -> Vec<Value> {
    let echo = |number| {
        json!({
            "apiVersion": "mmontes.io/v1alpha1", "kind": "Echo",
            "metadata": { "name": format!("echo-{number}"), "namespace": namespace }, "spec": { "message": "hello" },
        })
    };
    numbers.map(echo).collect()
}

fn series(host: &Host) -> BTreeSet<String> {
    let (_, body) = host.http("/metrics");
    let samples = body.lines().filter(|line| !line.starts_with('#'));
    samples.map(|line| line.rsplit_once(' ').expect("a value").0.to_owned()).collect()
}

/// Returns the errors of Prometheus' own parser and linter, or `None` without Go to build them.
pub(crate) fn problems(metrics: &str) -> Option<String> {
    let mut command = tools::go_in_module();
    command.args(["run", "./promlint"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut lint = match command.spawn() {
        Ok(lint) => lint,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            gyre_controlplane::skip("there is no `go` on PATH to build promlint with").expect("may be skipped");
            return None;
        }
        Err(error) => panic!("go: {error}"),
    };
    // It reads all input before it prints anything.
    lint.stdin.take().expect("piped").write_all(metrics.as_bytes()).expect("written");
    let output = lint.wait_with_output().expect("it ends");
    Some(format!("{}{}", output.status, String::from_utf8_lossy(&output.stderr)))
}

/// Returns a leading host with a plugin that succeeds and one that traps, after calls of both.
fn host_of_all_sorts(cluster: &Cluster, namespace: &str) -> (MutexGuard<'static, ()>, Host) {
    let guests = guest_crds();
    cluster.install_crds(&[gyre_artifacts::guests::TRAP]);
    // One mount waits for its kind.
    cluster.kubectl(&["delete", "crd", "deepoutputs.guests.gyre.dev", "--ignore-not-found"]);
    let plugins = [gyre_artifacts::ECHO, gyre_artifacts::guests::TRAP, gyre_artifacts::guests::DEEP_OUTPUT];
    let host = cluster.host_with(&plugins, &[namespace], &["--ha"]);
    cluster.apply_all(&echos(namespace, 0..2));
    cluster.apply(&guest("Trap", namespace, "it", json!({})).to_string());
    cluster.all_ready(namespace, "echo", 2);
    cluster.eventually("a trap", || {
        (host.metric("gyre_plugin_problems_total", &["plugin=\"trap\"", "reason=\"Trapped\""]) > 0.0).then_some(())
    });
    // Reconciles and events are counted after the status is written.
    cluster.settled(&host);
    (guests, host)
}

#[test]
fn prometheus_finds_nothing_wrong_with_the_metrics() {
    let Some(cluster) = Cluster::for_test("promlint", &["promlint"]) else { return };
    let (_guests, host) = host_of_all_sorts(&cluster, "promlint");
    let (_, metrics) = host.http("/metrics");
    assert!(metrics.contains("controller_runtime_reconcile_total{controller=\"echo\",result=\"success\"}"), "{metrics}");
    assert!(metrics.contains("rest_client_requests_total{code=\"200\",method=\"PATCH\",host=\"127.0.0.1:"), "{metrics}");
    assert!(metrics.contains("leader_election_master_status{name=\"gyre\"} 1"), "{metrics}");
    for measured in
        ["process_resident_memory_bytes", "process_cpu_seconds_total", "process_open_fds", "gyre_plugin_compile_seconds"]
    {
        assert!(host.metric(measured, &[]) > 0.0, "{measured} in {metrics}");
    }
    if let Some(problems) = problems(&metrics) {
        assert_eq!(problems, "exit status: 0", "{metrics}");
    }
}

#[test]
fn the_linter_finds_wrong_metrics() {
    let wrong = "# TYPE gyre_wrong counter\ngyre_wrong{a=\"b\"} 1\n";
    if let Some(problems) = problems(wrong) {
        assert!(problems.contains("gyre_wrong counter metrics should have \"_total\" suffix"), "{problems}");
        assert!(problems.contains("gyre_wrong no help text"), "{problems}");
    }
    if let Some(problems) = problems("gyre_wrong{a=b} 1\n") {
        assert!(problems.contains("cannot parse the metrics"), "{problems}");
    }
}

#[test]
fn the_dashboard_may_query_exactly_the_served_metrics() {
    let Some(cluster) = Cluster::for_test("known-metrics", &["known-metrics"]) else { return };
    let (_guests, host) = host_of_all_sorts(&cluster, "known-metrics");
    let (_, metrics) = host.http_with("/metrics", OPEN_METRICS);
    let types = |text: &str| -> BTreeSet<String> {
        text.lines().filter(|line| line.starts_with("# TYPE ")).map(str::to_owned).collect()
    };
    let (served, known) = (types(&metrics), types(KNOWN));
    assert_eq!(served.difference(&known).collect::<Vec<_>>(), Vec::<&String>::new(), "not in tests/chart/metrics.txt");
    assert_eq!(known.difference(&served).collect::<Vec<_>>(), Vec::<&String>::new(), "not served");
    assert!(metrics.ends_with("# EOF\n"), "{metrics}");
}

#[test]
fn no_label_grows_with_the_number_of_objects() {
    let Some(cluster) = Cluster::for_test("cardinality", &["cardinality"]) else { return };
    let host = cluster.host(&[gyre_artifacts::ECHO], &["cardinality"]);
    let settled = |range: std::ops::Range<usize>| {
        let count = range.end;
        cluster.apply_all(&echos("cardinality", range));
        cluster.all_ready("cardinality", "echo", count);
        cluster.touch("cardinality", "echo", "echo-0", &count.to_string());
        cluster.settled(&host);
        series(&host)
    };
    let few = settled(0..10);
    let many = settled(10..40);
    // New series of outcomes may appear, because these are limited in number.
    let new: Vec<_> =
        many.difference(&few).filter(|series| !series.contains("result=") && !series.contains("reason=")).collect();
    assert_eq!(new, Vec::<&String>::new());
    let of_an_object: Vec<_> = many.iter().filter(|series| series.contains("echo-")).collect();
    assert_eq!(of_an_object, Vec::<&String>::new());
}
