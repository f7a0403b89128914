//! Wrong answers of a registry are refused, the last good version stays, and credentials go nowhere
//! else.

use gyre_controlplane::registry::{Options, Request, Transport, digest};
use serde_json::{Value, json};

use super::{
    BASIC, BEARER, DEFAULTS, REPOSITORY, Shelf, assert_mounted, await_log, await_version, failed_pulls, plugin, reconcile,
};
use crate::harness::Cluster;

/// A size that nobody wants on a disk.
const HUGE: u64 = 10_000_000_000;

/// Answers with a wrong content, each with what the host says.
fn wrong_answers() -> [(Value, &'static str); 5] {
    [
        (json!({ "changeBlobs": true }), "sends sha256:"),
        (json!({ "shortenBlobs": true }), ", whose manifest says "),
        (json!({ "truncateBlobs": true }), " broke off"),
        (json!({ "announcedBytes": HUGE }), "sends 10000000000 bytes for sha256:"),
        (json!({ "changeManifests": true }), "sends sha256:"),
    ]
}

#[test]
fn a_wrong_answer_is_refused_and_the_last_good_version_stays() {
    let namespace = "wrong-answers";
    let Some(cluster) = Cluster::for_test(namespace, &[namespace]) else { return };
    let Some(shelf) = Shelf::or_skip(BEARER) else { return };
    shelf.push_version("1", 1);
    let host = shelf.host(&cluster, &[&shelf.tag("1")], namespace, &[]);
    reconcile(&cluster, namespace, "it", 1);
    for (version, (faults, sentence)) in (2..).zip(wrong_answers()) {
        let (failed, since) = (failed_pulls(&host), host.log().len());
        shelf.set_faults(&faults);
        shelf.push_version("1", version);
        await_log(&cluster, &host, since, sentence);
        cluster.eventually(&format!("{faults} to be counted"), || (failed_pulls(&host) > failed).then_some(()));
        reconcile(&cluster, namespace, &format!("amid-{version}"), 1);
        assert_mounted(&host, 1);
    }
    assert_eq!(host.metric("gyre_config_refused", &[]), 0.0, "no content of them was read");
    shelf.end_faults();
    await_version(&cluster, namespace, "it", 6);
}

#[test]
fn a_plugin_that_is_wrong_itself_is_refused_as_a_whole() {
    let namespace = "wrong-plugin";
    let Some(cluster) = Cluster::for_test(namespace, &[namespace]) else { return };
    let Some(shelf) = Shelf::or_skip(DEFAULTS) else { return };
    let reference = shelf.tag("1");
    shelf.push_version("1", 1);
    let host = shelf.host(&cluster, &[&reference], namespace, &[]);
    reconcile(&cluster, namespace, "it", 1);
    let good = shelf.registry.manifest(REPOSITORY, "1").unwrap();

    // As another tool may push it: gyre pushes no such thing.
    let rubbish = b"rubbish";
    let layer = shelf.registry.put_blob(REPOSITORY, rubbish).unwrap();
    let mut manifest = good.clone();
    manifest["layers"][0]["digest"] = json!(layer);
    manifest["layers"][0]["size"] = json!(rubbish.len());
    shelf.registry.put_manifest(REPOSITORY, "1", &manifest).unwrap();
    cluster.eventually("it to be refused", || (host.metric("gyre_config_refused", &[]) == 1.0).then_some(()));
    assert!(host.log().contains("not WebAssembly"), "{}", host.log());
    assert_mounted(&host, 1);

    // A later start does not use it either.
    drop(host);
    shelf.registry.go_down().unwrap();
    let host = shelf.host(&cluster, &[&reference], namespace, &[]);
    reconcile(&cluster, namespace, "after-restart", 1);
    shelf.registry.come_up().unwrap();
    shelf.push_version("1", 2);
    await_version(&cluster, namespace, "it", 2);
    assert_eq!(host.metric("gyre_config_refused", &[]), 0.0);
}

#[test]
fn a_manifest_that_lies_is_refused_before_anything_is_read() {
    let Some(shelf) = Shelf::or_skip(DEFAULTS) else { return };
    shelf.push_version("good", 1);
    let good = shelf.registry.manifest(REPOSITORY, "good").unwrap();
    let layer = &good["layers"][0];
    let changed = |pointer: &str, value: Value| {
        let mut manifest = good.clone();
        *manifest.pointer_mut(pointer).expect("a field") = value;
        manifest
    };
    let image = "application/vnd.oci.image.layer.v1.tar+gzip";
    let cases = [
        ("huge", changed("/layers/0/size", json!(HUGE)), "10000000000 bytes"),
        ("two-layers", changed("/layers", json!([layer, layer])), "it has 2 layers, and a component has one"),
        ("no-layer", changed("/layers", json!([])), "it has 0 layers, and a component has one"),
        ("image", changed("/layers/0/mediaType", json!(image)), "it is a container image"),
        ("other", changed("/config/mediaType", json!("text/plain")), "it is not a component"),
    ];
    shelf.registry.forget_requests().unwrap();
    for (tag, manifest, sentence) in cases {
        shelf.registry.put_manifest(REPOSITORY, tag, &manifest).unwrap();
        let said = shelf.fail(&["inspect", &shelf.tag(tag)]);
        assert!(said.contains(sentence), "{tag}: {said}");
    }
    assert_eq!(shelf.pulls(), 0, "{:?}", shelf.registry.requests());
    // This one is found out by the length of the answer.
    let lie = changed("/layers/0/size", json!(1000));
    shelf.registry.put_manifest(REPOSITORY, "small", &lie).unwrap();
    let said = shelf.fail(&["inspect", &shelf.tag("small")]);
    assert!(said.contains(", whose manifest says 1000"), "{said}");
}

#[test]
fn a_digest_that_is_not_there_is_refused() {
    let Some(shelf) = Shelf::or_skip(DEFAULTS) else { return };
    shelf.push_version("1", 1);
    let absent = digest(b"something else");
    let said = shelf.fail(&["inspect", &format!("{}@{absent}", shelf.tag("1"))]);
    assert!(said.contains(&format!("{absent} is not in {}/{REPOSITORY}", shelf.registry.host())), "{said}");
}

#[test]
fn a_redirect_of_a_component_takes_no_credentials_along() {
    let Some(shelf) = Shelf::or_skip(BEARER) else { return };
    shelf.push_version("1", 1);
    shelf.registry.forget_requests().unwrap();
    shelf.set_faults(&json!({ "redirectBlobs": shelf.registry.blobs_elsewhere() }));
    shelf.succeed(&["inspect", &shelf.tag("1")]);
    let requests = shelf.registry.requests().unwrap();
    let (elsewhere, here): (Vec<_>, Vec<_>) = requests.iter().partition(|request| request.server == "elsewhere");
    let [read] = elsewhere[..] else { panic!("{requests:?}") };
    assert_eq!((read.authorization.as_str(), read.status), ("", 200), "{read:?}");
    assert!(here.iter().any(|request| request.reads_blob() && request.authorization == "Bearer"), "{requests:?}");
    assert!(!read.query.contains("token"), "{read:?}");
}

#[test]
fn a_redirect_leads_neither_to_plain_http_nor_round_in_circles() {
    let Some(shelf) = Shelf::or_skip(BASIC) else { return };
    shelf.push_version("1", 1);
    let inspect = |target: &str| {
        shelf.registry.forget_requests().unwrap();
        shelf.set_faults(&json!({ "redirectBlobs": target }));
        shelf.fail(&["inspect", &shelf.tag("1")])
    };
    let plain = shelf.registry.blobs_elsewhere().replace("https://", "http://");
    let said = inspect(&plain);
    assert!(said.contains(", which has no TLS"), "{said}");
    let is_elsewhere = shelf.registry.requests().unwrap().iter().any(|request| request.server == "elsewhere");
    assert!(!is_elsewhere, "{:?}", shelf.registry.requests());

    let itself = format!("https://{}/v2/{REPOSITORY}/blobs/{{digest}}", shelf.registry.host());
    let said = inspect(&itself);
    assert!(said.contains(" redirects "), "{said}");
    assert!(shelf.pulls() <= 6, "{:?}", shelf.registry.requests());

    // A metadata service of a cloud: an address that is more local than the registry.
    let said = inspect("https://169.254.169.254/latest/{digest}");
    assert!(said.contains("169.254.169.254, which is link-local"), "{said}");
}

#[test]
fn a_realm_elsewhere_gets_no_credentials() {
    let Some(shelf) = Shelf::or_skip(BEARER) else { return };
    shelf.push_version("1", 1);
    shelf.registry.forget_requests().unwrap();
    // Another server: its name differs, and its port.
    let realm = shelf.registry.blobs_elsewhere().replace("{digest}", "token");
    shelf.set_faults(&json!({ "realm": realm }));
    shelf.fail(&["inspect", &shelf.tag("1")]);
    let requests = shelf.registry.requests().unwrap();
    for request in requests.iter().filter(|request| request.server == "elsewhere") {
        assert_eq!(request.authorization, "", "{request:?}");
    }
}

#[test]
fn an_expired_token_is_replaced_while_a_host_runs() {
    let namespace = "expired-token";
    let Some(cluster) = Cluster::for_test(namespace, &[namespace]) else { return };
    let Some(shelf) = Shelf::or_skip(BEARER) else { return };
    shelf.push_version("1", 1);
    let host = shelf.host(&cluster, &[&shelf.tag("1")], namespace, &[]);
    reconcile(&cluster, namespace, "it", 1);
    shelf.registry.forget_requests().unwrap();
    shelf.registry.expire_tokens().unwrap();
    shelf.push_version("1", 2);
    await_version(&cluster, namespace, "it", 2);
    assert_eq!(failed_pulls(&host), 0.0, "{}", host.log());
    let requests = shelf.registry.requests().unwrap();
    let is_refused =
        |request: &Request| request.status == 401 && request.authorization == "Bearer" && request.path.contains("/manifests/");
    assert!(requests.iter().any(is_refused), "{requests:?}");
}

#[test]
fn a_registry_that_is_busy_is_asked_again_as_it_says_and_not_for_ever() {
    let Some(shelf) = Shelf::or_skip(DEFAULTS) else { return };
    shelf.push_version("1", 1);
    let statuses = || -> Vec<u64> {
        let requests = shelf.registry.requests().unwrap();
        shelf.registry.forget_requests().unwrap();
        requests.iter().map(|request| request.status).collect()
    };
    let count = |statuses: &[u64], status: u64| statuses.iter().filter(|found| **found == status).count();
    statuses();
    for (fault, status) in [("limited", 429), ("unavailable", 503)] {
        shelf.set_faults(&json!({ fault: 2, "retryAfter": "1" }));
        std::fs::remove_dir_all(shelf.cache()).ok();
        shelf.succeed(&["inspect", &shelf.tag("1")]);
        assert_eq!(count(&statuses(), status), 2);
    }
    std::fs::remove_dir_all(shelf.cache()).unwrap();
    shelf.set_faults(&json!({ "limited": 1000, "retryAfter": "0" }));
    let said = shelf.fail(&["inspect", &shelf.tag("1")]);
    assert!(said.contains("is busy: it answers 429"), "{said}");
    let repeated = count(&statuses(), 429);
    assert!((2..10).contains(&repeated), "{repeated}");
    shelf.set_faults(&json!({ "limited": 1000, "retryAfter": "3600" }));
    let said = shelf.fail(&["inspect", &shelf.tag("1")]);
    assert!(said.contains("is busy: it answers 429, and to try again in 3600 s"), "{said}");
    assert_eq!(count(&statuses(), 429), 1, "nobody waits for an hour");
}

#[test]
fn credentials_that_are_missing_or_wrong_are_named() {
    for options in [BASIC, BEARER] {
        let Some(shelf) = Shelf::or_skip(options) else { return };
        shelf.push_version("1", 1);
        let inspect_with = |config: &Value| {
            let file = shelf.folder.put("config.json", config.to_string());
            shelf.fail(&["inspect", &shelf.tag("1"), "--registry-credentials", &file])
        };
        let host = shelf.registry.host();
        let said = inspect_with(&json!({ "auths": {} }));
        assert!(said.contains(&format!("{host} wants credentials for {REPOSITORY}")), "{said}");
        // `gyre:wrong`.
        let said = inspect_with(&json!({ "auths": { host: { "auth": "Z3lyZTp3cm9uZw==" } } }));
        assert!(said.contains(&format!("{host} does not accept the credentials for {REPOSITORY}")), "{said}");
        let said = inspect_with(&json!({ "auths": {}, "credHelpers": { host: "ecr-login" } }));
        assert!(said.contains("docker-credential-ecr-login, which gyre does not run"), "{said}");
    }
}

#[test]
fn a_registry_without_tls_must_be_named_as_such() {
    let Some(shelf) = Shelf::or_skip(Options { transport: Transport::Plain, ..DEFAULTS }) else { return };
    shelf.push_version("1", 1);
    assert_eq!(shelf.registry.blob(REPOSITORY, &digest(&plugin(1))).unwrap(), plugin(1));
    shelf.registry.forget_requests().unwrap();
    shelf.fail(&["inspect", &shelf.tag("1"), "--insecure-registries", "registry.example.com"]);
    assert_eq!(shelf.registry.requests().unwrap().len(), 0, "nothing is sent without TLS");
    shelf.succeed(&["inspect", &shelf.tag("1")]);
}
