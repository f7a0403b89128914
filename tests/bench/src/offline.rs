//! `gyre test` over many golden cases, compared with native runs and with `kubectl apply`.
//!
//! A case of `gyre test` runs a cluster, a host and the compiled plugin; the test kit does so with
//! native code; plain Rust calls only the function. `gyre test` runs cases in parallel.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use echo::EchoReconciler;
use gyre_controlplane::{ControlPlane, tools_or_skip};
use gyre_sdk::testing::{Cluster, reconcile};
use gyre_test::{Plugin, World, assert_cases, object};
use serde_json::{Value, json};

use crate::line::{Line, median};
use crate::process;

const CASES: usize = 200;
const ROUNDS: usize = 5;
const APPLIES: usize = 20;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub(crate) fn measure() -> anyhow::Result<Vec<Line>> {
    let folder = tempfile::tempdir()?;
    for number in 0..CASES {
        let case = folder.path().join(format!("case-{number}"));
        std::fs::create_dir(&case)?;
        std::fs::write(case.join("echo.yaml"), echo(number)?)?;
    }
    run(folder.path(), &["--update"])?;
    run(folder.path(), &[])?;

    let (component, native) = (Plugin::wasm(gyre_artifacts::ECHO)?, Plugin::native::<EchoReconciler>());
    let in_kit = |plugin: &Plugin| {
        assert_cases(plugin, folder.path());
        Ok(())
    };
    let (mut commands, mut components, mut natives, mut functions) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        commands.push(time(|| run(folder.path(), &[]))?);
        components.push(time(|| in_kit(&component))?);
        natives.push(time(|| in_kit(&native))?);
        functions.push(time(plainly)?);
    }
    let [command, component, native, function] =
        [commands, components, natives, functions].map(|times| milliseconds(median(times)));
    let mut lines = vec![
        Line::new("gyre test, 200 cases", command, "ms", None),
        Line::new("the same in cargo test, the component", component, "ms", None),
        Line::new("the same in cargo test, natively", native, "ms", None),
        Line::new("the same as plain Rust", function, "ms", None),
        Line::new("gyre test / natively", command / native, "x", Some(2.0)),
        Line::new("the component / natively", component / native, "x", Some(2.0)),
        Line::new("a case of gyre test", command / CASES as f64, "ms", None),
    ];
    lines.extend(worlds()?);
    let Some(tools) = tools_or_skip()? else { return Ok(lines) };
    let plane = ControlPlane::start(&tools, gyre_controlplane::Options::default())?;
    let crds = Command::new(process::program("gyre")?).arg("crds").arg(gyre_artifacts::ECHO).output()?;
    plane.apply(&String::from_utf8(crds.stdout)?)?;
    let mut applies = Vec::new();
    for number in 0..APPLIES {
        let file = folder.path().join(format!("case-{number}/echo.yaml")).display().to_string();
        applies.push(time(|| plane.kubectl_stdout(&["apply", "-f", &file]).map(drop))?);
    }
    let apply = milliseconds(median(applies));
    lines.push(Line::new("one kubectl apply", apply, "ms", None));
    lines.push(Line::new("a case / one kubectl apply", command / CASES as f64 / apply, "x", Some(1.0)));
    Ok(lines)
}

/// Measures what simulated time costs, with what it may cost.
fn worlds() -> anyhow::Result<Vec<Line>> {
    let echo = Plugin::wasm(gyre_artifacts::ECHO)?;
    let (mut starts, mut days) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let began = Instant::now();
        let mut world = World::of(echo.clone()).start()?;
        starts.push(began.elapsed());
        world.settle()?;
        days.push(time(|| Ok(world.advance(DAY)?))?);
    }
    let each_minute = object("guests.gyre.dev/v1", "Cron", "default/it").spec(json!({"schedule": "*/1 * * * *"}));
    let cron = World::of(Plugin::wasm(gyre_artifacts::probes::CRON)?).pods_run_for(Duration::from_secs(5));
    let mut world = cron.with(each_minute).start()?;
    world.settle()?;
    let scheduled = time(|| Ok(world.advance(DAY)?))?;
    Ok(vec![
        Line::new("a world of the test kit starts", milliseconds(median(starts)), "ms", Some(20.0)),
        Line::new("a simulated day without events", milliseconds(median(days)), "ms", Some(50.0)),
        Line::new("a simulated day with a Job each minute", milliseconds(scheduled), "ms", Some(2000.0)),
    ])
}

fn echo(number: usize) -> Result<String, std::fmt::Error> {
    let mut manifest = String::new();
    writeln!(manifest, "apiVersion: mmontes.io/v1alpha1\nkind: Echo\nmetadata: {{name: echo-{number}}}")?;
    writeln!(manifest, "spec: {{message: \"Hello, {number}!\"}}")?;
    Ok(manifest)
}

fn run(cases: &Path, flags: &[&str]) -> anyhow::Result<()> {
    let mut command = Command::new(process::program("gyre")?);
    let output = command.arg("test").arg(gyre_artifacts::ECHO).arg(cases).args(flags).output()?;
    ensure!(output.status.success(), "gyre test failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

fn plainly() -> anyhow::Result<()> {
    for number in 0..CASES {
        let (name, message) = (format!("echo-{number}"), format!("Hello, {number}!"));
        let parent = json!({
            "apiVersion": "mmontes.io/v1alpha1", "kind": "Echo",
            "metadata": {"name": name, "namespace": "default", "uid": format!("uid-{number}"), "generation": 1},
            "spec": {"message": message},
        });
        let plan = reconcile::<EchoReconciler>(parent, json!({}), &Cluster::new());
        let plan = plan.map_err(|failure| anyhow::anyhow!("{failure:?}"))?;
        let job = plan.applied(gyre_sdk::k8s::Job::KIND, &name).context("there is no Job")?;
        let written = job.pointer("/spec/template/spec/containers/0/command/1").and_then(Value::as_str);
        ensure!(written == Some(&*message), "{job}");
    }
    Ok(())
}

fn time(mut run: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<Duration> {
    let start = Instant::now();
    run()?;
    Ok(start.elapsed())
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
