//! What a real API server says to the chart.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use gyre_chart_tests::helm::{self, Helm, NAMESPACE, Release};
use gyre_chart_tests::{chart, root};
use gyre_controlplane::{ControlPlane, Options, shared_or_skip, start_or_skip};
use serde_json::{Value, json};

use crate::matrix;
use crate::render::folders;

/// Runs a command, and returns what it prints, of both kinds. Errors: it fails.
fn said_by(command: &mut Command) -> anyhow::Result<String> {
    let output = command.stdin(Stdio::null()).output()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}: {said}");
    Ok(said)
}

pub(crate) fn namespace(cluster: &ControlPlane, name: &str) -> anyhow::Result<()> {
    let object = json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": name,
            "labels": {"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/warn": "restricted"},
        },
    });
    cluster.apply(&object.to_string()).map(drop)
}

/// With strict validation, so that no field is misspelt; and in a namespace that takes restricted pods only.
#[test]
fn a_real_server_takes_all_that_is_rendered() -> anyhow::Result<()> {
    let Some(helm) = Helm::or_skip()? else { return Ok(()) };
    let Some(cluster) = shared_or_skip()? else { return Ok(()) };
    for name in [NAMESPACE, "grafana", "team-a", "team-b", "team-c"] {
        namespace(cluster, name)?;
    }
    let cases = folders("cases").into_iter().map(|case| -> anyhow::Result<(String, Vec<Value>)> {
        let release = Release::of(&case.join("values.yaml"))?;
        let rendered = helm.template(&release)?.map_err(anyhow::Error::msg)?;
        Ok((case.display().to_string(), helm::documents(&rendered)?))
    });
    // Some of it: each takes seconds.
    let matrix =
        matrix::matrix().into_iter().skip(3).step_by(4).map(|values| Ok((values.to_string(), matrix::render(&helm, &values)?)));
    for rendered in cases.chain(matrix) {
        let (case, objects) = rendered?;
        // The cluster has no Prometheus.
        let objects: Vec<&Value> = objects.iter().filter(|object| object["kind"] != "ServiceMonitor").collect();
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        let said = dry_run(cluster, &list).with_context(|| case.clone())?;
        assert_eq!(said.lines().filter(|line| line.contains("serverside-applied")).count(), objects.len(), "{said}");
        // Whoever gives a release a name with dots is warned of what follows from it.
        let warned = said.lines().find(|line| line.contains("Warning") && !line.contains("a DNS label is recommended"));
        assert_eq!(warned, None, "{case}");
    }
    Ok(())
}

fn dry_run(cluster: &ControlPlane, list: &Value) -> anyhow::Result<String> {
    let mut command = cluster.kubectl();
    command.args(["apply", "--server-side", "--dry-run=server", "--validate=strict", "--force-conflicts", "--filename", "-"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    child.stdin.take().context("no stdin")?.write_all(list.to_string().as_bytes())?;
    let output = child.wait_with_output()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{said}");
    Ok(said)
}

/// echoperator's chart, as far as an upgrade from it is concerned: names, selectors, and objects that ours replace.
fn write_predecessor(folder: &Path) -> anyhow::Result<()> {
    let labels = json!({"app.kubernetes.io/name": "echoperator", "app.kubernetes.io/instance": "echoperator"});
    let metadata = |name: &str| json!({"name": name, "labels": labels});
    let rules =
        json!([{"apiGroups": ["mmontes.io"], "resources": ["echos", "scheduledechos"], "verbs": ["get", "list", "watch"]}]);
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "echoperator"});
    let subjects = json!([{"kind": "ServiceAccount", "name": "echoperator", "namespace": "old"}]);
    let container = json!({
        "name": "echoperator",
        "image": "mmontes11/echoperator:v0.0.1",
        "envFrom": [{"configMapRef": {"name": "echoperator"}}],
    });
    let template = json!({"metadata": {"labels": labels}, "spec": {"containers": [container]}});
    let rbac = "rbac.authorization.k8s.io/v1";
    let objects = [
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata("echoperator")}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata("echoperator"), "data": {"NAMESPACE": "old"}}),
        json!({"apiVersion": rbac, "kind": "ClusterRole", "metadata": metadata("echoperator"), "rules": rules}),
        json!({
            "apiVersion": rbac,
            "kind": "ClusterRoleBinding",
            "metadata": metadata("echoperator"),
            "roleRef": role,
            "subjects": subjects,
        }),
        json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata("echoperator-metrics"),
            "spec": {"type": "ClusterIP", "ports": [{"port": 2112, "name": "metrics"}], "selector": labels},
        }),
        json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": metadata("echoperator"),
            "spec": {"replicas": 3, "selector": {"matchLabels": labels}, "template": template},
        }),
    ];
    let documents: Vec<String> = objects.iter().map(Value::to_string).collect();
    fs::create_dir_all(folder.join("templates"))?;
    fs::write(folder.join("Chart.yaml"), "apiVersion: v2\nname: echoperator\nversion: 0.0.1\n")?;
    fs::write(folder.join("templates/all.yaml"), documents.join("\n---\n"))?;
    Ok(())
}

/// A CustomResourceDefinition as echoperator has it: without status and columns.
fn predecessor_of(crd: &str) -> anyhow::Result<String> {
    let mut crd: Value = serde_json::from_str(crd)?;
    let version = crd.pointer_mut("/spec/versions/0").and_then(Value::as_object_mut).context("no version")?;
    version.retain(|key, _| ["name", "served", "storage", "schema"].contains(&key.as_str()));
    let schema =
        crd.pointer_mut("/spec/versions/0/schema/openAPIV3Schema").and_then(Value::as_object_mut).context("no schema")?;
    schema.remove("required");
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut).context("no properties")?;
    properties.retain(|key, _| key == "spec");
    Ok(crd.to_string())
}

/// As README.md says to, with CustomResourceDefinitions that somebody applied by hand; and back out of the cluster.
#[test]
fn a_release_of_echoperator_is_upgraded_in_place() -> anyhow::Result<()> {
    let Some(_) = Helm::or_skip()? else { return Ok(()) };
    // Its own: CustomResourceDefinitions are everybody's.
    let Some(cluster) = start_or_skip(Options::default())? else { return Ok(()) };
    let cluster = &cluster;
    let old = tempfile::tempdir()?;
    write_predecessor(old.path())?;
    namespace(cluster, "old")?;
    for plugin in ["echo", "scheduled-echo"] {
        let file = old.path().join(format!("{plugin}.json"));
        fs::write(&file, predecessor_of(&fs::read_to_string(root().join("plugins").join(plugin).join("crd.json"))?)?)?;
        said_by(cluster.kubectl().args(["apply", "--filename"]).arg(&file))?;
    }
    let helm = |arguments: &[&str]| said_by(cluster.helm()?.args(["--namespace", "old"]).args(arguments));
    let (old, new) = (old.path().display().to_string(), chart().display().to_string());
    // As the Helm of that time did it.
    helm(&["install", "echoperator", &old, "--server-side=false"])?;
    let refused = helm(&["upgrade", "echoperator", &new, "--set", "nameOverride=echoperator"]).unwrap_err();
    assert!(format!("{refused:#}").contains("invalid ownership metadata"), "{refused:#}");
    let set = "nameOverride=echoperator,image.repository=registry.example.com/gyre";
    let said = helm(&["upgrade", "echoperator", &new, "--set", set, "--take-ownership"])?;
    assert!(said.contains("runs as the Deployment echoperator in the namespace old"), "{said}");
    assert!(!said.contains("WARNING"), "{said}");

    let deployment: Value =
        serde_json::from_str(&cluster.kubectl_stdout(&["-n", "old", "get", "deploy/echoperator", "-o", "json"])?)?;
    let containers = deployment["spec"]["template"]["spec"]["containers"].as_array().context("no containers")?;
    let names: Vec<_> = containers.iter().map(|container| &container["name"]).collect();
    assert_eq!(names, ["gyre"], "the old one is gone");
    assert_eq!(deployment["spec"]["template"]["spec"]["serviceAccountName"], "echoperator");

    let crd: Value = serde_json::from_str(&cluster.kubectl_stdout(&["get", "crd", "echos.mmontes.io", "-o", "json"])?)?;
    assert_eq!(crd["spec"]["versions"][0]["subresources"], json!({"status": {}}), "{crd:#}");

    helm(&["uninstall", "echoperator"])?;
    let left = cluster.kubectl_stdout(&["get", "customresourcedefinitions", "--output", "name"])?;
    assert!(left.contains("echos.mmontes.io") && left.contains("scheduledechos.mmontes.io"), "crds.keep: {left}");
    let left =
        cluster.kubectl_stdout(&["-n", "old", "get", "deployments,services,configmaps,roles,serviceaccounts", "-o", "name"])?;
    assert!(!left.contains("echoperator"), "{left}");
    Ok(())
}

/// What the account of a release may do, and what it may not.
#[test]
fn the_account_may_do_what_it_has_to_and_nothing_else() -> anyhow::Result<()> {
    let Some(_) = Helm::or_skip()? else { return Ok(()) };
    let Some(cluster) = shared_or_skip()? else { return Ok(()) };
    for name in ["confined", "elsewhere"] {
        namespace(cluster, name)?;
    }
    // kubectl asks about resources that are served.
    for plugin in ["echo", "scheduled-echo"] {
        cluster.apply(&fs::read_to_string(root().join("plugins").join(plugin).join("crd.json"))?)?;
    }
    let helm = |arguments: &[&str]| said_by(cluster.helm()?.args(["--namespace", "confined"]).args(arguments));
    let chart = chart().display().to_string();
    // A resource, `resource/name` or `resource//subresource`.
    let may = |account: &str, namespace: &str, verb: &str, resource: &str| -> anyhow::Result<bool> {
        let account = format!("--as=system:serviceaccount:confined:{account}");
        let (resource, subresource) = resource.split_once("//").unwrap_or((resource, ""));
        let subresource = format!("--subresource={subresource}");
        let arguments = ["auth", "can-i", verb, resource, &subresource, "--namespace", namespace, "--quiet", &account];
        Ok(cluster.kubectl().args(arguments).stdin(Stdio::null()).status()?.success())
    };
    let set = "namespaces={confined},rbac.namespaced=true,fullnameOverride=narrow";
    helm(&["install", "wide", &chart, "--set", "crds.enabled=false,fullnameOverride=wide"])?;
    helm(&["install", "narrow", &chart, "--set", "crds.enabled=false", "--set", set])?;

    let needed = [
        ("list", "echos.mmontes.io"),
        ("watch", "scheduledechos.mmontes.io"),
        ("patch", "echos.mmontes.io//status"),
        ("update", "scheduledechos.mmontes.io//finalizers"),
        ("create", "jobs.batch"),
        ("patch", "cronjobs.batch"),
        ("delete", "jobs.batch"),
        ("create", "events.events.k8s.io"),
    ];
    for (verb, resource) in needed {
        for (account, namespace, expected) in [
            ("wide", "confined", true),
            ("wide", "elsewhere", true),
            ("narrow", "confined", true),
            ("narrow", "elsewhere", false),
        ] {
            assert_eq!(may(account, namespace, verb, resource)?, expected, "{account} {verb} {resource} in {namespace}");
        }
    }
    for account in ["wide", "narrow"] {
        for (verb, resource, expected) in [
            ("create", "leases.coordination.k8s.io", true),
            ("get", &format!("leases.coordination.k8s.io/{account}"), true),
            ("update", &format!("leases.coordination.k8s.io/{account}"), true),
            ("update", "leases.coordination.k8s.io/other", false),
            ("update", &format!("configmaps/{account}-inventory"), true),
            ("get", "configmaps/other", false),
            ("list", "configmaps", false),
            ("get", "secrets", false),
            ("patch", "echos.mmontes.io", false),
            ("delete", "echos.mmontes.io", false),
            ("list", "pods", false),
        ] {
            assert_eq!(may(account, "confined", verb, resource)?, expected, "{account} {verb} {resource}");
        }
        assert!(!may(account, "elsewhere", "create", "leases.coordination.k8s.io")?, "{account}: only in its own namespace");
    }
    for release in ["wide", "narrow"] {
        helm(&["uninstall", release])?;
    }
    Ok(())
}
