//! Plugins from files: the arguments that name them, reading, compiling.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use clap::Args;
use gyre_core::grants::{Adoption, Namespaces};
use gyre_core::names;
use gyre_sandbox::{Plugin, Sandbox};
use tracing::{debug, info};

use crate::cli::whole;
use crate::cluster::kinds::error_chain;
use crate::config::{
    self, Configuration, Document, DocumentSource, Files, LARGEST_PLUGIN, MountSpec, Place, Policy, Problems, Said, bounds,
};

/// Which plugins are mounted, and what they may take.
///
/// What a flag or its environment variable says holds for each mount, and replaces what `defaults` in the configuration file say; what
/// a mount in the file says of itself goes before both.
#[derive(Clone, Debug, Args)]
pub(crate) struct MountArguments {
    /// A YAML file that says what is mounted, instead of --plugin and the like.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["plugins", "plugin_dir", "settings", "namespaces", "adopt"])]
    pub(crate) config: Option<PathBuf>,
    /// A plugin to mount: a WebAssembly component. May be given several times.
    #[arg(long = "plugin", value_name = "FILE")]
    pub(crate) plugins: Vec<PathBuf>,
    /// A directory: every .wasm file in it is mounted.
    #[arg(long, value_name = "DIRECTORY")]
    plugin_dir: Option<PathBuf>,
    /// Settings of a plugin, as JSON, after its name.
    #[arg(long = "settings", value_name = "NAME=JSON")]
    settings: Vec<Settings>,
    /// Watch and write in this namespace only. May be given several times [default: all namespaces].
    #[arg(long = "namespace", value_name = "NAMESPACE", value_parser = label)]
    namespaces: Vec<String>,
    /// Let plugins take over objects that nobody owns and that bear the name of a child.
    #[arg(long)]
    adopt: bool,
    /// What this deployment is called, unlike any other in its namespace: by it, a later start knows what was mounted before, and lets go
    /// what no longer is [default: the name in the file].
    #[arg(long, value_name = "NAME", env = "GYRE_NAME", value_parser = label)]
    pub(crate) name: Option<String>,
    /// How many objects of each mount are worked on at once [default: 4].
    #[arg(long, value_name = "N", env = "NUM_WORKERS", value_parser = whole(bounds::WORKERS))]
    workers: Option<u32>,
    /// How often an object whose reconcile fails is tried again before it is left until it changes [default: for ever].
    #[arg(long, value_name = "N", value_parser = whole(bounds::RETRIES))]
    pub(crate) max_retries: Option<u32>,
    /// After faults of a plugin about how many different objects in a row it is not called for a while; or never [default: 5].
    #[arg(long, value_name = "N")]
    quarantine_after: Option<Faults>,
    /// How long one call of a plugin may take [default: 2000].
    #[arg(long, value_name = "MILLISECONDS", value_parser = whole(10_u64..=600_000))]
    call_deadline: Option<u64>,
    /// How much memory one call of a plugin may take [default: 64].
    #[arg(long, value_name = "MIB", value_parser = whole(1_u16..=1024))]
    call_memory: Option<u16>,
    /// Do not take in a configuration or a plugin that changes: a restart does.
    #[arg(long)]
    pub(crate) no_reload: bool,
    #[command(flatten)]
    pub(crate) code: CodeArguments,
}

/// Where compiled code is kept.
#[derive(Clone, Debug, Args)]
pub(crate) struct CodeArguments {
    /// Where compiled plugins are kept for the next start; "off" for nowhere [default: gyre/code in the user's cache directory].
    #[arg(long, value_name = "DIRECTORY", env = "GYRE_CODE_CACHE")]
    code_cache: Option<PathBuf>,
    /// Another directory like that, which is only read: an image has the code of its plugins in one.
    #[arg(long, value_name = "DIRECTORY", env = "GYRE_COMPILED")]
    compiled: Option<PathBuf>,
}

#[derive(Clone, Debug)]
struct Settings {
    plugin: String,
    json: String,
    /// What they are called in messages.
    place: String,
}

impl FromStr for Settings {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (plugin, json) = text.split_once('=').ok_or("expected the plugin's name, =, and a JSON object")?;
        let value: serde_json::Value = serde_json::from_str(json)
            .map_err(|error| format!("expected a JSON object after {plugin}=, which is none: {error}"))?;
        if !value.is_object() {
            return Err("the settings of a plugin are a JSON object, such as {\"key\": \"value\"}".to_owned());
        }
        Ok(Self { plugin: plugin.to_owned(), json: json.to_owned(), place: format!("--settings {plugin}") })
    }
}

/// After how many faults a plugin is quarantined; none: never.
#[derive(Clone, Copy, Debug)]
struct Faults(Option<u32>);

impl FromStr for Faults {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == config::NEVER {
            return Ok(Self(None));
        }
        let faults = text.parse().ok().filter(|faults| bounds::FAULTS.contains(faults));
        let (least, most) = (bounds::FAULTS.start(), bounds::FAULTS.end());
        faults.map(|faults| Self(Some(faults))).ok_or_else(|| format!("expected a number from {least} to {most}, or never"))
    }
}

fn label(text: &str) -> Result<String, String> {
    let remedy = "expected lower-case letters, digits and hyphens, at most 63";
    if names::is_dns_label(text) { Ok(text.to_owned()) } else { Err(remedy.to_owned()) }
}

impl MountArguments {
    /// Whether they name nothing to mount.
    pub(crate) fn is_empty(&self) -> bool {
        self.config.is_none() && self.plugins.is_empty() && self.plugin_dir.is_none()
    }

    /// As they can be given again, each option a word with its value. What is absent: where code is kept and whether changes are taken in,
    /// which changes nothing of what plugins do.
    pub(crate) fn words(&self) -> Vec<String> {
        let Self {
            config: file,
            plugins,
            plugin_dir,
            settings,
            namespaces,
            adopt,
            name,
            workers,
            max_retries,
            quarantine_after,
            call_deadline,
            call_memory,
            no_reload: _,
            code: _,
        } = self;
        let mut words = Vec::new();
        words.extend(file.iter().map(|file| format!("--config={}", file.display())));
        words.extend(plugins.iter().map(|file| format!("--plugin={}", file.display())));
        words.extend(plugin_dir.iter().map(|folder| format!("--plugin-dir={}", folder.display())));
        words.extend(settings.iter().map(|settings| format!("--settings={}={}", settings.plugin, settings.json)));
        words.extend(namespaces.iter().map(|namespace| format!("--namespace={namespace}")));
        words.extend(adopt.then(|| "--adopt".to_owned()));
        words.extend(name.iter().map(|name| format!("--name={name}")));
        words.extend(workers.map(|workers| format!("--workers={workers}")));
        words.extend(max_retries.map(|retries| format!("--max-retries={retries}")));
        words.extend(quarantine_after.map(|Faults(faults)| {
            let faults = faults.map_or_else(|| config::NEVER.to_owned(), |faults| faults.to_string());
            format!("--quarantine-after={faults}")
        }));
        words.extend(call_deadline.map(|milliseconds| format!("--call-deadline={milliseconds}")));
        words.extend(call_memory.map(|mebibytes| format!("--call-memory={mebibytes}")));
        words
    }

    /// Gives a plugin these settings, instead of others; messages call them as the place says.
    pub(crate) fn set(&mut self, plugin: &str, settings: &serde_json::Value, place: &str) {
        self.settings.retain(|settings| settings.plugin != plugin);
        self.settings.push(Settings { plugin: plugin.to_owned(), json: settings.to_string(), place: place.to_owned() });
    }

    /// What the flags say of each mount goes before the policy's own.
    pub(crate) fn override_policy(&self, policy: &mut Policy) {
        if !self.namespaces.is_empty() {
            policy.namespaces = Some(Namespaces::Only(self.namespaces.iter().cloned().collect()));
        }
        if self.adopt {
            policy.adoption = Adoption::Allowed;
        }
        if let Some(workers) = self.workers {
            policy.workers = workers as usize;
        }
        if let Some(retries) = self.max_retries {
            policy.max_retries = Some(retries);
        }
        if let Some(Faults(faults)) = self.quarantine_after {
            policy.quarantine_after = faults;
        }
        if let Some(milliseconds) = self.call_deadline {
            policy.limits.deadline = Duration::from_millis(milliseconds);
        }
        if let Some(mebibytes) = self.call_memory {
            policy.limits.memory_bytes = usize::from(mebibytes) << 20;
        }
    }

    /// The configuration that the flags are, without a file.
    pub(crate) fn configuration(&self, problems: &mut Problems) -> Configuration {
        let flag = |flag: &str, path: &Path| Place::whole(&format!("{flag} {}", path.display()).into());
        let mut configuration = Configuration::empty(Place::whole(&"--name".into()));
        self.override_policy(&mut configuration.defaults);
        for path in &self.plugins {
            let policy = configuration.defaults.clone();
            configuration.mounts.push(MountSpec::of(path.clone(), flag("--plugin", path), policy));
        }
        let directory = self.plugin_dir.clone();
        configuration.directory = directory.map(|value| Said { place: flag("--plugin-dir", &value), value });
        for Settings { plugin, json, place } in &self.settings {
            let source = DocumentSource::Flag(Arc::from(place.as_str()));
            match Document::parse(source, json) {
                Ok(Document { source, root }) => {
                    configuration.settings.push((plugin.clone(), config::Settings { source, node: root, path: String::new() }));
                }
                Err(problem) => problems.0.push(problem),
            }
        }
        configuration
    }
}

impl CodeArguments {
    /// A sandbox for asking plugins what they are.
    pub(crate) fn sandbox(&self) -> anyhow::Result<Sandbox> {
        Sandbox::new(self.options()).context("cannot set up the sandbox")
    }

    /// Of a sandbox, as far as they say.
    pub(crate) fn options(&self) -> gyre_sandbox::Options {
        let compiled_dirs = self.compiled.iter().cloned().collect();
        gyre_sandbox::Options { cache_dir: self.cache(), compiled_dirs, ..gyre_sandbox::Options::default() }
    }

    /// The directory for compiled code.
    pub(crate) fn cache(&self) -> Option<PathBuf> {
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
pub(crate) fn compile_apart(sandbox: &Sandbox, path: &Path, bytes: &[u8], cache: Option<&Path>) {
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

/// What to do about a file that is no plugin.
pub(crate) const GIVE_A_COMPONENT: &str = "give the file of a WebAssembly component";

/// Reads a plugin and loads it.
pub(crate) fn open(sandbox: &Sandbox, path: &Path) -> anyhow::Result<Plugin> {
    load(sandbox, &read(path)?).map_err(|error| {
        let (path, remedy) = (path.display(), error.remedy());
        anyhow!("cannot load the plugin {path}: {}; {remedy}", error_chain(&error))
    })
}

/// Reads the file of a plugin.
pub(crate) fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    Files::default()
        .read(path, LARGEST_PLUGIN)
        .map_err(|error| anyhow!("cannot read the plugin {}: {}; {GIVE_A_COMPONENT}", path.display(), error_chain(&error)))
}

/// Loads a plugin, compiling it if it is not in the cache.
pub(crate) fn load(sandbox: &Sandbox, bytes: &[u8]) -> Result<Plugin, gyre_sandbox::load::Error> {
    let plugin = sandbox.load(bytes)?;
    let manifest = plugin.manifest();
    info!(
        plugin = manifest.name, version = manifest.version, digest = %plugin.digest(),
        compiled = ?plugin.compile().source, took = ?plugin.compile().duration, "loaded"
    );
    Ok(plugin)
}
