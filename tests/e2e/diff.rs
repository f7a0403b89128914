//! `gyre diff` predicts the writes of a host in a live cluster, and writes nothing.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Command;

use gyre_controlplane::AuditEvent;
use serde_json::{Value, json};

use crate::harness::{Cluster, Folder, GYRE, guest, guest_crds, with_kind};

const NAMESPACE: &str = "diff";
const PARENTS: usize = 200;

type Write = (String, String, String);

fn diff(cluster: &Cluster, plugin: &str, arguments: &[&str]) -> (Option<i32>, String) {
    diff_in(NAMESPACE, cluster, plugin, arguments)
}

fn diff_in(namespace: &str, cluster: &Cluster, plugin: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(GYRE);
    command.args(["diff", plugin, "--namespace", namespace, "--kubeconfig"]).arg(cluster.kubeconfig()).args(arguments);
    answer(&mut command)
}

fn answer(command: &mut Command) -> (Option<i32>, String) {
    let output = command.output().expect("gyre runs");
    let said = if output.stdout.is_empty() { output.stderr } else { output.stdout };
    (output.status.code(), String::from_utf8_lossy(&said).into_owned())
}

fn previewed(change: &Value) -> Write {
    let text = |field: &str| change[field].as_str().unwrap_or_default().to_owned();
    let verb = text("verb");
    let resource = if verb == "status" { "status".to_owned() } else { text("kind").to_lowercase() + "s" };
    (verb, resource, text("name"))
}

fn performed_write(event: &AuditEvent) -> Option<Write> {
    let is_previewed = !["dryRun=", "fieldManager=gyre-managed-fields"].iter().any(|part| event.uri.contains(part));
    if !event.is_write() || !event.succeeded() || event.resource == "events" || !is_previewed {
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
fn a_diff_previews_what_a_host_does_and_writes_nothing() {
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

    let (code, said) = diff(&cluster, &old, &[]);
    assert_eq!((code, said.as_str()), (Some(0), format!("0 of {PARENTS} parents change\n").as_str()));
    let kubeconfig = cluster.kubeconfig();
    let line = format!("{GYRE} diff {old} --namespace {NAMESPACE} --kubeconfig {}", kubeconfig.display());
    if let Ok(shown) = Command::new("script").args(["-qec", &line, "/dev/null"]).output() {
        let shown = String::from_utf8_lossy(&shown.stdout);
        assert!(
            shown.contains(&format!("\r{PARENTS} versioneds read")) && shown.contains("objects read; running the host"),
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
    let expected: BTreeSet<Write> = said["changes"].as_array().unwrap().iter().map(previewed).collect();
    let summary = format!("{PARENTS} of {PARENTS} parents change: 1 child created, {} children changed", 2 * PARENTS - 1);
    assert!(said["summary"].as_str().unwrap().starts_with(&summary), "{}", said["summary"]);
    let written = |events: Vec<AuditEvent>| events.iter().filter_map(performed_write).collect::<BTreeSet<Write>>();
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
fn a_diff_previews_the_deletion_of_children_of_an_undeclared_kind() {
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

    let deletes_of = |plugin: &str, arguments: &[&str]| -> Vec<String> {
        let (_, said) = diff_in(namespace, &cluster, plugin, &[&["-o", "json"], arguments].concat());
        let said: Value = serde_json::from_str(&said).expect(&said);
        let changes = said["changes"].as_array().unwrap().iter().filter(|change| change["verb"] == "delete");
        let mut named: Vec<String> = changes.map(|change| format!("{} of {}", change["name"], change["parent"])).collect();
        named.sort();
        named
    };
    let deletes = |arguments: &[&str]| deletes_of(&narrow, arguments);
    let expected = ["a", "b"].map(|name| format!("\"{name}\" of \"Narrowing {namespace}/{name}\""));
    assert_eq!(deletes(&[]), expected, "as the inventory has it");
    cluster.kubectl(&["delete", "configmap", "-n", home, "narrowing-inventory"]);
    assert_eq!(deletes(&[]), [""; 0], "nobody knows");
    assert_eq!(deletes(&["--from", &wide]), expected);
    assert_eq!(deletes_of(&wide, &[&narrow]), expected, "two versions of one plugin");

    let held = "; the host would hold all deletions of the kind Secret: deletionGuard allows 1 of 2";
    for (children, is_held) in [(1, true), (2, false)] {
        let guard = json!({ "children": children, "percent": 50 });
        let mount = json!({ "plugin": wide, "namespaces": [namespace], "deletionGuard": guard });
        let file = folder.put("gyre.yaml", json!({ "mounts": [mount] }).to_string());
        let mut command = Command::new(GYRE);
        command.args(["diff", &narrow, "--from", &wide, "--summary", "--config", &file]);
        let (_, said) = answer(command.arg("--kubeconfig").arg(cluster.kubeconfig()));
        assert!(said.contains("2 children deleted") && said.contains(held) == is_held, "{said}");
    }

    let value = "aHVudGVyMi1odW50ZXIy";
    let patch = json!({ "data": { "password": value } }).to_string();
    cluster.kubectl(&["patch", "secret", "-n", namespace, "a", "--type=merge", "-p", &patch]);
    let shown =
        |arguments: &[&str]| diff_in(namespace, &cluster, &narrow, &[&["-o", "json", "--from", &wide], arguments].concat()).1;
    let said = shown(&[]);
    assert!(said.contains("password") && !said.contains(value), "{said}");
    assert!(shown(&["--secrets"]).contains(value));
}

/// The settings and the namespaces decide what changes, so both have to be those of the mount.
#[test]
fn a_version_is_compared_as_the_running_host_mounts_the_plugin() {
    let (namespace, other, home) = ("diff-mounted", "diff-mounted-other", "diff-mounted-home");
    let Some(cluster) = Cluster::for_test(namespace, &[namespace, other, home]) else { return };
    let folder = Folder::new();
    let plugin = folder.put_plugin("new.wasm", gyre_artifacts::SCHEDULED_ECHO);
    let config = |plugin: &str| {
        let mount =
            json!({ "plugin": plugin, "name": "mounted", "namespaces": [namespace], "settings": { "restricted": true } });
        json!({ "name": "diff-mounted", "mounts": [mount] })
    };
    let file = folder.put("gyre.yaml", config(gyre_artifacts::SCHEDULED_ECHO).to_string());
    let host = cluster.host_with(&[], &[], &["--config", &file, "--home-namespace", home]);
    for namespace in [namespace, other] {
        let spec = json!({ "message": "hello", "schedule": "0 0 1 1 *" });
        let echo = json!({
            "apiVersion": "mmontes.io/v1alpha1", "kind": "ScheduledEcho", "metadata": { "name": "it", "namespace": namespace }, "spec": spec,
        });
        cluster.apply(&echo.to_string());
    }
    cluster.ready(namespace, "scheduledecho", "it");
    cluster.settled(&host);
    drop(host);

    let diff = |arguments: &[&str]| {
        let mut command = Command::new(GYRE);
        let output = command.args(["diff", &plugin, "--kubeconfig"]).arg(cluster.kubeconfig()).args(arguments).output();
        let output = output.expect("gyre runs");
        let [said, told] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        (output.status.code(), said, told)
    };
    let nothing = (Some(0), "0 of 1 parent change\n");
    let (code, said, told) = diff(&["--config", &file]);
    assert_eq!((code, said.as_str()), nothing, "{told}");
    // The host runs elsewhere, with plugins that are not on this machine.
    let mut elsewhere = config("/elsewhere/plugins/scheduled_echo.wasm");
    elsewhere["mounts"].as_array_mut().unwrap().push(json!({ "plugin": "/elsewhere/plugins/website.wasm" }));
    let elsewhere = folder.put("elsewhere.yaml", elsewhere.to_string());
    let (code, said, told) = diff(&["--config", &elsewhere]);
    assert_eq!((code, said.as_str()), nothing, "{told}");
    let directory = json!({ "pluginDirectory": "/elsewhere/plugins", "defaults": { "namespaces": [namespace] } });
    let (_, said, told) = diff(&["--config", &folder.put("directory.yaml", directory.to_string())]);
    assert!(said.contains("1 of 1 parent changes"), "the directory mounts it without settings: {said}{told}");
    let foreign = json!({ "mounts": [{ "plugin": gyre_artifacts::ECHO }] });
    let (code, _, told) = diff(&["--config", &folder.put("foreign.yaml", foreign.to_string())]);
    assert!(told.contains("does not mount the plugin scheduled-echo") && told.contains("echo"), "{told}");
    assert_eq!(code, Some(2));

    // The inventory has the namespaces, but no settings.
    let settings = r#"scheduled-echo={"restricted":true}"#;
    let (code, said, told) = diff(&["--settings", settings]);
    assert_eq!((code, said.as_str()), nothing, "{told}");
    assert!(told.contains("scheduled-echo is mounted in diff-mounted:") && told.contains("--config"), "{told}");
    let (_, said, _) = diff(&["--settings", settings, "--namespace", other]);
    assert!(said.contains("1 of 1 parent changes: 1 child created"), "a namespace that is named is compared: {said}");
}

#[test]
fn a_diff_reports_failed_calls_and_refused_children() {
    let namespace = "diff-failing";
    let Some(cluster) = Cluster::for_test(namespace, &[namespace]) else { return };
    let _guests = guest_crds();
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

#[test]
fn a_diff_of_an_absent_kind_or_namespace_says_so() {
    let namespace = "diff-blind";
    let Some(cluster) = Cluster::for_test(namespace, &[namespace]) else { return };
    let folder = Folder::new();
    let unserved = folder.put("unserved.wasm", with_kind(gyre_artifacts::probes::FINALIZING, "Finalizing", "Unserviced"));
    let remark = "the cluster does not serve Unserviced guests.gyre.dev/v1: apply the output of `gyre crds` first";
    let (code, said) = diff_in(namespace, &cluster, &unserved, &[]);
    assert_eq!((code, said), (Some(2), format!("0 of 0 parents change; {remark}\n")));
    let (code, said) = diff_in(namespace, &cluster, &unserved, &["-o", "json"]);
    assert_eq!(code, Some(2), "{said}");
    assert_eq!(serde_json::from_str::<Value>(&said).unwrap()["remarks"], json!([remark]));

    let echo = gyre_artifacts::ECHO;
    let remark = "the cluster has no namespace diff-blind-nowhere";
    let nowhere = format!("0 of 0 parents change; {remark}\n");
    assert_eq!(diff_in("diff-blind-nowhere", &cluster, echo, &[]), (Some(2), nowhere.clone()));
    let beside = diff_in("diff-blind-nowhere", &cluster, echo, &["--namespace", namespace]);
    assert_eq!(beside, (Some(0), nowhere), "the other one is there");
    assert_eq!(diff_in(namespace, &cluster, echo, &[]), (Some(0), "0 of 0 parents change\n".to_owned()));
}

#[test]
fn a_server_that_answers_404_is_not_a_cluster_without_objects() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            // A request fits into one segment.
            let _ = connection.read(&mut [0; 4096]);
            let page = "404 page not found\n";
            let head = format!("HTTP/1.1 404 Not Found\r\ncontent-length: {}\r\nconnection: close", page.len());
            let _ = write!(connection, "{head}\r\n\r\n{page}");
        }
    });
    let folder = Folder::new();
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "it",
        "contexts": [{ "name": "it", "context": { "cluster": "it", "user": "it" } }],
        "clusters": [{ "name": "it", "cluster": { "server": format!("http://127.0.0.1:{port}") } }],
        "users": [{ "name": "it", "user": {} }],
    });
    let kubeconfig = folder.put("kubeconfig", kubeconfig.to_string());
    for command in [&["diff"][..], &["render", "--from-cluster"]] {
        let (code, said) = answer(Command::new(GYRE).args(command).args([gyre_artifacts::ECHO, "--kubeconfig", &kubeconfig]));
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("this is not a Kubernetes API server") && said.contains(&port.to_string()), "{said}");
    }
}

#[test]
fn a_diff_uses_the_definitions_of_the_cluster() {
    let namespace = "diff-defined";
    let Some(cluster) = Cluster::for_test(namespace, &[namespace]) else { return };
    let folder = Folder::new();
    let plugin = folder.put("defined.wasm", with_kind(gyre_artifacts::probes::FINALIZING, "Finalizing", "Antiquated"));
    let output = Command::new(GYRE).args(["crds", &plugin]).output().expect("gyre runs");
    let mut old: Value = serde_saphyr::from_str(std::str::from_utf8(&output.stdout).unwrap()).unwrap();
    old["spec"]["versions"][0]["subresources"].as_object_mut().unwrap().remove("status").unwrap();
    cluster.apply(&old.to_string());
    cluster.kubectl(&["wait", "--for=condition=Established", "--timeout=60s", "crd", "antiquateds.guests.gyre.dev"]);
    cluster.apply(&guest("Antiquated", namespace, "it", json!({})).to_string());
    let verbs = || {
        let (code, said) = diff_in(namespace, &cluster, &plugin, &["-o", "json"]);
        assert_eq!(code, Some(1), "{said}");
        let said: Value = serde_json::from_str(&said).unwrap();
        let mut verbs: Vec<String> =
            said["changes"].as_array().unwrap().iter().map(|change| change["verb"].as_str().unwrap().to_owned()).collect();
        verbs.sort();
        (verbs, said["remarks"].to_string())
    };
    // Without the status subresource, a host waits, and then continues without it.
    let (done, remarks) = verbs();
    assert_eq!(done, ["create", "create", "finalizers", "update"]);
    let remark = "the plugin antiquated contains another CustomResourceDefinition antiquateds.guests.gyre.dev than the cluster";
    assert!(remarks.contains(remark) && remarks.contains("spec.versions"), "{remarks}");
    cluster.install_crds(&[&plugin]);
    let (done, remarks) = verbs();
    assert_eq!((done, remarks.as_str()), (["create", "create", "finalizers", "status"].map(str::to_owned).to_vec(), "[]"));

    // A schema without conditions, which are then pruned.
    let mut narrow: Value = serde_saphyr::from_str(std::str::from_utf8(&output.stdout).unwrap()).unwrap();
    let status = json!({ "type": "object", "properties": { "phase": { "type": "string" } } });
    let spec = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    narrow["spec"]["versions"][0]["schema"]["openAPIV3Schema"] =
        json!({ "type": "object", "properties": { "spec": spec, "status": status } });
    cluster.kubectl(&["replace", "-f", &folder.put("narrow.json", narrow.to_string())]);
    let (_, said) = diff_in(namespace, &cluster, &plugin, &["-o", "json"]);
    assert!(said.contains("\"create\"") && said.contains(remark) && !said.contains("\"conditions\""), "{said}");
}
