//! The keys of the configuration file: their names, descriptions and values. The schema is derived
//! from these types, and a matching file is read into them. Only the keys under `host` are
//! elsewhere, because they are flags.
//!
//! Every value is optional, even if the schema requires it: invalid values are reported and removed
//! before a file is read into these types.

use std::collections::BTreeMap;

use gyre_core::deletion_guard;
use gyre_core::outcome::REQUEUE_FLOOR;
use gyre_core::selector::Selector;
use gyre_engine::program::{QUARANTINE_AFTER, ServiceAccount, WORKERS, bounds};
use gyre_registry::Digest;
use gyre_sandbox::Limits as Defaults;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::types::{
    Check, Count, FilePath, Kind, Label, List, ParentField, Pattern, Plain, Size, Text, Time, size, time, whole, whole_or,
};
use crate::plugins::source::PluginSource;

/// The word for [`gyre_sandbox::Reuse::Never`], and for no quarantine.
pub(crate) const NEVER: &str = "never";
/// The word for an unlimited number of retries.
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
    /// Name of this deployment; must be unique in its namespace. It identifies the inventory, a
    /// ConfigMap from which a later start learns which mounts were removed, so that it can clean up
    /// after them. Without a name, the host keeps no inventory.
    pub(crate) name: Option<Label>,
    /// Settings of the process. Each key is the name of a flag in camel case; the flag and its
    /// environment variable override it. A change takes effect when the process is restarted.
    pub(crate) host: Option<Map<String, Value>>,
    /// Defaults for all mounts. The entry of a mount overrides them.
    pub(crate) defaults: Option<Policy>,
    /// The mounts: plugins with their settings, namespaces and grants.
    #[schemars(extend("errorMessage" = "write a list of mounts"))]
    pub(crate) mounts: Option<List<Mount>>,
    /// Directory of plugins, relative to the directory of this file: every .wasm file in it that no
    /// entry of mounts names is mounted with the defaults.
    pub(crate) plugin_directory: Option<FilePath>,
}

/// The keys of `defaults`, which each mount has as well.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields, rename = "defaults", description = "")]
pub(crate) struct Policy {
    /// Watch and write in these namespaces only. By default, in all namespaces.
    #[schemars(length(min = 1), extend("errorMessage" = "write a list of namespaces, or leave the key out for all namespaces"))]
    pub(crate) namespaces: Option<List<Label>>,
    /// Take over (adopt) existing objects that have the name of a child, and neither a controller
    /// nor labels of gyre. Does not apply to children with the strategy create-only.
    #[schemars(extend("default" = false))]
    pub(crate) adoption: Option<bool>,
    /// Limits of one plugin call.
    pub(crate) limits: Option<Limits>,
    /// Number of objects that each mount reconciles concurrently.
    #[schemars(transform = whole(bounds::WORKERS, WORKERS))]
    pub(crate) workers: Option<Count>,
    /// Number of times that a failed reconcile is retried before the host waits until the object
    /// changes.
    #[schemars(transform = whole_or(FOREVER, bounds::RETRIES, FOREVER))]
    pub(crate) max_retries: Option<Count>,
    /// Stop calling the plugin about a namespace, except for probes (quarantine), after consecutive
    /// faults on this number of distinct objects of the namespace.
    #[schemars(transform = whole_or(NEVER, bounds::FAULTS, QUARANTINE_AFTER))]
    pub(crate) quarantine_after: Option<Count>,
    /// Minimum delay of requeues that the plugin requests.
    #[schemars(transform = time(bounds::REQUEUE, REQUEUE_FLOOR))]
    pub(crate) min_requeue_after: Option<Time>,
    /// Events of the plugin that are published: all, or only warnings.
    #[schemars(extend("default" = Published::All))]
    pub(crate) events: Option<Published>,
    /// Treatment of a child if other field managers own some of its fields: refuse the child, or
    /// apply it without these fields (skip-field), with a warning that names them.
    #[schemars(extend("default" = OnConflict::Refuse))]
    pub(crate) on_conflict: Option<OnConflict>,
    /// When a plugin of a registry is pulled: "IfNotPresent" starts with the version in the cache,
    /// if there is one; "Always" asks the registry first, and starts with the cache if it does not
    /// answer; "Never" asks no registry. Unless it is "Never", the host asks for the versions of
    /// tags again at an interval (host.tagInterval).
    #[schemars(extend("default" = Pull::IfNotPresent))]
    pub(crate) pull: Option<Pull>,
    /// Signatures that plugins of registries must have, made by cosign or gyre sign. What is not
    /// signed like this is not compiled.
    pub(crate) verify: Option<Verify>,
    /// Hold deletions of children that the plugin no longer wants, until somebody releases them, if
    /// more than this number and more than this percentage of a kind would be deleted.
    pub(crate) deletion_guard: Option<DeletionGuard>,
}

/// When a plugin of a registry is pulled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, description = "")]
pub(crate) enum Pull {
    IfNotPresent,
    Always,
    Never,
}

/// The signatures that plugins of registries must have.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields, rename = "verify", description = "")]
pub(crate) struct Verify {
    /// Paths to public keys (PEM), relative to the directory of this file. One of them, or one of
    /// the identities, must have signed the plugin.
    #[schemars(extend("errorMessage" = "write a list of paths to public keys"))]
    pub(crate) keys: Option<List<FilePath>>,
    /// Identities whose signatures with certificates of a Sigstore are accepted (keyless).
    #[schemars(extend("errorMessage" = "write a list of issuers and subjects"))]
    pub(crate) identities: Option<List<Identity>>,
    /// Path to the trusted_root.json with the authorities and logs of the Sigstore, relative to the
    /// directory of this file. No server is asked.
    pub(crate) trusted_root: Option<FilePath>,
    /// Whether signatures by keys need an entry in a transparency log. By default, they need one if
    /// there is a trustedRoot. Those by identities always do.
    pub(crate) log: Option<Log>,
    /// Annotations that the signature must have, with their values.
    #[schemars(extend("errorMessage" = "write a map of annotations with texts as values"))]
    pub(crate) annotations: Option<BTreeMap<String, Option<Plain>>>,
}

/// An identity in a certificate.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields, rename = "identity", description = "")]
pub(crate) struct Identity {
    /// Issuer of the identity: the URL of the service that signed in.
    #[schemars(required, extend("errorMessage" = "write the issuer in the certificate"))]
    pub(crate) issuer: Option<String>,
    /// Subject in the certificate, such as a workflow or an e-mail address; a * at its end stands
    /// for any characters.
    #[schemars(required, extend("errorMessage" = "write the subject in the certificate"))]
    pub(crate) subject: Option<String>,
}

/// Whether a log is required.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline, description = "")]
pub(crate) enum Log {
    Required,
    Ignored,
}

/// The limits of deletions.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields, rename = "deletionGuard", description = "")]
pub(crate) struct DeletionGuard {
    /// Number of children of a kind that may always be deleted within 5 minutes.
    #[schemars(transform = whole(bounds::DELETIONS, deletion_guard::Limits::default().children as usize))]
    pub(crate) children: Option<Count>,
    /// Percentage of the mount's children of a kind that may be deleted within 5 minutes. 100
    /// disables the guard.
    #[schemars(transform = whole(bounds::PERCENT, deletion_guard::Limits::default().percent as usize))]
    pub(crate) percent: Option<Count>,
}

/// The limits of a call.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields, rename = "limits", description = "")]
pub(crate) struct Limits {
    /// Maximum duration of the call.
    #[schemars(transform = time(bounds::DEADLINE, Defaults::default().deadline))]
    pub(crate) deadline: Option<Time>,
    /// Maximum memory of the call: the sum of the plugin's memories and tables.
    #[schemars(transform = size(bounds::MEMORY, Defaults::default().memory_bytes))]
    pub(crate) memory: Option<Size>,
    /// Maximum size of the JSON and text in the answer.
    #[schemars(transform = size(bounds::OUTPUT, Defaults::default().output_bytes))]
    pub(crate) output: Option<Size>,
    /// Maximum nesting depth of JSON in the answer.
    #[schemars(transform = whole(bounds::DEPTH, Defaults::default().output_depth))]
    pub(crate) output_depth: Option<Count>,
    /// Maximum number of children in the answer.
    #[schemars(transform = whole(bounds::CHILDREN, Defaults::default().children))]
    pub(crate) children: Option<Count>,
    /// Maximum number of conditions in the answer.
    #[schemars(transform = whole(bounds::CONDITIONS, Defaults::default().conditions))]
    pub(crate) conditions: Option<Count>,
    /// Maximum number of events in the answer.
    #[schemars(transform = whole(bounds::EVENTS, Defaults::default().events))]
    pub(crate) events: Option<Count>,
    /// Maximum number of reads.
    #[schemars(transform = whole(bounds::READS, Defaults::default().reads))]
    pub(crate) reads: Option<Count>,
    /// Maximum total size of the arguments of reads: kinds, namespaces, names and label selectors.
    #[schemars(transform = size(bounds::READ_BYTES, Defaults::default().read_bytes))]
    pub(crate) read_bytes: Option<Size>,
    /// Maximum total size of the texts of conditions, events and failures in the answer. The host
    /// truncates longer texts.
    #[schemars(transform = size(bounds::TEXT_BYTES, Defaults::default().text_bytes))]
    pub(crate) text_bytes: Option<Size>,
    /// Maximum total size of log messages.
    #[schemars(transform = size(bounds::LOG, Defaults::default().log_bytes))]
    pub(crate) log: Option<Size>,
    /// Maximum number of log lines.
    #[schemars(transform = whole(bounds::LOG_LINES, Defaults::default().log_lines))]
    pub(crate) log_lines: Option<Count>,
    /// Number of calls that an instance serves before it is replaced; "never" creates an instance
    /// for each call. Reuse instances only of plugins that you trust to be pure, or that are slow
    /// to start.
    #[schemars(transform = whole_or(NEVER, bounds::REUSE, NEVER))]
    pub(crate) reuse: Option<Count>,
}

/// A plugin that is mounted.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields, rename = "mount", description = "", extend("not" = {"required": ["settings", "settingsFrom"]}))]
pub(crate) struct Mount {
    /// Name of the mount; must be unique in this file. By default, the name of the plugin.
    pub(crate) name: Option<Label>,
    #[serde(flatten)]
    pub(crate) source: Source,
    /// Name of the reconciler, for a plugin that has several. Each needs a mount of its own.
    pub(crate) reconciler: Option<Label>,
    /// Reconcile only parents that match this label selector, which is written as for kubectl get
    /// -l.
    #[schemars(extend(
        "x-gyre" = Check::Selector,
        "errorMessage" = "write a label selector as kubectl get -l takes, e.g. app=web,tier in (a,b)",
    ))]
    pub(crate) selector: Option<Text<Selector>>,
    /// Kinds and namespaces that the mount may read and write. The kinds must be in the manifest of
    /// the plugin; by default, all of them are granted.
    pub(crate) grants: Option<Grants>,
    /// Service account, as namespace/name, that the host impersonates for the writes of this mount.
    /// By default, the host writes as itself.
    #[schemars(extend(
        "pattern" = "^[^/]+/[^/]+$",
        "x-gyre" = Check::ServiceAccount,
        "errorMessage" = "write the namespace and the name of a service account, as in team-a/echo",
    ))]
    pub(crate) impersonate: Option<Text<ServiceAccount>>,
    /// Another version of the plugin, or other settings; by default, the settings of the mount. It
    /// must have the name and the parent kind of the mount's plugin. It is called in parallel; its
    /// answers are compared, never applied (gyre shadow).
    pub(crate) shadow: Option<Shadow>,
    #[serde(flatten)]
    pub(crate) policy: Policy,
}

/// The grants of a mount.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields, rename = "grants", description = "")]
pub(crate) struct Grants {
    /// Kinds that the plugin may write. By default, all child kinds that its manifest declares.
    #[schemars(extend("errorMessage" = "write a list of kinds, such as Job.v1.batch"))]
    pub(crate) children: Option<List<Kind>>,
    /// Kinds that the plugin may read, besides its parents and children. By default, all reads that
    /// its manifest declares.
    #[schemars(extend("errorMessage" = "write a list of kinds, such as Job.v1.batch"))]
    pub(crate) reads: Option<List<Kind>>,
    /// Namespaces in which the plugin may read. "parent": the namespace of the parent and those
    /// that the manifest names; a list: also these namespaces, in which * stands for any
    /// characters; "all": all namespaces of the mount.
    #[schemars(extend("default" = Reach::Parent, "errorMessage" = "write parent, all, or a list of namespaces"))]
    pub(crate) read_namespaces: Option<GrantedNamespaces>,
    /// Namespaces in which children may be. "parent": the namespace of the parent or, if the parent
    /// is cluster-scoped, the namespaces that are its children; a list: also these namespaces, in
    /// which * stands for any characters; "all": all namespaces of the mount.
    #[schemars(extend("default" = Reach::Parent, "errorMessage" = "write parent, all, or a list of namespaces"))]
    pub(crate) write_namespaces: Option<GrantedNamespaces>,
    /// Fields of parents that the plugin may set, among those that its manifest declares. "all":
    /// all of these; a list: these fields, as JSON Pointers, and all below them.
    #[schemars(extend("errorMessage" = "write all, or a list of JSON Pointers such as /metadata/labels or /spec/replicas"))]
    pub(crate) parent_fields: Option<GrantedFields>,
    /// Let the plugin delete parents, if its manifest declares it. Without it, they stay.
    #[schemars(extend("default" = false))]
    pub(crate) delete_parents: Option<bool>,
}

/// The parent's namespace, or all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline, description = "")]
pub(crate) enum Reach {
    Parent,
    All,
}

/// All events, or only warnings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline, description = "")]
pub(crate) enum Published {
    All,
    Warnings,
}

/// Refuse a child, or skip fields of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline, description = "")]
pub(crate) enum OnConflict {
    Refuse,
    SkipField,
}

/// Where objects may be.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline, description = "")]
pub(crate) enum GrantedNamespaces {
    Reach(Reach),
    Named(List<Pattern>),
}

/// Fields of parents.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline, description = "")]
pub(crate) enum GrantedFields {
    Declared(All),
    Only(List<ParentField>),
}

/// The word for everything that a manifest declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline, description = "")]
pub(crate) enum All {
    All,
}

/// The shadow of a mount.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields, rename = "shadow", description = "", extend("not" = {"required": ["settings", "settingsFrom"]}))]
pub(crate) struct Shadow {
    #[serde(flatten)]
    pub(crate) source: Source,
}

/// A plugin and its settings.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "")]
pub(crate) struct Source {
    /// The plugin, a WebAssembly component: a path, relative to the directory of this file, or a
    /// reference in a registry, such as oci://registry.example.com/team/echo:1.4, with a tag, a
    /// digest (@sha256:...) or both.
    #[schemars(required, extend(
        "minLength" = 1,
        "x-gyre" = Check::Source,
        "errorMessage" = "write a path, relative to the directory of this file, or oci://HOST/REPOSITORY with a tag or a digest",
    ))]
    pub(crate) plugin: Option<Text<PluginSource>>,
    /// Digest that the component must have, as sha256sum prints it of the file. The digest in a
    /// reference is that of the manifest in the registry.
    #[schemars(extend(
        "pattern" = "^sha256:[0-9a-f]{64}$",
        "errorMessage" = "write sha256: and 64 hexadecimal digits, as `gyre inspect` prints them",
    ))]
    pub(crate) digest: Option<Text<Digest>>,
    /// Settings of the plugin. The manifest of the plugin contains their schema.
    #[schemars(extend("errorMessage" = "write a map of settings"))]
    pub(crate) settings: Option<Map<String, Value>>,
    /// Path to a YAML or JSON file with the settings, relative to the directory of this file.
    pub(crate) settings_from: Option<FilePath>,
}
