//! What is not signed as the configuration demands is not compiled.

use std::path::Path;

use gyre_controlplane::registry::{Options, Referrers};
use serde_json::{Value, json};

use super::{BEARER, REPOSITORY, Shelf, assert_mounted, await_log, await_version, failed_pulls, reconcile};
use crate::harness::{Cluster, Host};

/// A pair of keys in files.
struct Keys {
    private: String,
    public: String,
}

impl Keys {
    fn new(shelf: &Shelf, name: &str) -> Self {
        let (private, public) = shelf.registry.new_keys(name).expect("keys");
        Self { private: private.display().to_string(), public: public.display().to_string() }
    }
}

fn config(shelf: &Shelf, namespace: &str, verify: &Value) -> String {
    let mount = json!({ "plugin": shelf.tag("1"), "namespaces": [namespace], "verify": verify });
    shelf.folder.put("gyre.yaml", json!({ "mounts": [mount] }).to_string())
}

fn sign(shelf: &Shelf, keys: &Keys, reference: &str) {
    shelf.succeed(&["sign", "--key", &keys.private, reference]);
}

/// The compiled plugins in a code cache.
fn compiled(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let count = entries.map(|entry| if entry.path().is_dir() { compiled(&entry.path()) } else { 1 });
    count.sum()
}

fn follows_signed_versions(namespace: &str, options: Options) {
    let Some(cluster) = Cluster::for_test(namespace, &[namespace]) else { return };
    let Some(shelf) = Shelf::or_skip(options) else { return };
    let (keys, others) = (Keys::new(&shelf, "our"), Keys::new(&shelf, "other"));
    let code = shelf.path("code");
    let first = shelf.push_version("1", 1);
    sign(&shelf, &keys, &shelf.tag("1"));
    let config = config(&shelf, namespace, &json!({ "keys": [keys.public] }));
    let host = shelf.host(&cluster, &[], namespace, &["--config", &config, "--code-cache", &code]);
    reconcile(&cluster, namespace, "it", 1);
    let before = compiled(Path::new(&code));
    assert!(before > 0);

    let refused = |host: &Host, version: u64, sentence: &str, push: &dyn Fn()| {
        let (failed, since) = (failed_pulls(host), host.log().len());
        push();
        await_log(&cluster, host, since, sentence);
        assert!(failed_pulls(host) > failed);
        reconcile(&cluster, namespace, &format!("amid-{version}"), 1);
        assert_mounted(host, 1);
        assert_eq!(compiled(Path::new(&code)), before, "version {version} was compiled");
    };
    refused(&host, 2, "it has no signature", &|| drop(shelf.push_version("1", 2)));
    refused(&host, 3, "by another key", &|| {
        let pushed = shelf.push_version("3", 3);
        sign(&shelf, &others, &format!("{}@{pushed}", shelf.tag("3")));
        shelf.push_version("1", 3);
    });
    if options.referrers == Referrers::Served {
        refused(&host, 4, &format!("about {first}"), &|| {
            let pushed = shelf.push_version("4", 4);
            move_signature(&shelf, &first, &pushed);
            shelf.push_version("1", 4);
        });
    }
    assert_eq!(host.metric("gyre_config_refused", &[]), 0.0);

    shelf.push_version("5", 5);
    sign(&shelf, &keys, &shelf.tag("5"));
    shelf.push_version("1", 5);
    await_version(&cluster, namespace, "it", 5);
    assert!(compiled(Path::new(&code)) > before);

    // A later start verifies what is in the cache, also while the registry is away.
    drop(host);
    shelf.registry.go_down().unwrap();
    let host = shelf.host(&cluster, &[], namespace, &["--config", &config, "--code-cache", &code]);
    reconcile(&cluster, namespace, "after-restart", 5);
    assert_mounted(&host, 5);
}

/// Attaches the signature of one manifest to another one, as who can only write to the registry can.
fn move_signature(shelf: &Shelf, from: &str, to: &str) {
    let mut signatures = shelf.registry.referrers(REPOSITORY, from).unwrap();
    let mut signature = signatures.pop().expect("a signature");
    signature["subject"]["digest"] = json!(to);
    shelf.registry.put_manifest(REPOSITORY, "moved", &signature).unwrap();
}

#[test]
fn only_versions_that_are_signed_by_the_key_are_compiled() {
    follows_signed_versions("signed", BEARER);
}

#[test]
fn signatures_are_found_in_a_registry_without_the_referrers_api() {
    follows_signed_versions("tag-signed", Options { referrers: Referrers::Absent, ..BEARER });
}

#[test]
fn each_way_of_not_being_signed_as_demanded_has_its_own_sentence() {
    let Some(shelf) = Shelf::or_skip(BEARER) else { return };
    let (keys, others) = (Keys::new(&shelf, "our"), Keys::new(&shelf, "other"));
    let verified = |verify: &Value| {
        let config = config(&shelf, "default", verify);
        shelf.gyre(&["validate", &config])
    };
    let by = |keys: &Keys| json!({ "keys": [keys.public] });
    shelf.push_version("1", 1);
    let unsigned = verified(&by(&keys));
    assert!(unsigned.stderr.contains("it has no signature"), "{}", unsigned.stderr);
    sign(&shelf, &keys, &shelf.tag("1"));
    assert_eq!(verified(&by(&keys)).code, Some(0));
    let by_another = verified(&by(&others));
    assert!(by_another.stderr.contains("by another key"), "{}", by_another.stderr);
    // One of several keys is enough.
    assert_eq!(verified(&json!({ "keys": [others.public, keys.public] })).code, Some(0));
    let unlogged = verified(&json!({ "keys": [keys.public], "log": "Required" }));
    assert!(unlogged.stderr.contains("transparency log"), "{}", unlogged.stderr);
    let unannotated = verified(&json!({ "keys": [keys.public], "annotations": { "team": "a" } }));
    assert!(unannotated.stderr.contains("annotation"), "{}", unannotated.stderr);
    let keyless = json!({ "identities": [{ "issuer": "https://issuer.example.com", "subject": "somebody@example.com" }] });
    assert_ne!(verified(&keyless).code, Some(0));
    for refused in [unsigned, by_another, unlogged, unannotated] {
        assert_eq!(refused.code, Some(1));
        assert!(refused.stderr.contains("is not signed as the configuration demands"), "{}", refused.stderr);
    }
}

#[test]
fn the_command_verify_says_the_same_as_a_host() {
    let Some(shelf) = Shelf::or_skip(BEARER) else { return };
    let (keys, others) = (Keys::new(&shelf, "our"), Keys::new(&shelf, "other"));
    let pushed = shelf.push_version("1", 1);
    let said = shelf.fail(&["verify", "--key", &keys.public, &shelf.tag("1")]);
    assert!(said.contains("it has no signature"), "{said}");
    sign(&shelf, &keys, &shelf.tag("1"));
    let said = shelf.succeed(&["verify", "--key", &keys.public, &shelf.tag("1")]);
    assert!(said.contains(&pushed), "{said}");
    let said = shelf.fail(&["verify", "--key", &others.public, &shelf.tag("1")]);
    assert!(said.contains("by another key"), "{said}");
}
