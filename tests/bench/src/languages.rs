//! The same plugins in several languages: greeter in four, echo in two.
//!
//! A language whose tools are missing is left out, and named.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, ensure};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use gyre_sandbox::{Input, Limits, Options, Plugin, Reuse, Sandbox};
use kube::api::{Api, DynamicObject, ListParams, PostParams};
use serde_json::{Value, json};

use crate::calls::Empty;
use crate::line::{Line, median};
use crate::process;
use crate::stage::{self, Stage, until};

const ROUNDS: usize = 10;
const CALLS: u32 = 50;
const GREETINGS: usize = 1_000;
const AT_ONCE: usize = 32;

/// The goals of a language, where it has any.
#[derive(Clone, Copy)]
struct Goals {
    megabytes: Option<f64>,
    fresh_milliseconds: Option<f64>,
}

const NO_GOALS: Goals = Goals { megabytes: None, fresh_milliseconds: None };

pub(crate) struct Language {
    pub(crate) name: &'static str,
    goals: Goals,
    pub(crate) greeter: &'static str,
    echo: Option<&'static str>,
}

pub(crate) const LANGUAGES: [Language; 4] = [
    Language { name: "Rust", goals: NO_GOALS, greeter: "plugins/greeter", echo: Some("plugins/echo") },
    Language {
        name: "Go",
        goals: Goals { megabytes: Some(5.0), fresh_milliseconds: Some(1.0) },
        greeter: "plugins/greeter-go",
        echo: Some("plugins/echo-go"),
    },
    Language {
        name: "TypeScript",
        goals: Goals { megabytes: Some(2.0), fresh_milliseconds: Some(1.0) },
        greeter: "plugins/greeter-ts",
        echo: None,
    },
    Language {
        name: "Python",
        goals: Goals { megabytes: None, fresh_milliseconds: Some(2.0) },
        greeter: "plugins/greeter-py",
        echo: None,
    },
];

pub(crate) fn measure() -> anyhow::Result<Vec<Line>> {
    let folder = tempfile::tempdir()?;
    let mut lines = Vec::new();
    let mut greeters = Vec::new();
    for language in &LANGUAGES {
        let projects = [("greeter", Some(language.greeter)), ("echo", language.echo)];
        for (plugin, project) in projects.into_iter().filter_map(|(plugin, project)| Some((plugin, project?))) {
            let path = folder.path().join(format!("{}.wasm", project.replace('/', "-")));
            if let Err(error) = build(project, &path) {
                println!("  left out: {plugin} in {}: {error:#}", language.name);
                continue;
            }
            lines.extend(measure_plugin(&format!("{plugin} in {}", language.name), &path, language.goals, folder.path())?);
            if plugin == "greeter" {
                greeters.push((language.name, path));
            }
        }
    }
    lines.extend(stage::run(converge(&greeters))?);
    Ok(lines)
}

pub(crate) fn build(project: &str, to: &Path) -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(process::program("gyre")?).current_dir(root).args(["build", project, "--to"]).arg(to).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(())
}

/// The bytes of all files in a folder and its folders.
fn bytes_below(folder: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() { bytes_below(&entry.path())? } else { metadata.len() };
    }
    Ok(bytes)
}

fn measure_plugin(what: &str, path: &Path, goals: Goals, folder: &Path) -> anyhow::Result<Vec<Line>> {
    let bytes = std::fs::read(path)?;
    let code = folder.join("code");
    let began = Instant::now();
    let sandbox = Sandbox::new(Options { cache_dir: Some(code.clone()), ..Options::default() })?;
    let plugin = sandbox.load(&bytes)?;
    let compiled = began.elapsed();
    let code_bytes = bytes_below(&code)?;
    std::fs::remove_dir_all(&code)?;
    let parent = parent_of(&plugin).to_string();
    let limits = Limits { memory_bytes: 256 << 20, ..Limits::default() };
    let warm = Limits { reuse: Reuse::UpTo(u32::MAX), ..limits.clone() };
    let (mut fresh_times, mut warm_times) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        fresh_times.push(time(&plugin, &parent, &limits)?);
        warm_times.push(time(&plugin, &parent, &warm)?);
    }
    let milliseconds = |duration: Duration| duration.as_secs_f64() * 1e3;
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    let line = |of: &str, measured, unit, goal| Line::new(format!("{what}: {of}"), measured, unit, goal);
    Ok(vec![
        line("component", megabytes(bytes.len() as u64), "MB", goals.megabytes),
        line("compiled code", megabytes(code_bytes), "MB", None),
        line("compilation", milliseconds(compiled), "ms", None),
        line("fresh call", milliseconds(median(fresh_times)), "ms", goals.fresh_milliseconds),
        line("warm call", milliseconds(median(warm_times)), "ms", None),
    ])
}

pub(crate) fn parent_of(plugin: &Plugin) -> Value {
    let kind = plugin.manifest().users_kind();
    json!({
        "apiVersion": kind.api_version(),
        "kind": kind.kind,
        "metadata": { "name": "hello", "namespace": "default", "uid": "0e4c3a52-0c3c-4b2d-9d5b-2f3f0f6b9d11", "generation": 1 },
        "spec": { "message": "Hello, world!" },
    })
}

/// The input of a call about a parent.
pub(crate) fn input(parent: &str) -> Input<'_> {
    Input { parent: parent.as_bytes(), members: &[], settings: b"{}", seed: "one", now: SystemTime::UNIX_EPOCH }
}

fn time(plugin: &Plugin, parent: &str, limits: &Limits) -> anyhow::Result<Duration> {
    let input = input(parent);
    let start = Instant::now();
    for _ in 0..CALLS {
        plugin.reconcile(&input, limits, Box::new(Empty)).result?;
    }
    Ok(start.elapsed() / CALLS)
}

/// The time and memory of a host that brings Greetings to their state, for each language.
async fn converge(greeters: &[(&str, PathBuf)]) -> anyhow::Result<Vec<Line>> {
    let mut lines = Vec::new();
    let mut rust = None;
    for (language, path) in greeters {
        let stage = Stage::set().await?;
        let sandbox = Sandbox::new(Options { cache_dir: Some(stage.code()), ..Options::default() })?;
        let plugin = sandbox.load(&std::fs::read(path)?)?;
        stage.install(plugin.manifest()).await?;
        let host = stage.host("host", |command| {
            command.arg(path);
        });
        let host = host.await?;
        host.until_mounted(1).await?;
        let idle = host.resident_bytes()? as f64 / 1e6;
        let kind = plugin.manifest().users_kind();
        let greetings = stage.api(&kind.group, &kind.version, &kind.kind, Some("default"));
        let before = host.processor_seconds()?;
        let began = Instant::now();
        create(&greetings, parent_of(&plugin)).await?;
        until("all Greetings to be ready", async || Ok(ready(&greetings).await? == GREETINGS)).await?;
        let took = began.elapsed().as_secs_f64();
        let processor = (host.processor_seconds()? - before) * 1e3 / GREETINGS as f64;
        let rust = *rust.get_or_insert(took);
        let goal = (*language != "Rust").then_some(1.3);
        lines.push(Line::new(format!("{language}: resident set of an idle host with greeter"), idle, "MB", None));
        lines.push(Line::new(format!("{language}: 1,000 Greetings"), took, "s", None));
        lines.push(Line::new(format!("{language}: 1,000 Greetings / Rust"), took / rust, "x", goal));
        lines.push(Line::new(format!("{language}: processor time of the host for each"), processor, "ms", None));
    }
    Ok(lines)
}

async fn create(greetings: &Api<DynamicObject>, greeting: Value) -> anyhow::Result<()> {
    stream::iter(0..GREETINGS)
        .map(Ok)
        .try_for_each_concurrent(AT_ONCE, async |number| {
            let mut greeting: DynamicObject = serde_json::from_value(greeting.clone())?;
            greeting.metadata.name = Some(format!("hello-{number}"));
            greeting.metadata.uid = None;
            greeting.metadata.generation = None;
            greetings.create(&PostParams::default(), &greeting).await?;
            anyhow::Ok(())
        })
        .await
}

async fn ready(greetings: &Api<DynamicObject>) -> anyhow::Result<usize> {
    let listed = greetings.list(&ListParams::default()).await.context("no list of Greetings")?;
    let is_ready = |greeting: &&DynamicObject| {
        let conditions = greeting.data.pointer("/status/conditions").and_then(Value::as_array);
        conditions.into_iter().flatten().any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
    };
    Ok(listed.items.iter().filter(is_ready).count())
}
