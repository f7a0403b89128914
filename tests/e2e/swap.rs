//! A plugin is replaced repeatedly while its objects change.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Instant, SystemTime};

use gyre_controlplane::AuditEvent;
use gyre_sandbox::Digest;
use serde_json::{Value, json};

use crate::harness::{Cluster, Folder, Host, UNHURRIED, guest};

const NAMESPACE: &str = "swap";
const PARENTS: usize = 500;
const SWAPS: u64 = 30;
const WORKERS: usize = 4;
const PLUGIN: &str = "versioned.wasm";

fn name(parent: usize) -> String {
    format!("it-{parent:03}")
}

fn parents(text: &str) -> Vec<Value> {
    (0..PARENTS).map(|parent| guest("Versioned", NAMESPACE, &name(parent), json!({ "text": text }))).collect()
}

/// The versions of the plugin by their digests, which are in the host's user agent.
struct Versions(BTreeMap<String, u64>);

impl Versions {
    fn of(&self, write: &AuditEvent) -> u64 {
        let agent = &write.user_agent;
        let digest = agent.strip_prefix("gyre/").and_then(|agent| agent.rsplit_once("; ")?.1.strip_suffix(')'));
        assert!(agent.contains("(versioned/"), "{agent}");
        *digest.and_then(|digest| self.0.get(digest)).unwrap_or_else(|| panic!("no version that was mounted: {agent}"))
    }
}

/// Returns the time at which each version became active, from the log.
fn takeovers(log: &str, versions: &Versions) -> Vec<(SystemTime, u64)> {
    let lines = log.lines().filter(|line| line.contains("the new plugin and configuration are active"));
    let takeover = |line: &str| {
        let time: jiff::Timestamp = line.split_once(' ')?.0.parse().ok()?;
        let digest = line.split_once("digest=")?.1.split_once(' ')?.0;
        Some((time.into(), *versions.0.get(digest)?))
    };
    lines.map(|line| takeover(line).unwrap_or_else(|| panic!("{line}"))).collect()
}

/// Replaces the plugin by each next version, as soon as the previous one has been called.
fn swap_all(cluster: &Cluster, host: &Host, folder: &Folder, plugins: &[Vec<u8>]) {
    for plugin in plugins {
        folder.put(PLUGIN, plugin);
        let digest = Digest::of(plugin).to_string();
        cluster.eventually("the next version to take over", || (host.state_of("versioned")["digest"] == *digest).then_some(()));
        // At most `WORKERS` of the calls that end from now on are of an earlier version.
        let calls = host.calls("versioned");
        cluster.eventually("a call of this version", || (host.calls("versioned") > calls + WORKERS as f64).then_some(()));
    }
}

/// The version that wants no children.
const EMPTY: u64 = 9_999_999_999;

#[test]
fn a_version_that_returns_no_children_deletes_nothing_until_it_is_released() {
    const NAMESPACE: &str = "emptied";
    const PARENTS: usize = 30;
    let Some(cluster) = Cluster::for_test(NAMESPACE, &[NAMESPACE]) else { return };
    let folder = Folder::new();
    let path = folder.put(PLUGIN, gyre_artifacts::versioned(0).unwrap());
    let code = Folder::new();
    let start = || cluster.host_with(&[&path], &[NAMESPACE], &["--code-cache", &code.path()]);
    let host = start();
    let parents: Vec<Value> = (0..PARENTS).map(|parent| guest("Versioned", NAMESPACE, &name(parent), json!({}))).collect();
    cluster.apply_all(&parents);
    cluster.all_ready(NAMESPACE, "versioned", PARENTS);

    let empty = gyre_artifacts::versioned(EMPTY).unwrap();
    folder.put(PLUGIN, &empty);
    let held = |host: &Host| host.metric("gyre_held_deletions", &["versioned"]);
    let all_held = |host: &Host| {
        cluster.eventually("all deletions to be held", || (held(host) == 2.0 * PARENTS as f64).then_some(()));
        assert_eq!(
            host.state_of("versioned")["heldDeletions"],
            json!([{ "kind": "ConfigMap.v1", "children": 60, "parents": 30 }])
        );
        for parent in 0..PARENTS {
            cluster.reason(NAMESPACE, "versioned", &name(parent), "Ready", "DeletionHeld");
        }
    };
    let maps = || {
        let mut maps = cluster.list(NAMESPACE, "configmaps");
        maps.retain(|map| map["metadata"]["labels"]["gyre.dev/plugin"] == "versioned");
        maps.len()
    };
    all_held(&host);
    drop(host);
    let host = start();
    all_held(&host);
    assert_eq!(maps(), 2 * PARENTS);
    assert!(!cluster.events(NAMESPACE, &name(0), "DeletionHeld").is_empty());

    let digest = &Digest::of(&empty).to_string()[..12];
    let release = format!("gyre.dev/release-deletions={digest}/{}", jiff::Timestamp::now().strftime("%F"));
    cluster.kubectl(&["annotate", "-n", NAMESPACE, "versioned", &name(0), &release]);
    cluster.eventually("one parent to be released", || (maps() == 2 * (PARENTS - 1)).then_some(()));
    cluster.kubectl(&["annotate", "-n", NAMESPACE, "versioned", "--all", &release]);
    cluster.eventually("all to be released", || (maps() == 0 && held(&host) == 0.0).then_some(()));
    cluster.all_ready(NAMESPACE, "versioned", PARENTS);
    cluster.settled(&host);
}

#[test]
fn a_plugin_that_is_replaced_repeatedly_loses_no_change_and_mixes_no_versions() {
    let Some(cluster) = Cluster::for_test(NAMESPACE, &[NAMESPACE]) else { return };
    let folder = Folder::new();
    let plugins: Vec<Vec<u8>> = (0..=SWAPS).map(|version| gyre_artifacts::versioned(version).unwrap()).collect();
    let versions = Versions(plugins.iter().map(|plugin| Digest::of(plugin).to_string()).zip(0..).collect());
    let path = folder.put(PLUGIN, &plugins[0]);
    let Some(start) = cluster.audit_mark() else { return };
    let code = Folder::new();
    let (code, workers) = (code.path(), WORKERS.to_string());
    let arguments = [&["--code-cache", &code, "--workers", &workers], &UNHURRIED[..]].concat();
    let host = cluster.host_with(&[&path], &[NAMESPACE], &arguments);
    cluster.apply_all(&parents("first"));
    cluster.all_ready(NAMESPACE, "versioned", PARENTS);

    let began = Instant::now();
    let rounds = std::thread::scope(|scope| {
        let swapping = scope.spawn(|| swap_all(&cluster, &host, &folder, &plugins[1..]));
        let mut rounds = 0;
        while !swapping.is_finished() {
            rounds += 1;
            cluster.apply_all(&parents(&format!("round {rounds}")));
        }
        rounds
    });
    eprintln!("{SWAPS} swaps and {rounds} rounds of {PARENTS} changes in {:?}", began.elapsed());
    cluster.apply_all(&parents("last"));
    let newest = format!("{SWAPS:010}");
    cluster.eventually("the last change in the newest version", || {
        let children = cluster.list(NAMESPACE, "configmaps");
        let is_last = |child: &&Value| child["data"]["text"] == "last" && child["data"]["version"] == newest.as_str();
        (children.iter().filter(is_last).count() == 2 * PARENTS).then_some(())
    });
    eprintln!("all had come to rest after {:?}", began.elapsed());
    cluster.all_ready(NAMESPACE, "versioned", PARENTS);
    cluster.settled(&host);

    // Reconciles fail only if their parent changed before the status was written.
    let errors = host.metric("controller_runtime_reconcile_errors_total", &[]);
    let stale = host.metric("gyre_plugin_problems_total", &["\"Stale\""]);
    assert_eq!((errors, host.metric("gyre_plugin_problems_total", &[])), (stale, stale));
    eprintln!("{} parents changed under a reconcile", stale.abs());
    let calls = |parts: &[&str]| host.metric("gyre_plugin_calls_total", parts);
    assert_eq!(calls(&[]), calls(&["\"Success\""]));
    let state = host.state_of("versioned");
    assert_eq!(
        (&state["queue"]["queued"], &state["queue"]["delayed"], &state["queue"]["parkedCount"]),
        (&json!(0), &json!([]), &json!(0))
    );
    assert_eq!(state["digest"], Digest::of(&plugins[SWAPS as usize]).to_string());
    let reloads = host.metric("gyre_config_reloads_total", &["\"taken\""]);
    assert_eq!(host.metric("gyre_config_reloads_total", &["\"refused\""]), 0.0);

    // A reconcile writes one child and then the other, and excludes others of the same parent.
    let mut by_parent: BTreeMap<String, Vec<(u64, String)>> = BTreeMap::new();
    let mut writes = cluster.requests(start);
    // The first change of a child also writes its managed fields.
    writes.retain(|event| {
        event.is_write() && event.resource == "configmaps" && !event.uri.contains("fieldManager=gyre-managed-fields")
    });
    writes.sort_by_key(|event| event.received);
    for write in &writes {
        assert!(write.succeeded(), "{write:?}");
        let (parent, end) = write.name.rsplit_once('-').expect("the name of a child");
        by_parent.entry(parent.to_owned()).or_default().push((versions.of(write), end.to_owned()));
    }
    assert_eq!(by_parent.len(), PARENTS);
    let mut seen: BTreeMap<u64, usize> = BTreeMap::new();
    for (parent, writes) in &by_parent {
        let mut last = 0;
        for pair in writes.chunks(2) {
            let [(one, first), (two, second)] = pair else { panic!("{parent}: half a reconcile: {writes:?}") };
            assert_eq!((first.as_str(), second.as_str()), ("one", "two"), "{parent}: {writes:?}");
            assert_eq!(one, two, "{parent}: {writes:?}");
            assert!(*one >= last, "{parent}: an older version after a newer one: {writes:?}");
            last = *one;
            *seen.entry(last).or_default() += 1;
        }
        assert_eq!(last, SWAPS, "{parent}: {writes:?}");
    }

    // Calls in progress at a swap end with their version; there are at most as many as workers.
    let mut finished_late = 0;
    for (time, version) in takeovers(&host.log(), &versions) {
        let late = |event: &&AuditEvent| event.received > time && versions.of(event) < version;
        let parents: BTreeSet<&str> =
            writes.iter().filter(late).filter_map(|event| Some(event.name.rsplit_once('-')?.0)).collect();
        assert!(parents.len() <= WORKERS, "after version {version} had taken over: {parents:?}");
        finished_late += parents.len();
    }
    eprintln!("{finished_late} reconciles ended in a version that was replaced meanwhile");
    eprintln!("{reloads} reloads; reconciles that wrote, by version: {seen:?}");
    assert_eq!(seen.len() as u64, SWAPS + 1, "{seen:?}");
}
