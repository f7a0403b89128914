//! A program: a plugin with its mount's configuration. A host runs a list of programs.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use gyre_core::conflict::OnConflict;
use gyre_core::deletion_guard;
use gyre_core::grants::{Grants, Namespaces, ParentDeletions, ParentFields, ReadGrants, Scope};
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

/// Consecutive faults on this many distinct objects quarantine a plugin.
///
/// A single bad object is held by its own back-off; faults on five in a row are the plugin's. At
/// the deadline of 2 s, five calls cost 10 s of CPU.
pub const QUARANTINE_AFTER: u32 = 5;
/// The default number of concurrent reconciles of a mount, as echoperator's `NUM_WORKERS`.
pub const WORKERS: usize = 4;

/// The name of a mount.
pub type MountName = Arc<str>;

/// The programs that a host runs, as they change.
pub type Programs = watch::Receiver<Arc<[Program]>>;

/// A plugin with its mount's configuration. It is immutable; a change makes another program.
#[derive(Clone)]
pub struct Program {
    /// The mount's name, unique in a host.
    pub name: MountName,
    /// The plugin.
    pub plugin: Plugin,
    /// Where a registry has the plugin; `None` if it comes from a file.
    pub artifact: Option<Artifact>,
    /// The settings, as JSON, already validated.
    pub settings: Arc<[u8]>,
    /// How its objects are reconciled.
    pub policy: Policy,
    /// The namespaces whose parents are reconciled.
    pub namespaces: Namespaces,
    /// The selector of the parents that are reconciled.
    pub selector: Selector,
    /// The write grants.
    pub grants: Grants,
    /// The read grants.
    pub reads: ReadGrants,
    /// The service account that the mount's writes impersonate; the host's own if `None`.
    pub impersonate: Option<ServiceAccount>,
    /// Another version of the plugin, which is called in parallel and never applied. It has no
    /// shadow.
    pub shadow: Option<Arc<Program>>,
}

/// A plugin in a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// The mounted reference, as `oci://…`.
    pub reference: Arc<str>,
    /// The digest of its manifest in the registry, as `sha256:…`. The digest of a plugin is that of
    /// its component.
    pub digest: Arc<str>,
}

/// How the objects of a mount are reconciled, whatever its plugin.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// The limits of each call.
    pub limits: Limits,
    /// The number of workers.
    pub workers: usize,
    /// The failed retries after which an object is parked; unlimited if `None`.
    pub max_retries: Option<u32>,
    /// See [`QUARANTINE_AFTER`]; never if `None`.
    pub quarantine_after: Option<u32>,
    /// The shortest requeue that the plugin can request, see [`gyre_core::outcome::REQUEUE_FLOOR`].
    pub requeue_floor: Duration,
    /// The events that are published.
    pub events: PublishedEvents,
    /// The treatment of a child of which other managers hold fields.
    pub on_conflict: OnConflict,
    /// The most deletions of children that are no longer desired; more are held.
    pub deletion_guard: deletion_guard::Limits,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            workers: WORKERS,
            max_retries: None,
            quarantine_after: Some(QUARANTINE_AFTER),
            requeue_floor: REQUEUE_FLOOR,
            events: PublishedEvents::All,
            on_conflict: OnConflict::Refuse,
            deletion_guard: deletion_guard::Limits::default(),
        }
    }
}

impl Program {
    /// Returns whether an object, in JSON, is of the kind for which users mount the plugin, in any
    /// version.
    pub fn reconciles(&self, object: &serde_json::Value) -> bool {
        let text = |field: &str| object.get(field).and_then(serde_json::Value::as_str).unwrap_or_default();
        let kind = GroupVersionKind::from_api_version(text("apiVersion"), text("kind"));
        kind.is_same(self.plugin.manifest().users_kind())
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
    /// Returns whether events of that severity are published.
    pub fn includes(self, severity: Severity) -> bool {
        match self {
            Self::All => true,
            Self::Warnings => severity == Severity::Warning,
        }
    }
}

/// The name of a ServiceAccount.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ServiceAccount {
    /// The namespace.
    pub namespace: String,
    /// The name in the namespace.
    pub name: String,
}

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
    /// The plugin under its own name, with the defaults, and grants for all that its manifest
    /// declares.
    pub fn new(plugin: Plugin, namespaces: Namespaces) -> Self {
        Self {
            name: plugin.manifest().name.as_str().into(),
            grants: Grants::new(plugin.manifest(), namespaces.clone())
                .with_parent_deletions(ParentDeletions::Granted)
                .with_parent_fields(ParentFields::Declared),
            plugin,
            artifact: None,
            settings: Arc::from(*b"{}"),
            policy: Policy::default(),
            namespaces,
            selector: Selector::default(),
            reads: ReadGrants::default(),
            impersonate: None,
            shadow: None,
        }
    }

    /// Returns whether reconciler (by digests and name), configuration and shadow are the same.
    pub fn is_same(&self, other: &Self) -> bool {
        let has_same_shadow = match (&self.shadow, &other.shadow) {
            (None, None) => true,
            (Some(shadow), Some(other)) => shadow.is_same(other),
            (Some(_), None) | (None, Some(_)) => false,
        };
        has_same_shadow && self.same_except_shadow(other)
    }

    /// Returns whether reconciler (by digests and name) and configuration are the same.
    pub fn same_except_shadow(&self, other: &Self) -> bool {
        // Destructured, so that no new field is forgotten.
        let Self { name, plugin, artifact, settings, policy, namespaces, selector, grants, reads, impersonate, shadow: _ } =
            self;
        plugin.is_same(&other.plugin)
            && *artifact == other.artifact
            && *name == other.name
            && *settings == other.settings
            && *policy == other.policy
            && *namespaces == other.namespaces
            && *selector == other.selector
            && *grants == other.grants
            && *reads == other.reads
            && *impersonate == other.impersonate
    }

    /// Returns the namespaces to watch for a declared read of a kind with that scope; `None` if the
    /// mount may see none.
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

    /// The kinds among these that the manifest declares in no version as children.
    pub(crate) fn undeclared(&self, kinds: &BTreeSet<GroupVersionKind>) -> BTreeSet<GroupVersionKind> {
        let is_declared = |kind: &GroupVersionKind| {
            let mut declared = self.manifest().children.iter().map(|child| &child.kind);
            declared.any(|declared| declared.is_same(kind))
        };
        kinds.iter().filter(|kind| !is_declared(kind)).cloned().collect()
    }

    pub(crate) fn queue_options(&self) -> MountOptions {
        MountOptions { workers: self.policy.workers, max_retries: self.policy.max_retries }
    }

    /// Returns the digest of the plugin's manifest in a registry, if it comes from one.
    pub fn artifact_digest(&self) -> Option<&str> {
        self.artifact.as_ref().map(|artifact| &*artifact.digest)
    }

    /// Returns the plugin's manifest.
    pub fn manifest(&self) -> &Manifest {
        self.plugin.manifest()
    }
}

/// Returns a list of programs that never changes.
pub fn fixed(programs: Vec<Program>) -> Programs {
    watch::channel(programs.into()).1
}

/// The bounds of configurable values.
pub mod bounds {
    use std::ops::RangeInclusive;
    use std::time::Duration;

    /// The workers of a mount. Each may use a thread.
    pub const WORKERS: RangeInclusive<u32> = 1..=256;
    /// The retries of a failing reconcile.
    pub const RETRIES: RangeInclusive<u32> = 1..=1_000_000;
    /// The consecutive faults before a quarantine.
    pub const FAULTS: RangeInclusive<u32> = 1..=1_000_000;
    /// The shortest requeue. Above an hour, requests of the plugin would have no effect.
    pub const REQUEUE: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(3600);
    /// The time limit of a call. The sandbox checks every 10 ms; ten minutes exceed any useful
    /// call.
    pub const DEADLINE: RangeInclusive<Duration> = Duration::from_millis(10)..=Duration::from_secs(600);
    /// The memory of a call, in bytes.
    pub const MEMORY: RangeInclusive<u64> = 1 << 20..=1 << 30;
    /// The bytes that a call returns.
    pub const OUTPUT: RangeInclusive<u64> = 1 << 10..=1 << 28;
    /// The nesting of objects that a call returns. serde_json stops at 128.
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
    /// The texts that a call returns, in bytes. With fewer, failures would be unreadable.
    pub const TEXT_BYTES: RangeInclusive<u64> = 1 << 10..=1 << 24;
    /// The bytes that a call logs.
    pub const LOG: RangeInclusive<u64> = 0..=1 << 24;
    /// The lines that a call logs.
    pub const LOG_LINES: RangeInclusive<u32> = 0..=1_000_000;
    /// The children that may always be deleted.
    pub const DELETIONS: RangeInclusive<u32> = 0..=1_000_000;
    /// The percentage of the children that may be deleted.
    pub const PERCENT: RangeInclusive<u32> = 0..=100;
    /// The calls of one instance of a plugin.
    pub const REUSE: RangeInclusive<u32> = 1..=1_000_000;
}
