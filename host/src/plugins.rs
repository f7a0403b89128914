//! Plugins from files: the arguments that name them, reading, compiling, mounting.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;
use gyre_core::grants::Namespaces;
use gyre_sandbox::{Limits, Plugin, Sandbox};
use tracing::{debug, info};

use crate::mount::Mount;

/// The most calls at once in one host: beyond a few per core they only take turns, and each may take its memory limit.
const MOST_CALLS: u32 = 256;

/// Which plugins are mounted, and what they may take.
#[derive(Clone, Debug, Args)]
pub(crate) struct MountArguments {
    /// A plugin to mount: a WebAssembly component. May be given several times.
    #[arg(long = "plugin", value_name = "FILE")]
    pub(crate) plugins: Vec<PathBuf>,
    /// Settings of a plugin, as JSON, after its name.
    #[arg(long = "settings", value_name = "NAME=JSON")]
    settings: Vec<Settings>,
    /// Watch and write in this namespace only. May be given several times [default: all namespaces].
    #[arg(long = "namespace", value_name = "NAMESPACE")]
    namespaces: Vec<String>,
    /// How many objects of each plugin are worked on at once.
    #[arg(long, value_name = "N", env = "NUM_WORKERS", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=256))]
    workers: u16,
    /// How often an object whose reconcile fails is tried again before it is left until it changes [default: for ever].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_retries: Option<u32>,
    /// How long one call of a plugin may take.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 2000, value_parser = clap::value_parser!(u64).range(10..=600_000))]
    call_deadline: u64,
    /// How much memory one call of a plugin may take.
    #[arg(long, value_name = "MIB", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=1024))]
    call_memory: u16,
    #[command(flatten)]
    code: CodeArguments,
}

/// Where compiled code is kept.
#[derive(Clone, Debug, Args)]
pub(crate) struct CodeArguments {
    /// Where compiled plugins are kept for the next start; "off" for nowhere [default: gyre/code in the user's cache directory].
    #[arg(long, value_name = "DIRECTORY", env = "GYRE_CODE_CACHE")]
    code_cache: Option<PathBuf>,
}

#[derive(Clone, Debug)]
struct Settings {
    plugin: String,
    json: String,
}

impl FromStr for Settings {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (plugin, json) = text.split_once('=').ok_or("expected the plugin's name, =, and a JSON object")?;
        let value: serde_json::Value = serde_json::from_str(json).map_err(|error| format!("not JSON: {error}"))?;
        if !value.is_object() {
            return Err("the settings of a plugin are a JSON object".to_owned());
        }
        Ok(Self { plugin: plugin.to_owned(), json: json.to_owned() })
    }
}

impl MountArguments {
    /// How many objects of each plugin are worked on at once.
    pub(crate) fn workers(&self) -> usize {
        self.workers.into()
    }

    /// The most plugins that are called at once.
    pub(crate) fn concurrent_calls(&self) -> u32 {
        u32::from(self.workers).saturating_mul(u32::try_from(self.plugins.len()).unwrap_or(u32::MAX)).clamp(1, MOST_CALLS)
    }

    /// A sandbox that is large enough for them.
    pub(crate) fn sandbox(&self) -> anyhow::Result<Sandbox> {
        Sandbox::new(gyre_sandbox::Options {
            cache_dir: self.code.cache(),
            concurrent_calls: self.concurrent_calls(),
            max_memory_bytes: usize::from(self.call_memory) << 20,
        })
        .context("cannot set up the sandbox")
    }

    /// The mounts, which see no cluster yet.
    ///
    /// Errors: a file that is no plugin, settings that a plugin does not take.
    pub(crate) fn mounts(&self, sandbox: &Sandbox) -> anyhow::Result<Vec<Mount>> {
        let limits = Limits {
            memory_bytes: usize::from(self.call_memory) << 20,
            deadline: Duration::from_millis(self.call_deadline),
            ..Limits::default()
        };
        let namespaces = if self.namespaces.is_empty() {
            Namespaces::All
        } else {
            Namespaces::Only(self.namespaces.iter().cloned().collect())
        };
        let cache = self.code.cache();
        let mut mounts = Vec::new();
        for path in &self.plugins {
            let bytes = read(path)?;
            compile_apart(sandbox, path, &bytes, cache.as_deref());
            let plugin = load(sandbox, path, &bytes)?;
            let name = plugin.manifest().name.clone();
            let settings = self.settings.iter().rev().find(|settings| settings.plugin == name);
            let settings: Arc<[u8]> = settings.map_or("{}", |settings| settings.json.as_str()).as_bytes().into();
            plugin.validate_settings(&settings, &limits).with_context(|| format!("the settings of the plugin {name}"))?;
            mounts.push(Mount::new(plugin, limits.clone(), settings, namespaces.clone()));
        }
        for Settings { plugin, .. } in &self.settings {
            if !mounts.iter().any(|mount| *mount.name == **plugin) {
                let names: Vec<&str> = mounts.iter().map(|mount| &*mount.name).collect();
                bail!("--settings names the plugin {plugin}, which is not mounted; mounted are: {}", names.join(", "));
            }
        }
        Ok(mounts)
    }
}

impl CodeArguments {
    /// A sandbox for asking plugins what they are.
    pub(crate) fn sandbox(&self) -> anyhow::Result<Sandbox> {
        let options = gyre_sandbox::Options { cache_dir: self.cache(), ..gyre_sandbox::Options::default() };
        Sandbox::new(options).context("cannot set up the sandbox")
    }

    fn cache(&self) -> Option<PathBuf> {
        match &self.code_cache {
            Some(directory) if directory.as_os_str() == "off" => None,
            Some(directory) => Some(directory.clone()),
            None => {
                let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
                let cache = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
                cache.map(|cache| cache.join("gyre").join("code"))
            }
        }
    }
}

/// Has a plugin compiled by another process, which takes with it the tens of megabytes that the compiler needs: they would stay with
/// this one. Whatever is wrong with the plugin, loading it says.
fn compile_apart(sandbox: &Sandbox, path: &Path, bytes: &[u8], cache: Option<&Path>) {
    let (Some(cache), Ok(gyre)) = (cache, std::env::current_exe()) else { return };
    if sandbox.is_compiled(bytes) {
        return;
    }
    let mut command = std::process::Command::new(gyre);
    command.arg("compile").arg("--code-cache").arg(cache).arg("--").arg(path);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.status() {
        Ok(status) => debug!(plugin = %path.display(), %status, "compiled in another process"),
        Err(error) => debug!(plugin = %path.display(), %error, "no other process to compile in"),
    }
}

/// The bytes of a plugin.
pub(crate) fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("cannot read the plugin {}", path.display()))
}

/// Loads a plugin, compiling it if it is not in the cache.
pub(crate) fn load(sandbox: &Sandbox, path: &Path, bytes: &[u8]) -> anyhow::Result<Plugin> {
    let plugin = sandbox.load(bytes).with_context(|| format!("cannot load the plugin {}", path.display()))?;
    let manifest = plugin.manifest();
    info!(
        plugin = manifest.name, version = manifest.version, digest = %plugin.digest(),
        compiled = ?plugin.compile().source, took = ?plugin.compile().duration, "loaded"
    );
    Ok(plugin)
}
