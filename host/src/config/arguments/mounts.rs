//! The flags that define mounts. Each command has those that have an effect there.
//!
//! | flags | run, validate | dev | rbac | render, diff | test, fuzz |
//! |---|---|---|---|---|---|
//! | [`NamedArguments`]: plugins, their settings and namespaces | yes | yes | yes | yes | yes |
//! | [`SourceArguments`]: a file instead | yes | yes | yes | yes | |
//! | [`PolicyArguments`]: what mounts may do and take | yes | yes | | yes | yes |
//! | how many workers: offline, nothing waits | yes | yes | | | |
//! | a name: offline, there is no inventory | yes | | yes | | |
//! | [`CodeArguments`]: caches, and access to registries | yes | yes | yes | yes | yes |

#[cfg(feature = "tools")]
pub(crate) mod tools;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, ValueHint};
use gyre_core::field_path::FieldPath;
use gyre_core::grants::{Adoption, Namespaces, ParentDeletions, ParentFields, WriteNamespaces};
use gyre_core::names;
use gyre_engine::program::bounds;
use gyre_input::document::{Document, Part, Source as DocumentSource};
use gyre_input::problem::Problems;
use gyre_sandbox::Sandbox;

use crate::config::arguments::registry::RegistryArguments;
use crate::config::keys::NEVER;
use crate::config::spec::{Configuration, Located, MountPolicy, MountSpec, PluginSpec, set};
use crate::config::values::{cache_folder, duration, label, size, whole};
use crate::plugins::apart::Compiler;
use crate::plugins::source::PluginSource;

/// All flags that define mounts; a command sets those that it has. Flags and their variables
/// override `defaults` in the configuration file; the entry of a mount in the file overrides both.
#[derive(Clone, Debug, Default)]
pub(crate) struct MountArguments {
    pub(crate) config: Option<PathBuf>,
    /// The shadow of the only mount.
    shadow: Option<PluginSource>,
    /// A version of a plugin that is mounted as `config` mounts the plugin. The other mounts in the
    /// file are left out.
    pub(crate) version: Option<PluginSource>,
    pub(crate) named: NamedArguments,
    pub(crate) policy: PolicyArguments,
    name: Option<String>,
    workers: Option<u32>,
    pub(crate) code: CodeArguments,
    pub(crate) settings: SettingsCheck,
}

/// Whether the settings of plugins are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SettingsCheck {
    /// They are checked.
    #[default]
    Known,
    /// They are given later, so that a required setting may be missing.
    Later,
}

/// The mounts, from a file or from flags.
#[derive(Clone, Debug, Args)]
pub(crate) struct SourceArguments {
    /// Path to the configuration file (YAML), which lists the mounts. Cannot be combined with
    /// --plugin-dir, --reconciler, --delete-parents, --parent-fields, --write-namespaces,
    /// --settings or --namespace.
    #[arg(long, short, value_name = "FILE", conflicts_with_all = ["plugin_dir", "reconcilers", "delete_parents", "parent_fields", "write_namespaces", "settings", "namespaces"])]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    named: NamedArguments,
}

/// The mounts, from flags.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct NamedArguments {
    /// Plugins to mount: paths of WebAssembly components (.wasm), or references in registries, such
    /// as oci://registry.example.com/team/echo:1.4.
    #[arg(value_name = "PLUGIN", value_hint = ValueHint::AnyPath)]
    pub(crate) plugins: Vec<PluginSource>,
    /// Directory of plugins: every .wasm file in it is mounted.
    #[arg(long, alias = "plugins", value_name = "DIRECTORY")]
    plugin_dir: Option<PathBuf>,
    /// Mount only this reconciler of a plugin that has several. Can be repeated [default: all].
    #[arg(long = "reconciler", value_name = "NAME", value_parser = label)]
    pub(crate) reconcilers: Vec<String>,
    /// Let plugins delete parents, if their manifests declare it.
    #[arg(long)]
    delete_parents: bool,
    /// Fields of parents that plugins may set: "all" that their manifests declare, or these JSON
    /// Pointers, separated by commas, such as /metadata/labels,/spec/replicas.
    #[arg(long, value_name = "FIELDS", value_parser = parent_fields)]
    parent_fields: Option<ParentFields>,
    /// Namespaces in which children may be: "parent", as by default; "all"; or these names,
    /// separated by commas, in which * stands for any characters.
    #[arg(long, value_name = "NAMES", value_parser = write_namespaces)]
    write_namespaces: Option<WriteNamespaces>,
    /// Settings of a plugin: a JSON object, after the plugin's name and = if there are several
    /// plugins. Can be repeated.
    #[arg(long = "settings", alias = "settings-json", value_name = "[NAME=]JSON")]
    settings: Vec<Settings>,
    /// Watch and write in this namespace only. Can be repeated [default: all namespaces].
    #[arg(long = "namespace", short = 'n', value_name = "NAMESPACE", value_parser = label)]
    namespaces: Vec<String>,
}

/// Permissions and limits of mounts. With a [`SourceArguments`], `--adopt` and `--config` exclude
/// each other, which these cannot declare.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct PolicyArguments {
    /// Take over (adopt) existing objects that have the name of a child, and neither a controller
    /// nor labels of gyre. Does not apply to children with the strategy create-only.
    #[arg(long)]
    adopt: bool,
    /// Number of times that a failed reconcile is retried before the host waits until the object
    /// changes [default: unlimited].
    #[arg(long, value_name = "N", value_parser = whole(bounds::RETRIES))]
    pub(crate) max_retries: Option<u32>,
    /// Stop calling a plugin about a namespace, except for probes (quarantine), after consecutive
    /// faults on N distinct objects of the namespace; "never" disables this [default: 5].
    #[arg(long, value_name = "N")]
    quarantine_after: Option<Faults>,
    /// Minimum delay of requeues that plugins request, e.g. 500ms [default: 1s].
    #[arg(long, value_name = "DURATION", value_parser = duration(bounds::REQUEUE))]
    min_requeue_after: Option<Duration>,
    /// Maximum duration of one plugin call, e.g. 500ms [default: 2s].
    #[arg(long, aliases = ["deadline", "call-timeout", "max-time"], value_name = "DURATION", value_parser = duration(bounds::DEADLINE))]
    call_deadline: Option<Duration>,
    /// Maximum memory of one plugin call, e.g. 128Mi [default: 64Mi].
    #[arg(long, aliases = ["memory", "max-memory", "memory-limit"], value_name = "SIZE", value_parser = size(bounds::MEMORY))]
    call_memory: Option<usize>,
}

/// The name of a deployment, for hosts that keep an inventory.
#[derive(Clone, Debug, Args)]
struct NameArgument {
    /// Name of this deployment; must be unique in its namespace. It identifies the inventory, a
    /// ConfigMap from which a later start learns which mounts were removed, so that it can clean up
    /// after them [default: the name in the configuration file].
    #[arg(long, value_name = "NAME", env = "GYRE_NAME", value_parser = label)]
    name: Option<String>,
}

/// The number of workers, for hosts that run in real time.
#[derive(Clone, Debug, Args)]
struct WorkersArgument {
    /// Number of objects that each mount reconciles concurrently [default: 4].
    #[arg(long, value_name = "N", env = "GYRE_WORKERS", value_parser = whole(bounds::WORKERS))]
    workers: Option<u32>,
}

/// Where plugins are compiled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Compiling {
    #[default]
    InThisProcess,
    /// In another one, for a host whose mounts must not suffer from a new plugin.
    Apart,
}

/// Where compiled code is kept, and how plugins are pulled.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct CodeArguments {
    #[command(flatten)]
    code: CodeCacheArguments,
    #[command(flatten)]
    pub(crate) registry: RegistryArguments,
}

/// Where compiled code is kept.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct CodeCacheArguments {
    /// Directory in which compiled plugins are cached for later starts; "off" disables the cache
    /// [default: $XDG_CACHE_HOME/gyre/code, else ~/.cache/gyre/code].
    #[arg(long, value_name = "DIRECTORY", env = "GYRE_CODE_CACHE")]
    code_cache: Option<PathBuf>,
    /// Additional, read-only directory of compiled plugins, e.g. in an image.
    #[arg(long, value_name = "DIRECTORY", env = "GYRE_COMPILED")]
    compiled: Option<PathBuf>,
    #[arg(skip)]
    compiling: Compiling,
}

/// Of `gyre run` and `gyre validate`.
#[derive(Clone, Debug, Args)]
#[command(mut_arg("config", |config| config.short_alias('f').conflicts_with_all(["plugins", "adopt"])))]
#[command(mut_arg("call_deadline", |deadline| deadline.alias("timeout")))]
pub(crate) struct RunMounts {
    #[command(flatten)]
    pub(crate) source: SourceArguments,
    /// Another version of the plugin, whose answers are compared and never applied; `gyre shadow`
    /// shows the differences.
    #[arg(long, value_name = "PLUGIN", value_hint = ValueHint::AnyPath, conflicts_with_all = ["config", "plugin_dir"])]
    shadow: Option<PluginSource>,
    #[command(flatten)]
    name: NameArgument,
    #[command(flatten)]
    workers: WorkersArgument,
    #[command(flatten)]
    policy: PolicyArguments,
    #[command(flatten)]
    code: CodeArguments,
}

/// Of `gyre rbac`, which asks what is mounted and not how it runs.
#[derive(Clone, Debug, Args)]
#[command(mut_arg("config", |config| config.short_alias('f').conflicts_with("plugins")))]
pub(crate) struct RbacMounts {
    #[command(flatten)]
    pub(crate) source: SourceArguments,
    #[command(flatten)]
    name: NameArgument,
    #[command(flatten)]
    code: CodeArguments,
}

impl From<RunMounts> for MountArguments {
    fn from(RunMounts { source, shadow, name, workers, policy, code }: RunMounts) -> Self {
        let SourceArguments { config, named } = source;
        Self { config, shadow, named, policy, name: name.name, workers: workers.workers, code, ..Self::default() }
    }
}

impl From<RbacMounts> for MountArguments {
    fn from(RbacMounts { source: SourceArguments { config, named }, name, code }: RbacMounts) -> Self {
        Self { config, named, name: name.name, code, ..Self::default() }
    }
}

impl SourceArguments {
    /// The only argument, if it is a YAML file: a configuration, which nobody takes for a plugin.
    pub(crate) fn only_file(&self) -> Option<&Path> {
        let [only] = &self.named.plugins[..] else { return None };
        only.path().filter(|path| is_document(path))
    }
}

/// Returns whether a file has the ending of YAML or JSON.
fn is_document(path: &Path) -> bool {
    let extension = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    ["yaml", "yml", "json"].contains(&extension)
}

#[cfg(feature = "tools")]
impl NamedArguments {
    /// Takes the files of objects from the plugins: those with the ending of YAML or JSON, and `-`.
    pub(crate) fn take_objects(&mut self) -> Vec<PathBuf> {
        let is_object = |path: &Path| is_document(path) || path == Path::new("-");
        let taken = self.plugins.extract_if(.., |plugin| plugin.path().is_some_and(is_object));
        taken.filter_map(|plugin| plugin.path().map(Path::to_owned)).collect()
    }
}

#[derive(Clone, Debug)]
struct Settings {
    /// `None` if only one plugin is mounted.
    plugin: Option<String>,
    json: String,
    place: String,
}

impl FromStr for Settings {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = text.split_once('=').filter(|(name, _)| names::is_dns_label(name));
        let (plugin, json) = named.map_or((None, text), |(name, json)| (Some(name.to_owned()), json));
        let value: serde_json::Value = serde_json::from_str(json).map_err(|error| {
            format!(
                "expected a JSON object, such as {{\"key\": \"value\"}}, or the plugin's name, = and such an object: {error}"
            )
        })?;
        if !value.is_object() {
            return Err("the settings of a plugin must be a JSON object, such as {\"key\": \"value\"}".to_owned());
        }
        let place = plugin.as_ref().map_or_else(|| "--settings".to_owned(), |plugin| format!("--settings {plugin}"));
        Ok(Self { plugin, json: json.to_owned(), place })
    }
}

fn parent_fields(text: &str) -> Result<ParentFields, String> {
    if text == "all" {
        return Ok(ParentFields::Declared);
    }
    let parsed = text.split(',').map(str::trim).map(|pointer| {
        FieldPath::parse(pointer)
            .map_err(|error| format!("expected all, or JSON Pointers separated by commas; {pointer:?} {error}"))
    });
    parsed.collect::<Result<_, _>>().map(ParentFields::Only)
}

fn write_namespaces(text: &str) -> Result<WriteNamespaces, String> {
    let is_pattern = |name: &str| names::is_dns_label(&name.replace('*', "x"));
    match text {
        "parent" => Ok(WriteNamespaces::OfParent),
        "all" => Ok(WriteNamespaces::All),
        names => {
            let names: Vec<&str> = names.split(',').map(str::trim).collect();
            if !names.iter().all(|name| is_pattern(name)) {
                return Err(
                    "expected parent, all, or names of namespaces separated by commas, such as team-a,shared-*".to_owned()
                );
            }
            Ok(WriteNamespaces::Named(names.into_iter().map(str::to_owned).collect()))
        }
    }
}

/// The number of faults before a quarantine, or `None` for never.
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
    pub(crate) fn of_file(config: PathBuf) -> Self {
        Self { config: Some(config), ..Self::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.config.is_none() && self.named.plugins.is_empty() && self.named.plugin_dir.is_none()
    }

    /// Returns whether nothing says in which namespaces the plugins are mounted.
    #[cfg(feature = "tools")]
    pub(crate) fn lacks_namespaces(&self) -> bool {
        self.config.is_none() && self.named.namespaces.is_empty()
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    pub(crate) fn override_policy(&self, policy: &mut MountPolicy) {
        let PolicyArguments { adopt, max_retries, quarantine_after, min_requeue_after, call_deadline, call_memory } =
            &self.policy;
        if !self.named.namespaces.is_empty() {
            policy.namespaces = Some(Namespaces::Only(self.named.namespaces.iter().cloned().collect()));
        }
        set(&mut policy.adoption, adopt.then_some(Adoption::Allowed));
        set(&mut policy.write_namespaces, self.named.write_namespaces.clone());
        set(&mut policy.parent_fields, self.named.parent_fields.clone());
        set(&mut policy.parent_deletions, self.named.delete_parents.then_some(ParentDeletions::Granted));
        let reconciles = &mut policy.reconciles;
        set(&mut reconciles.workers, self.workers.map(|workers| workers as usize));
        set(&mut reconciles.max_retries, max_retries.map(Some));
        set(&mut reconciles.quarantine_after, quarantine_after.map(|Faults(faults)| faults));
        set(&mut reconciles.requeue_floor, *min_requeue_after);
        set(&mut reconciles.limits.deadline, *call_deadline);
        set(&mut reconciles.limits.memory_bytes, *call_memory);
    }

    pub(crate) fn configuration(&self, problems: &mut Problems) -> Configuration {
        let mut configuration = Configuration::empty(Part::flag("--name"));
        self.override_policy(&mut configuration.defaults);
        for plugin in &self.named.plugins {
            let policy = configuration.defaults.clone();
            configuration.mounts.push(MountSpec::of(plugin.clone(), Part::flag(&plugin.to_string()), policy));
        }
        if let Some(shadow) = &self.shadow {
            let part = Part::flag(&format!("--shadow {shadow}"));
            if let [mount] = &mut configuration.mounts[..] {
                mount.shadow = Some(PluginSpec::of(shadow.clone(), part));
            } else {
                let remedy = "mount one plugin, or use shadow: in the configuration file";
                problems.add(part.place(), "it is not clear which plugin has the shadow", remedy);
            }
        }
        let directory = self.named.plugin_dir.clone();
        configuration.reconcilers.clone_from(&self.named.reconcilers);
        configuration.directory = directory.map(|value| {
            let place = Part::flag(&format!("--plugin-dir {}", value.display())).place();
            Located { value, place }
        });
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
    pub(crate) fn sandbox(&self) -> anyhow::Result<Sandbox> {
        self.code.sandbox()
    }

    pub(crate) fn options(&self) -> gyre_sandbox::Options {
        self.code.options()
    }

    /// Has another process compile plugins.
    pub(crate) fn compile_apart(&mut self) {
        self.code.compiling = Compiling::Apart;
    }

    /// The process that compiles plugins, unless this one does. Without a cache there can be none.
    pub(crate) fn compiler(&self) -> Option<Compiler> {
        let cache = self.cache().filter(|_| self.code.compiling == Compiling::Apart)?;
        Some(Compiler::of_this_process(cache))
    }

    pub(crate) fn cache(&self) -> Option<PathBuf> {
        self.code.cache()
    }
}

impl CodeCacheArguments {
    pub(crate) fn sandbox(&self) -> anyhow::Result<Sandbox> {
        Sandbox::new(self.options()).context("cannot set up the sandbox")
    }

    fn options(&self) -> gyre_sandbox::Options {
        let compiled_dirs = self.compiled.iter().cloned().collect();
        gyre_sandbox::Options { cache_dir: self.cache(), compiled_dirs, ..gyre_sandbox::Options::default() }
    }

    fn cache(&self) -> Option<PathBuf> {
        match &self.code_cache {
            Some(directory) if directory.as_os_str() == "off" => None,
            Some(directory) => Some(directory.clone()),
            None => cache_folder("code"),
        }
    }
}
