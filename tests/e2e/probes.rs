//! What the probes say when the API server is gone, and when it is back.

use crate::harness::{Cluster, Host};

/// What `/readyz` says of a check: its line.
fn check(host: &Host, name: &str) -> String {
    let (_, body) = host.http("/readyz?verbose");
    let is_its = |line: &&str| line.get(3..).is_some_and(|line| line.starts_with(name));
    body.lines().find(is_its).unwrap_or_else(|| panic!("{name} is not in {body}")).to_owned()
}

fn is_ok(host: &Host, path: &str) -> bool {
    host.http(path).0.contains(" 200 ")
}

#[test]
fn a_host_is_not_ready_while_its_api_server_is_gone_and_alive_all_the_time() {
    let Some(cluster) = Cluster::for_test("probes", &["probes"]) else { return };
    let (proxy, kubeconfig) = cluster.proxy();
    let host = cluster.host_by(&kubeconfig, &[gyre_artifacts::ECHO], &["probes"], &[]);
    cluster.eventually("it to be ready", || is_ok(&host, "/readyz").then_some(()));
    proxy.cut();
    cluster.eventually("it to be not ready", || (!is_ok(&host, "/readyz")).then_some(()));
    assert!(check(&host, "watches").contains("has been down for"), "{}", check(&host, "watches"));
    assert!(is_ok(&host, "/healthz"), "to start it again would not help");
    proxy.mend();
    cluster.eventually("it to be ready again", || is_ok(&host, "/readyz").then_some(()));
}
