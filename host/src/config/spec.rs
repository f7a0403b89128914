//! What a configuration says, before any plugin is loaded.

use std::path::PathBuf;
use std::time::Duration;

use gyre_core::grants::{Adoption, Namespaces, ReadNamespaces, WriteNamespaces};
use gyre_core::object::GroupVersionKind;
use gyre_core::outcome::REQUEUE_FLOOR;
use gyre_core::selector::Selector;
use gyre_engine::program::{QUARANTINE_AFTER, ServiceAccount, WORKERS};
use gyre_sandbox::{Digest, Limits, Reuse};

use super::node::{Node, Source};
use super::problem::Place;

/// What a deployment is called that nobody names.
pub(crate) const NAME: &str = "gyre";

/// A value, and where it was said.
#[derive(Clone, Debug)]
pub(crate) struct Said<T> {
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
    /// What the deployment is called; none: nobody says.
    pub(crate) name: Said<Option<String>>,
    /// What the file says of the process itself.
    pub(crate) host: Vec<Said<Setting>>,
    /// What holds for each mount that does not say otherwise.
    pub(crate) defaults: Policy,
    /// The mounts that are listed.
    pub(crate) mounts: Vec<MountSpec>,
    /// A directory whose plugins are mounted too.
    pub(crate) directory: Option<Said<PathBuf>>,
    /// Settings of plugins that do not have them in their mount, by the plugin's name; later ones win.
    pub(crate) settings: Vec<(String, Settings)>,
}

/// What a configuration says of one mount.
#[derive(Clone, Debug)]
pub(crate) struct MountSpec {
    pub(crate) origin: Origin,
    pub(crate) place: Place,
    /// None: the plugin's own name.
    pub(crate) name: Option<Said<String>>,
    pub(crate) plugin: Said<PathBuf>,
    pub(crate) selector: Selector,
    pub(crate) settings: SettingsFrom,
    pub(crate) grants: GrantSpec,
    pub(crate) policy: Policy,
    /// Whom it writes as; none: the host.
    pub(crate) impersonate: Option<ServiceAccount>,
    pub(crate) shadow: Option<ShadowSpec>,
}

/// What a configuration says of the shadow of a mount.
#[derive(Clone, Debug)]
pub(crate) struct ShadowSpec {
    pub(crate) place: Place,
    pub(crate) plugin: Said<PathBuf>,
    /// [`SettingsFrom::Default`]: the mount's.
    pub(crate) settings: SettingsFrom,
}

impl Configuration {
    /// Nothing is said, at a place.
    pub(crate) fn empty(place: Place) -> Self {
        Self {
            name: Said { value: None, place },
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
    pub(crate) fn of(plugin: PathBuf, place: Place, policy: Policy) -> Self {
        Self {
            origin: Origin::File,
            name: None,
            plugin: Said { value: plugin, place: place.clone() },
            place,
            selector: Selector::default(),
            settings: SettingsFrom::Default,
            grants: GrantSpec::default(),
            impersonate: None,
            shadow: None,
            policy,
        }
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

/// What of the manifest is granted.
#[derive(Clone, Debug, Default)]
pub(crate) struct GrantSpec {
    /// None: all.
    pub(crate) children: Option<Vec<Said<GroupVersionKind>>>,
    /// None: all.
    pub(crate) reads: Option<Vec<Said<GroupVersionKind>>>,
    pub(crate) read_namespaces: ReadNamespaces,
    pub(crate) write_namespaces: WriteNamespacesSpec,
}

/// Where children may be, besides the namespace of their parent.
#[derive(Clone, Debug, Default)]
pub(crate) enum WriteNamespacesSpec {
    #[default]
    OfParent,
    Named(Vec<Said<String>>),
    All,
}

impl WriteNamespacesSpec {
    /// As the plan knows it.
    pub(crate) fn granted(&self) -> WriteNamespaces {
        match self {
            Self::OfParent => WriteNamespaces::OfParent,
            Self::Named(names) => WriteNamespaces::Named(names.iter().map(|name| name.value.clone()).collect()),
            Self::All => WriteNamespaces::All,
        }
    }
}

/// Where a mount's settings are.
#[derive(Clone, Debug)]
pub(crate) enum SettingsFrom {
    /// Nowhere: none are set, or a flag sets them by the plugin's name.
    Default,
    Inline(Settings),
    File(Said<PathBuf>),
    /// What is said is wrong.
    Unknown,
}

/// Settings, as a tree that knows where its values stand.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) source: Source,
    pub(crate) node: Node,
    /// The path to them in their document.
    pub(crate) path: String,
}

/// What the configuration calls [`Reuse::Never`], and a quarantine that never comes.
pub(crate) const NEVER: &str = "never";
/// What it calls retries without end.
pub(crate) const FOREVER: &str = "forever";

/// How the configuration writes it.
pub(crate) fn reuse(calls: Option<u32>) -> Reuse {
    calls.map_or(Reuse::Never, Reuse::UpTo)
}
