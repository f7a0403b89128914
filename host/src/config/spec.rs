//! What a configuration says, before any plugin is loaded.

use std::path::PathBuf;
use std::time::Duration;

use gyre_core::grants::{Adoption, Namespaces};
use gyre_core::outcome::REQUEUE_FLOOR;
use gyre_engine::program::{QUARANTINE_AFTER, WORKERS};
use gyre_input::document::Part;
use gyre_input::problem::Place;
use gyre_sandbox::{Digest, Limits};

use super::keys::Mount;

/// What a deployment is called that nobody names.
pub(crate) const NAME: &str = "gyre";

/// A value, and where it is set.
#[derive(Clone, Debug)]
pub(crate) struct Located<T> {
    pub(crate) value: T,
    pub(crate) place: Place,
}

/// What a file says of one argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    pub(crate) key: String,
    /// As it would be written on the command line.
    pub(crate) text: String,
}

/// All that a configuration says.
#[derive(Debug)]
pub(crate) struct Configuration {
    /// The document, or what stands for it.
    pub(crate) part: Part,
    /// What the deployment is called; none: nobody says.
    pub(crate) name: Located<Option<String>>,
    /// What the file says of the process itself.
    pub(crate) host: Vec<Setting>,
    /// What holds for each mount that does not say otherwise.
    pub(crate) defaults: Policy,
    /// The mounts that are listed.
    pub(crate) mounts: Vec<MountSpec>,
    /// A directory whose plugins are mounted too.
    pub(crate) directory: Option<Located<PathBuf>>,
    /// Settings of plugins that do not have them in their mount, by the plugin's name; later ones win.
    pub(crate) settings: Vec<(String, Part)>,
}

/// What a configuration says of one mount.
#[derive(Clone, Debug)]
pub(crate) struct MountSpec {
    pub(crate) origin: Origin,
    pub(crate) source: PluginSpec,
    pub(crate) policy: Policy,
    /// [`SettingsFrom::Default`]: the mount's settings.
    pub(crate) shadow: Option<PluginSpec>,
    /// What else it says.
    pub(crate) keys: Mount,
}

/// A plugin and its settings.
#[derive(Clone, Debug)]
pub(crate) struct PluginSpec {
    /// What names them.
    pub(crate) part: Part,
    pub(crate) plugin: PathBuf,
    pub(crate) settings: SettingsFrom,
}

impl Configuration {
    /// Nothing is said.
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

/// Who wants a mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The configuration file, or a flag, by itself.
    File,
    /// A plugin in the plugin directory.
    Directory,
    /// A plugin that was loaded from the plugin directory and vanished from it not long ago.
    Kept(Digest),
}

impl MountSpec {
    /// Of a plugin there is nothing to say but where it is.
    pub(crate) fn of(plugin: PathBuf, part: Part, policy: Policy) -> Self {
        let source = PluginSpec { part, plugin, settings: SettingsFrom::Default };
        Self { origin: Origin::File, source, policy, shadow: None, keys: Mount::default() }
    }
}

/// What both `defaults` and a mount can say.
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
        }
    }
}

/// Where a mount's settings are.
#[derive(Clone, Debug)]
pub(crate) enum SettingsFrom {
    /// Nowhere: none are set, or a flag sets them by the plugin's name.
    Default,
    Inline(Part),
    /// In that file, which is named there.
    File(PathBuf, Part),
    /// What is said is wrong.
    Unknown,
}
