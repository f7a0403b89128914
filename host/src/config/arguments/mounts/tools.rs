//! The flags of the commands of the feature `tools`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use gyre_core::grants::{ParentFields, WriteNamespaces};

use super::{
    CodeArguments, Faults, MountArguments, NamedArguments, PolicyArguments, Settings, SourceArguments, WorkersArgument,
};
use crate::config::keys::NEVER;
use crate::config::quantity::Bytes;
use crate::config::values::label;
use crate::plugins::source::PluginSource;

/// Of `gyre dev`, where nothing is kept from one start to the next.
#[derive(Clone, Debug, Args)]
#[command(mut_arg("config", |config| config.conflicts_with_all(["plugins", "adopt"])))]
#[command(mut_arg("plugins", |plugins| plugins.help(PROJECTS)))]
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

/// Of commands that preview what a host does, with a simulated clock. For `gyre diff`, the plugins
/// beside a `--config` are versions of those that the file mounts.
#[derive(Clone, Debug, Args)]
#[command(mut_arg("config", |config| config.conflicts_with("adopt")))]
#[command(mut_arg("plugins", |plugins| plugins.help(PROJECTS)))]
#[command(mut_arg("call_deadline", |deadline| deadline.alias("timeout")))]
pub(crate) struct PreviewMounts {
    #[command(flatten)]
    source: SourceArguments,
    #[command(flatten)]
    policy: PolicyArguments,
    #[command(flatten)]
    code: CodeArguments,
}

/// The help of plugins for commands that build projects.
const PROJECTS: &str = "Plugins: WebAssembly components (.wasm), references in registries (oci://...), or folders of projects, which are built \
     [default: the project in this folder]";

/// Of commands that are about a plugin, whatever a file may say of it.
#[derive(Clone, Debug, Args)]
#[command(mut_arg("plugins", |plugins| plugins.help(PROJECTS)))]
#[command(mut_arg("call_deadline", |deadline| deadline.alias("timeout")))]
pub(crate) struct PluginMounts {
    #[command(flatten)]
    named: NamedArguments,
    #[command(flatten)]
    policy: PolicyArguments,
    #[command(flatten)]
    code: CodeArguments,
}

/// Of `gyre values`, which writes each plugin down.
#[derive(Clone, Debug, Args)]
pub(crate) struct ValuesMounts {
    /// Plugins to mount: paths of WebAssembly components (.wasm), or references in registries, such
    /// as oci://registry.example.com/team/echo:1.4.
    #[arg(value_name = "PLUGIN", required = true, value_hint = ValueHint::AnyPath)]
    plugins: Vec<PluginSource>,
    /// Settings of a plugin: a JSON object, after the plugin's name and = if there are several
    /// plugins. Can be repeated.
    #[arg(long = "settings", value_name = "[NAME=]JSON")]
    settings: Vec<Settings>,
    /// Watch and write in this namespace only; the Roles are for this namespace. Can be repeated
    /// [default: all namespaces].
    #[arg(long = "namespace", short = 'n', value_name = "NAMESPACE", value_parser = label)]
    namespaces: Vec<String>,
    #[command(flatten)]
    code: CodeArguments,
}

impl From<ValuesMounts> for MountArguments {
    fn from(ValuesMounts { plugins, settings, namespaces, code }: ValuesMounts) -> Self {
        let named = NamedArguments { plugins, settings, namespaces, ..NamedArguments::default() };
        Self { named, code, ..Self::default() }
    }
}

impl From<DevMounts> for MountArguments {
    fn from(DevMounts { source: SourceArguments { config, named }, workers, policy, code }: DevMounts) -> Self {
        Self { config, named, policy, workers: workers.workers, code, ..Self::default() }
    }
}

impl From<PreviewMounts> for MountArguments {
    fn from(PreviewMounts { source: SourceArguments { config, named }, policy, code }: PreviewMounts) -> Self {
        Self { config, named, policy, code, ..Self::default() }
    }
}

impl From<PluginMounts> for MountArguments {
    fn from(PluginMounts { named, policy, code }: PluginMounts) -> Self {
        Self { named, policy, code, ..Self::default() }
    }
}

/// The missing argument of a command that takes no configuration file.
pub(crate) const SOME_PLUGIN: &str = "<PLUGIN>... (or --plugin-dir <DIRECTORY>)";
/// The missing argument of a command that takes one.
pub(crate) const SOME_MOUNT: &str = "<PLUGIN>... (or --plugin-dir <DIRECTORY>, --config <FILE>)";

impl PluginMounts {
    /// See [`NamedArguments::take_objects`].
    pub(crate) fn take_objects(&mut self) -> Vec<PathBuf> {
        self.named.take_objects()
    }

    /// The plugins, as words of a command.
    pub(crate) fn plugins(&self) -> impl Iterator<Item = String> {
        self.named.plugins.iter().map(ToString::to_string)
    }

    /// The flags, each with its value in one word, so that a command can be repeated. Without the
    /// code cache, which does not affect plugins.
    pub(crate) fn words(&self) -> Vec<String> {
        let Self { named, policy, code: _ } = self;
        let NamedArguments {
            plugins: _,
            plugin_dir,
            reconcilers,
            delete_parents,
            parent_fields,
            write_namespaces,
            settings,
            namespaces,
        } = named;
        let PolicyArguments { adopt, max_retries, quarantine_after, min_requeue_after, call_deadline, call_memory } = policy;
        let mut words = Vec::new();
        words.extend(plugin_dir.iter().map(|folder| format!("--plugin-dir={}", folder.display())));
        words.extend(reconcilers.iter().map(|name| format!("--reconciler={name}")));
        words.extend(settings.iter().map(|Settings { plugin, json, .. }| match plugin {
            Some(plugin) => format!("--settings={plugin}={json}"),
            None => format!("--settings={json}"),
        }));
        words.extend(namespaces.iter().map(|namespace| format!("--namespace={namespace}")));
        words.extend(adopt.then(|| "--adopt".to_owned()));
        words.extend(delete_parents.then(|| "--delete-parents".to_owned()));
        words.extend(parent_fields.iter().map(|fields| match fields {
            ParentFields::NotGranted => "--parent-fields=".to_owned(),
            ParentFields::Declared => "--parent-fields=all".to_owned(),
            ParentFields::Only(fields) => {
                let fields: Vec<String> = fields.iter().map(ToString::to_string).collect();
                format!("--parent-fields={}", fields.join(","))
            }
        }));
        words.extend(write_namespaces.iter().map(|written| match written {
            WriteNamespaces::OfParent => "--write-namespaces=parent".to_owned(),
            WriteNamespaces::All => "--write-namespaces=all".to_owned(),
            WriteNamespaces::Named(names) => {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                format!("--write-namespaces={}", names.join(","))
            }
        }));
        words.extend(max_retries.map(|retries| format!("--max-retries={retries}")));
        words.extend(quarantine_after.map(|Faults(faults)| {
            let faults = faults.map_or_else(|| NEVER.to_owned(), |faults| faults.to_string());
            format!("--quarantine-after={faults}")
        }));
        words.extend(min_requeue_after.map(|delay| format!("--min-requeue-after={}ms", delay.as_millis())));
        words.extend(call_deadline.map(|deadline| format!("--call-deadline={}ms", deadline.as_millis())));
        words.extend(call_memory.map(|bytes| format!("--call-memory={}", Bytes(bytes as u64))));
        words
    }
}

impl MountArguments {
    pub(crate) fn set(&mut self, plugin: &str, settings: &serde_json::Value, place: &str) {
        self.named.settings.retain(|settings| settings.plugin.as_ref().is_some_and(|named| named != plugin));
        self.named.settings.push(Settings {
            plugin: Some(plugin.to_owned()),
            json: settings.to_string(),
            place: place.to_owned(),
        });
    }
}
