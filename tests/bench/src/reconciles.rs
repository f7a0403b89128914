//! The cost of a reconcile with a call of the plugin that changes nothing: processor time, requests
//! and memory of the host.
//!
//! It has no other side in the same run: a change of the host is measured by runs of both versions,
//! in turns.

use anyhow::ensure;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use gyre_sandbox::{Options, Sandbox};
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::json;

use crate::line::Line;
use crate::sample;
use crate::stage::{self, Stage};

const ECHOS: usize = 1_000;
const ROUNDS: usize = 20;
const AT_ONCE: usize = 32;
/// The label does not matter to the plugin, but it is called.
const LABEL: &str = "touched";

pub(crate) fn measure() -> anyhow::Result<Vec<Line>> {
    stage::run(run())
}

async fn run() -> anyhow::Result<Vec<Line>> {
    let stage = Stage::set().await?;
    let sandbox = Sandbox::new(Options { cache_dir: Some(stage.code()), ..Options::default() })?;
    stage.install(sandbox.load(&std::fs::read(gyre_artifacts::ECHO)?)?.manifest()).await?;
    let host = stage.host("host", |command| {
        command.arg(gyre_artifacts::ECHO);
    });
    let host = host.await?;
    host.until_mounted(1).await?;
    host.until_at_rest().await?;
    let without = host.bytes().await?;
    let echos = stage.api("mmontes.io", "v1alpha1", "Echo", Some("default"));
    create(&echos).await?;
    touch(&echos, 0).await?;
    host.until_at_rest().await?;
    let bytes = (host.bytes().await? - without) / ECHOS as f64;

    let calls = || host.metric("gyre_plugin_calls_total", &["echo"]);
    let (calls_before, processor) = (calls()?, host.processor_seconds()?);
    for round in 1..=ROUNDS {
        touch(&echos, round).await?;
        host.until_at_rest().await?;
    }
    let called = calls()? - calls_before;
    ensure!(called > 0.0, "the plugin was not called");
    let microseconds = (host.processor_seconds()? - processor) * 1e6 / called;
    Ok(vec![
        Line::new("reconciles that call the plugin and change nothing", called, "", None),
        Line::new("processor time of the host for each", microseconds, "µs", None),
        Line::new("bytes allocated for each Echo", bytes, "B", None),
    ])
}

async fn create(echos: &Api<DynamicObject>) -> anyhow::Result<()> {
    stream::iter(0..ECHOS)
        .map(Ok)
        .try_for_each_concurrent(AT_ONCE, async |number| {
            let mut echo: DynamicObject = serde_json::from_value(sample::echo(1))?;
            echo.metadata.name = Some(name(number));
            (echo.metadata.uid, echo.metadata.resource_version) = (None, None);
            echos.create(&PostParams::default(), &echo).await?;
            anyhow::Ok(())
        })
        .await
}

async fn touch(echos: &Api<DynamicObject>, round: usize) -> anyhow::Result<()> {
    let label = json!({ "metadata": { "labels": { LABEL: round.to_string() } } });
    stream::iter(0..ECHOS)
        .map(Ok)
        .try_for_each_concurrent(AT_ONCE, async |number| {
            echos.patch(&name(number), &PatchParams::default(), &Patch::Merge(&label)).await?;
            anyhow::Ok(())
        })
        .await
}

fn name(number: usize) -> String {
    format!("echo-{number}")
}
