//! Plugins that are not signed as the configuration demands are not compiled.

use std::path::Path;

use gyre_controlplane::registry::{Options, Referrers};
use serde_json::{Value, json};

use super::{
    BEARER, DEFAULTS, REPOSITORY, Said, Shelf, assert_mounted, await_log, await_version, failed_pulls, last_line, reconcile,
};
use crate::harness::{Cluster, Host};

/// Signatures and the trusted root of a Sigstore that exists only for tests.
const SIGSTORE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/signatures/tests/fixtures/virtual");
const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
const UNSIGNED: &str = "is not signed, and a signature by the key ";
const OTHER_KEY: &str = ", not by an accepted key";

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

fn config(shelf: &Shelf, tag: &str, namespace: &str, verify: &Value) -> String {
    let mount = json!({ "plugin": shelf.tag(tag), "namespaces": [namespace], "verify": verify });
    shelf.folder.put("gyre.yaml", json!({ "mounts": [mount] }).to_string())
}

fn sign(shelf: &Shelf, keys: &Keys, reference: &str) -> String {
    last_line(&shelf.succeed(&["sign", "--key", &keys.private, reference]))
}

/// The files in a code cache.
fn compiled(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| if entry.path().is_dir() { compiled(&entry.path()) } else { 1 }).sum()
}

fn follows_signed_versions(namespace: &str, options: Options) {
    let Some(cluster) = Cluster::for_test(namespace, &[namespace]) else { return };
    let Some(shelf) = Shelf::or_skip(options) else { return };
    let (keys, others) = (Keys::new(&shelf, "our"), Keys::new(&shelf, "other"));
    let code = shelf.path("code");
    let first = shelf.push_version("1", 1);
    assert_eq!(sign(&shelf, &keys, &shelf.tag("1")), first);
    let config = config(&shelf, "1", namespace, &json!({ "keys": [keys.public] }));
    let host = shelf.host(&cluster, &[], namespace, &["--config", &config, "--code-cache", &code]);
    reconcile(&cluster, namespace, "it", 1);
    let before = compiled(Path::new(&code));
    assert!(before > 0);

    let refused = |host: &Host, version: u64, sentence: &str| {
        let (failed, since) = (failed_pulls(host), host.log().len());
        shelf.push_version("1", version);
        await_log(&cluster, host, since, sentence);
        assert!(failed_pulls(host) > failed);
        reconcile(&cluster, namespace, &format!("amid-{version}"), 1);
        assert_mounted(host, 1);
        assert_eq!(compiled(Path::new(&code)), before, "version {version} was compiled");
    };
    refused(&host, 2, UNSIGNED);
    shelf.push_version("3", 3);
    sign(&shelf, &others, &shelf.tag("3"));
    refused(&host, 3, OTHER_KEY);
    if options.referrers == Referrers::Served {
        let fourth = shelf.push_version("4", 4);
        move_signature(&shelf, &first, &fourth);
        refused(&host, 4, &format!("a signature of {first}, not of {fourth}"));
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

/// Attaches the signature of one manifest to another one, as somebody without the key can who may
/// write to the registry.
fn move_signature(shelf: &Shelf, from: &str, to: &str) {
    let mut signatures = shelf.registry.referrers(REPOSITORY, from).unwrap();
    let mut signature = signatures.pop().expect("a signature");
    signature["subject"]["digest"] = json!(to);
    shelf.registry.put_manifest(REPOSITORY, "moved", &signature).unwrap();
}

/// Attaches a bundle of the test Sigstore to a manifest.
fn attach(shelf: &Shelf, subject: &str, bundle: &str) {
    let content = std::fs::read(Path::new(SIGSTORE).join(bundle)).expect("a bundle");
    let layer = shelf.registry.put_blob(REPOSITORY, &content).unwrap();
    let empty = shelf.registry.put_blob(REPOSITORY, b"{}").unwrap();
    let manifest = "application/vnd.oci.image.manifest.v1+json";
    let signature = json!({
        "schemaVersion": 2,
        "mediaType": manifest,
        "artifactType": BUNDLE,
        "config": { "mediaType": "application/vnd.oci.empty.v1+json", "digest": empty, "size": 2 },
        "layers": [{ "mediaType": BUNDLE, "digest": layer, "size": content.len() }],
        "subject": { "mediaType": manifest, "digest": subject, "size": 1 },
    });
    shelf.registry.put_manifest(REPOSITORY, "attached", &signature).unwrap();
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
    let root = format!("{SIGSTORE}/trusted_root.json");
    let identity = json!({ "issuer": "https://issuer.example.com", "subject": "nobody@example.com" });
    let by_identity = json!({ "identities": [identity], "trustedRoot": root });
    let by_key = json!({ "keys": [keys.public] });
    let validated = |tag: &str, verify: &Value| shelf.gyre(&["validate", &config(&shelf, tag, "default", verify)]);
    let refused = |tag: &str, verify: &Value, sentence: &str| {
        let Said { code, stdout, stderr } = validated(tag, verify);
        assert_eq!(code, Some(1), "{tag}: {stdout}{stderr}");
        assert!(stderr.contains(sentence), "{tag}: expected {sentence:?} in {stderr}");
    };

    shelf.push_version("1", 1);
    refused("1", &by_key, UNSIGNED);
    sign(&shelf, &keys, &shelf.tag("1"));
    assert_eq!(validated("1", &by_key).code, Some(0));
    refused("1", &json!({ "keys": [others.public] }), OTHER_KEY);
    // One of several keys is enough.
    assert_eq!(validated("1", &json!({ "keys": [others.public, keys.public] })).code, Some(0));
    let logged = json!({ "keys": [keys.public], "trustedRoot": root });
    refused("1", &logged, "without an entry in a transparency log, which is required");
    let annotated = json!({ "keys": [keys.public], "annotations": { "team": "a" } });
    refused("1", &annotated, "without the annotation team=a, which is required");
    refused("1", &by_identity, "and only keyless signatures are accepted");

    let second = shelf.push_version("2", 2);
    attach(&shelf, &second, "keyless-without-log.json");
    refused("2", &by_identity, "a keyless signature without an entry in a transparency log");
    refused("2", &by_key, "and only signatures by keys are accepted");
    let third = shelf.push_version("3", 3);
    attach(&shelf, &third, "keyless-provenance.json");
    refused("3", &by_identity, "a statement of the type ");

    // A signature with annotations is another one.
    let annotate = ["sign", "--key", &keys.private, "--annotation", "team=a", &shelf.tag("1")];
    shelf.succeed(&annotate);
    assert_eq!(validated("1", &annotated).code, Some(0));
    refused("1", &json!({ "keys": [keys.public], "annotations": { "team": "b" } }), "the annotation team=b");
}

#[test]
fn the_command_verify_says_the_same_as_a_host() {
    let Some(shelf) = Shelf::or_skip(DEFAULTS) else { return };
    let (keys, others) = (Keys::new(&shelf, "our"), Keys::new(&shelf, "other"));
    let reference = shelf.tag("1");
    let pushed = shelf.push_version("1", 1);
    let said = shelf.fail(&["verify", "--key", &keys.public, &reference]);
    assert!(said.contains(UNSIGNED), "{said}");
    sign(&shelf, &keys, &reference);
    let said = shelf.succeed(&["verify", "--key", &keys.public, &reference]);
    assert!(said.contains(" is signed by the key our.pub "), "{said}");
    assert_eq!(last_line(&said), pushed);
    let said = shelf.fail(&["verify", "--key", &others.public, &reference]);
    assert!(said.contains(OTHER_KEY), "{said}");
}
