//! Entries in queues and caches, and memory, of a leader and a standby after objects came and went.

use anyhow::Context as _;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use gyre_sandbox::{Options, Sandbox};
use kube::api::{Api, DeleteParams, DynamicObject, PostParams};
use serde_json::{Value, json};

use crate::line::Line;
use crate::stage::{self, Host, Stage, until};

const OBJECTS: usize = 1_000_000;
/// Objects before the first count, which start threads and fill caches.
const WARM_UP: usize = 20_000;
const AT_ONCE: usize = 32;
const PLUGIN: &str = gyre_artifacts::probes::SLIM;

pub(crate) fn measure() -> anyhow::Result<Vec<Line>> {
    stage::run(run())
}

async fn run() -> anyhow::Result<Vec<Line>> {
    let stage = Stage::set().await?;
    let sandbox = Sandbox::new(Options { cache_dir: Some(stage.code()), ..Options::default() })?;
    stage.install(sandbox.load(&std::fs::read(PLUGIN)?)?.manifest()).await?;
    let mut hosts = Vec::new();
    for name in ["leader", "standby"] {
        let host = stage.host(name, |command| {
            command.args([PLUGIN, "--ha", "--ha-node-id", name]);
        });
        let host = host.await?;
        until("the claim of the leader", async || Ok(name != "leader" || leads(&host)?)).await?;
        host.until_mounted(1).await?;
        hosts.push((name, host));
    }
    let objects = stage.api("guests.gyre.dev", "v1", "Slim", Some("default"));
    churn(&objects, WARM_UP).await?;
    let mut before = Vec::new();
    for (_, host) in &hosts {
        until("the host to be at rest", async || Ok(entries(&host.state()?)? == 0.0)).await?;
        before.push(host.bytes().await?);
    }
    churn(&objects, OBJECTS).await?;
    let mut lines = Vec::new();
    for ((name, host), before) in hosts.iter().zip(before) {
        let kept = until("the host to be at rest", async || Ok(entries(&host.state()?)? == 0.0)).await;
        if let Err(error) = kept {
            eprintln!("{name}: {error}");
        }
        lines.push(Line::new(format!("{name}: entries that are kept"), entries(&host.state()?)?, "", Some(0.0)));
        let after = host.bytes_at_most(before * 1.05).await?;
        lines.push(Line::new(format!("{name}: bytes allocated before"), before / 1e6, "MB", None));
        lines.push(Line::new(format!("{name}: bytes allocated after / before"), after / before, "x", Some(1.05)));
    }
    Ok(lines)
}

fn leads(host: &Host) -> anyhow::Result<bool> {
    let state = host.state()?;
    Ok(state.pointer("/mounts/0/claim/isHeld") == Some(&json!(true)))
}

/// Returns the number of entries in the cache, the queue, and the record of last states.
fn entries(state: &Value) -> anyhow::Result<f64> {
    let number =
        |pointer: &str| state.pointer(pointer).and_then(Value::as_f64).with_context(|| format!("no {pointer}: {state}"));
    Ok(number("/mounts/0/parents")? + number("/mounts/0/remembered")? + number("/mounts/0/queue/entries")?)
}

/// Creates `count` objects, and deletes each as soon as it exists.
async fn churn(objects: &Api<DynamicObject>, count: usize) -> anyhow::Result<()> {
    stream::iter(0..count)
        .map(Ok)
        .try_for_each_concurrent(AT_ONCE, async |number| {
            let name = format!("it-{number}");
            let object = json!({"apiVersion": "guests.gyre.dev/v1", "kind": "Slim", "metadata": {"name": name}, "spec": {}});
            objects.create(&PostParams::default(), &serde_json::from_value(object)?).await?;
            objects.delete(&name, &DeleteParams::default()).await?;
            anyhow::Ok(())
        })
        .await
}
