//! The flags that say what is mounted: each command has those that act there.
//!
//! | flags | run | dev | rbac | render, diff | test, check |
//! |---|---|---|---|---|---|
//! | [`NamedArguments`]: plugins, their settings and namespaces | yes | yes | yes | yes | yes |
//! | [`SourceArguments`]: a file instead | yes | yes | yes | yes | |
//! | [`PolicyArguments`]: what mounts may do and take | yes | yes | | yes | yes |
//! | how many workers: nothing is waited for offline | yes | yes | | | |
//! | a name: what was mounted before is not known by it offline | yes | | yes | | |
//! | [`CodeArguments`]: where compiled code is kept | yes | yes | yes | yes | yes |

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use gyre_core::grants::{Adoption, Namespaces};
use gyre_sandbox::Sandbox;

use crate::config::keys::NEVER;
use crate::config::node::{Document, Part, Source as DocumentSource};
use crate::config::problem::Problems;
use crate::config::spec::{Configuration, Located, MountSpec, Policy};
use crate::config::values::{label, whole};
use crate::program::bounds;

/// All that flags can say of what is mounted. What a command has no flags for is not said.
///
/// What a flag or its environment variable says holds for each mount, and replaces what `defaults` in the configuration file say; what
/// a mount in the file says of itself goes before both.
#[derive(Clone, Debug, Default)]
pub(crate) struct MountArguments {
    pub(crate) config: Option<PathBuf>,
    pub(crate) named: NamedArguments,
    pub(crate) policy: PolicyArguments,
    /// What the deployment is called.
    name: Option<String>,
    workers: Option<u32>,
    pub(crate) code: CodeArguments,
}

/// What is mounted: a file says it, or flags do.
#[derive(Clone, Debug, Args)]
pub(crate) struct SourceArguments {
    /// A YAML file that says what is mounted, instead of --plugin and the like.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["plugins", "plugin_dir", "settings", "namespaces"])]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    named: NamedArguments,
}

/// What is mounted, by flags.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct NamedArguments {
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
}

/// What mounts may do and take. Beside a [`SourceArguments`], `--adopt` and `--config` exclude each other, which these cannot say themselves.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct PolicyArguments {
    /// Let plugins take over objects that nobody owns and that bear the name of a child.
    #[arg(long)]
    adopt: bool,
    /// How often an object whose reconcile fails is tried again before it is left until it changes [default: for ever].
    #[arg(long, value_name = "N", value_parser = whole(bounds::RETRIES))]
    pub(crate) max_retries: Option<u32>,
    /// Quarantine the plugin for a namespace after consecutive faults on so many different objects of it; or never [default: 5].
    #[arg(long, value_name = "N")]
    quarantine_after: Option<Faults>,
    /// The soonest that a plugin is called again because it asked for it [default: 1000].
    #[arg(long, value_name = "MILLISECONDS", value_parser = whole(1_u64..=3_600_000))]
    min_requeue_after: Option<u64>,
    /// How long one call of a plugin may take [default: 2000].
    #[arg(long, value_name = "MILLISECONDS", value_parser = whole(10_u64..=600_000))]
    call_deadline: Option<u64>,
    /// How much memory one call of a plugin may take [default: 64].
    #[arg(long, value_name = "MIB", value_parser = whole(1_u16..=1024))]
    call_memory: Option<u16>,
}

/// Of a host that is to be known again.
#[derive(Clone, Debug, Args)]
struct NameArgument {
    /// What this deployment is called, unlike any other in its namespace: by it, a later start knows what was mounted before, and lets go
    /// what no longer is [default: the name in the file].
    #[arg(long, value_name = "NAME", env = "GYRE_NAME", value_parser = label)]
    name: Option<String>,
}

/// Of a host in whose time something else happens meanwhile.
#[derive(Clone, Debug, Args)]
struct WorkersArgument {
    /// How many objects of each mount are worked on at once [default: 4].
    #[arg(long, value_name = "N", env = "NUM_WORKERS", value_parser = whole(bounds::WORKERS))]
    workers: Option<u32>,
}

/// Where compiled code is kept.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct CodeArguments {
    /// Where compiled plugins are kept for the next start; "off" for nowhere [default: gyre/code in the user's cache directory].
    #[arg(long, value_name = "DIRECTORY", env = "GYRE_CODE_CACHE")]
    code_cache: Option<PathBuf>,
    /// Another directory like that, which is only read: an image has the code of its plugins in one.
    #[arg(long, value_name = "DIRECTORY", env = "GYRE_COMPILED")]
    compiled: Option<PathBuf>,
}

/// Of `gyre run`.
#[derive(Clone, Debug, Args)]
#[command(mut_arg("config", |config| config.conflicts_with("adopt")))]
pub(crate) struct RunMounts {
    #[command(flatten)]
    pub(crate) source: SourceArguments,
    #[command(flatten)]
    name: NameArgument,
    #[command(flatten)]
    workers: WorkersArgument,
    #[command(flatten)]
    policy: PolicyArguments,
    #[command(flatten)]
    code: CodeArguments,
}

/// Of `gyre dev`, where nothing is kept from one start to the next.
#[derive(Clone, Debug, Args)]
#[command(mut_arg("config", |config| config.conflicts_with("adopt")))]
pub(crate) struct DevMounts {
    #[command(flatten)]
    source: SourceArguments,
    #[command(flatten)]
    workers: WorkersArgument,
    #[command(flatten)]
    policy: PolicyArguments,
    #[command(flatten)]
    code: CodeArguments,
}

/// Of `gyre rbac`, which asks what is mounted and not how it runs.
#[derive(Clone, Debug, Args)]
pub(crate) struct RbacMounts {
    #[command(flatten)]
    pub(crate) source: SourceArguments,
    #[command(flatten)]
    name: NameArgument,
    #[command(flatten)]
    code: CodeArguments,
}

/// Of commands that foretell what a host does, in time that stands still while it works.
#[derive(Clone, Debug, Args)]
#[command(mut_arg("config", |config| config.conflicts_with("adopt")))]
pub(crate) struct ForetoldMounts {
    #[command(flatten)]
    source: SourceArguments,
    #[command(flatten)]
    policy: PolicyArguments,
    #[command(flatten)]
    code: CodeArguments,
}

/// Of commands that are about a plugin, whatever a file may say of it.
#[derive(Clone, Debug, Args)]
pub(crate) struct PluginMounts {
    #[command(flatten)]
    named: NamedArguments,
    #[command(flatten)]
    policy: PolicyArguments,
    #[command(flatten)]
    code: CodeArguments,
}

impl From<RunMounts> for MountArguments {
    fn from(RunMounts { source: SourceArguments { config, named }, name, workers, policy, code }: RunMounts) -> Self {
        Self { config, named, policy, name: name.name, workers: workers.workers, code }
    }
}

impl From<DevMounts> for MountArguments {
    fn from(DevMounts { source: SourceArguments { config, named }, workers, policy, code }: DevMounts) -> Self {
        Self { config, named, policy, workers: workers.workers, code, ..Self::default() }
    }
}

impl From<RbacMounts> for MountArguments {
    fn from(RbacMounts { source: SourceArguments { config, named }, name, code }: RbacMounts) -> Self {
        Self { config, named, name: name.name, code, ..Self::default() }
    }
}

impl From<ForetoldMounts> for MountArguments {
    fn from(ForetoldMounts { source: SourceArguments { config, named }, policy, code }: ForetoldMounts) -> Self {
        Self { config, named, policy, code, ..Self::default() }
    }
}

impl From<PluginMounts> for MountArguments {
    fn from(PluginMounts { named, policy, code }: PluginMounts) -> Self {
        Self { named, policy, code, ..Self::default() }
    }
}

impl PluginMounts {
    /// As they can be given again, each option a word with its value. What is absent: where code is kept, which changes nothing of what
    /// plugins do.
    pub(crate) fn words(&self) -> Vec<String> {
        let Self { named, policy, code: _ } = self;
        let NamedArguments { plugins, plugin_dir, settings, namespaces } = named;
        let PolicyArguments { adopt, max_retries, quarantine_after, min_requeue_after, call_deadline, call_memory } = policy;
        let mut words = Vec::new();
        words.extend(plugins.iter().map(|file| format!("--plugin={}", file.display())));
        words.extend(plugin_dir.iter().map(|folder| format!("--plugin-dir={}", folder.display())));
        words.extend(settings.iter().map(|settings| format!("--settings={}={}", settings.plugin, settings.json)));
        words.extend(namespaces.iter().map(|namespace| format!("--namespace={namespace}")));
        words.extend(adopt.then(|| "--adopt".to_owned()));
        words.extend(max_retries.map(|retries| format!("--max-retries={retries}")));
        words.extend(quarantine_after.map(|Faults(faults)| {
            let faults = faults.map_or_else(|| NEVER.to_owned(), |faults| faults.to_string());
            format!("--quarantine-after={faults}")
        }));
        words.extend(min_requeue_after.map(|milliseconds| format!("--min-requeue-after={milliseconds}")));
        words.extend(call_deadline.map(|milliseconds| format!("--call-deadline={milliseconds}")));
        words.extend(call_memory.map(|mebibytes| format!("--call-memory={mebibytes}")));
        words
    }
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
        if text == NEVER {
            return Ok(Self(None));
        }
        let faults = text.parse().ok().filter(|faults| bounds::FAULTS.contains(faults));
        let (least, most) = (bounds::FAULTS.start(), bounds::FAULTS.end());
        faults.map(|faults| Self(Some(faults))).ok_or_else(|| format!("expected a number from {least} to {most}, or never"))
    }
}

impl MountArguments {
    /// A configuration file, without any flag.
    pub(crate) fn of_file(config: PathBuf) -> Self {
        Self { config: Some(config), ..Self::default() }
    }

    /// Whether they name nothing to mount.
    pub(crate) fn is_empty(&self) -> bool {
        self.config.is_none() && self.named.plugins.is_empty() && self.named.plugin_dir.is_none()
    }

    /// What the deployment is called by a flag.
    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Gives a plugin these settings, instead of others; messages call them as the place says.
    pub(crate) fn set(&mut self, plugin: &str, settings: &serde_json::Value, place: &str) {
        self.named.settings.retain(|settings| settings.plugin != plugin);
        self.named.settings.push(Settings { plugin: plugin.to_owned(), json: settings.to_string(), place: place.to_owned() });
    }

    /// What the flags say of each mount goes before the policy's own.
    pub(crate) fn override_policy(&self, policy: &mut Policy) {
        if !self.named.namespaces.is_empty() {
            policy.namespaces = Some(Namespaces::Only(self.named.namespaces.iter().cloned().collect()));
        }
        if self.policy.adopt {
            policy.adoption = Adoption::Allowed;
        }
        if let Some(workers) = self.workers {
            policy.workers = workers as usize;
        }
        if let Some(retries) = self.policy.max_retries {
            policy.max_retries = Some(retries);
        }
        if let Some(Faults(faults)) = self.policy.quarantine_after {
            policy.quarantine_after = faults;
        }
        if let Some(milliseconds) = self.policy.min_requeue_after {
            policy.requeue_floor = Duration::from_millis(milliseconds);
        }
        if let Some(milliseconds) = self.policy.call_deadline {
            policy.limits.deadline = Duration::from_millis(milliseconds);
        }
        if let Some(mebibytes) = self.policy.call_memory {
            policy.limits.memory_bytes = usize::from(mebibytes) << 20;
        }
    }

    /// The configuration that the flags are, without a file.
    pub(crate) fn configuration(&self, problems: &mut Problems) -> Configuration {
        let flag = |flag: &str, path: &Path| Part::flag(&format!("{flag} {}", path.display()));
        let mut configuration = Configuration::empty(Part::flag("--name"));
        self.override_policy(&mut configuration.defaults);
        for path in &self.named.plugins {
            let policy = configuration.defaults.clone();
            configuration.mounts.push(MountSpec::of(path.clone(), flag("--plugin", path), policy));
        }
        let directory = self.named.plugin_dir.clone();
        configuration.directory = directory.map(|value| Located { place: flag("--plugin-dir", &value).place(), value });
        for Settings { plugin, json, place } in &self.named.settings {
            match Document::parse(DocumentSource::Flag(Arc::from(place.as_str())), json) {
                Ok(document) => configuration.settings.push((plugin.clone(), Part::whole(document))),
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
