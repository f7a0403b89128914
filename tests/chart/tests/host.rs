//! A real host with the configuration, the environment and the permissions that the chart gives it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use gyre_chart_tests::chart;
use gyre_chart_tests::helm::Helm;
use gyre_controlplane::{ControlPlane, Guarded, Options, start_or_skip};
use serde_json::{Value, json};

use crate::cluster::namespace;
use crate::programs::{gyre_or_skip, plugins_or_skip};

/// Of a machine that is busy with other things.
const PATIENCE: Duration = Duration::from_secs(90);
const NAMESPACE: &str = "installed";

/// Runs `gyre run` as the pods would, with the token of their account; only where files lie and what it listens on is said otherwise.
fn start(cluster: &ControlPlane, gyre: &Path, plugins: &Path, folder: &Path) -> anyhow::Result<Guarded> {
    let map = |name: &str| -> anyhow::Result<BTreeMap<String, String>> {
        let text =
            cluster.kubectl_stdout(&["--namespace", NAMESPACE, "get", "configmap", name, "--output", "jsonpath={.data}"])?;
        Ok(serde_json::from_str(&text)?)
    };
    let files = map("gyre-config")?;
    let config = files.get("gyre.yaml").context("no gyre.yaml")?.replace("/plugins", &plugins.display().to_string());
    let file = folder.join("gyre.yaml");
    fs::write(&file, config)?;
    let mut command = Command::new(gyre);
    command.arg("run").arg("--config").arg(&file).args(["--listen", "off"]);
    command.arg("--kubeconfig").arg(cluster.kubeconfig_for_service_account(NAMESPACE, "gyre")?);
    command
        .envs(map("gyre")?)
        .env("HOSTNAME", "gyre-0")
        .env("HA_NODE_ID", "gyre-0")
        .env("GYRE_CODE_CACHE", folder.join("code"));
    Guarded::spawn("gyre", &command, &folder.join("gyre.log"), Duration::from_secs(10))
}

fn until(what: &str, mut is_so: impl FnMut() -> anyhow::Result<bool>) -> anyhow::Result<()> {
    let start = Instant::now();
    while !is_so()? {
        ensure!(start.elapsed() < PATIENCE, "{what}: not after {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(200));
    }
    Ok(())
}

fn create(cluster: &ControlPlane, kind: &str, name: &str) -> anyhow::Result<()> {
    let spec = if kind == "Echo" { json!({"message": "Hello"}) } else { json!({"message": "Hello", "schedule": "0 0 1 1 *"}) };
    let metadata = json!({"name": name, "namespace": NAMESPACE});
    let object = json!({"apiVersion": "mmontes.io/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec});
    cluster.apply(&object.to_string()).map(drop)
}

fn is_ready(cluster: &ControlPlane, resource: &str) -> anyhow::Result<()> {
    let arguments = ["--namespace", NAMESPACE, "wait", "--for=condition=Ready", resource];
    cluster.kubectl_stdout(&[&arguments[..], &[&format!("--timeout={}s", PATIENCE.as_secs())]].concat()).map(drop)
}

/// What the chart grants is enough, and a host that lacks one rule says which.
#[test]
fn the_host_works_with_what_the_chart_grants_it() -> anyhow::Result<()> {
    let Some(gyre) = gyre_or_skip()? else { return Ok(()) };
    let Some(_) = Helm::or_skip()? else { return Ok(()) };
    let Some(plugins) = plugins_or_skip()? else { return Ok(()) };
    // Its own: other tests replace the CustomResourceDefinitions.
    let Some(cluster) = start_or_skip(Options::default())? else { return Ok(()) };
    let cluster = &cluster;
    namespace(cluster, NAMESPACE)?;
    let mut install = cluster.helm()?;
    install.args(["install", "gyre", "--namespace", NAMESPACE, "--take-ownership"]).arg(chart()).stdin(Stdio::null());
    let output = install.output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let folder = tempfile::tempdir()?;
    let host = start(cluster, &gyre, &plugins, folder.path())?;
    let log = || fs::read_to_string(host.log()).unwrap_or_default();
    create(cluster, "Echo", "hello")?;
    create(cluster, "ScheduledEcho", "hello")?;
    is_ready(cluster, "echo/hello").with_context(log)?;
    is_ready(cluster, "scheduledecho/hello").with_context(log)?;
    // A change, a deletion, an event and the inventory take other verbs than a creation.
    let patch =
        ["--namespace", NAMESPACE, "patch", "scheduledecho/hello", "--type=merge", "--patch", r#"{"spec":{"message":"Bye"}}"#];
    cluster.kubectl_stdout(&patch)?;
    until("the CronJob follows", || {
        let arguments = ["--namespace", NAMESPACE, "get", "cronjob/hello", "--output", "json"];
        Ok(cluster.kubectl_stdout(&arguments)?.contains("Bye"))
    })?;
    let inventory =
        cluster.kubectl_stdout(&["--namespace", NAMESPACE, "get", "configmap/gyre-inventory", "--output", "json"])?;
    assert!(inventory.contains("scheduled-echo"), "{inventory}");
    until("an event tells of the Job", || {
        let arguments = ["--namespace", NAMESPACE, "get", "events", "--output", "json"];
        Ok(cluster.kubectl_stdout(&arguments)?.contains("JobCreated"))
    })?;
    assert!(!log().contains("forbidden"), "{}", log());

    let role: Value = serde_json::from_str(&cluster.kubectl_stdout(&["get", "clusterrole/gyre", "--output", "json"])?)?;
    let rules = role["rules"].as_array().context("no rules")?;
    let kept: Vec<&Value> = rules.iter().filter(|rule| !rule.to_string().contains("echos/status")).collect();
    assert!(kept.len() < rules.len(), "{rules:?}");
    cluster.kubectl_stdout(&["patch", "clusterrole/gyre", "--type=merge", "--patch", &json!({"rules": kept}).to_string()])?;
    until("the rule is gone", || {
        let arguments =
            ["auth", "can-i", "patch", "echos.mmontes.io", "--subresource=status", "--namespace", NAMESPACE, "--quiet"];
        let account = format!("--as=system:serviceaccount:{NAMESPACE}:gyre");
        Ok(!cluster.kubectl().args(arguments).arg(account).stdin(Stdio::null()).status()?.success())
    })?;
    create(cluster, "Echo", "refused")?;
    let message =
        r#"User "system:serviceaccount:installed:gyre" cannot patch resource "echos/status" in API group "mmontes.io""#;
    until(message, || Ok(log().replace('\\', "").contains(message))).with_context(log)
}
