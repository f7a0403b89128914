//! The start of a host whose plugins come from a registry and are in its cache, compared with a
//! host whose plugins are files: the time until all are mounted, in turns. Compilation is not
//! measured.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use gyre_controlplane::registry::{Options as RegistryOptions, Registry};
use gyre_controlplane::{Guarded, registry_or_skip};
use gyre_sandbox::{Options, Sandbox};

use crate::line::{Line, median};
use crate::process::program;
use crate::stage::{self, Stage};

const PLUGINS: u64 = 20;
const ROUNDS: usize = 15;
/// The time between two looks at a host's log: a hundredth of a start.
const LOOK_EVERY: Duration = Duration::from_millis(3);
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) fn measure() -> anyhow::Result<Vec<Line>> {
    let Some(registry) = registry_or_skip(RegistryOptions::default())? else { return Ok(Vec::new()) };
    stage::run(run(&registry))
}

async fn run(registry: &Registry) -> anyhow::Result<Vec<Line>> {
    let stage = Stage::set().await?;
    let sandbox = Sandbox::new(Options { cache_dir: Some(stage.code()), ..Options::default() })?;
    let (mut files, mut references) = (Vec::new(), Vec::new());
    for number in 0..PLUGINS {
        let component = gyre_artifacts::tenant(number)?;
        let path = stage.path(&format!("tenant-{number:02}.wasm")).display().to_string();
        std::fs::write(&path, &component)?;
        stage.install(sandbox.load(&component)?.manifest()).await?;
        let reference = registry.reference(&format!("bench/tenant-{number:02}:1"));
        push(registry, &path, &reference)?;
        files.push(path);
        references.push(reference);
    }
    let start = |plugins: &[String]| start(&stage, registry, plugins);
    // The first starts fill the cache, and are not measured.
    start(&references)?;
    start(&files)?;
    registry.forget_requests()?;
    let (mut from_files, mut from_cache) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        from_files.push(start(&files)?);
        from_cache.push(start(&references)?);
    }
    let pulled = registry.requests()?.iter().filter(|request| request.reads_blob()).count();
    ensure!(pulled == 0, "the cache was not warm: {pulled} blobs were read");
    let [files, cache] = [median(from_files), median(from_cache)].map(|time| time.as_secs_f64() * 1e3);
    Ok(vec![
        Line::new("start with 20 plugins from files", files, "ms", None),
        Line::new("start with 20 plugins from the cache of a registry", cache, "ms", None),
        Line::new("cache / files", cache / files, "x", Some(1.1)),
    ])
}

fn push(registry: &Registry, path: &str, reference: &str) -> anyhow::Result<()> {
    let mut command = Command::new(program("gyre")?);
    command.args(["push", path, reference]).env("GYRE_REGISTRY_CA", registry.authority());
    let output = command.env("GYRE_REGISTRY_CREDENTIALS", registry.docker_config()).output().context("cannot run gyre")?;
    ensure!(output.status.success(), "gyre push: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// Starts a host, waits until it has mounted all plugins, and returns the time until then.
fn start(stage: &Stage, registry: &Registry, plugins: &[String]) -> anyhow::Result<Duration> {
    let mut command = Command::new(program("gyre")?);
    command.args(["run", "--listen", "127.0.0.1:0"]).args(plugins);
    command.arg("--kubeconfig").arg(stage.path("kubeconfig")).arg("--code-cache").arg(stage.code());
    command.arg("--plugin-cache").arg(stage.path("plugin-cache")).arg("--registry-ca").arg(registry.authority());
    command.arg("--registry-credentials").arg(registry.docker_config()).env("NO_COLOR", "1");
    let log = stage.path("host.log");
    std::fs::write(&log, "")?;
    let begin = Instant::now();
    let mut host = Guarded::spawn("gyre", &command, &log, Duration::from_secs(10))?;
    loop {
        let took = begin.elapsed();
        let text = std::fs::read_to_string(&log)?;
        if text.lines().filter(|line| line.contains(" mounted ")).count() == plugins.len() {
            return Ok(took);
        }
        ensure!(host.exited()?.is_none(), "the host ended: {text}");
        ensure!(took < PATIENCE, "the host did not mount all plugins within {PATIENCE:?}: {text}");
        std::thread::sleep(LOOK_EVERY);
    }
}
