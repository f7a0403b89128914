//! The content of a configuration, before any plugin is loaded.

use std::path::PathBuf;
use std::sync::Arc;

use gyre_core::grants::{Adoption, Namespaces, ParentDeletions, ParentFields, WriteNamespaces};
use gyre_engine::program::Policy;
use gyre_input::document::Part;
use gyre_input::problem::Place;
use gyre_registry::PullPolicy;
use gyre_sandbox::Digest;

use super::keys::Mount;
use super::verification::Verification;
use crate::plugins::source::PluginSource;

pub(crate) const NAME: &str = "gyre";

#[derive(Clone, Debug)]
pub(crate) struct Located<T> {
    pub(crate) value: T,
    pub(crate) place: Place,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    pub(crate) key: String,
    pub(crate) text: String,
}

#[derive(Debug)]
pub(crate) struct Configuration {
    pub(crate) part: Part,
    pub(crate) name: Located<Option<String>>,
    pub(crate) host: Vec<Setting>,
    pub(crate) defaults: MountPolicy,
    pub(crate) mounts: Vec<MountSpec>,
    pub(crate) directory: Option<Located<PathBuf>>,
    /// See [`MountArguments::version`](super::arguments::mounts::MountArguments::version).
    pub(crate) version: Option<PluginSource>,
    /// The reconcilers to which plugins that have several are restricted, by flags.
    pub(crate) reconcilers: Vec<String>,
    /// The default settings of plugins, by name; `None` if only one plugin is mounted. The last one
    /// wins.
    pub(crate) settings: Vec<(Option<String>, Part)>,
}

#[derive(Clone, Debug)]
pub(crate) struct MountSpec {
    pub(crate) origin: Origin,
    pub(crate) source: PluginSpec,
    pub(crate) reconcilers: ReconcilerNames,
    pub(crate) policy: MountPolicy,
    /// The shadow, whose default settings are the mount's.
    pub(crate) shadow: Option<PluginSpec>,
    pub(crate) keys: Mount,
}

/// The reconcilers of a plugin that are mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReconcilerNames {
    /// All, or those that flags name: a plugin of a flag or a directory.
    All,
    /// The only one, or the one of this name: an entry of the configuration file.
    One(Option<String>),
}

#[derive(Clone, Debug)]
pub(crate) struct PluginSpec {
    pub(crate) part: Part,
    pub(crate) plugin: PluginSource,
    /// The digest that the component must have.
    pub(crate) digest: Option<gyre_registry::Digest>,
    pub(crate) settings: SettingsFrom,
}

impl PluginSpec {
    /// Returns the digest that the component must have, if it has another one.
    pub(crate) fn contradicted_by(&self, digest: &gyre_sandbox::Digest) -> Option<&gyre_registry::Digest> {
        self.digest.as_ref().filter(|pinned| pinned.as_bytes() != digest.as_bytes())
    }
}

impl Configuration {
    pub(crate) fn empty(part: Part) -> Self {
        Self {
            name: Located { value: None, place: part.document() },
            part,
            host: Vec::new(),
            defaults: MountPolicy::default(),
            mounts: Vec::new(),
            directory: None,
            version: None,
            reconcilers: Vec::new(),
            settings: Vec::new(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// An entry in the configuration file, or a flag.
    File,
    Directory,
    Kept(Digest),
}

impl PluginSpec {
    pub(crate) fn of(plugin: PluginSource, part: Part) -> Self {
        Self { part, plugin, digest: None, settings: SettingsFrom::Default }
    }
}

impl MountSpec {
    pub(crate) fn of(plugin: PluginSource, part: Part, policy: MountPolicy) -> Self {
        let source = PluginSpec::of(plugin, part);
        Self { origin: Origin::File, source, reconcilers: ReconcilerNames::All, policy, shadow: None, keys: Mount::default() }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct MountPolicy {
    /// `None` if they could not be read.
    pub(crate) namespaces: Option<Namespaces>,
    pub(crate) adoption: Adoption,
    pub(crate) write_namespaces: WriteNamespaces,
    pub(crate) parent_deletions: ParentDeletions,
    pub(crate) parent_fields: ParentFields,
    pub(crate) pull: PullPolicy,
    /// The signatures that plugins of registries must have.
    pub(crate) verify: Option<Arc<Verification>>,
    pub(crate) reconciles: Policy,
}

impl Default for MountPolicy {
    fn default() -> Self {
        Self {
            namespaces: Some(Namespaces::All),
            adoption: Adoption::Refused,
            write_namespaces: WriteNamespaces::OfParent,
            parent_deletions: ParentDeletions::NotGranted,
            parent_fields: ParentFields::NotGranted,
            pull: PullPolicy::IfNotPresent,
            verify: None,
            reconciles: Policy::default(),
        }
    }
}

pub(crate) fn set<T>(default: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *default = value;
    }
}

#[derive(Clone, Debug)]
pub(crate) enum SettingsFrom {
    /// The mount sets none; a flag may set them by the name of the plugin.
    Default,
    Inline(Part),
    File(PathBuf, Part),
    Unknown,
}
