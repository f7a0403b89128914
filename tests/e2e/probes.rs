use std::process::Command;
use std::time::Duration;

use gyre_artifacts::guests;
use gyre_controlplane::Guarded;
use serde_json::json;

use crate::harness::{Cluster, GYRE, Host, guest, guest_crds};
use crate::network::Way;

fn check(host: &Host, name: &str) -> String {
    let (_, body) = host.http("/readyz?verbose");
    let is_its = |line: &&str| line.get(3..).is_some_and(|line| line.starts_with(name));
    body.lines().find(is_its).unwrap_or_else(|| panic!("{name} is not in {body}")).to_owned()
}

fn is_ok(host: &Host, path: &str) -> bool {
    host.http(path).0.contains(" 200 ")
}

fn ready(cluster: &Cluster, host: &Host) {
    cluster.eventually("it to be ready", || is_ok(host, "/readyz").then_some(()));
}

/// Waits until the host is not ready because of this check, and asserts that it stays alive.
fn not_ready(cluster: &Cluster, host: &Host, name: &str, why: &str) {
    cluster.eventually(&format!("{name} to fail"), || {
        assert!(is_ok(host, "/healthz"), "a restart would not bring the API server back");
        let line = check(host, name);
        (line.starts_with("[-]") && line.contains(why)).then_some(())
    });
    assert!(!is_ok(host, "/readyz"));
}

#[test]
fn a_host_is_not_ready_while_its_api_server_is_gone_and_alive_all_the_time() {
    let Some(cluster) = Cluster::for_test("probes", &["probes"]) else { return };
    let (link, kubeconfig) = cluster.link();
    let host = cluster.host_as(&kubeconfig, &[gyre_artifacts::ECHO], &["probes"], &[]);
    ready(&cluster, &host);

    link.set(Way::BROKEN);
    not_ready(&cluster, &host, "api-server", "");
    not_ready(&cluster, &host, "watches", "has been down for");
    link.set(Way::OPEN);
    ready(&cluster, &host);

    link.set(Way::STALLED);
    not_ready(&cluster, &host, "api-server", "it has not answered for");
    assert!(check(&host, "watches").starts_with("[+]"), "a watch may well be silent for so long");
    link.set(Way::OPEN);
    ready(&cluster, &host);
    cluster.apply(r#"{"apiVersion":"mmontes.io/v1alpha1","kind":"Echo","metadata":{"name":"it","namespace":"probes"},"spec":{"message":"hello"}}"#);
    cluster.ready("probes", "echo", "it");
}

#[test]
fn a_host_that_starts_without_its_api_server_is_alive_and_not_ready_until_there_is_one() {
    let Some(cluster) = Cluster::for_test("probes-start", &["probes-start"]) else { return };
    let (link, kubeconfig) = cluster.link();
    link.set(Way::BROKEN);
    let host = cluster.host_as(&kubeconfig, &[gyre_artifacts::ECHO], &["probes-start"], &[]);
    not_ready(&cluster, &host, "api-server", "it has not answered yet");
    link.set(Way::OPEN);
    ready(&cluster, &host);
}

#[test]
fn a_host_whose_plugins_never_answer_is_alive_and_ready() {
    let Some(cluster) = Cluster::for_test("probes-loop", &["probes-loop"]) else { return };
    let _guests = guest_crds();
    cluster.install_crds(&[guests::ENDLESS_LOOP]);
    let host = cluster.host_with(&[guests::ENDLESS_LOOP], &["probes-loop"], &["--call-deadline", "500ms"]);
    ready(&cluster, &host);
    let names: Vec<String> = (0..8).map(|number| format!("it-{number}")).collect();
    cluster.apply_all(&names.iter().map(|name| guest("EndlessLoop", "probes-loop", name, json!({}))).collect::<Vec<_>>());
    cluster.eventually("calls that were ended", || {
        assert!(is_ok(&host, "/healthz") && is_ok(&host, "/readyz"));
        (host.metric("gyre_plugin_calls_total", &["DeadlineExceeded"]) >= 5.0).then_some(())
    });
    assert!(host.http("/healthz?verbose").1.contains("[+]calls ok"), "{}", host.http("/healthz?verbose").1);
}

#[test]
fn probes_list_their_checks_and_exclude_checks_on_request() {
    let Some(cluster) = Cluster::for_test("probes-verbose", &["probes-verbose"]) else { return };
    let (link, kubeconfig) = cluster.link();
    let host = cluster.host_as(&kubeconfig, &[gyre_artifacts::ECHO], &["probes-verbose"], &[]);
    ready(&cluster, &host);
    cluster.eventually("a host whose mounts have started", || (host.http("/readyz").1 == "ok\n").then_some(()));
    let all = "[+]api-server ok\n[+]election ok\n[+]inventory ok\n[+]mounts ok\n[+]watches ok\ncheck passed\n";
    assert_eq!(host.http("/readyz?verbose").1, all);
    assert_eq!(host.http("/healthz?verbose").1, "[+]queue ok\n[+]calls ok\n[+]tasks ok\ncheck passed\n");
    link.set(Way::BROKEN);
    not_ready(&cluster, &host, "watches", "");
    let (status, body) = host.http("/readyz?exclude=watches&exclude=api-server&verbose");
    assert!(status.contains(" 200 "), "{status}");
    assert_eq!(
        body,
        all.replace("[+]api-server ok", "[+]api-server excluded: ok").replace("[+]watches ok", "[+]watches excluded: ok")
    );
}

/// Outside of a Pod, nobody on another machine asks for the probes.
#[test]
fn a_host_outside_of_a_pod_listens_on_this_machine_only() {
    let Some(cluster) = Cluster::for_test("loopback", &["loopback"]) else { return };
    let log = cluster.plane.folder().join("host-loopback.log");
    let mut command = Command::new(GYRE);
    command.args(["run", gyre_artifacts::ECHO, "--namespace", "loopback", "--home-namespace", "loopback"]);
    command.arg("--kubeconfig").arg(cluster.kubeconfig()).env("GYRE_METRICS_PORT", "0").env("NO_COLOR", "1");
    command.env_remove("KUBERNETES_SERVICE_HOST");
    let _host = Guarded::spawn("gyre", &command, &log, Duration::from_secs(10)).unwrap();
    let line = cluster.eventually("the host to listen", || {
        let log = std::fs::read_to_string(&log).unwrap_or_default();
        log.lines().find(|line| line.contains("serving /healthz")).map(str::to_owned)
    });
    assert!(line.contains("127.0.0.1:"), "{line}");
}
