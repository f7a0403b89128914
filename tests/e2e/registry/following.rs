//! Hosts follow tags, stay with digests, and need no registry for what is in their caches.

use std::io::ErrorKind;

use gyre_artifacts::probes::PROTEAN;
use gyre_controlplane::registry::{Options, digest};
use serde_json::json;

use super::{
    BASIC, BEARER, DEFAULTS, MOUNT, REPOSITORY, Shelf, assert_mounted, await_mounted, await_version, failed_pulls, plugin,
    reconcile,
};
use crate::harness::{Cluster, Host};

/// The digest of the manifest in its registry, as `/debug/state` says it.
fn artifact(host: &Host, mount: &str) -> String {
    host.state_of(mount)["artifact"]["digest"].as_str().unwrap_or_default().to_owned()
}

fn pushes_mounts_and_follows_a_tag(namespace: &str, options: Options, scheme: &str) {
    let Some(cluster) = Cluster::for_test(namespace, &[namespace]) else { return };
    let Some(shelf) = Shelf::or_skip(options) else { return };
    let reference = shelf.tag("1");
    let first = shelf.push_version("1", 1);
    let manifest = shelf.registry.manifest(REPOSITORY, "1").unwrap();
    let layer = manifest["layers"][0]["digest"].as_str().expect("a layer").to_owned();
    assert_eq!(shelf.registry.blob(REPOSITORY, &layer).unwrap(), plugin(1));
    let Some(mark) = cluster.audit_mark() else { return };

    let home = ["--name", namespace, "--home-namespace", namespace];
    let host = shelf.host(&cluster, &[&reference], namespace, &home);
    reconcile(&cluster, namespace, "it", 1);
    assert_mounted(&host, 1);
    assert_eq!(artifact(&host, MOUNT), first);
    assert_eq!(host.state_of(MOUNT)["artifact"]["reference"], reference);

    let second = shelf.push_version("1", 2);
    assert_ne!(first, second);
    await_version(&cluster, namespace, "it", 2);
    assert_mounted(&host, 2);
    assert_eq!(artifact(&host, MOUNT), second);
    assert_eq!(host.metric("gyre_plugin_info", &[&format!("artifact=\"{second}\"")]), 1.0);
    assert_eq!(host.metric("gyre_plugin_info", &[&format!("artifact=\"{first}\"")]), 0.0);
    assert!(host.log().contains(&second), "the log names it");
    cluster.eventually("the inventory to name it", || {
        let inventory = cluster.get(namespace, "configmap", &format!("{namespace}-inventory"))?;
        inventory["data"][MOUNT].as_str()?.contains(&second).then_some(())
    });
    let agents: Vec<String> = cluster.requests(mark).into_iter().map(|event| event.user_agent).collect();
    for digest in [&first, &second] {
        assert!(agents.iter().any(|agent| agent.contains(&format!("; artifact {digest})"))), "{agents:?}");
    }
    // Commands that only read, too.
    let report = shelf.succeed(&["status", "--from", &host.url(), "-o", "json"]);
    assert!(report.contains(&second), "{report}");

    let requests = shelf.registry.requests().unwrap();
    let refused = requests.iter().filter(|request| request.status == 401);
    assert!(refused.clone().count() > 0, "it asks for credentials");
    for request in refused {
        assert_ne!(request.authorization, "Basic", "the password is right: {request:?}");
    }
    let granted = requests.iter().filter(|request| request.path.starts_with("/v2/team/") && request.status < 300);
    for request in granted {
        assert_eq!(request.authorization, scheme, "{request:?}");
    }
}

#[test]
fn a_plugin_behind_basic_authentication_is_mounted_by_its_tag_and_follows_it() {
    pushes_mounts_and_follows_a_tag("behind-basic", BASIC, "Basic");
}

#[test]
fn a_plugin_behind_tokens_is_mounted_by_its_tag_and_follows_it() {
    pushes_mounts_and_follows_a_tag("behind-bearer", BEARER, "Bearer");
}

#[test]
fn a_digest_stays_when_its_tag_moves() {
    let namespace = "pinned";
    let Some(cluster) = Cluster::for_test(namespace, &[namespace]) else { return };
    let Some(shelf) = Shelf::or_skip(DEFAULTS) else { return };
    let tagged = shelf.registry.reference("team/protean:1");
    let digest = shelf.push(&tagged, &std::fs::read(PROTEAN).unwrap());
    let pinned = format!("{tagged}@{digest}");
    shelf.push_version("1", 1);
    let host = shelf.host(&cluster, &[&pinned, &shelf.tag("1")], namespace, &[]);
    reconcile(&cluster, namespace, "it", 1);
    assert_eq!(artifact(&host, "protean"), digest);

    shelf.registry.forget_requests().unwrap();
    // Another plugin, which must not be mounted in its place.
    let moved = shelf.push(&tagged, &plugin(7));
    let of_push = shelf.registry.requests().unwrap().len();
    shelf.push_version("1", 2);
    await_version(&cluster, namespace, "it", 2);
    assert_eq!(artifact(&host, "protean"), digest);
    let requests = shelf.registry.requests().unwrap();
    let about_pinned = requests[of_push..].iter().filter(|request| request.path.contains("team/protean"));
    assert_eq!(about_pinned.count(), 0, "a digest is never asked again");

    // With an empty cache, the digest decides, and the tag is for people.
    drop(host);
    std::fs::remove_dir_all(shelf.cache()).unwrap();
    let report = shelf.succeed(&["inspect", &pinned, "-o", "json"]);
    assert!(report.contains(&digest) && !report.contains(&moved), "{report}");
}

#[test]
fn a_version_in_a_registry_is_previewed_and_shadowed() {
    let namespace = "previewed";
    let Some(cluster) = Cluster::for_test(namespace, &[namespace]) else { return };
    let Some(shelf) = Shelf::or_skip(BEARER) else { return };
    let [now, next] = ["1", "2"].map(|tag| shelf.tag(tag));
    shelf.push_version("1", 1);
    shelf.push_version("2", 2);
    let mount = json!({ "plugin": now, "namespaces": [namespace], "shadow": { "plugin": next } });
    let file = shelf.folder.put("gyre.yaml", json!({ "mounts": [mount] }).to_string());
    let host = shelf.host(&cluster, &[], namespace, &["--config", &file]);
    reconcile(&cluster, namespace, "it", 1);

    let summary = "1 of 1 parent changes: 2 children changed";
    let from = host.url();
    cluster.eventually("the shadow to be compared", || {
        let said = shelf.gyre(&["shadow", "--from", &from]);
        said.stdout.contains("2 children changed").then_some(())
    });
    let kubeconfig = cluster.kubeconfig().display().to_string();
    for arguments in [vec![next.as_str(), "--config", &file], vec![&now, &next, "--namespace", namespace]] {
        let said = shelf.gyre(&[&["diff", "--summary", "--kubeconfig", &kubeconfig], arguments.as_slice()].concat());
        assert_eq!((said.code, said.stdout.trim_end()), (Some(1), summary), "{arguments:?}: {}", said.stderr);
    }
}

#[test]
fn a_registry_that_is_away_keeps_no_host_from_starting_or_running() {
    let namespace = "away";
    let Some(cluster) = Cluster::for_test(namespace, &[namespace]) else { return };
    let Some(shelf) = Shelf::or_skip(BEARER) else { return };
    let reference = shelf.tag("1");
    shelf.push_version("1", 1);
    let host = shelf.host(&cluster, &[&reference], namespace, &[]);
    reconcile(&cluster, namespace, "it", 1);
    drop(host);

    shelf.registry.go_down().unwrap();
    let host = shelf.host(&cluster, &[&reference], namespace, &[]);
    reconcile(&cluster, namespace, "while-away", 1);
    cluster.eventually("the registry to be asked in vain", || (failed_pulls(&host) > 0.0).then_some(()));
    assert!(host.log().contains(&format!("{} cannot be reached", shelf.registry.host())), "{}", host.log());
    assert_eq!(host.metric("gyre_config_refused", &[]), 0.0);

    shelf.registry.come_up().unwrap();
    shelf.push_version("1", 2);
    await_version(&cluster, namespace, "it", 2);

    shelf.registry.go_down().unwrap();
    let failed = failed_pulls(&host);
    cluster.eventually("the registry to be asked in vain", || (failed_pulls(&host) > failed).then_some(()));
    reconcile(&cluster, namespace, "while-away-again", 2);
    assert_mounted(&host, 2);
    shelf.registry.come_up().unwrap();
    shelf.push_version("1", 3);
    await_version(&cluster, namespace, "it", 3);
}

/// Deletes the cache of a running host, which may fill it again meanwhile: then a folder is not
/// empty when it is to go.
fn delete_cache(shelf: &Shelf) {
    while let Err(error) = std::fs::remove_dir_all(shelf.cache()) {
        assert_eq!(error.kind(), ErrorKind::DirectoryNotEmpty, "{error}");
    }
}

#[test]
fn a_cache_that_is_deleted_while_a_host_runs_is_filled_again() {
    let namespace = "cache-deleted";
    let Some(cluster) = Cluster::for_test(namespace, &[namespace]) else { return };
    let Some(shelf) = Shelf::or_skip(DEFAULTS) else { return };
    let reference = shelf.tag("1");
    shelf.push_version("1", 1);
    let host = shelf.host(&cluster, &[&reference], namespace, &[]);
    reconcile(&cluster, namespace, "it", 1);

    delete_cache(&shelf);
    reconcile(&cluster, namespace, "without-cache", 1);
    shelf.push_version("1", 2);
    await_version(&cluster, namespace, "it", 2);
    assert_mounted(&host, 2);
    assert_eq!(host.metric("gyre_config_refused", &[]), 0.0);
    // What was pulled last is there for the next start.
    drop(host);
    shelf.registry.go_down().unwrap();
    let host = shelf.host(&cluster, &[&reference], namespace, &[]);
    reconcile(&cluster, namespace, "from-cache", 2);
    assert_mounted(&host, 2);
}

#[test]
fn two_replicas_share_a_cache_and_follow_a_tag_together() {
    let namespace = "shelf-replicas";
    let Some(cluster) = Cluster::for_test(namespace, &[namespace]) else { return };
    let Some(shelf) = Shelf::or_skip(BEARER) else { return };
    let reference = shelf.tag("1");
    shelf.push_version("1", 1);
    shelf.registry.forget_requests().unwrap();
    let replica = |node: &str| shelf.host(&cluster, &[&reference], namespace, &["--ha", "--ha-node-id", node]);
    let one = replica("one");
    reconcile(&cluster, namespace, "it", 1);
    let other = replica("other");
    await_mounted(&cluster, &other, 1);
    assert_eq!(shelf.pulls(), 1, "the second one finds it in the cache");

    shelf.push_version("1", 2);
    await_version(&cluster, namespace, "it", 2);
    for host in [&one, &other] {
        await_mounted(&cluster, host, 2);
    }
    // Both may begin before one has ended.
    assert!((2..=3).contains(&shelf.pulls()), "{:?}", shelf.registry.requests());
    drop(one);
    reconcile(&cluster, namespace, "after-takeover", 2);
    assert_mounted(&other, 2);
}

#[test]
fn a_pull_policy_says_when_the_registry_is_asked() {
    let Some(shelf) = Shelf::or_skip(DEFAULTS) else { return };
    let reference = shelf.tag("1");
    let config = |pull: &str| {
        let mount = json!({ "plugin": reference, "namespaces": ["default"], "pull": pull });
        shelf.folder.put("gyre.yaml", json!({ "mounts": [mount] }).to_string())
    };
    let requests = || {
        let count = shelf.registry.requests().unwrap().len();
        shelf.registry.forget_requests().unwrap();
        count
    };
    shelf.push_version("1", 1);
    requests();
    let said = shelf.fail(&["validate", &config("Never")]);
    assert!(said.contains(", and pull is Never"), "{said}");
    assert_eq!(requests(), 0, "Never asks no registry");
    shelf.succeed(&["validate", &config("IfNotPresent")]);
    assert!(requests() > 0);
    for pull in ["IfNotPresent", "Never"] {
        shelf.succeed(&["validate", &config(pull)]);
        assert_eq!(requests(), 0, "{pull} is content with the cache");
    }
    shelf.succeed(&["validate", &config("Always")]);
    assert_eq!(shelf.pulls(), 0, "the content is in the cache");
    assert!(requests() > 0);

    shelf.registry.go_down().unwrap();
    for pull in ["IfNotPresent", "Never", "Always"] {
        shelf.succeed(&["validate", &config(pull)]);
    }
    std::fs::remove_dir_all(shelf.cache()).unwrap();
    for pull in ["IfNotPresent", "Always"] {
        let said = shelf.fail(&["validate", &config(pull)]);
        assert!(said.contains("cannot be reached"), "{pull}: {said}");
    }
}

#[test]
fn a_plugin_in_a_file_can_be_pinned_to_a_digest() {
    let Some(shelf) = Shelf::or_skip(DEFAULTS) else { return };
    let (file, other) = (shelf.folder.put("it.wasm", plugin(1)), shelf.folder.put("other.wasm", plugin(2)));
    let (pinned, found) = (digest(&plugin(1)), digest(&plugin(2)));
    let config = |plugin: &str| {
        let mount = json!({ "plugin": plugin, "namespaces": ["default"], "digest": pinned });
        shelf.folder.put("gyre.yaml", json!({ "mounts": [mount] }).to_string())
    };
    shelf.succeed(&["validate", &config(&file)]);
    let said = shelf.fail(&["validate", &config(&other)]);
    assert!(said.contains(&format!("has the digest {found}, not {pinned}")), "{said}");

    // The same of a reference: the digest of the component, beside the one of the manifest.
    let pushed = shelf.push_version("1", 1);
    assert_ne!(pushed, pinned);
    shelf.succeed(&["validate", &config(&shelf.tag("1"))]);
    let another = shelf.push_version("1", 2);
    let said = shelf.fail(&["validate", &config(&format!("{}@{another}", shelf.tag("1")))]);
    assert!(said.contains(&format!("has the digest {found}, not {pinned}")), "{said}");
    shelf.succeed(&["validate", &config(&format!("{}@{pushed}", shelf.tag("1")))]);
}
