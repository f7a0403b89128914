//! What `gyre diff` says of a live cluster is what a host then does, and it touches nothing.

use std::collections::BTreeSet;
use std::process::Command;

use gyre_controlplane::AuditEvent;
use serde_json::{Value, json};

use crate::harness::{Cluster, Folder, GYRE, guest};

const NAMESPACE: &str = "diff";
const PARENTS: usize = 200;

/// A write: its verb, resource and name.
type Write = (String, String, String);

fn diff(cluster: &Cluster, plugin: &str, arguments: &[&str]) -> (Option<i32>, String) {
    diff_in(NAMESPACE, cluster, plugin, arguments)
}

fn diff_in(namespace: &str, cluster: &Cluster, plugin: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(GYRE);
    command.args(["diff", plugin, "--namespace", namespace, "--kubeconfig"]).arg(cluster.kubeconfig()).args(arguments);
    let output = command.output().expect("gyre runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.code(), said)
}

fn foretold(change: &Value) -> Write {
    let text = |field: &str| change[field].as_str().unwrap_or_default().to_owned();
    let verb = text("verb");
    let resource = if verb == "status" { "status".to_owned() } else { text("kind").to_lowercase() + "s" };
    (verb, resource, text("name"))
}

fn done(event: &AuditEvent) -> Option<Write> {
    if !event.is_write() || !event.succeeded() || event.resource == "events" || event.uri.contains("dryRun=") {
        return None;
    }
    let verb = match (event.verb.as_str(), event.subresource.as_str(), event.code) {
        (_, "status", _) => "status",
        ("delete", _, _) => "delete",
        (_, _, 201) => "create",
        _ => "update",
    };
    let resource = if verb == "status" { "status" } else { &event.resource };
    Some((verb.to_owned(), resource.to_owned(), event.name.clone()))
}

#[test]
fn a_diff_foretells_what_a_host_does_and_writes_nothing() {
    let Some(cluster) = Cluster::for_test(NAMESPACE, &[NAMESPACE]) else { return };
    let folder = Folder::new();
    let [old, new] = [1, 2].map(|version| folder.put(&format!("{version}.wasm"), gyre_artifacts::versioned(version).unwrap()));
    cluster.install_crds(&[&old]);
    let host = cluster.host(&[&old], &[NAMESPACE]);
    let parent = |number: usize, text: &str| guest("Versioned", NAMESPACE, &format!("it-{number:03}"), json!({ "text": text }));
    cluster.apply_all(&(0..PARENTS).map(|number| parent(number, "first")).collect::<Vec<_>>());
    cluster.all_ready(NAMESPACE, "versioned", PARENTS);
    cluster.settled(&host);
    drop(host);

    // What is as it should be is so for a copy, too.
    let (code, said) = diff(&cluster, &old, &[]);
    assert_eq!((code, said.as_str()), (Some(0), format!("0 of {PARENTS} parents change\n").as_str()));
    // No line of progress is in a pipe; a terminal has one.
    let kubeconfig = cluster.kubeconfig();
    let line = format!("{GYRE} diff {old} --namespace {NAMESPACE} --kubeconfig {}", kubeconfig.display());
    if let Ok(shown) = Command::new("script").args(["-qec", &line, "/dev/null"]).output() {
        let shown = String::from_utf8_lossy(&shown.stdout);
        assert!(
            shown.contains(&format!("\r{PARENTS} versioneds read")) && shown.contains("objects read; the host"),
            "{shown:?}"
        );
    }
    let child = |number: usize| format!("it-{number:03}-one");
    cluster.kubectl(&["delete", "configmap", "-n", NAMESPACE, &child(7)]);
    cluster.kubectl(&["patch", "configmap", "-n", NAMESPACE, &child(8), "--type=merge", "-p", r#"{"data":{"text":"edited"}}"#]);
    let Some(mark) = cluster.audit_mark() else { return };
    let (code, said) = diff(&cluster, &old, &[]);
    assert_eq!(code, Some(1), "{said}");
    for line in
        ["create     ConfigMap diff/it-007-one, of Versioned diff/it-007\n", "  -  text: edited\n", "  +  text: first\n"]
    {
        assert!(said.contains(line), "{line:?} in:\n{said}");
    }
    assert!(said.ends_with(&format!("2 of {PARENTS} parents change: 1 child created, 1 child changed\n")), "{said}");

    let (code, said) = diff(&cluster, &new, &["-o", "json"]);
    assert_eq!(code, Some(1), "{said}");
    let said: Value = serde_json::from_str(&said).unwrap();
    let expected: BTreeSet<Write> = said["changes"].as_array().unwrap().iter().map(foretold).collect();
    let summary = format!("{PARENTS} of {PARENTS} parents change: 1 child created, {} children changed", 2 * PARENTS - 1);
    assert!(said["summary"].as_str().unwrap().starts_with(&summary), "{}", said["summary"]);
    let written = |events: Vec<AuditEvent>| events.iter().filter_map(done).collect::<BTreeSet<Write>>();
    assert_eq!(written(cluster.requests(mark)), BTreeSet::new());

    let host = cluster.host(&[&new], &[NAMESPACE]);
    let newest = "0000000002";
    cluster.eventually("the new version everywhere", || {
        let children = cluster.list(NAMESPACE, "configmaps");
        (children.iter().filter(|child| child["data"]["version"] == newest).count() == 2 * PARENTS).then_some(())
    });
    cluster.settled(&host);
    assert_eq!(written(cluster.requests(mark)), expected);
}

#[test]
fn a_diff_foretells_that_children_of_a_kind_that_is_not_declared_any_more_are_deleted() {
    let (namespace, home) = ("diff-narrowing", "diff-narrowing-home");
    let Some(cluster) = Cluster::for_test(namespace, &[namespace, home]) else { return };
    let folder = Folder::new();
    let wide = folder.put_plugin("wide.wasm", gyre_artifacts::probes::WIDENED);
    let narrow = folder.put_plugin("narrow.wasm", gyre_artifacts::probes::NARROWED);
    let host = cluster.host_with(&[&wide], &[namespace], &["--name", "narrowing", "--home-namespace", home]);
    cluster.apply_all(&["a", "b"].map(|name| guest("Narrowing", namespace, name, json!({}))));
    let foreign = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "foreign", "namespace": namespace } });
    cluster.apply(&foreign.to_string());
    cluster.all_ready(namespace, "narrowing", 2);
    cluster.settled(&host);
    drop(host);

    let deletes = |arguments: &[&str]| -> Vec<String> {
        let (_, said) = diff_in(namespace, &cluster, &narrow, &[&["-o", "json"], arguments].concat());
        let said: Value = serde_json::from_str(&said).expect(&said);
        let changes = said["changes"].as_array().unwrap().iter().filter(|change| change["verb"] == "delete");
        let mut named: Vec<String> = changes.map(|change| format!("{} of {}", change["name"], change["parent"])).collect();
        named.sort();
        named
    };
    let expected = ["a", "b"].map(|name| format!("\"{name}\" of \"Narrowing {namespace}/{name}\""));
    assert_eq!(deletes(&[]), expected, "as the inventory has it");
    cluster.kubectl(&["delete", "configmap", "-n", home, "narrowing-inventory"]);
    assert_eq!(deletes(&[]), [""; 0], "nobody knows");
    assert_eq!(deletes(&["--was", &wide]), expected);

    let value = "aHVudGVyMi1odW50ZXIy";
    let patch = json!({ "data": { "password": value } }).to_string();
    cluster.kubectl(&["patch", "secret", "-n", namespace, "a", "--type=merge", "-p", &patch]);
    let shown =
        |arguments: &[&str]| diff_in(namespace, &cluster, &narrow, &[&["-o", "json", "--was", &wide], arguments].concat()).1;
    let said = shown(&[]);
    assert!(said.contains("password") && !said.contains(value), "{said}");
    assert!(shown(&["--secrets"]).contains(value));
}

#[test]
fn a_diff_tells_of_calls_that_fail_and_of_children_that_are_refused() {
    let namespace = "diff-failing";
    let Some(cluster) = Cluster::for_test(namespace, &[namespace]) else { return };
    let wide = gyre_artifacts::probes::WIDENED;
    cluster.install_crds(&[wide, gyre_artifacts::guests::TRAP]);
    let foreign = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": namespace } });
    cluster.apply_all(&[foreign, guest("Narrowing", namespace, "a", json!({})), guest("Trap", namespace, "t", json!({}))]);

    let (code, said) = diff_in(namespace, &cluster, wide, &[]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("(refused: ForeignObject: ") && said.contains("; 1 change would be refused"), "{said}");
    let (code, said) = diff_in(namespace, &cluster, gyre_artifacts::guests::TRAP, &[]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains(&format!("fail       Trap {namespace}/t: Trapped: ")) && said.contains("1 call fails"), "{said}");
}
