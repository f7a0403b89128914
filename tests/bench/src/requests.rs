//! Requests per object, counted in the API server's audit log.

use std::fmt::Write as _;
use std::time::Duration;

use gyre_controlplane::{AuditReader, ControlPlane, Options, tools_or_skip};

use crate::line::Line;
use crate::process;

const ECHOS: usize = 1000;
const USER: &str = "gyre-bench-host";

pub(crate) fn measure() -> anyhow::Result<Vec<Line>> {
    let Some(tools) = tools_or_skip()? else { return Ok(Vec::new()) };
    let plane = ControlPlane::start(&tools, Options::default())?;
    let kubeconfig = plane.kubeconfig_for_user(USER, &["system:masters"])?;
    let log = plane.folder().join("host.log");
    let _host = process::start_host(&plane, &kubeconfig, &log)?;
    let audit = plane.audit()?;

    let start = plane.audit_barrier()?;
    let manifests = manifests(|_| "first".to_owned())?;
    let file = plane.folder().join("echos.yaml");
    std::fs::write(&file, manifests)?;
    plane.kubectl_stdout(&["create", "-f", &file.display().to_string()])?;
    let ready = "jsonpath={range .items[?(@.status.job)]}x{end}";
    process::until("all Echos to be ready", || Ok(plane.kubectl_stdout(&["get", "echos", "-o", ready])?.len() == ECHOS))?;
    // Events are written last.
    silence(&plane, &audit)?;
    let converging = audit.matching(start, |event| event.user == USER && event.verb != "watch")?;
    let per_echo =
        |keep: &dyn Fn(&str) -> bool| converging.iter().filter(|event| keep(&event.resource)).count() as f64 / ECHOS as f64;

    // The label does not matter to the plugin: each Echo is reconciled, and nothing has to change.
    let before = plane.audit_barrier()?;
    plane.kubectl_stdout(&["label", "echos", "--all", "touched=yes"])?;
    silence(&plane, &audit)?;
    let touched =
        audit.count_since(before, |event| event.user != USER && event.resource == "echos" && event.verb == "patch")?;
    let caused = audit.count_since(before, |event| event.user == USER && event.verb != "watch")?;
    anyhow::ensure!(touched == ECHOS, "{touched} Echos were touched");
    Ok(vec![
        Line::new("requests per Echo to converge", per_echo(&|_| true), "", None),
        Line::new("  of these about the Job (one write)", per_echo(&|resource| resource == "jobs"), "", Some(1.0)),
        Line::new("  of these about the Echo's status", per_echo(&|resource| resource == "echos"), "", Some(1.0)),
        Line::new("  of these events", per_echo(&|resource| resource == "events"), "", Some(1.0)),
        Line::new("requests per reconcile that changes nothing", caused as f64 / touched as f64, "", Some(0.0)),
    ])
}

/// Waits until the host sends no requests.
fn silence(plane: &ControlPlane, audit: &AuditReader) -> anyhow::Result<()> {
    let mut epoch = plane.audit_barrier()?;
    process::until("silence", || {
        std::thread::sleep(Duration::from_secs(2));
        let since = epoch;
        epoch = plane.audit_barrier()?;
        Ok(audit.count_since(since, |event| event.user == USER)? == 0)
    })
}

fn manifests(message: impl Fn(usize) -> String) -> Result<String, std::fmt::Error> {
    let mut manifests = String::new();
    for number in 0..ECHOS {
        writeln!(
            manifests,
            "---\napiVersion: mmontes.io/v1alpha1\nkind: Echo\nmetadata: {{name: echo-{number}, namespace: default}}\nspec: {{message: {:?}}}",
            message(number)
        )?;
    }
    Ok(manifests)
}
