use std::collections::{BTreeMap, BTreeSet};

use gyre_controlplane::{AuditEvent, Mark, Stage};
use serde_json::{Value, json};

use crate::harness::{Cluster, Folder, Host, guest};

const NAMESPACE: &str = "many";
const TENANTS: u64 = 20;
const LATE: u64 = TENANTS;

fn kind(number: u64) -> String {
    format!("Tenant{number:02}")
}

fn file(number: u64) -> String {
    format!("tenant-{number:02}.wasm")
}

fn put(folder: &Folder, number: u64) -> String {
    folder.put(&file(number), gyre_artifacts::tenant(number).unwrap())
}

fn parent(number: u64, name: &str) -> Value {
    guest(&kind(number), NAMESPACE, &format!("t{number:02}-{name}"), json!({ "text": name }))
}

/// Returns the watches since a mark, by resource, and whether each is still open.
fn watches(cluster: &Cluster, since: Mark) -> BTreeMap<String, Vec<bool>> {
    let events = cluster.watches(since);
    let is = |event: &AuditEvent, stage| event.stage == stage;
    let ended: BTreeSet<&str> =
        events.iter().filter(|event| is(event, Stage::ResponseComplete)).map(|event| event.id.as_str()).collect();
    let mut watches: BTreeMap<String, Vec<bool>> = BTreeMap::new();
    for event in events.iter().filter(|event| is(event, Stage::ResponseStarted)) {
        watches.entry(event.resource.clone()).or_default().push(!ended.contains(event.id.as_str()));
    }
    watches
}

fn resource(number: u64) -> String {
    kind(number).to_lowercase() + "s"
}

fn one_each(numbers: impl Iterator<Item = u64>) -> BTreeMap<String, Vec<bool>> {
    numbers.map(resource).chain(["configmaps".to_owned()]).map(|resource| (resource, vec![true])).collect()
}

fn mounted(cluster: &Cluster, host: &Host, count: usize) {
    cluster.eventually(&format!("{count} mounts to run"), || {
        let state: Value = serde_json::from_str(&host.http("/debug/state").1).ok()?;
        let mounts = state["mounts"].as_array()?;
        let all_run = mounts.len() == count && mounts.iter().all(|mount| mount["phase"] == "Running");
        (all_run && state["leaving"] == json!([])).then_some(())
    });
}

fn has_child(cluster: &Cluster, number: u64, name: &str) -> Value {
    cluster.eventually(&format!("the child of {name} of tenant {number}"), || {
        cluster.get(NAMESPACE, "configmap", &format!("t{number:02}-{name}")).filter(|child| child["data"]["text"] == name)
    })
}

/// Returns the metric of the size of a mount's cache, or `None` if there is no cache.
fn cached(host: &Host, number: u64) -> Option<String> {
    let (_, metrics) = host.http("/metrics");
    let is_it = |line: &&str| line.starts_with("gyre_cached_objects{") && line.contains(&format!("\"{}.v1", kind(number)));
    metrics.lines().find(is_it).and_then(|line| Some(line.rsplit_once(' ')?.1.to_owned()))
}

#[test]
fn twenty_plugins_need_one_watch_for_each_kind_and_later_mounts_only_their_own() {
    let Some(cluster) = Cluster::for_test(NAMESPACE, &[NAMESPACE]) else { return };
    let folder = Folder::new();
    let shelf = Folder::new();
    let files: Vec<String> = (0..=LATE).map(|number| put(&shelf, number)).collect();
    cluster.install_crds(&files.iter().map(String::as_str).collect::<Vec<_>>());
    (0..TENANTS).for_each(|number| drop(put(&folder, number)));
    let parents: Vec<Value> = (0..=LATE).flat_map(|number| ["one", "two"].map(|name| parent(number, name))).collect();
    cluster.apply_all(&parents);

    let Some(start) = cluster.audit_mark() else { return };
    let host = cluster.host_with(&[], &[NAMESPACE], &["--plugin-dir", &folder.path(), "--plugin-dir-grace=0"]);
    mounted(&cluster, &host, TENANTS as usize);
    for number in 0..TENANTS {
        has_child(&cluster, number, "one");
        has_child(&cluster, number, "two");
    }
    cluster.settled(&host);
    assert_eq!(watches(&cluster, start), one_each(0..TENANTS));

    assert!(cluster.get(NAMESPACE, "configmap", "t20-one").is_none());
    put(&folder, LATE);
    mounted(&cluster, &host, TENANTS as usize + 1);
    has_child(&cluster, LATE, "one");
    has_child(&cluster, LATE, "two");
    cluster.settled(&host);
    assert_eq!(watches(&cluster, start), one_each(0..=LATE));
    assert_eq!(cached(&host, LATE).as_deref(), Some("2"));

    let gone = 0..TENANTS / 2;
    gone.clone().for_each(|number| folder.remove(&file(number)));
    mounted(&cluster, &host, (TENANTS - TENANTS / 2) as usize + 1);
    let ended = cluster.eventually("the watches of those to end", || {
        let now = watches(&cluster, start);
        gone.clone().all(|number| now[&resource(number)] == [false]).then_some(now)
    });
    for number in TENANTS / 2..=LATE {
        assert_eq!(ended[&resource(number)], [true], "{number}");
    }
    assert_eq!(ended["configmaps"], [true]);
    cluster.eventually("what is not watched not to be counted", || cached(&host, 0).is_none().then_some(()));

    let child = has_child(&cluster, 3, "one");
    let Some(back) = cluster.audit_mark() else { return };
    // The metric outlasts the mount.
    let reconciles = || host.metric("controller_runtime_reconcile_total", &["\"tenant-03\"", "success"]);
    let before = reconciles();
    put(&folder, 3);
    mounted(&cluster, &host, (TENANTS - TENANTS / 2) as usize + 2);
    cluster.eventually("its parents to be reconciled", || (reconciles() >= before + 2.0).then_some(()));
    cluster.settled(&host);
    assert_eq!(has_child(&cluster, 3, "one"), child);
    let writes: Vec<_> = cluster.requests(back).into_iter().filter(AuditEvent::is_write).collect();
    assert!(writes.is_empty(), "{writes:?}");
    assert_eq!(watches(&cluster, back), BTreeMap::from([(resource(3), vec![true])]));

    (TENANTS / 2..=LATE).chain([3]).for_each(|number| folder.remove(&file(number)));
    mounted(&cluster, &host, 0);
    cluster
        .eventually("all watches to end", || watches(&cluster, start).values().flatten().all(|is_open| !is_open).then_some(()));
    cluster.eventually("no object to be cached", || (host.metric("gyre_cached_objects", &[]) == 0.0).then_some(()));
}
