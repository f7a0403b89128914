//! The manifest of a plugin.

use crate::kind::Kind;
use crate::resource::Resource;

/// The way in which the host changes an existing child to the desired one. From weak to strong:
/// `CreateOnly`, `Apply`, `Recreate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// It is changed in place with server-side apply. A condition of the parent reports a change
    /// that the API server rejects as immutable.
    Apply,
    /// It is deleted and created again if it differs.
    Recreate,
    /// It is created once, and never changed while it exists.
    CreateOnly,
}

/// The way in which objects owned by a deleted object are deleted, as in
/// `DeleteOptions.propagationPolicy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// They are deleted after the child.
    Background,
    /// They are deleted before the child.
    Foreground,
    /// They are not deleted.
    Orphan,
}

/// A kind of children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChildKind {
    /// The kind.
    pub kind: Kind,
    /// The way in which the host changes its objects.
    pub strategy: Strategy,
    /// The strongest strategy that a single child may have. `None` is that of the kind.
    pub strongest_strategy: Option<Strategy>,
    /// The way in which the host deletes its objects.
    pub propagation: Propagation,
    /// If true, its objects stay when their parent is deleted.
    pub outlives_parent: bool,
}

impl ChildKind {
    /// Returns a declaration of children whose own objects are deleted after them.
    pub const fn new(kind: Kind, strategy: Strategy) -> Self {
        Self { kind, strategy, strongest_strategy: None, propagation: Propagation::Background, outlives_parent: false }
    }

    /// Allows single children to have a stronger strategy than the kind, up to this one: see
    /// [`Child::strategy`](crate::Child::strategy). A weaker one needs no declaration.
    pub const fn up_to(mut self, strongest: Strategy) -> Self {
        self.strongest_strategy = Some(strongest);
        self
    }

    /// Sets the way in which the host deletes what its objects own.
    pub const fn propagation(mut self, propagation: Propagation) -> Self {
        self.propagation = propagation;
        self
    }

    /// Leaves its objects when their parent is deleted, e.g. volumes with data. A new parent of the
    /// same name gets them back if the operator lets the mount adopt objects.
    #[doc(alias = "orphan")]
    #[doc(alias = "retain")]
    pub const fn outlives_parent(mut self) -> Self {
        self.outlives_parent = true;
        self
    }
}

/// A kind that the plugin may read with [`Cluster::get`](crate::Cluster::get) and
/// [`Cluster::list`](crate::Cluster::list).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadKind {
    /// The kind.
    pub kind: Kind,
    /// The only namespace to read. `None`: the parent's and, if the operator grants it, others.
    pub namespace: Option<String>,
    /// A label selector in the syntax of `kubectl get -l`. Other objects are invisible.
    pub label_selector: Option<String>,
    /// If true, only `apiVersion`, `kind` and `metadata` are read, which saves memory.
    pub metadata_only: bool,
}

impl ReadKind {
    /// Returns a declaration of all objects of this type that the operator grants, with all fields.
    pub fn of<T: Resource>() -> Self {
        Self::new(T::KIND)
    }

    /// The same for a kind without a type.
    pub fn new(kind: Kind) -> Self {
        Self { kind, namespace: None, label_selector: None, metadata_only: false }
    }

    /// Restricts the reads to one namespace.
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Restricts the reads to objects that match, in the syntax of `kubectl get -l`.
    pub fn labels(mut self, selector: impl Into<String>) -> Self {
        self.label_selector = Some(selector.into());
        self
    }

    /// Restricts the reads to metadata.
    pub fn metadata_only(mut self) -> Self {
        self.metadata_only = true;
        self
    }
}

/// The parents that one call is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Grouping {
    /// One parent.
    #[default]
    Each,
    /// All parents of the mount, even if there are none.
    All,
    /// The parents with the same value in this field, a JSON Pointer (RFC 6901).
    ByField(String),
}

/// The self-description of a plugin. It must be constant, because the host asks only once per load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// A DNS label (RFC 1123). It is part of label values and of the field manager `gyre/<name>`.
    pub name: String,
    /// The version, for people.
    pub version: String,
    /// One sentence for people.
    pub description: String,
    /// The kind of the parents.
    pub parent: Kind,
    /// The parents that one call is about.
    pub grouping: Grouping,
    /// The kinds of children.
    pub children: Vec<ChildKind>,
    /// The other kinds that are read.
    pub reads: Vec<ReadKind>,
    /// The fields that the plugin may set of parents: see [`Self::sets`].
    pub parent_fields: Vec<String>,
    /// If true, the plugin may [delete](crate::Plan::delete_parent) parents.
    pub deletes_parent: bool,
    /// If true, [`finalize`](crate::Reconciler::finalize) runs before a parent is removed.
    pub finalizes: bool,
    /// A JSON Schema (2020-12) of the settings. `None` means that the plugin takes no settings.
    pub settings_schema: Option<Vec<u8>>,
    /// The CustomResourceDefinitions of the plugin, as JSON.
    pub crds: Vec<Vec<u8>>,
}

impl Manifest {
    /// Returns a manifest without children and reads. The version is usually
    /// `env!("CARGO_PKG_VERSION")`.
    pub fn new(name: impl Into<String>, version: impl Into<String>, parent: Kind) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            description: String::new(),
            parent,
            grouping: Grouping::Each,
            children: Vec::new(),
            reads: Vec::new(),
            parent_fields: Vec::new(),
            deletes_parent: false,
            finalizes: false,
            settings_schema: None,
            crds: Vec::new(),
        }
    }

    /// Sets the name, e.g. that of the second reconciler of a crate: `manifest!` gives it the name
    /// of the package.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the description, one sentence for people.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// Calls the plugin about all parents at once. The type of the parent is then a
    /// [`Group`](crate::Group).
    pub fn grouped(mut self) -> Self {
        self.grouping = Grouping::All;
        self
    }

    /// Calls the plugin about all parents that have the same value in a field: a JSON Pointer (RFC
    /// 6901) such as `/spec/pool`, `/metadata/labels/example.com~1pool` or `/metadata/namespace`. A
    /// parent without the field is in no group. The type of the parent is then a
    /// [`Group`](crate::Group).
    pub fn grouped_by(mut self, pointer: impl Into<String>) -> Self {
        self.grouping = Grouping::ByField(pointer.into());
        self
    }

    /// Adds the kind of a type of children, and how the host changes a child that exists.
    /// Objects that a deleted child owns are deleted after it.
    #[doc(alias = "owns")]
    #[doc(alias = "Owns")]
    pub fn child<T: Resource>(self, strategy: Strategy) -> Self {
        self.child_kind(ChildKind::new(T::KIND, strategy))
    }

    /// Adds a kind of children, with its propagation.
    pub fn child_kind(mut self, child_kind: ChildKind) -> Self {
        self.children.push(child_kind);
        self
    }

    /// Adds the kind of a type to read: all objects that the operator grants. Children need no such
    /// declaration.
    #[doc(alias = "watches")]
    #[doc(alias = "Watches")]
    pub fn reads<T: Resource>(self) -> Self {
        self.read_kind(ReadKind::of::<T>())
    }

    /// Adds a kind to read, with its restrictions.
    pub fn read_kind(mut self, read_kind: ReadKind) -> Self {
        self.reads.push(read_kind);
        self
    }

    /// Declares that the plugin sets a field of parents, and what is below it, by
    /// [`Plan::parent_label`](crate::Plan::parent_label),
    /// [`parent_annotation`](crate::Plan::parent_annotation) and
    /// [`parent_fields`](crate::Plan::parent_fields). The field is a JSON Pointer (RFC 6901):
    /// `/metadata/labels`, `/metadata/annotations/example.com~1digest`, `/spec/replicas`. The
    /// operator must grant it: `grants.parentFields`.
    pub fn sets(mut self, pointer: impl Into<String>) -> Self {
        self.parent_fields.push(pointer.into());
        self
    }

    /// Declares that the plugin [deletes](crate::Plan::delete_parent) parents. The operator must
    /// grant it.
    pub fn deletes_parent(mut self) -> Self {
        self.deletes_parent = true;
        self
    }

    /// Declares that [`Reconciler::finalize`](crate::Reconciler::finalize) must run before a parent
    /// is removed. The host then sets a finalizer on every parent.
    #[doc(alias = "finalizer")]
    pub fn finalizes(mut self) -> Self {
        self.finalizes = true;
        self
    }

    /// Sets the JSON Schema (2020-12) of the settings, as JSON.
    pub fn settings_schema(mut self, settings_schema: impl Into<Vec<u8>>) -> Self {
        self.settings_schema = Some(settings_schema.into());
        self
    }

    /// Adds a CustomResourceDefinition (`apiextensions.k8s.io/v1`), as JSON.
    pub fn crd(mut self, crd: impl Into<Vec<u8>>) -> Self {
        self.crds.push(crd.into());
        self
    }
}

/// Returns a [`Manifest`] for a parent that is a [`CustomResource`](trait@crate::CustomResource),
/// with the kind's CRD and the name, version and description of the package.
///
/// ```
/// use gyre_sdk::k8s::ConfigMap;
/// use gyre_sdk::{CustomResource, Strategy};
///
/// #[derive(serde::Deserialize, CustomResource)]
/// #[resource(group = "example.com", version = "v1", kind = "Greeting")]
/// struct GreetingSpec {}
///
/// let manifest = gyre_sdk::manifest!(Greeting).child::<ConfigMap>(Strategy::Apply);
/// assert_eq!(manifest.parent, GreetingSpec::KIND);
/// ```
#[macro_export]
macro_rules! manifest {
    ($parent:ty) => {
        $crate::Manifest::new(
            ::std::env!("CARGO_PKG_NAME"),
            ::std::env!("CARGO_PKG_VERSION"),
            <$parent as $crate::CustomResource>::KIND,
        )
        .description(::std::env!("CARGO_PKG_DESCRIPTION"))
        .crd(<$parent as $crate::CustomResource>::CRD)
    };
}
