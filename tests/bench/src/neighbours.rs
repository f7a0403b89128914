//! The effect of a plugin that loops and one that traps on others in the host: the time from a
//! change of an object to the write of its child, with and without the two, in turns.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use gyre_controlplane::{AuditEvent, Mark};
use gyre_sandbox::{Options, Plugin, Sandbox};
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams};
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior};

use crate::line::Line;
use crate::stage::{self, Host, USER, quantile, until};

const TENANTS: u64 = 18;
const PARENTS: usize = 20;
/// Changes per second of good and bad objects in turn: a fraction of the host's capacity.
const CHANGES_PER_SECOND: u32 = 100;
const ROUNDS: usize = 10;
const PHASE: Duration = Duration::from_secs(4);

pub(crate) fn measure() -> anyhow::Result<Vec<Line>> {
    stage::run(run())
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

#[derive(Clone)]
struct Parent {
    api: Api<DynamicObject>,
    kind: String,
    name: String,
}

impl Parent {
    async fn change(&self) -> anyhow::Result<()> {
        let text = format!("{:?}", SystemTime::now());
        let object = json!({
            "apiVersion": "guests.gyre.dev/v1", "kind": self.kind, "metadata": { "name": self.name }, "spec": { "text": text },
        });
        self.api.patch(&self.name, &PatchParams::apply("load").force(), &Patch::Apply(object)).await?;
        Ok(())
    }
}

struct Stage {
    // The fields are dropped in this order: the process before its folder.
    host: Host,
    cluster: stage::Stage,
    hostile: Vec<(&'static str, PathBuf)>,
    good: Vec<Parent>,
    bad: Vec<Parent>,
}

impl Stage {
    async fn set() -> anyhow::Result<Self> {
        let cluster = stage::Stage::set().await?;
        let plugins = cluster.path("plugins");
        std::fs::create_dir(&plugins)?;
        let sandbox = Sandbox::new(Options { cache_dir: Some(cluster.code()), ..Options::default() })?;
        let (mut good, mut bad) = (Vec::new(), Vec::new());
        for number in 0..TENANTS {
            let component = gyre_artifacts::tenant(number)?;
            std::fs::write(plugins.join(format!("tenant-{number:02}.wasm")), &component)?;
            good.extend(parents(&cluster, &sandbox.load(&component)?).await?);
        }
        let hostile = [("spins.wasm", gyre_artifacts::guests::ENDLESS_LOOP), ("traps.wasm", gyre_artifacts::guests::TRAP)];
        let hostile = hostile.map(|(name, file)| (name, PathBuf::from(file))).to_vec();
        for (_, file) in &hostile {
            bad.extend(parents(&cluster, &sandbox.load(&std::fs::read(file)?)?).await?);
        }
        let host = cluster
            .host("host", |command| {
                command.args(["--plugin-dir-grace", "0", "--plugin-dir"]).arg(&plugins);
            })
            .await?;
        host.until_mounted(TENANTS as usize).await?;
        let children = good.len();
        until("all children", async || {
            let writes = cluster.audit.since(Mark::START)?;
            Ok(writes.iter().filter(|event| is_child(event)).count() >= children)
        })
        .await?;
        Ok(Self { host, cluster, hostile, good, bad })
    }

    /// Changes objects at a steady rate, and returns the latencies of good ones.
    async fn phase(&self, lasts: Duration) -> anyhow::Result<Vec<Duration>> {
        let start = self.cluster.audit.mark()?;
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
            let events = self.cluster.audit.since(start)?;
            let found = self::latencies(&events);
            latencies = found.iter().copied().flatten().collect();
            Ok(found.len() == latencies.len())
        })
        .await?;
        Ok(latencies)
    }

    /// Mounts the two without objects, so that the phase begins with their first calls.
    async fn mount_hostile(&self) -> anyhow::Result<()> {
        for Parent { api, name, .. } in &self.bad {
            api.delete(name, &DeleteParams::default()).await?;
        }
        for (name, file) in &self.hostile {
            let (new, there) = (self.cluster.path(name), self.plugins().join(name));
            std::fs::copy(file, &new)?;
            std::fs::rename(new, there)?;
        }
        self.host.until_mounted(TENANTS as usize + self.hostile.len()).await
    }

    async fn unmount_hostile(&self) -> anyhow::Result<()> {
        for (name, _) in &self.hostile {
            std::fs::remove_file(self.plugins().join(name))?;
        }
        self.host.until_mounted(TENANTS as usize).await
    }

    fn plugins(&self) -> PathBuf {
        self.cluster.path("plugins")
    }
}

async fn parents(stage: &stage::Stage, plugin: &Plugin) -> anyhow::Result<Vec<Parent>> {
    let manifest = plugin.manifest();
    stage.install(manifest).await?;
    let kind = &manifest.parent;
    let api = stage.api(&kind.group, &kind.version, &kind.kind, Some("default"));
    let mut parents = Vec::new();
    for number in 0..PARENTS {
        let name = format!("{}-{number}", manifest.name);
        let parent = Parent { api: api.clone(), kind: kind.kind.clone(), name };
        parent.change().await?;
        parents.push(parent);
    }
    Ok(parents)
}

enum Turn {
    Good(usize),
    Bad(usize),
}

/// Gives each object the same number of turns, with different plugins in a row.
fn turns(good: usize, bad: usize) -> impl Iterator<Item = Turn> {
    let all = good + bad;
    // The factor is coprime to the number of objects, so that all have turns.
    (0..)
        .map(move |turn: usize| turn * 37 % all)
        .map(move |index| if index < good { Turn::Good(index) } else { Turn::Bad(index - good) })
}

fn is_child(event: &AuditEvent) -> bool {
    event.user == USER && event.resource == "configmaps" && ["create", "patch"].contains(&event.verb.as_str())
}

/// Returns the time from each change until the next write of its child, if there is one.
fn latencies(events: &[AuditEvent]) -> Vec<Option<Duration>> {
    let mut writes: BTreeMap<&str, Vec<SystemTime>> = BTreeMap::new();
    for event in events.iter().filter(|event| is_child(event)) {
        writes.entry(&event.name).or_default().push(event.received);
    }
    let is_change = |event: &&AuditEvent| event.user != USER && event.verb == "patch" && event.resource.starts_with("tenant");
    let latency = |event: &AuditEvent| {
        // The host may learn of it before the client.
        let written = writes.get(event.name.as_str())?.iter().filter(|written| **written >= event.received).min()?;
        Some(written.duration_since(event.timestamp).unwrap_or_default())
    };
    events.iter().filter(is_change).map(latency).collect()
}
