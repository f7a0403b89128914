//! The manifest of a plugin.

use crate::kind::Kind;

/// Decides how the host changes an existing child to the desired one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Changed in place with server-side apply. A change that the API server rejects as immutable is reported in a condition.
    Apply,
    /// Deleted and created again when it differs from what is desired.
    Recreate,
    /// Created once, and never touched again while it exists.
    CreateOnly,
}

/// Decides what happens to the objects that a deleted child owns, as in `DeleteOptions.propagationPolicy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// They are deleted after it.
    Background,
    /// They are deleted before it.
    Foreground,
    /// They stay.
    Orphan,
}

/// A kind that the plugin makes children of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChildKind {
    /// The kind.
    pub kind: Kind,
    /// The way in which the host changes its objects.
    pub strategy: Strategy,
    /// The way in which the host deletes its objects.
    pub propagation: Propagation,
}

/// A kind that the plugin may read with [`Cluster::get`](crate::Cluster::get) and [`Cluster::list`](crate::Cluster::list).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadKind {
    /// The kind.
    pub kind: Kind,
    /// The one namespace to read from; none: that of the parent and, where the operator grants it, all others.
    pub namespace: Option<String>,
    /// Only objects that match are visible, in the syntax of `kubectl get -l`.
    pub label_selector: Option<String>,
    /// Only `apiVersion`, `kind` and `metadata` are read, which costs the host less memory.
    pub metadata_only: bool,
}

impl ReadKind {
    /// All objects of a kind that the operator grants, whole.
    pub fn new(kind: Kind) -> Self {
        Self { kind, namespace: None, label_selector: None, metadata_only: false }
    }

    /// Only those of one namespace.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Only those whose labels match, in the syntax of `kubectl get -l`.
    pub fn label_selector(mut self, label_selector: impl Into<String>) -> Self {
        self.label_selector = Some(label_selector.into());
        self
    }

    /// Only their metadata.
    pub fn metadata_only(mut self) -> Self {
        self.metadata_only = true;
        self
    }
}

/// The self-description of a plugin. It must be constant, because the host asks for it once for each load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// A DNS label (RFC 1123): it becomes part of label values and of the field manager `gyre/<name>`.
    pub name: String,
    /// The plugin's own version, for people.
    pub version: String,
    /// One sentence, for people.
    pub description: String,
    /// The kind whose objects are reconciled.
    pub parent: Kind,
    /// The kinds of its children.
    pub children: Vec<ChildKind>,
    /// The other kinds that it reads.
    pub reads: Vec<ReadKind>,
    /// If true, [`Reconciler::finalize`](crate::Reconciler::finalize) must run before a parent may be removed.
    pub finalizes: bool,
    /// A JSON Schema (2020-12) for the settings, as JSON; none: the plugin takes no settings.
    pub settings_schema: Option<Vec<u8>>,
    /// CustomResourceDefinitions that the plugin brings, as JSON.
    pub crds: Vec<Vec<u8>>,
}

impl Manifest {
    /// A plugin that reconciles `parent`, without children and reads. `version` is commonly
    /// `env!("CARGO_PKG_VERSION")`.
    pub fn new(name: impl Into<String>, version: impl Into<String>, parent: Kind) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            description: String::new(),
            parent,
            children: Vec::new(),
            reads: Vec::new(),
            finalizes: false,
            settings_schema: None,
            crds: Vec::new(),
        }
    }

    /// One sentence, for people.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// Makes children of this kind. When a child is deleted, the objects that it owns are deleted after it.
    pub fn child(self, kind: Kind, strategy: Strategy) -> Self {
        self.child_kind(ChildKind { kind, strategy, propagation: Propagation::Background })
    }

    /// Makes children of these kinds; see [`Self::child`].
    pub fn children(self, kinds: impl IntoIterator<Item = Kind>, strategy: Strategy) -> Self {
        kinds.into_iter().fold(self, |manifest, kind| manifest.child(kind, strategy))
    }

    /// Makes children of this kind.
    pub fn child_kind(mut self, child_kind: ChildKind) -> Self {
        self.children.push(child_kind);
        self
    }

    /// Reads this kind. Child kinds can always be read with [`Cluster::children`](crate::Cluster::children) and are not
    /// repeated here.
    pub fn read(mut self, read_kind: ReadKind) -> Self {
        self.reads.push(read_kind);
        self
    }

    /// [`Reconciler::finalize`](crate::Reconciler::finalize) has to run before a parent may go: the host holds a finalizer on
    /// every parent.
    pub fn finalizes(mut self) -> Self {
        self.finalizes = true;
        self
    }

    /// Takes settings that match this JSON Schema (2020-12), given as JSON.
    pub fn settings_schema(mut self, settings_schema: impl Into<Vec<u8>>) -> Self {
        self.settings_schema = Some(settings_schema.into());
        self
    }

    /// Brings a CustomResourceDefinition (`apiextensions.k8s.io/v1`), given as JSON.
    pub fn crd(mut self, crd: impl Into<Vec<u8>>) -> Self {
        self.crds.push(crd.into());
        self
    }
}
