//! What a plugin that spins and one that traps do to their neighbours in one host: how long a change of a neighbour's object takes to
//! become a write of its child, with the two and without them, in turns.
//!
//! The API server is a devcluster in this process, and its audit log has both moments: when the change was accepted, and when the host's
//! write came. Host, API server and the load share this machine, whichever of the two it is.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, ensure};
use gyre_controlplane::{AuditEvent, AuditReader, Guarded, Mark};
use gyre_devcluster::audit::Log;
use gyre_devcluster::http::{Limits, serve};
use gyre_devcluster::{Clock, Cluster, Service, kubeconfig};
use gyre_sandbox::{Options, Plugin, Sandbox};
use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior};

use crate::{Line, process};

/// The neighbours, and the objects of each plugin.
const TENANTS: u64 = 18;
const PARENTS: usize = 20;
/// So many objects change in a second, in turn, good ones and bad ones: a fraction of what the host can do.
const CHANGES_PER_SECOND: u32 = 100;
/// The phases: without the two, and with them from their first call on.
const ROUNDS: usize = 10;
const PHASE: Duration = Duration::from_secs(4);
const USER: &str = "gyre-bench-host";

pub(crate) fn measure() -> anyhow::Result<Vec<Line>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(run())
}

async fn run() -> anyhow::Result<Vec<Line>> {
    let stage = Stage::set().await?;
    let (mut alone, mut together) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        alone.extend(stage.phase(PHASE).await?);
        stage.mount_hostile().await?;
        together.extend(stage.phase(PHASE).await?);
        stage.unmount_hostile().await?;
    }
    let millis = |latencies: &mut Vec<Duration>, share: f64| quantile(latencies, share).as_secs_f64() * 1e3;
    let without = [0.5, 0.99].map(|share| millis(&mut alone, share));
    let with = [0.5, 0.99].map(|share| millis(&mut together, share));
    Ok(vec![
        Line::new("changes without them", alone.len() as f64, "", None),
        Line::new("  median until the child is written", without[0], "ms", None),
        Line::new("  99 of 100", without[1], "ms", None),
        Line::new("changes with one that spins and one that traps", together.len() as f64, "", None),
        Line::new("  median until the child is written", with[0], "ms", None),
        Line::new("  99 of 100", with[1], "ms", None),
        Line::new("99 of 100, with / without", with[1] / without[1], "x", Some(1.5)),
    ])
}

fn quantile(latencies: &mut [Duration], share: f64) -> Duration {
    latencies.sort();
    let index = ((latencies.len() as f64 * share) as usize).min(latencies.len().saturating_sub(1));
    latencies.get(index).copied().unwrap_or_default()
}

/// An object that is changed.
#[derive(Clone)]
struct Parent {
    api: Api<DynamicObject>,
    resource: ApiResource,
    name: String,
}

impl Parent {
    /// Says something new in it, and creates it if it is not there.
    async fn change(&self) -> anyhow::Result<()> {
        let ApiResource { api_version, kind, .. } = &self.resource;
        let text = format!("{:?}", SystemTime::now());
        let object =
            json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": self.name }, "spec": { "text": text } });
        self.api.patch(&self.name, &PatchParams::apply("load").force(), &Patch::Apply(object)).await?;
        Ok(())
    }
}

/// A cluster, a host on it, and what it may mount.
struct Stage {
    // Dropped in this order: the process before its folder.
    _host: Guarded,
    folder: tempfile::TempDir,
    address: String,
    audit: AuditReader,
    hostile: Vec<(&'static str, PathBuf)>,
    good: Vec<Parent>,
    bad: Vec<Parent>,
}

impl Stage {
    async fn set() -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let path = |name: &str| folder.path().join(name);
        let service = Service::new(Cluster::start(&gyre_devcluster::Options::default(), Clock::System))
            .with_audit(Arc::new(Log::to_file(&path("audit.log"))?));
        let client = Client::new(service.clone(), "default");
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        tokio::spawn(serve(listener, service, Limits::default(), std::future::pending()));
        std::fs::write(path("kubeconfig"), kubeconfig::kubeconfig(&url, Some(USER)))?;

        // Compiled where the host finds them: compiling is no part of what is measured.
        std::fs::create_dir(path("plugins"))?;
        let sandbox = Sandbox::new(Options { cache_dir: Some(path("code")), ..Options::default() })?;
        let (mut good, mut bad) = (Vec::new(), Vec::new());
        for number in 0..TENANTS {
            let component = gyre_artifacts::tenant(number)?;
            std::fs::write(path("plugins").join(format!("tenant-{number:02}.wasm")), &component)?;
            good.extend(parents(&client, &sandbox.load(&component)?).await?);
        }
        let hostile = [("spins.wasm", gyre_artifacts::guests::ENDLESS_LOOP), ("traps.wasm", gyre_artifacts::guests::TRAP)];
        let hostile = hostile.map(|(name, file)| (name, PathBuf::from(file))).to_vec();
        for (_, file) in &hostile {
            bad.extend(parents(&client, &sandbox.load(&std::fs::read(file)?)?).await?);
        }

        let log = path("host.log");
        let mut command = Command::new(process::gyre()?);
        command.args(["run", "--listen", "127.0.0.1:0", "--plugin-dir-grace", "0", "--plugin-dir"]).arg(path("plugins"));
        command.arg("--code-cache").arg(path("code")).arg("--kubeconfig").arg(path("kubeconfig"));
        let host = Guarded::spawn("gyre", &command, &log, Duration::from_secs(10))?;
        let audit = AuditReader::new(&path("audit.log"));
        let mut stage = Self { folder, _host: host, address: String::new(), audit, hostile, good, bad };
        until("the host to listen", async || {
            let text = std::fs::read_to_string(&log)?;
            let address = text.split_once("serving /healthz").and_then(|(_, rest)| rest.split_once("address="));
            stage.address =
                address.map(|(_, rest)| rest.chars().take_while(|next| !next.is_whitespace()).collect()).unwrap_or_default();
            Ok(!stage.address.is_empty())
        })
        .await?;
        stage.until_mounted(TENANTS as usize).await?;
        let children = stage.good.len();
        until("all children", async || {
            let writes = stage.audit.since(Mark::START)?;
            Ok(writes.iter().filter(|event| is_child(event)).count() >= children)
        })
        .await?;
        Ok(stage)
    }

    /// Changes objects at a steady rate for that long; how long each change of a good one took to be written.
    async fn phase(&self, lasts: Duration) -> anyhow::Result<Vec<Duration>> {
        let start = self.audit.mark()?;
        let mut ticks = tokio::time::interval(Duration::from_secs(1) / CHANGES_PER_SECOND);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        let end = Instant::now() + lasts;
        let mut changes = JoinSet::new();
        let mut turns = turns(self.good.len(), self.bad.len());
        while Instant::now() < end {
            ticks.tick().await;
            let parent = match turns.next() {
                Some(Turn::Good(index)) => self.good.get(index),
                Some(Turn::Bad(index)) => self.bad.get(index),
                None => None,
            };
            let parent = parent.cloned().context("an object")?;
            changes.spawn(async move { parent.change().await });
        }
        while let Some(change) = changes.join_next().await {
            change??;
        }
        let mut latencies = Vec::new();
        until("the last change to be written", async || {
            let events = self.audit.since(start)?;
            let found = self::latencies(&events);
            latencies = found.iter().copied().flatten().collect();
            Ok(found.len() == latencies.len())
        })
        .await?;
        Ok(latencies)
    }

    /// Mounts the two while there are no objects of theirs: what is measured begins with their first calls.
    async fn mount_hostile(&self) -> anyhow::Result<()> {
        for Parent { api, name, .. } in &self.bad {
            api.delete(name, &DeleteParams::default()).await?;
        }
        for (name, file) in &self.hostile {
            let (new, there) = (self.folder.path().join(name), self.plugins().join(name));
            std::fs::copy(file, &new)?;
            std::fs::rename(new, there)?;
        }
        self.until_mounted(TENANTS as usize + self.hostile.len()).await
    }

    async fn unmount_hostile(&self) -> anyhow::Result<()> {
        for (name, _) in &self.hostile {
            std::fs::remove_file(self.plugins().join(name))?;
        }
        self.until_mounted(TENANTS as usize).await
    }

    fn plugins(&self) -> PathBuf {
        self.folder.path().join("plugins")
    }

    /// Waits until so many mounts run, and none is being left.
    async fn until_mounted(&self, count: usize) -> anyhow::Result<()> {
        until("the mounts", async || {
            let mut stream = TcpStream::connect(&self.address)?;
            write!(stream, "GET /debug/state HTTP/1.0\r\nHost: gyre\r\n\r\n")?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            let (_, body) = answer.split_once("\r\n\r\n").context("no body")?;
            let state: Value = serde_json::from_str(body)?;
            let phases =
                || state.get("mounts").and_then(Value::as_array).into_iter().flatten().filter_map(|mount| mount.get("phase"));
            Ok(phases().count() == count
                && phases().all(|phase| phase == "Running")
                && state.get("leaving") == Some(&json!([])))
        })
        .await
    }
}

/// Installs what the plugin brings, and creates its objects.
async fn parents(client: &Client, plugin: &Plugin) -> anyhow::Result<Vec<Parent>> {
    let manifest = plugin.manifest();
    let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let definitions: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::from_gvk(&kind));
    for definition in &manifest.crds {
        definitions.create(&PostParams::default(), &serde_json::from_value(serde_json::to_value(definition)?)?).await?;
    }
    let kind = &manifest.parent;
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(&kind.group, &kind.version, &kind.kind));
    let api: Api<DynamicObject> = Api::default_namespaced_with(client.clone(), &resource);
    let mut parents = Vec::new();
    for number in 0..PARENTS {
        let name = format!("{}-{number}", manifest.name);
        let parent = Parent { api: api.clone(), resource: resource.clone(), name };
        parent.change().await?;
        parents.push(parent);
    }
    Ok(parents)
}

enum Turn {
    Good(usize),
    Bad(usize),
}

/// Each object has its turn as often as any other, and one after the other is another plugin's.
fn turns(good: usize, bad: usize) -> impl Iterator<Item = Turn> {
    let all = good + bad;
    // It has no factor in common with their number, so that all have their turns.
    (0..)
        .map(move |turn: usize| turn * 37 % all)
        .map(move |index| if index < good { Turn::Good(index) } else { Turn::Bad(index - good) })
}

fn is_child(event: &AuditEvent) -> bool {
    event.user == USER && event.resource == "configmaps" && ["create", "patch"].contains(&event.verb.as_str())
}

/// From when each change was accepted until the first write of its child after that; none: it is still to come.
fn latencies(events: &[AuditEvent]) -> Vec<Option<Duration>> {
    let mut writes: BTreeMap<&str, Vec<SystemTime>> = BTreeMap::new();
    for event in events.iter().filter(|event| is_child(event)) {
        writes.entry(&event.name).or_default().push(event.received);
    }
    let is_change = |event: &&AuditEvent| event.user != USER && event.verb == "patch" && event.resource.starts_with("tenant");
    let latency = |event: &AuditEvent| {
        // The host may be told of it before the one who made it.
        let written = writes.get(event.name.as_str())?.iter().filter(|written| **written >= event.received).min()?;
        Some(written.duration_since(event.timestamp).unwrap_or_default())
    };
    events.iter().filter(is_change).map(latency).collect()
}

/// Waits until something holds.
async fn until(what: &str, mut holds: impl AsyncFnMut() -> anyhow::Result<bool>) -> anyhow::Result<()> {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds().await? {
        ensure!(Instant::now() < deadline, "gave up waiting for {what}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}
