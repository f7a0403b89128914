//! The keys of the configuration file: what each is called, what it means, and which values it takes. The schema is derived from these
//! types, and a file that fits the schema is read into them. Only the keys under `host` are elsewhere: they are flags.
//!
//! Each value can be absent, also where the schema requires it: what is wrong with a file has been reported, and taken out of it.

use gyre_core::outcome::REQUEUE_FLOOR;
use gyre_core::selector::Selector;
use gyre_sandbox::Limits as Defaults;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::types::{Check, Count, FilePath, Kind, Label, List, Size, Text, Time, size, time, whole, whole_or};
use gyre_engine::program::{QUARANTINE_AFTER, ServiceAccount, WORKERS, bounds};

/// What stands for [`gyre_sandbox::Reuse::Never`], and for a quarantine that never comes.
pub(crate) const NEVER: &str = "never";
/// What stands for retries without end.
const FOREVER: &str = "forever";

/// A configuration file.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(
    deny_unknown_fields,
    title = "The configuration of gyre run",
    description = "",
    extend("anyOf" = [{"required": ["mounts"]}, {"required": ["pluginDirectory"]}])
)]
pub(crate) struct File {
    /// What this deployment is called, unlike any other in its namespace. It identifies the inventory that is used to clean up removed
    /// mounts; without a name, nothing is kept.
    pub(crate) name: Option<Label>,
    /// The process itself: each key stands for the flag of that name. The flag and its environment variable override it. It takes effect at
    /// a start.
    pub(crate) host: Option<Map<String, Value>>,
    /// What holds for every mount that does not say otherwise.
    pub(crate) defaults: Option<Policy>,
    /// What is mounted.
    #[schemars(extend("errorMessage" = "write a list of mounts"))]
    pub(crate) mounts: Option<List<Mount>>,
    /// Every .wasm file in it is mounted with the defaults, unless a mount names it. Relative to the folder of this file.
    pub(crate) plugin_directory: Option<FilePath>,
}

/// What both `defaults` and a mount can say.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields, rename = "defaults", description = "")]
pub(crate) struct Policy {
    /// Only parents in these namespaces are reconciled, and nothing is written elsewhere. By default all are.
    #[schemars(length(min = 1), extend("errorMessage" = "write a list of namespaces, or leave the key out for all namespaces"))]
    pub(crate) namespaces: Option<List<Label>>,
    /// Whether objects without an owner that have the name of a child become the child.
    #[schemars(extend("default" = false))]
    pub(crate) adoption: Option<bool>,
    /// What one call of the plugin may use.
    pub(crate) limits: Option<Limits>,
    /// How many objects are worked on at once.
    #[schemars(transform = whole(bounds::WORKERS, WORKERS))]
    pub(crate) workers: Option<Count>,
    /// How often an object whose reconcile fails is tried again before it is left until it changes.
    #[schemars(transform = whole_or(FOREVER, bounds::RETRIES, FOREVER))]
    pub(crate) max_retries: Option<Count>,
    /// Quarantine the plugin for a namespace after consecutive faults on so many different objects of it.
    #[schemars(transform = whole_or(NEVER, bounds::FAULTS, QUARANTINE_AFTER))]
    pub(crate) quarantine_after: Option<Count>,
    /// The soonest that the plugin is called again because it asked for it with requeue-after.
    #[schemars(transform = time(bounds::REQUEUE, REQUEUE_FLOOR))]
    pub(crate) min_requeue_after: Option<Time>,
}

/// The limits of a call.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields, rename = "limits", description = "")]
pub(crate) struct Limits {
    /// How long it may run.
    #[schemars(transform = time(bounds::DEADLINE, Defaults::default().deadline))]
    pub(crate) deadline: Option<Time>,
    /// The sum of its memories and tables.
    #[schemars(transform = size(bounds::MEMORY, Defaults::default().memory_bytes))]
    pub(crate) memory: Option<Size>,
    /// The JSON and text in one answer.
    #[schemars(transform = size(bounds::OUTPUT, Defaults::default().output_bytes))]
    pub(crate) output: Option<Size>,
    /// How deep that may nest.
    #[schemars(transform = whole(bounds::DEPTH, Defaults::default().output_depth))]
    pub(crate) output_depth: Option<Count>,
    /// Children in one answer.
    #[schemars(transform = whole(bounds::CHILDREN, Defaults::default().children))]
    pub(crate) children: Option<Count>,
    /// Conditions in one answer.
    #[schemars(transform = whole(bounds::CONDITIONS, Defaults::default().conditions))]
    pub(crate) conditions: Option<Count>,
    /// Events in one answer.
    #[schemars(transform = whole(bounds::EVENTS, Defaults::default().events))]
    pub(crate) events: Option<Count>,
    /// How often it may ask for objects.
    #[schemars(transform = whole(bounds::READS, Defaults::default().reads))]
    pub(crate) reads: Option<Count>,
    /// What its reads may name, in bytes: kinds, namespaces, names and label selectors.
    #[schemars(transform = size(bounds::READ_BYTES, Defaults::default().read_bytes))]
    pub(crate) read_bytes: Option<Size>,
    /// The texts that are kept of an answer, in bytes: of conditions, events and failures. What exceeds it is cut.
    #[schemars(transform = size(bounds::TEXT_BYTES, Defaults::default().text_bytes))]
    pub(crate) text_bytes: Option<Size>,
    /// What it may log, in bytes.
    #[schemars(transform = size(bounds::LOG, Defaults::default().log_bytes))]
    pub(crate) log: Option<Size>,
    /// What it may log, in lines.
    #[schemars(transform = whole(bounds::LOG_LINES, Defaults::default().log_lines))]
    pub(crate) log_lines: Option<Count>,
    /// How many calls an instance serves. More than one is for plugins that are trusted to be pure, or slow to start.
    #[schemars(transform = whole_or(NEVER, bounds::REUSE, NEVER))]
    pub(crate) reuse: Option<Count>,
}

/// A plugin that is mounted.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields, rename = "mount", description = "", extend("not" = {"required": ["settings", "settingsFrom"]}))]
pub(crate) struct Mount {
    /// Unique in this file. By default it is the plugin's own name.
    pub(crate) name: Option<Label>,
    /// The file of a WebAssembly component, relative to the folder of this file.
    #[schemars(required)]
    pub(crate) plugin: Option<FilePath>,
    /// Only parents that match are reconciled: a label selector as kubectl get -l takes.
    #[schemars(extend(
        "x-gyre" = Check::Selector,
        "errorMessage" = "write a label selector as kubectl get -l takes, e.g. app=web,tier in (a,b)",
    ))]
    pub(crate) selector: Option<Text<Selector>>,
    /// Settings of the plugin, as its manifest describes them.
    #[schemars(extend("errorMessage" = "write a map of settings"))]
    pub(crate) settings: Option<Map<String, Value>>,
    /// A YAML or JSON file of settings, relative to the folder of this file.
    pub(crate) settings_from: Option<FilePath>,
    /// What is granted of what the plugin's manifest declares. By default all is.
    pub(crate) grants: Option<Grants>,
    /// The service account, as namespace/name, with whose permissions it writes. By default the host's own.
    #[schemars(extend(
        "pattern" = "^[^/]+/[^/]+$",
        "x-gyre" = Check::ServiceAccount,
        "errorMessage" = "write the namespace and the name of a service account, as in team-a/echo",
    ))]
    pub(crate) impersonate: Option<Text<ServiceAccount>>,
    /// Another version of the plugin, or other settings: it is called in parallel; its answers are compared, never applied (gyre shadow).
    pub(crate) shadow: Option<Shadow>,
    #[serde(flatten)]
    pub(crate) policy: Policy,
}

/// What of the plugin's manifest is granted.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields, rename = "grants", description = "")]
pub(crate) struct Grants {
    /// The kinds that it may write.
    #[schemars(extend("errorMessage" = "write a list of kinds, such as Job.v1.batch"))]
    pub(crate) children: Option<List<Kind>>,
    /// The kinds that it may read besides.
    #[schemars(extend("errorMessage" = "write a list of kinds, such as Job.v1.batch"))]
    pub(crate) reads: Option<List<Kind>>,
    /// Where it may read: the parent's namespace and those that the manifest names, or all that the mount has.
    #[schemars(extend("default" = Reach::Parent))]
    pub(crate) read_namespaces: Option<Reach>,
    /// Where its children may be: in the parent's namespace alone, there and in these namespaces, or in all that the mount has. Children of
    /// cluster-scoped parents may be in all, unless namespaces are listed.
    #[schemars(extend("default" = Reach::Parent, "errorMessage" = "write parent, all, or a list of namespaces"))]
    pub(crate) write_namespaces: Option<WriteNamespaces>,
}

/// The parent's namespace, or all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline, description = "")]
pub(crate) enum Reach {
    Parent,
    All,
}

/// Where children may be.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline, description = "")]
pub(crate) enum WriteNamespaces {
    Reach(Reach),
    Named(List<Label>),
}

/// The shadow of a mount.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields, rename = "shadow", description = "", extend("not" = {"required": ["settings", "settingsFrom"]}))]
pub(crate) struct Shadow {
    /// The file of a WebAssembly component of the same name and parents, relative to the folder of this file.
    #[schemars(required)]
    pub(crate) plugin: Option<FilePath>,
    /// Its settings. By default those of the mount.
    #[schemars(extend("errorMessage" = "write a map of settings"))]
    pub(crate) settings: Option<Map<String, Value>>,
    /// A YAML or JSON file of its settings, relative to the folder of this file.
    pub(crate) settings_from: Option<FilePath>,
}
