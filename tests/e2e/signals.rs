use gyre_controlplane::Signal;
use serde_json::json;

use crate::harness::{Cluster, PATIENCE, guest, guest_crds};

#[test]
fn an_idle_host_ends_at_the_first_signal() {
    let Some(cluster) = Cluster::for_test("signal", &["signal"]) else { return };
    for signal in [Signal::Terminate, Signal::Interrupt] {
        let mut host = cluster.host(&[gyre_artifacts::ECHO], &["signal"]);
        host.process.signal(signal).unwrap();
        let status = host.process.wait(PATIENCE).unwrap().expect("it ends");
        assert_eq!(status.code(), Some(0), "{}", host.log());
    }
}

#[test]
fn calls_may_end_after_the_first_signal_and_are_aborted_by_the_second() {
    let Some(cluster) = Cluster::for_test("signals", &["signals"]) else { return };
    let _guests = guest_crds();
    let plugins = [gyre_artifacts::guests::ENDLESS_LOOP];
    cluster.install_crds(&plugins);
    let run = |deadline: &str| {
        let host = cluster.host_with(&plugins, &["signals"], &["--call-deadline", deadline]);
        cluster.eventually("a call", || {
            (host.metric("controller_runtime_active_workers", &["\"endless-loop\""]) == 1.0).then_some(())
        });
        host.process.signal(Signal::Terminate).unwrap();
        cluster
            .eventually("the host to stop", || host.log().contains("stopping: waiting for reconciles in flight").then_some(()));
        host
    };
    cluster.apply(&guest("EndlessLoop", "signals", "it", json!({})).to_string());
    let mut host = run("60s");
    assert!(host.process.exited().unwrap().is_none(), "its call goes on for a minute");
    host.process.signal(Signal::Terminate).unwrap();
    let status = host.process.wait(PATIENCE).unwrap().expect("it ends");
    assert_eq!(status.code(), Some(1), "{}", host.log());

    // A call that ends in time still has its status written.
    let mut host = run("4s");
    let status = host.process.wait(PATIENCE).unwrap().expect("it ends");
    assert_eq!(status.code(), Some(0), "{}", host.log());
    cluster.reason("signals", "endlessloop", "it", "Ready", "DeadlineExceeded");
}
