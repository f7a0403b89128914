//! A thousand Echos: how many requests they take, and that there are none after that.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use gyre_controlplane::AuditEvent;

use crate::harness::Cluster;
use crate::plane::Server;

const ECHOS: usize = 1000;
/// In which nothing but watches may be sent. Of a real API server, that cannot be seen sooner.
const QUIET: Duration = Duration::from_secs(60);

fn by_object(events: &[AuditEvent], keep: impl Fn(&AuditEvent) -> bool) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for event in events.iter().filter(|event| keep(event)) {
        *counts.entry(event.name.clone()).or_default() += 1;
    }
    counts
}

fn say(event: &AuditEvent) -> String {
    format!("{} {} {}/{} -> {}", event.verb, event.resource, event.namespace, event.name, event.code)
}

#[test]
fn a_thousand_echos_take_one_write_each_and_then_there_is_silence() {
    let Some(cluster) = Cluster::for_test("scale", &["scale"]) else { return };
    let Some(start) = cluster.audit_mark() else { return };
    let host = cluster.host(&[gyre_artifacts::ECHO, gyre_artifacts::SCHEDULED_ECHO], &["scale"]);
    let mut manifests = String::new();
    for number in 0..ECHOS {
        writeln!(
            manifests,
            "---\napiVersion: mmontes.io/v1alpha1\nkind: Echo\nmetadata: {{name: echo-{number}, namespace: scale}}\nspec: {{message: number {number}}}"
        )
        .unwrap();
    }
    cluster.create(&manifests);
    cluster.eventually("a thousand Jobs", || (cluster.list("scale", "jobs").len() == ECHOS).then_some(()));
    cluster.settled(&host);

    let requests = cluster.requests(start);
    let jobs = by_object(&requests, |event| event.resource == "jobs" && event.is_write());
    let statuses = by_object(&requests, |event| event.resource == "echos" && event.is_write());
    assert_eq!((jobs.len(), statuses.len()), (ECHOS, ECHOS));
    let more_than_one: Vec<_> = jobs.iter().chain(&statuses).filter(|(_, count)| **count > 1).collect();
    assert!(more_than_one.is_empty(), "written more than once: {more_than_one:?}");
    let failed: Vec<_> = requests.iter().filter(|event| event.code >= 400 && event.code != 404).map(say).collect();
    assert!(failed.is_empty(), "{failed:?}");

    let quiet = cluster.audit_mark().unwrap();
    // On devcluster, the simulation tests an hour of silence: tests/sim/tests/simulation/silence.rs.
    if Server::of_this_target() == Server::ControlPlane {
        std::thread::sleep(QUIET);
    }
    let noise: Vec<_> = cluster.requests(quiet).iter().filter(|event| event.resource != "leases").map(say).collect();
    assert!(noise.is_empty(), "{noise:?}");

    drop(host);
    let restart = cluster.audit_mark().unwrap();
    let host = cluster.host(&[gyre_artifacts::ECHO, gyre_artifacts::SCHEDULED_ECHO], &["scale"]);
    cluster.eventually("all to be looked at again", || {
        (host.metric("controller_runtime_reconcile_total", &["\"echo\"", "success"]) >= ECHOS as f64).then_some(())
    });
    cluster.settled(&host);
    let writes: Vec<_> = cluster.requests(restart).iter().filter(|event| event.is_write()).map(say).collect();
    assert!(writes.is_empty(), "{writes:?}");
}
