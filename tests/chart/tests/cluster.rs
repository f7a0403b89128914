//! The chart on a real API server.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use gyre_chart_tests::helm::{self, Helm, NAMESPACE, Release};
use gyre_chart_tests::{chart, root};
use gyre_controlplane::{ControlPlane, shared_or_skip};
use serde_json::{Value, json};

use crate::matrix;
use crate::render::folders;

pub(crate) fn said_by(command: &mut Command) -> anyhow::Result<String> {
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

/// Uses strict validation, which finds misspelt fields, and a namespace for restricted pods only.
#[test]
fn a_real_server_accepts_everything_that_is_rendered() -> anyhow::Result<()> {
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
    // A part of it, because each takes seconds.
    let matrix =
        matrix::matrix().into_iter().skip(3).step_by(4).map(|values| Ok((values.to_string(), matrix::render(&helm, &values)?)));
    for rendered in cases.chain(matrix) {
        let (case, objects) = rendered?;
        // The cluster has no Prometheus.
        let is_for_prometheus = |object: &&Value| object["apiVersion"] == "monitoring.coreos.com/v1";
        let objects: Vec<&Value> = objects.iter().filter(|object| !is_for_prometheus(object)).collect();
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        let said = dry_run(cluster, &list).with_context(|| case.clone())?;
        assert_eq!(said.lines().filter(|line| line.contains("serverside-applied")).count(), objects.len(), "{said}");
        // The API server warns of dots in a name, which some release names have.
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

#[test]
fn the_account_may_do_what_it_has_to_and_nothing_else() -> anyhow::Result<()> {
    let Some(_) = Helm::or_skip()? else { return Ok(()) };
    let Some(cluster) = shared_or_skip()? else { return Ok(()) };
    for name in ["confined", "elsewhere"] {
        namespace(cluster, name)?;
    }
    // kubectl checks only resources that are served.
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
