//! The content of a configuration, before any plugin is loaded.

use std::path::PathBuf;
use std::time::Duration;

use gyre_core::grants::{Adoption, Namespaces};
use gyre_core::outcome::REQUEUE_FLOOR;
use gyre_engine::program::{PublishedEvents, QUARANTINE_AFTER, WORKERS};
use gyre_input::document::Part;
use gyre_input::problem::Place;
use gyre_sandbox::{Digest, Limits};

use super::keys::Mount;

/// The default name of a deployment.
pub(crate) const NAME: &str = "gyre";

/// A value, and the place where it is set.
#[derive(Clone, Debug)]
pub(crate) struct Located<T> {
    pub(crate) value: T,
    pub(crate) place: Place,
}

/// The value of an argument in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    pub(crate) key: String,
    /// As it would be written on the command line.
    pub(crate) text: String,
}

/// The content of a configuration.
#[derive(Debug)]
pub(crate) struct Configuration {
    /// The document, or the flag that stands for it.
    pub(crate) part: Part,
    /// The name of the deployment, if it is set.
    pub(crate) name: Located<Option<String>>,
    /// The settings of the process.
    pub(crate) host: Vec<Setting>,
    /// The defaults of mounts.
    pub(crate) defaults: Policy,
    /// The mounts that are listed.
    pub(crate) mounts: Vec<MountSpec>,
    /// A directory whose plugins are mounted, too.
    pub(crate) directory: Option<Located<PathBuf>>,
    /// Settings of plugins whose mounts have none, by the name of the plugin; later ones win.
    pub(crate) settings: Vec<(String, Part)>,
}

/// The configuration of one mount.
#[derive(Clone, Debug)]
pub(crate) struct MountSpec {
    pub(crate) origin: Origin,
    pub(crate) source: PluginSpec,
    pub(crate) policy: Policy,
    /// [`SettingsFrom::Default`]: the mount's settings.
    pub(crate) shadow: Option<PluginSpec>,
    /// Its limits, grants and the like.
    pub(crate) keys: Mount,
}

/// A plugin and its settings.
#[derive(Clone, Debug)]
pub(crate) struct PluginSpec {
    /// The part of the document that names them.
    pub(crate) part: Part,
    pub(crate) plugin: PathBuf,
    pub(crate) settings: SettingsFrom,
}

impl Configuration {
    /// A configuration without any settings.
    pub(crate) fn empty(part: Part) -> Self {
        Self {
            name: Located { value: None, place: part.document() },
            part,
            host: Vec::new(),
            defaults: Policy::default(),
            mounts: Vec::new(),
            directory: None,
            settings: Vec::new(),
        }
    }
}

/// The origin of a mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// An entry in the configuration file, or a flag.
    File,
    /// A plugin in the plugin directory.
    Directory,
    /// A plugin that vanished from the plugin directory recently.
    Kept(Digest),
}

impl MountSpec {
    /// A mount of a plugin without further settings.
    pub(crate) fn of(plugin: PathBuf, part: Part, policy: Policy) -> Self {
        let source = PluginSpec { part, plugin, settings: SettingsFrom::Default };
        Self { origin: Origin::File, source, policy, shadow: None, keys: Mount::default() }
    }
}

/// The settings that both `defaults` and a mount can have.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    /// None: they could not be read.
    pub(crate) namespaces: Option<Namespaces>,
    pub(crate) adoption: Adoption,
    pub(crate) limits: Limits,
    pub(crate) workers: usize,
    pub(crate) max_retries: Option<u32>,
    pub(crate) quarantine_after: Option<u32>,
    pub(crate) requeue_floor: Duration,
    pub(crate) events: PublishedEvents,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            namespaces: Some(Namespaces::All),
            adoption: Adoption::Refused,
            limits: Limits::default(),
            workers: WORKERS,
            max_retries: None,
            quarantine_after: Some(QUARANTINE_AFTER),
            requeue_floor: REQUEUE_FLOOR,
            events: PublishedEvents::All,
        }
    }
}

/// Replaces a default, if there is a value.
pub(crate) fn set<T>(default: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *default = value;
    }
}

/// The source of the settings of a plugin.
#[derive(Clone, Debug)]
pub(crate) enum SettingsFrom {
    /// The mount sets none; a flag may set them by the name of the plugin.
    Default,
    Inline(Part),
    /// A file, and the part of the document that names it.
    File(PathBuf, Part),
    /// They are set, but invalid.
    Unknown,
}
