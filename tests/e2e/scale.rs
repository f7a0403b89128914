//! A thousand Echos: the number of requests, and the silence afterwards.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use gyre_controlplane::AuditEvent;

use crate::harness::Cluster;
use crate::plane::Server;

const ECHOS: usize = 1000;
/// The time in which only watches may be sent. A real API server offers no faster way.
const QUIET: Duration = Duration::from_secs(60);

fn echo_of(event: &AuditEvent) -> Option<String> {
    // The audit log of a real server has the name of a created object only in its body.
    let in_body = |pointer: &str| {
        let bodies = [&event.request_object, &event.response_object].into_iter().flatten();
        bodies.filter_map(|body| body.pointer(pointer)?.as_str()).next().map(str::to_owned)
    };
    if event.resource == "events" {
        return in_body("/regarding/name").or_else(|| in_body("/involvedObject/name"));
    }
    Some(event.name.clone()).filter(|name| !name.is_empty()).or_else(|| in_body("/metadata/name"))
}

fn verb_and_resource(event: &AuditEvent) -> String {
    let subresource = if event.subresource.is_empty() { String::new() } else { format!("/{}", event.subresource) };
    format!("{} {}{subresource} {}", event.verb, event.resource, event.code)
}

fn describe(event: &AuditEvent) -> String {
    format!("{} {} {}/{} -> {}", event.verb, event.resource, event.namespace, event.name, event.code)
}

#[test]
fn a_thousand_echos_need_one_write_each_and_then_none() {
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
    let mut by_echo: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for event in requests.iter().filter(|event| ["echos", "jobs", "events"].contains(&event.resource.as_str())) {
        if let Some(echo) = echo_of(event) {
            by_echo.entry(echo).or_default().push(verb_and_resource(event));
        }
    }
    let mut expected = vec!["create jobs 201", "patch echos/status 200"];
    // An audit log without bodies does not name the object of an Event.
    let names_objects = requests.iter().any(|event| event.resource == "events" && echo_of(event).is_some());
    expected.extend(names_objects.then_some("create events 201"));
    expected.sort_unstable();
    by_echo.values_mut().for_each(|asked| asked.sort_unstable());
    let others: Vec<_> = by_echo.iter().filter(|(_, asked)| **asked != expected).collect();
    assert!(others.is_empty(), "{others:?}");
    assert_eq!(by_echo.len(), ECHOS);
    assert_eq!(requests.iter().filter(|event| event.resource == "events").count(), ECHOS, "an Event each");
    let failed: Vec<_> = requests.iter().filter(|event| event.code >= 400 && event.code != 404).map(describe).collect();
    assert!(failed.is_empty(), "{failed:?}");

    let quiet = cluster.audit_mark().unwrap();
    // For devcluster, a simulation tests an hour of silence: tests/sim/tests/simulation/silence.rs.
    if Server::of_this_run() == Server::ControlPlane {
        std::thread::sleep(QUIET);
    }
    let noise: Vec<_> = cluster.requests(quiet).iter().filter(|event| event.resource != "leases").map(describe).collect();
    assert!(noise.is_empty(), "{noise:?}");

    drop(host);
    let restart = cluster.audit_mark().unwrap();
    let host = cluster.host(&[gyre_artifacts::ECHO, gyre_artifacts::SCHEDULED_ECHO], &["scale"]);
    cluster.eventually("all to be looked at again", || {
        (host.metric("controller_runtime_reconcile_total", &["\"echo\"", "success"]) >= ECHOS as f64).then_some(())
    });
    cluster.settled(&host);
    let writes: Vec<_> = cluster.requests(restart).iter().filter(|event| event.is_write()).map(describe).collect();
    assert!(writes.is_empty(), "{writes:?}");
}
