//! Generated values of Secrets: the plugin `database` asks for a password, a connection string, its
//! hash and a certificate, and never sees them.

use std::collections::BTreeMap;
use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gyre_controlplane::Signal;
use serde_json::{Value, json};

use crate::harness::{Cluster, Folder, Host, PATIENCE};
use crate::shadow::{compared_of, gyre, patched};
use crate::traces::Collector;

const KEYS: [&str; 7] = ["ca.crt", "ca.key", "password", "password.scram", "tls.crt", "tls.key", "url"];

pub(crate) type Values = BTreeMap<String, String>;

pub(crate) fn database(namespace: &str, epoch: u64) -> String {
    json!({
        "apiVersion": "db.gyre.dev/v1alpha1",
        "kind": "Database",
        "metadata": { "name": "orders", "namespace": namespace },
        "spec": { "name": "orders", "passwordEpoch": epoch },
    })
    .to_string()
}

fn start(cluster: &Cluster, namespace: &str, arguments: &[&str]) -> Host {
    cluster.host_with(&[gyre_artifacts::DATABASE], &[namespace], arguments)
}

fn running(cluster: &Cluster, namespace: &str, host: &Host) {
    cluster.reason(namespace, "database", "orders", "Ready", "Running");
    cluster.settled(host);
}

/// The values of the Secret.
pub(crate) fn values(cluster: &Cluster, namespace: &str) -> Values {
    let secret = cluster.get(namespace, "secret", "orders").expect("a Secret");
    let decode = |text: &Value| String::from_utf8(STANDARD.decode(text.as_str().unwrap()).unwrap()).unwrap();
    secret["data"].as_object().unwrap().iter().map(|(key, value)| (key.clone(), decode(value))).collect()
}

fn changed<'a>(before: &'a Values, after: &Values) -> Vec<&'a str> {
    before.iter().filter(|(key, value)| after.get(*key) != Some(value)).map(|(key, _)| key.as_str()).collect()
}

/// The annotation by which the Pods are replaced.
fn digest(cluster: &Cluster, namespace: &str) -> Option<String> {
    let stateful_set = cluster.get(namespace, "statefulset", "orders")?;
    Some(stateful_set["spec"]["template"]["metadata"]["annotations"]["db.gyre.dev/secret"].as_str()?.to_owned())
}

/// Sets or removes a value as a person does.
fn edit(cluster: &Cluster, namespace: &str, key: &str, value: Option<&str>) {
    let value = value.map(|value| STANDARD.encode(value));
    let patch = json!({ "data": { key: value } }).to_string();
    cluster.kubectl(&["patch", "secret", "orders", "-n", namespace, "--type=merge", "-p", &patch]);
}

#[test]
fn values_are_made_once_and_followed_and_nothing_is_written_when_nothing_differs() {
    const NAMESPACE: &str = "generated";
    let Some(cluster) = Cluster::for_test(NAMESPACE, &[NAMESPACE]) else { return };
    cluster.install_crds(&[gyre_artifacts::DATABASE]);
    let host = start(&cluster, NAMESPACE, &[]);
    cluster.apply(&database(NAMESPACE, 0));
    running(&cluster, NAMESPACE, &host);
    let first = values(&cluster, NAMESPACE);
    assert_eq!(first.keys().collect::<Vec<_>>(), KEYS);
    assert_eq!(first["password"].len(), 32);
    assert!(first["url"].contains(&format!(":{}@orders.{NAMESPACE}.svc:5432", first["password"])), "{}", first["url"]);
    assert!(first["password.scram"].starts_with("SCRAM-SHA-256$4096:"));
    let first_digest = digest(&cluster, NAMESPACE).expect("a StatefulSet that carries the digest");

    // Nothing differs: a change of no field, another host, and a while.
    let quiet = cluster.audit_mark();
    cluster.touch(NAMESPACE, "database", "orders", "again");
    cluster.settled(&host);
    drop(host);
    let host = start(&cluster, NAMESPACE, &[]);
    cluster.settled(&host);
    if let Some(quiet) = quiet {
        let of_ours = |resource: &str| ["secrets", "statefulsets", "services"].contains(&resource);
        let writes: Vec<_> =
            cluster.requests(quiet).into_iter().filter(|event| event.is_write() && of_ours(&event.resource)).collect();
        assert!(writes.is_empty(), "{writes:?}");
    }
    assert_eq!(changed(&first, &values(&cluster, NAMESPACE)), [""; 0]);
    assert_eq!(digest(&cluster, NAMESPACE), Some(first_digest.clone()), "another process has the same key of digests");

    // A value that a person changes is kept, and others follow it.
    edit(&cluster, NAMESPACE, "password", Some("chosen by hand"));
    cluster
        .eventually("the connection string", || values(&cluster, NAMESPACE)["url"].contains(":chosen by hand@").then_some(()));
    cluster.settled(&host);
    let by_hand = values(&cluster, NAMESPACE);
    assert_eq!(changed(&first, &by_hand), ["password", "password.scram", "url"]);
    assert_eq!(by_hand["password"], "chosen by hand");
    cluster.eventually("other Pods", || (digest(&cluster, NAMESPACE)? != first_digest).then_some(()));

    // One that is removed is made again.
    edit(&cluster, NAMESPACE, "tls.key", None);
    cluster.eventually("the key", || values(&cluster, NAMESPACE).contains_key("tls.key").then_some(()));
    cluster.settled(&host);
    let again = values(&cluster, NAMESPACE);
    assert_eq!(changed(&by_hand, &again), ["tls.crt", "tls.key"]);

    // A higher epoch makes a new password.
    cluster.apply(&database(NAMESPACE, 1));
    cluster.eventually("a new password", || (values(&cluster, NAMESPACE)["password"] != "chosen by hand").then_some(()));
    running(&cluster, NAMESPACE, &host);
    assert_eq!(changed(&again, &values(&cluster, NAMESPACE)), ["password", "password.scram", "url"]);
}

#[test]
fn no_generated_value_leaves_its_secret() {
    const NAMESPACE: &str = "hidden-values";
    const LEVELS: &str = "info,gyre=trace,kube=trace,hyper=trace,tower=trace";
    let Some(cluster) = Cluster::for_test(NAMESPACE, &[NAMESPACE]) else { return };
    cluster.install_crds(&[gyre_artifacts::DATABASE]);
    let folder = Folder::new();
    // Another connection string, so that the report about the shadow is about the Secret.
    let component = fs::read(gyre_artifacts::DATABASE).expect("a plugin");
    let shadow = folder.put("shadow.wasm", patched(&component, "?sslmode=verify-full", "?sslmode=verify-part"));
    let collector = Collector::new();
    let endpoint = format!("http://{}", collector.address);
    let arguments = ["--record-secrets", "--log-level", LEVELS, "--shadow", &shadow, "--otlp-endpoint", &endpoint];
    let mut host = start(&cluster, NAMESPACE, &arguments);
    cluster.apply(&database(NAMESPACE, 0));
    running(&cluster, NAMESPACE, &host);
    let first = values(&cluster, NAMESPACE);
    edit(&cluster, NAMESPACE, "tls.key", None);
    cluster.eventually("the key", || values(&cluster, NAMESPACE).contains_key("tls.key").then_some(()));
    running(&cluster, NAMESPACE, &host);
    compared_of(&cluster, &host, Some("database"), 1, |report| report["changing"] == 1);

    let run = |arguments: &[&str]| gyre(arguments).1;
    let mut texts: BTreeMap<&str, String> = BTreeMap::new();
    let from = host.url();
    for (recording, replay, secrets) in
        [("recording", "replay", None), ("recording with secrets", "replay with secrets", Some("--secrets"))]
    {
        let file = format!("{}/{recording}.jsonl", folder.path());
        let record = ["record", "database", "--from", &from, "--to", &file, "--all", "--calls", "1"];
        run(&record.into_iter().chain(secrets).collect::<Vec<_>>());
        texts.insert(recording, fs::read_to_string(&file).expect("a recording"));
        texts.insert(replay, run(&["replay", gyre_artifacts::DATABASE, &file]));
    }
    let kubeconfig = cluster.kubeconfig().display().to_string();
    let live = ["--kubeconfig", &kubeconfig, "--namespace", NAMESPACE, "--secrets"];
    let parent = folder.put("database.json", database(NAMESPACE, 1));
    let render = [&["render", gyre_artifacts::DATABASE, "--from-cluster"], &live[..]].concat();
    texts.insert("diff", run(&[&["diff", gyre_artifacts::DATABASE], &live[..]].concat()));
    texts.insert("render", run(&render));
    texts.insert("render of a change", run(&[&render[..], &["-f", &parent]].concat()));
    texts.insert("status", run(&["status", "--from", &from]));
    texts.insert("status in JSON", run(&["status", "--from", &from, "-o", "json"]));
    texts.insert("shadow", run(&["shadow", "--from", &from]));
    for path in ["/healthz?verbose", "/readyz?verbose", "/metrics", "/debug/state", "/debug/shadow?mount=database"] {
        texts.insert(path, host.http(path).1);
    }
    for kind in ["database", "statefulset", "service", "event"] {
        texts.insert(kind, serde_json::to_string(&cluster.list(NAMESPACE, kind)).unwrap());
    }
    // The host sends the last traces before it ends.
    host.process.signal(Signal::Terminate).unwrap();
    host.process.wait(PATIENCE).unwrap().expect("it ends");
    texts.insert("traces", collector.text());
    texts.insert("log", host.log());
    for values in [first, values(&cluster, NAMESPACE)] {
        texts.iter().for_each(|(place, text)| assert_no_values(place, text, &values));
    }
    let placeholder = STANDARD.encode("gyre-generated:");
    let placeholder = placeholder.as_str();
    for (place, expected) in [
        ("recording with secrets", placeholder),
        ("replay", ": 1 identical, 0 differ"),
        ("replay with secrets", ": 1 identical, 0 differ"),
        ("render of a change", placeholder),
        ("render of a change", "# kind: Secret\n"),
        ("status", "Running"),
        ("shadow", "update     Secret hidden-values/orders"),
        ("/debug/shadow?mount=database", "\"kind\": \"Secret\""),
        ("traces", "reconcile"),
    ] {
        assert!(texts[place].contains(expected), "{expected:?} is not in the {place}: {}", texts[place]);
    }
}

/// Fails if a text has one of these values, or a part of one.
pub(crate) fn assert_no_values(place: &str, text: &str, values: &Values) {
    assert!(text.len() > 2, "the {place} is empty");
    for (key, value) in values {
        for form in forms(value) {
            assert!(!text.contains(&form), "{key} is in the {place}, as {form}");
        }
    }
}

/// A value, its parts, and these in base64 from each of the three offsets.
fn forms(value: &str) -> Vec<String> {
    let body = |line: &&str| line.len() >= 16 && !line.starts_with("-----");
    let mut forms: Vec<String> = value.lines().filter(body).map(str::to_owned).collect();
    // The end of a connection string and of a verifier is theirs alone; the beginning is not.
    forms.push(value.to_owned());
    let mut encoded = Vec::new();
    for form in forms.iter().filter(|form| form.len() >= 12) {
        for offset in 0..3 {
            let text = STANDARD.encode(form.get(offset..).unwrap_or_default());
            encoded.push(text[..text.len() - 4].to_owned());
        }
    }
    forms.extend(encoded);
    forms
}

#[test]
fn a_secret_that_somebody_created_first_is_not_taken_over() {
    const NAMESPACE: &str = "taken-secret";
    let Some(cluster) = Cluster::for_test(NAMESPACE, &[NAMESPACE]) else { return };
    cluster.install_crds(&[gyre_artifacts::DATABASE]);
    let taken = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "name": "orders", "namespace": NAMESPACE },
        "data": { "password": STANDARD.encode("known to the tenant") },
    });
    cluster.apply(&taken.to_string());
    let host = start(&cluster, NAMESPACE, &[]);
    cluster.apply(&database(NAMESPACE, 0));
    cluster.reason(NAMESPACE, "database", "orders", "Ready", "ForeignObject");
    cluster.settled(&host);
    assert_eq!(values(&cluster, NAMESPACE), Values::from([("password".to_owned(), "known to the tenant".to_owned())]));
    assert!(digest(&cluster, NAMESPACE).is_none());
    drop(host);
    // The operator allows it to be adopted: what is in use is kept, and the rest is made.
    let host = start(&cluster, NAMESPACE, &["--adopt"]);
    running(&cluster, NAMESPACE, &host);
    let adopted = values(&cluster, NAMESPACE);
    assert_eq!(adopted.keys().collect::<Vec<_>>(), KEYS);
    assert_eq!(adopted["password"], "known to the tenant");
}
