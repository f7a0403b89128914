//! devcluster compared with kube-apiserver: the same clients over HTTP on loopback.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use gyre_controlplane::{ControlPlane, Controllers, Options, tools_or_skip};
use gyre_devcluster::http::{Limits, serve};
use gyre_devcluster::{Clock, Cluster, Service};
use kube::api::{Api, DynamicObject, ListParams, PostParams, WatchEvent, WatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, Config};
use serde_json::json;
use tokio::task::JoinSet;

use crate::line::Line;

const CREATES: usize = 2_000;
const CLIENTS: usize = 8;
/// The number of objects in a list. Creating them takes longer than all else.
const LISTED: usize = 10_000;
const LISTS: u32 = 3;
const WATCHERS: usize = 100;
const CHANGES: usize = 200;
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Clone, Copy, Debug)]
struct Measured {
    creates_per_second: f64,
    list_seconds: f64,
    watch_seconds: f64,
}

pub(crate) fn measure() -> anyhow::Result<Vec<Line>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let embedded = runtime.block_on(embedded())?;
    let mut lines = lines("devcluster", embedded);
    let Some(tools) = tools_or_skip()? else { return Ok(lines) };
    let options = Options { controllers: Controllers::Absent, ..Options::default() };
    let plane = ControlPlane::start(&tools, options)?;
    let text = std::fs::read_to_string(plane.kubeconfig())?;
    let real = runtime.block_on(async { run(&client(&text).await?).await })?;
    lines.extend(self::lines("kube-apiserver", real));
    lines.extend([
        Line::new("creates, times as many", embedded.creates_per_second / real.creates_per_second, "x", None),
        Line::new("list, part of the time", embedded.list_seconds / real.list_seconds, "x", None),
        Line::new("watch, part of the time", embedded.watch_seconds / real.watch_seconds, "x", None),
    ]);
    Ok(lines)
}

fn lines(server: &str, measured: Measured) -> Vec<Line> {
    vec![
        Line::new(format!("{server}: creates by {CLIENTS} clients"), measured.creates_per_second, "/s", None),
        Line::new(format!("{server}: list of {LISTED} objects"), measured.list_seconds * 1e3, "ms", None),
        Line::new(format!("{server}: {CHANGES} changes to {WATCHERS} watchers"), measured.watch_seconds * 1e3, "ms", None),
    ]
}

async fn embedded() -> anyhow::Result<Measured> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    let service = Service::new(Cluster::start(&gyre_devcluster::Options::default(), Clock::System));
    let serving = tokio::spawn(serve(listener, service, Limits::default(), std::future::pending()));
    let measured = run(&Client::try_from(Config::new(url.parse()?))?).await;
    serving.abort();
    measured
}

async fn client(kubeconfig: &str) -> anyhow::Result<Client> {
    let kubeconfig = kube::config::Kubeconfig::from_yaml(kubeconfig)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &kube::config::KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}

async fn run(client: &Client) -> anyhow::Result<Measured> {
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "ConfigMap"));
    let maps: Api<DynamicObject> = Api::namespaced_with(client.clone(), "default", &kind);
    // Excludes the first connections and other one-time work.
    create(&maps, "warm", 0..100).await?;
    let start = Instant::now();
    create(&maps, "object", 0..CREATES).await?;
    let creates_per_second = CREATES as f64 / start.elapsed().as_secs_f64();
    let there = maps.list(&ListParams::default()).await?.items.len();
    create(&maps, "more", 0..LISTED.saturating_sub(there)).await?;
    Ok(Measured { creates_per_second, list_seconds: list(&maps).await?, watch_seconds: watch(&maps).await? })
}

async fn create(maps: &Api<DynamicObject>, name: &'static str, numbers: std::ops::Range<usize>) -> anyhow::Result<()> {
    let mut clients = JoinSet::new();
    for first in 0..CLIENTS {
        let (maps, numbers) = (maps.clone(), numbers.clone());
        clients.spawn(async move {
            for number in numbers.skip(first).step_by(CLIENTS) {
                let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
                    "metadata": {"name": format!("{name}-{number}"), "labels": {"app": name}},
                    "data": {"text": "x".repeat(500), "number": number.to_string()}});
                maps.create(&PostParams::default(), &serde_json::from_value(object)?).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(done) = clients.join_next().await {
        done??;
    }
    Ok(())
}

/// Returns the fastest of several lists, including the time to read it.
async fn list(maps: &Api<DynamicObject>) -> anyhow::Result<f64> {
    let mut fastest = f64::INFINITY;
    for _ in 0..LISTS {
        let start = Instant::now();
        let found = maps.list(&ListParams::default()).await?.items.len();
        fastest = fastest.min(start.elapsed().as_secs_f64());
        ensure!(found >= LISTED, "{found} objects");
    }
    Ok(fastest)
}

/// Returns the time from the first change until the last watcher has seen the last change.
async fn watch(maps: &Api<DynamicObject>) -> anyhow::Result<f64> {
    let version =
        maps.list(&ListParams::default().limit(1)).await?.metadata.resource_version.context("a list without version")?;
    let mut watchers = JoinSet::new();
    let ready = Arc::new(tokio::sync::Barrier::new(WATCHERS + 1));
    for _ in 0..WATCHERS {
        let (maps, version, ready) = (maps.clone(), version.clone(), Arc::clone(&ready));
        watchers.spawn(async move {
            let mut events = Box::pin(maps.watch(&WatchParams::default(), &version).await?);
            ready.wait().await;
            let mut seen = 0;
            while seen < CHANGES {
                match std::future::poll_fn(|context| futures::Stream::poll_next(events.as_mut(), context)).await {
                    Some(Ok(WatchEvent::Added(_))) => seen += 1,
                    Some(Ok(WatchEvent::Error(status))) => anyhow::bail!("{status:?}"),
                    Some(event) => drop(event?),
                    None => anyhow::bail!("a watch has ended after {seen} changes"),
                }
            }
            Ok(())
        });
    }
    ready.wait().await;
    let start = Instant::now();
    create(maps, "change", 0..CHANGES).await?;
    let all = async {
        while let Some(done) = watchers.join_next().await {
            done??;
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(PATIENCE, all).await.context("not all watchers have seen all changes")??;
    Ok(start.elapsed().as_secs_f64())
}
