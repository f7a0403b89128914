//! Upgrades of a release on a real API server: from echoperator, and between settings.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use gyre_chart_tests::helm::Helm;
use gyre_chart_tests::{chart, root};
use gyre_controlplane::{ControlPlane, Options, shared_or_skip, start_or_skip};
use serde_json::{Value, json};

use crate::cluster::{namespace, said_by};

fn object(cluster: &ControlPlane, namespace: &str, name: &str) -> anyhow::Result<Value> {
    Ok(serde_json::from_str(&cluster.kubectl_stdout(&["-n", namespace, "get", name, "-o", "json"])?)?)
}

/// Writes a chart with the names, selectors and replaced objects of echoperator's chart.
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

/// Returns a CustomResourceDefinition like echoperator's, without status and columns.
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

/// `server_side` is whether Helm applied the old release server-side, which Helm 3 never does.
fn upgrade_from_echoperator(server_side: &str) -> anyhow::Result<()> {
    let Some(_) = Helm::or_skip()? else { return Ok(()) };
    // Its own cluster, because CustomResourceDefinitions have no namespace.
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
    helm(&["install", "echoperator", &old, server_side])?;
    let before = object(cluster, "old", "deploy/echoperator")?;

    let set = "nameOverride=echoperator,image.repository=registry.example.com/gyre";
    let upgrade = ["upgrade", "echoperator", &new, "--set", set, "--take-ownership"];
    let refused = format!("{:#}", helm(&upgrade).unwrap_err());
    assert!(refused.contains("is echoperator's. Nothing was changed."), "{refused}");
    assert_eq!(object(cluster, "old", "deploy/echoperator")?["metadata"]["generation"], before["metadata"]["generation"]);

    // The command in README.md and in the error.
    let hand_over = ["apply", "--server-side", "--force-conflicts", "--field-manager=helm", "--filename"];
    said_by(cluster.kubectl().args(hand_over).arg(chart().join("files/crds")))?;
    let refused = format!("{:#}", helm(&upgrade[..5]).unwrap_err());
    assert!(refused.contains("invalid ownership metadata"), "{refused}");
    let said = helm(&upgrade)?;
    assert!(said.contains("runs as the Deployment echoperator in the namespace old"), "{said}");
    assert!(!said.contains("WARNING"), "{said}");

    let deployment = object(cluster, "old", "deploy/echoperator")?;
    let containers = deployment["spec"]["template"]["spec"]["containers"].as_array().context("no containers")?;
    let names: Vec<_> = containers.iter().map(|container| &container["name"]).collect();
    assert_eq!(names, ["gyre"], "the old one is gone");
    assert_eq!(deployment["spec"]["template"]["spec"]["serviceAccountName"], "echoperator");
    let crd = object(cluster, "old", "crd/echos.mmontes.io")?;
    assert_eq!(crd["spec"]["versions"][0]["subresources"], json!({"status": {}}), "{crd:#}");

    helm(&upgrade[..5])?;
    helm(&["uninstall", "echoperator"])?;
    let left = cluster.kubectl_stdout(&["get", "customresourcedefinitions", "--output", "name"])?;
    assert!(left.contains("echos.mmontes.io") && left.contains("scheduledechos.mmontes.io"), "crds.keep: {left}");
    let left =
        cluster.kubectl_stdout(&["-n", "old", "get", "deployments,services,configmaps,roles,serviceaccounts", "-o", "name"])?;
    assert!(!left.contains("echoperator"), "{left}");
    Ok(())
}

#[test]
fn a_release_that_helm_3_made_of_echoperator_is_upgraded_in_place() -> anyhow::Result<()> {
    upgrade_from_echoperator("--server-side=false")
}

#[test]
fn a_release_that_helm_4_made_of_echoperator_is_upgraded_in_place() -> anyhow::Result<()> {
    upgrade_from_echoperator("--server-side=true")
}

#[test]
fn leader_election_can_be_switched_off_and_on_in_a_release() -> anyhow::Result<()> {
    let Some(_) = Helm::or_skip()? else { return Ok(()) };
    let Some(cluster) = shared_or_skip()? else { return Ok(()) };
    for (release, server_side) in [("switched", "--server-side=true"), ("switched-by-client", "--server-side=false")] {
        namespace(cluster, release)?;
        let helm = |arguments: &[&str]| said_by(cluster.helm()?.args(["--namespace", release]).args(arguments));
        let chart = chart().display().to_string();
        let name = format!("fullnameOverride={release},crds.enabled=false");
        helm(&["install", release, &chart, "--set", &name, server_side])?;
        for is_enabled in [true, false, true] {
            let set = format!("{name},ha.enabled={is_enabled}");
            helm(&["upgrade", release, &chart, "--set", &set]).with_context(|| format!("{release}: {set}"))?;
            let strategy = &object(cluster, release, &format!("deploy/{release}"))?["spec"]["strategy"];
            let expected = match is_enabled {
                true => json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}),
                false => json!({"type": "Recreate"}),
            };
            assert_eq!(*strategy, expected, "{release}: {set}");
            let replicas = &object(cluster, release, &format!("deploy/{release}"))?["spec"]["replicas"];
            assert_eq!(*replicas, if is_enabled { 3 } else { 1 }, "{release}: {set}");
            let roles = cluster.kubectl_stdout(&["-n", release, "get", "roles", "-o", "json"])?;
            assert!(roles.contains("\"leases\""), "{release}: one replica is fenced, too: {set}");
        }
        helm(&["uninstall", release])?;
    }
    Ok(())
}

/// As in README.md, an upgrade with leader election comes first.
#[test]
fn a_release_that_left_the_strategy_to_defaults_can_be_switched_after_one_upgrade() -> anyhow::Result<()> {
    let Some(_) = Helm::or_skip()? else { return Ok(()) };
    let Some(cluster) = shared_or_skip()? else { return Ok(()) };
    namespace(cluster, "defaulted")?;
    let helm = |arguments: &[&str]| said_by(cluster.helm()?.args(["--namespace", "defaulted"]).args(arguments));
    let chart = chart().display().to_string();
    let name = "fullnameOverride=defaulted,crds.enabled=false";
    helm(&["install", "defaulted", &chart, "--set", name, "--set", "strategy.type=RollingUpdate"])?;
    helm(&["upgrade", "defaulted", &chart, "--set", name])?;
    helm(&["upgrade", "defaulted", &chart, "--set", name, "--set", "ha.enabled=false"])?;
    assert_eq!(object(cluster, "defaulted", "deploy/defaulted")?["spec"]["strategy"], json!({"type": "Recreate"}));
    helm(&["uninstall", "defaulted"])?;
    Ok(())
}
