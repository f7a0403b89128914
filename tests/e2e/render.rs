use std::process::Command;

use serde_json::{Value, json};

use crate::harness::{Cluster, Folder, GYRE, guest, with_kind};

const NAMESPACE: &str = "render";

fn render(cluster: &Cluster, arguments: &[&str]) -> (Option<i32>, String) {
    render_of(gyre_artifacts::ECHO, NAMESPACE, cluster, &[&["-o", "json"], arguments].concat())
}

fn render_of(plugin: &str, namespace: &str, cluster: &Cluster, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(GYRE);
    command.args(["render", plugin, "--from-cluster", "--namespace", namespace]);
    let output = command.arg("--kubeconfig").arg(cluster.kubeconfig()).args(arguments).output().expect("gyre runs");
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr))
}

/// The JSON of an output. Warnings follow it, because they are on standard error.
fn rendered(said: &str) -> Value {
    let mut values = serde_json::Deserializer::from_str(said).into_iter::<Value>();
    values.next().expect("JSON").unwrap_or_else(|error| panic!("{error}: {said}"))
}

fn plan(said: &str) -> Vec<String> {
    let rendered = rendered(said);
    let text = |step: &Value, field: &str| step[field].as_str().unwrap_or_default().to_owned();
    let step = |step: &Value| ["verb", "kind", "namespace", "name"].map(|field| text(step, field)).join(" ");
    let mut plan: Vec<String> = rendered["plan"].as_array().unwrap().iter().map(step).collect();
    plan.retain(|step| !step.starts_with("event "));
    plan
}

fn child(said: &str, name: &str) -> Value {
    let rendered = rendered(said);
    let children = rendered["children"].as_array().unwrap();
    children.iter().find(|child| child["metadata"]["name"] == name).unwrap_or_else(|| panic!("{name}: {said}")).clone()
}

fn echo(name: &str, message: &str) -> Value {
    json!({
        "apiVersion": "mmontes.io/v1alpha1", "kind": "Echo", "metadata": { "name": name }, "spec": { "message": message },
    })
}

#[test]
fn a_live_cluster_is_copied_with_files_over_it_and_only_read() {
    let Some(cluster) = Cluster::for_test(NAMESPACE, &[NAMESPACE]) else { return };
    let mut first = echo("first", "one");
    first["metadata"]["namespace"] = json!(NAMESPACE);
    cluster.apply_all(&[first]);
    let Some(mark) = cluster.audit_mark() else { return };

    let (code, said) = render(&cluster, &[]);
    assert_eq!(code, Some(0), "{said}");
    let of_first = ["create Job render first", "status Echo render first"];
    assert_eq!(plan(&said), of_first, "{said}");
    let uid = cluster.get(NAMESPACE, "echo", "first").unwrap()["metadata"]["uid"].clone();
    assert_eq!(child(&said, "first")["metadata"]["ownerReferences"][0]["uid"], uid, "{said}");

    let folder = Folder::new();
    let file = |name: &str, object: &Value| folder.put(name, object.to_string());
    let changed = file("changed.json", &echo("first", "two"));
    let new = file("new.json", &echo("second", "three"));
    let (code, said) = render(&cluster, &["-f", &changed, "-f", &new]);
    assert_eq!(code, Some(0), "{said}");
    let steps = plan(&said);
    let of_second = ["create Job render second", "status Echo render second"];
    assert!(of_first.iter().chain(&of_second).all(|step| steps.iter().any(|other| other == step)), "{said}");
    assert_eq!(steps.len(), 4, "{said}");
    for (name, message) in [("first", "two"), ("second", "three")] {
        let child = child(&said, name);
        assert_eq!(child["spec"]["template"]["spec"]["containers"][0]["command"], json!(["echo", message]));
    }
    assert_eq!(child(&said, "first")["metadata"]["ownerReferences"][0]["uid"], uid, "{said}");
    let unknown = file(
        "unknown.json",
        &json!({ "apiVersion": "mmontes.io/v1alpha1", "kind": "Echo", "metadata": { "name": "first" }, "spec": { "massage": "x" } }),
    );
    let (code, said) = render(&cluster, &["-f", &unknown]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("unknown.json: Echo render/first: ") && said.contains("massage"), "{said}");

    let writes = |since| cluster.requests(since).into_iter().filter(gyre_controlplane::AuditEvent::is_write).count();
    assert_eq!(writes(mark), 0);

    // A foreign object that is not copied counts if it has the name of a child.
    let pod = json!({ "containers": [{ "name": "it", "image": "it" }], "restartPolicy": "Never" });
    cluster.apply_all(&[json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": "first", "namespace": NAMESPACE },
        "spec": { "suspend": true, "template": { "spec": pod } },
    })]);
    let (code, said) = render(&cluster, &[]);
    assert_eq!(code, Some(1), "{said}");
    assert_eq!(plan(&said), of_first[1..], "{said}");
    assert!(said.contains("Job.v1.batch render/first exists, and nothing marks it as a child of this parent"), "{said}");
    assert!(!said.contains("\"refusal\""), "{said}");
    assert_eq!(writes(mark), 0);
}

#[test]
fn values_of_secrets_are_shown_on_request() {
    let namespace = "render-secrets";
    let plugin = gyre_artifacts::probes::INDISCREET;
    let Some(cluster) = Cluster::for_test(namespace, &[namespace]) else { return };
    cluster.install_crds(&[plugin]);
    let parent = guest("Indiscreet", namespace, "it", json!({ "secret": "key" }));
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "key", "namespace": namespace },
        "stringData": { "password": "correct horse battery" },
    });
    cluster.apply_all(&[secret, parent.clone()]);
    let forms = ["correct horse battery", "Y29ycmVjdCBob3JzZSBiYXR0ZXJ5"];
    let folder = Folder::new();
    let file = folder.put("it.json", parent.to_string());
    let render = |arguments: &[&str]| render_of(plugin, namespace, &cluster, arguments);
    for arguments in [&[][..], &["-o", "json"], &["-f", &file]] {
        let (code, said) = render(arguments);
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("redacted-"), "{said}");
        for form in forms {
            assert!(!said.contains(form), "{form} in:\n{said}");
        }
        let (_, said) = render(&[&["--secrets"], arguments].concat());
        assert!(!said.contains("redacted-"), "{said}");
        for form in forms {
            assert!(said.contains(form), "no {form} in:\n{said}");
        }
    }
    // A redacted Secret must not be applied, so it is commented out.
    let (_, said) = render(&[]);
    assert!(said.contains("# kind: Secret\n") && said.lines().all(|line| line.starts_with('#')), "{said}");
    let (_, said) = render(&["--secrets"]);
    assert!(said.contains("\nkind: Secret\n"), "{said}");
}

#[test]
fn the_option_secrets_requires_from_cluster() {
    let arguments = ["render", gyre_artifacts::ECHO, "-f", "echo.yaml", "--secrets"];
    let output = Command::new(GYRE).args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("--from-cluster"), "{said}");
}

#[test]
fn the_option_context_requires_from_cluster() {
    let output =
        Command::new(GYRE).args(["render", gyre_artifacts::ECHO, "-f", "echo.yaml", "--context", "it"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("--from-cluster"), "{said}");
}

#[test]
fn an_object_that_no_mount_selects_is_reported() {
    let folder = Folder::new();
    let there = |name: &str, namespace: &str| {
        let mut echo = echo(name, "hello");
        echo["metadata"]["namespace"] = json!(namespace);
        echo["metadata"]["labels"] = json!({ "name": name });
        folder.put(&format!("{name}.json"), echo.to_string())
    };
    let (near, far) = (there("near", "here"), there("far", "there"));
    let config = json!({ "mounts": [{ "plugin": gyre_artifacts::ECHO, "selector": "name=near" }] });
    let config = folder.put("gyre.yaml", config.to_string());
    let render = |arguments: &[&str]| {
        let output = Command::new(GYRE).arg("render").args(arguments).output().expect("gyre runs");
        let said = if output.stdout.is_empty() { output.stderr } else { output.stdout };
        (output.status.code(), String::from_utf8_lossy(&said).into_owned())
    };
    let by_namespace = [gyre_artifacts::ECHO, "--namespace", "here"];
    let because = "Echo there/far is not reconciled: the mount watches only the namespace here";
    let unlabelled = "Echo there/far is not reconciled: the mount's selector does not select it";
    for (mount, because) in [(&by_namespace[..], because), (&["--config", &config], unlabelled)] {
        let (code, said) = render(&[mount, &["-f", &far]].concat());
        assert_eq!(
            (code, said),
            (Some(2), format!("gyre: the files contain nothing for the plugin to reconcile: {because}\n"))
        );
        let (code, said) = render(&[mount, &["-f", &far, "-f", &near]].concat());
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains(&format!("\n# {because}\n")) && said.contains("create     Job here/near\n"), "{said}");
    }
}

#[test]
fn kinds_and_namespaces_that_the_cluster_lacks_are_reported() {
    let namespace = "render-absent";
    let Some(cluster) = Cluster::for_test(namespace, &[namespace]) else { return };
    let folder = Folder::new();
    let mut echo = echo("it", "hello");
    echo["metadata"]["namespace"] = json!("render-absent-nowhere");
    let file = folder.put("echo.json", echo.to_string());
    let brought = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "render-absent-nowhere" } });
    let brought = folder.put("namespace.json", brought.to_string());
    let of_echo = |namespace: &str, arguments: &[&str]| render_of(gyre_artifacts::ECHO, namespace, &cluster, arguments);
    let refusal = "echo.json: Echo render-absent-nowhere/it: namespaces \"render-absent-nowhere\" not found\n";
    for namespace in [namespace, "render-absent-nowhere"] {
        let (code, said) = of_echo(namespace, &["-f", &file]);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.ends_with(refusal), "{said}");
    }
    let (code, said) = of_echo("render-absent-nowhere", &["-f", &file, "-f", &brought]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("create     Job render-absent-nowhere/it\n"), "{said}");
    let (code, said) = of_echo(namespace, &["-f", &file, "-f", &brought]);
    assert_eq!(code, Some(2), "{said}");
    let because = "Echo render-absent-nowhere/it is not reconciled: the mount watches only the namespace render-absent";
    assert!(said.contains(&format!("#   nothing\n# {because}\n")), "{said}");

    let (code, said) = of_echo("render-absent-nowhere", &[]);
    assert_eq!(
        (code, said.as_str()),
        (Some(1), "# plan:\n#   nothing\n# the cluster has no namespace render-absent-nowhere\n")
    );
    let unserved = folder.put("unserved.wasm", with_kind(gyre_artifacts::probes::FINALIZING, "Finalizing", "Unrendered"));
    let remark = "the cluster does not serve Unrendered guests.gyre.dev/v1: apply the output of `gyre crds` first";
    let (code, said) = render_of(&unserved, namespace, &cluster, &[]);
    assert_eq!((code, said), (Some(1), format!("# plan:\n#   nothing\n# {remark}\n")));
    let file = folder.put("unrendered.json", guest("Unrendered", namespace, "it", json!({})).to_string());
    let (code, said) = render_of(&unserved, namespace, &cluster, &["-f", &file]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains(remark) && said.contains("create     ConfigMap"), "{said}");
}
