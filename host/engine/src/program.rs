//! A program: a plugin with all that its mount says of it. The operator's configuration comes down to a list of programs.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use gyre_core::grants::{Grants, Namespaces, ReadGrants, Scope};
use gyre_core::manifest::{Manifest, ReadKind};
use gyre_core::names::{is_dns_label, is_dns_subdomain};
use gyre_core::object::GroupVersionKind;
use gyre_core::outcome::REQUEUE_FLOOR;
use gyre_core::queue::MountOptions;
use gyre_core::response::Severity;
use gyre_core::selector::Selector;
use gyre_sandbox::{Limits, Plugin};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

/// After faults of a plugin in a row about so many different objects it is quarantined.
///
/// Objects that the plugin cannot bear are held back by back-offs of their own; five that trap one after the other, without an answer for any
/// other object in between, are the plugin's doing. Until then five calls that run into the deadline of 2 s are 10 s of a CPU.
pub const QUARANTINE_AFTER: u32 = 5;
/// How many objects of a mount are worked on at once, unless it says otherwise: echoperator's `NUM_WORKERS`.
pub const WORKERS: usize = 4;

/// Names a mount.
pub type MountName = Arc<str>;

/// The programs that a host is to run: it follows them as they change.
pub type Programs = watch::Receiver<Arc<[Program]>>;

/// A plugin with all that its mount says of it. It does not change: a mount whose plugin or configuration changes gets another program.
#[derive(Clone)]
pub struct Program {
    /// The mount's name, unique in a host.
    pub name: MountName,
    /// The plugin.
    pub plugin: Plugin,
    /// The settings, as JSON; checked.
    pub settings: Arc<[u8]>,
    /// The limits of each call.
    pub limits: Limits,
    /// The number of workers.
    pub workers: usize,
    /// The namespaces whose parents are reconciled.
    pub namespaces: Namespaces,
    /// Only parents that match are reconciled.
    pub selector: Selector,
    /// The write grants.
    pub grants: Grants,
    /// The read grants.
    pub reads: ReadGrants,
    /// After this many retries that failed too an object is parked until it changes; none: it is retried for ever.
    pub max_retries: Option<u32>,
    /// See [`QUARANTINE_AFTER`]; none: never.
    pub quarantine_after: Option<u32>,
    /// The soonest that the plugin is called again because it asked for it, see [`gyre_core::outcome::REQUEUE_FLOOR`].
    pub requeue_floor: Duration,
    /// The events that are published.
    pub events: PublishedEvents,
    /// The service account that the mount's writes impersonate; none: the host's own.
    pub impersonate: Option<ServiceAccount>,
    /// What the mount might run instead: it is called beside the plugin, and nothing of what it wants is done. It has no shadow itself.
    pub shadow: Option<Arc<Program>>,
}

impl Program {
    /// Whether an object, in JSON, is of the kind that it reconciles, in whatever version.
    pub fn reconciles(&self, object: &serde_json::Value) -> bool {
        let text = |field: &str| object.get(field).and_then(serde_json::Value::as_str).unwrap_or_default();
        let kind = GroupVersionKind::from_api_version(text("apiVersion"), text("kind"));
        let parent = &self.plugin.manifest().parent;
        (&kind.group, &kind.kind) == (&parent.group, &parent.kind)
    }
}

/// The events of a plugin that are published.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PublishedEvents {
    /// All.
    #[default]
    All,
    /// Only warnings.
    Warnings,
}

impl PublishedEvents {
    /// Whether an event of that severity is published.
    pub fn includes(self, severity: Severity) -> bool {
        match self {
            Self::All => true,
            Self::Warnings => severity == Severity::Warning,
        }
    }
}

/// Names a ServiceAccount.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ServiceAccount {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// As the API server knows it as a user.
impl fmt::Display for ServiceAccount {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "system:serviceaccount:{}:{}", self.namespace, self.name)
    }
}

/// `namespace/name`.
impl FromStr for ServiceAccount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('/') {
            Some((namespace, name)) if is_dns_label(namespace) && is_dns_subdomain(name) => {
                Ok(Self { namespace: namespace.to_owned(), name: name.to_owned() })
            }
            _ => Err("expected a namespace and the name of a service account, as in team-a/echo".to_owned()),
        }
    }
}

impl Program {
    /// The plugin under its own name, with everything that its manifest declares granted in these namespaces, and the defaults.
    pub fn new(plugin: Plugin, namespaces: Namespaces) -> Self {
        Self {
            name: plugin.manifest().name.as_str().into(),
            grants: Grants::new(plugin.manifest(), namespaces.clone()),
            plugin,
            settings: Arc::from(*b"{}"),
            limits: Limits::default(),
            workers: WORKERS,
            namespaces,
            selector: Selector::default(),
            reads: ReadGrants::default(),
            max_retries: None,
            quarantine_after: Some(QUARANTINE_AFTER),
            requeue_floor: REQUEUE_FLOOR,
            events: PublishedEvents::All,
            impersonate: None,
            shadow: None,
        }
    }

    /// Whether it is the same plugin, by its digest, with the same configuration, and has the same shadow: then nothing need change.
    pub fn is_same(&self, other: &Self) -> bool {
        let has_same_shadow = match (&self.shadow, &other.shadow) {
            (None, None) => true,
            (Some(shadow), Some(other)) => shadow.is_same(other),
            (Some(_), None) | (None, Some(_)) => false,
        };
        has_same_shadow && self.same_except_shadow(other)
    }

    /// Whether it is the same plugin, by its digest, with the same configuration, whatever its shadow is.
    pub fn same_except_shadow(&self, other: &Self) -> bool {
        // Named one by one, so that a new field is not forgotten.
        let Self {
            name,
            plugin,
            settings,
            limits,
            workers,
            namespaces,
            selector,
            grants,
            reads,
            max_retries,
            quarantine_after,
            requeue_floor,
            events,
            impersonate,
            shadow: _,
        } = self;
        plugin.digest() == other.plugin.digest()
            && *name == other.name
            && *settings == other.settings
            && *limits == other.limits
            && *workers == other.workers
            && *namespaces == other.namespaces
            && *selector == other.selector
            && *grants == other.grants
            && *reads == other.reads
            && *max_retries == other.max_retries
            && *quarantine_after == other.quarantine_after
            && *requeue_floor == other.requeue_floor
            && *events == other.events
            && *impersonate == other.impersonate
    }

    /// The namespaces that have to be watched for a declared read of a kind with that scope; none: there is nothing in it that the mount may
    /// see.
    pub fn watched(&self, read: &ReadKind, scope: Scope) -> Option<Namespaces> {
        let mine = &self.namespaces;
        match (scope, &read.namespace) {
            (Scope::Cluster, _) => (*mine == Namespaces::All).then_some(Namespaces::All),
            (Scope::Namespaced, None) => Some(mine.clone()),
            (Scope::Namespaced, Some(named)) => match mine {
                Namespaces::Only(names) if !names.contains(named) => None,
                _ => Some(Namespaces::Only([named.clone()].into())),
            },
        }
    }

    /// The options of the mount in the queue.
    pub(crate) fn queue_options(&self) -> MountOptions {
        MountOptions { workers: self.workers, max_retries: self.max_retries }
    }

    /// The plugin's manifest.
    pub fn manifest(&self) -> &Manifest {
        self.plugin.manifest()
    }
}

/// A list of programs that does not change.
pub fn fixed(programs: Vec<Program>) -> Programs {
    watch::channel(programs.into()).1
}

/// The bounds of what may be configured.
pub mod bounds {
    use std::ops::RangeInclusive;
    use std::time::Duration;

    /// The workers of a mount. A thread each while they are called.
    pub const WORKERS: RangeInclusive<u32> = 1..=256;
    /// How often a reconcile that fails is repeated.
    pub const RETRIES: RangeInclusive<u32> = 1..=1_000_000;
    /// After how many faults in a row a plugin is quarantined.
    pub const FAULTS: RangeInclusive<u32> = 1..=1_000_000;
    /// The soonest that a plugin is called again because it asks for it. Beyond an hour the plugin's own wish would count for nothing.
    pub const REQUEUE: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(3600);
    /// How long a call may take. The sandbox looks every 10 ms; beyond ten minutes an object waits for nothing.
    pub const DEADLINE: RangeInclusive<Duration> = Duration::from_millis(10)..=Duration::from_secs(600);
    /// The memory of a call, in bytes.
    pub const MEMORY: RangeInclusive<u64> = 1 << 20..=1 << 30;
    /// The bytes that a call returns.
    pub const OUTPUT: RangeInclusive<u64> = 1 << 10..=1 << 28;
    /// How deep the objects nest that a call returns. serde_json stops at 128.
    pub const DEPTH: RangeInclusive<u32> = 1..=128;
    /// The children that a call returns.
    pub const CHILDREN: RangeInclusive<u32> = 0..=1_000_000;
    /// The conditions that a call returns.
    pub const CONDITIONS: RangeInclusive<u32> = 0..=1_000;
    /// The events that a call returns.
    pub const EVENTS: RangeInclusive<u32> = 0..=1_000;
    /// The reads of a call.
    pub const READS: RangeInclusive<u32> = 0..=1_000_000;
    /// The bytes that a call reads.
    pub const READ_BYTES: RangeInclusive<u64> = 0..=1 << 24;
    /// The texts that a call returns, in bytes. Less than that would leave nothing of a failure to read.
    pub const TEXT_BYTES: RangeInclusive<u64> = 1 << 10..=1 << 24;
    /// The bytes that a call logs.
    pub const LOG: RangeInclusive<u64> = 0..=1 << 24;
    /// The lines that a call logs.
    pub const LOG_LINES: RangeInclusive<u32> = 0..=1_000_000;
    /// The calls of one instance of a plugin.
    pub const REUSE: RangeInclusive<u32> = 1..=1_000_000;
}
