//! The kinds of a server, and how it treats them.
//!
//! Built-in kinds come from the dump of a real server (`builtin`), custom ones from CustomResourceDefinitions
//! (`custom`). Each brings its own `Strategy`, so this module knows neither of the two.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::schema::RootSchema;
use crate::status::{FieldError, Status};
use crate::store::Resource;

/// The scope of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Its objects are in namespaces.
    Namespaced,
    /// Its objects are not in namespaces.
    Cluster,
}

/// The part of an object that a request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Subresource {
    /// `status`.
    Status,
    /// `scale`.
    Scale,
    /// `finalize` of a namespace.
    Finalize,
    /// `eviction` of a pod.
    Eviction,
    /// `binding` of a pod.
    Binding,
    /// `ephemeralcontainers` of a pod.
    EphemeralContainers,
    /// `resize` of a pod.
    Resize,
    /// `approval` of a certificate signing request.
    Approval,
    /// `token` of a service account.
    Token,
    /// `log` of a pod.
    Log,
}

impl Subresource {
    /// Returns the name in paths.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Scale => "scale",
            Self::Finalize => "finalize",
            Self::Eviction => "eviction",
            Self::Binding => "binding",
            Self::EphemeralContainers => "ephemeralcontainers",
            Self::Resize => "resize",
            Self::Approval => "approval",
            Self::Token => "token",
            Self::Log => "log",
        }
    }

    /// The one of that name.
    pub(crate) fn of(name: &str) -> Option<Self> {
        let all = [
            Self::Status,
            Self::Scale,
            Self::Finalize,
            Self::Eviction,
            Self::Binding,
            Self::EphemeralContainers,
            Self::Resize,
            Self::Approval,
            Self::Token,
            Self::Log,
        ];
        all.into_iter().find(|subresource| subresource.name() == name)
    }
}

/// The handling of unknown fields and duplicates: `?fieldValidation=`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldValidation {
    /// They are dropped.
    Ignore,
    /// They are dropped, with a warning each: the server's default.
    #[default]
    Warn,
    /// They are an error.
    Strict,
}

/// The handling of the dependents of a deleted object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    Orphan,
    Background,
    Foreground,
}

/// One served version of a kind.
#[derive(Clone, Debug)]
pub struct Kind {
    /// Group and plural: where its objects are stored.
    pub resource: Resource,
    /// The version, e.g. `v1`.
    pub version: Arc<str>,
    /// E.g. `Job`.
    pub kind: Arc<str>,
    /// E.g. `JobList`.
    pub list_kind: Arc<str>,
    /// The scope.
    pub scope: Scope,
    /// Its entry in aggregated discovery, an `APIResourceDiscovery` (`resource`, `responseKind`, `verbs`, `shortNames`,
    /// `subresources`, …).
    pub discovery: Arc<Value>,
    /// The verbs that it serves.
    pub verbs: Arc<[String]>,
    /// Its subresources.
    pub subresources: Arc<[Subresource]>,
    /// Its shape.
    pub schema: RootSchema,
    /// The origin of the kind, with the data that depends on it.
    pub origin: Origin,
    /// The strategy for its objects.
    pub(crate) strategy: Arc<dyn Strategy>,
}

/// The origin of a kind.
#[derive(Clone, Debug)]
pub enum Origin {
    /// The real server's dump.
    Builtin,
    /// A CustomResourceDefinition.
    Custom(Arc<CustomVersion>),
}

/// The parts of a version of a CustomResourceDefinition that decide how it is served.
#[derive(Debug)]
pub struct CustomVersion {
    /// The columns of its Table, without the name.
    pub columns: Vec<Column>,
    /// The warning that a request gets if the version is deprecated.
    pub deprecation_warning: Option<String>,
    /// The version in which its objects are stored.
    pub storage_version: Arc<str>,
    /// The fields of the subresource `scale`, if the version has it.
    pub scale: Option<Scale>,
    /// Its `openAPIV3Schema`, as it is given.
    pub open_api_schema: Arc<Value>,
}

/// A column beside the name.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its heading.
    pub name: String,
    /// `string`, `integer`, `number`, `boolean` or `date`.
    pub kind: String,
    /// E.g. `name`; mostly empty.
    pub format: String,
    /// A description of its values.
    pub description: String,
    /// Above 0: only with `-o wide`.
    pub priority: i64,
    /// Where in an object it is found, e.g. `.spec.message`.
    pub json_path: String,
}

/// The subresource `scale`: paths such as `.spec.replicas`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scale {
    /// The field with the desired number of replicas.
    pub spec_replicas_path: String,
    /// The field with the observed number of replicas.
    pub status_replicas_path: String,
    /// The field with the selector of Pods, as text.
    pub label_selector_path: Option<String>,
}

impl Scale {
    /// The names of the fields on a path.
    pub fn fields(path: &str) -> impl Iterator<Item = &str> {
        path.strip_prefix('.').unwrap_or(path).split('.')
    }
}

impl Kind {
    /// API group; empty for the core group.
    pub fn group(&self) -> &str {
        &self.resource.group
    }

    /// `group/version`, or the version alone in the core group.
    pub fn api_version(&self) -> String {
        match self.group() {
            "" => self.version.to_string(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// Returns the resource under which its objects are stored: `events.k8s.io` shows the events of the core group.
    pub fn storage(&self) -> Resource {
        match (self.group(), &*self.resource.plural) {
            ("events.k8s.io", "events") => Resource::new("", "events"),
            _ => self.resource.clone(),
        }
    }

    /// Returns whether it is a built-in kind of this name.
    fn is(&self, group: &str, kind: &str) -> bool {
        matches!(self.origin, Origin::Builtin) && self.group() == group && &*self.kind == kind
    }

    /// Returns whether it is Namespace.
    pub(crate) fn is_namespace(&self) -> bool {
        self.is("", "Namespace")
    }

    /// Returns whether it is Pod.
    pub(crate) fn is_pod(&self) -> bool {
        self.is("", "Pod")
    }

    /// Returns whether it is Service.
    pub(crate) fn is_service(&self) -> bool {
        self.is("", "Service")
    }

    /// Returns whether it is Job.
    pub(crate) fn is_job(&self) -> bool {
        self.is("batch", "Job")
    }

    /// Returns whether it is CustomResourceDefinition.
    pub(crate) fn is_definition(&self) -> bool {
        self.is("apiextensions.k8s.io", "CustomResourceDefinition")
    }

    /// Returns whether a PUT of an object that is not there creates it (the strategies' `AllowCreateOnUpdate`).
    pub(crate) fn is_created_by_update(&self) -> bool {
        matches!(self.origin, Origin::Builtin)
            && match self.group() {
                "rbac.authorization.k8s.io" => true,
                "coordination.k8s.io" => &*self.kind == "Lease",
                "" => matches!(&*self.kind, "LimitRange" | "Event" | "Service" | "Endpoints"),
                "events.k8s.io" => true,
                _ => false,
            }
    }

    /// Returns whether an update may come without a resourceVersion (the strategies' `AllowUnconditionalUpdate`).
    pub(crate) fn may_be_updated_blindly(&self) -> bool {
        matches!(self.origin, Origin::Builtin)
            && !matches!(
                &*self.kind,
                "PodDisruptionBudget"
                    | "Lease"
                    | "CustomResourceDefinition"
                    | "CSIDriver"
                    | "CSINode"
                    | "CSIStorageCapacity"
                    | "VolumeAttachment"
            )
    }

    /// Returns whether a deletion is answered with the object, not a Status (the registries' `ReturnDeletedObject`).
    pub(crate) fn is_returned_when_deleted(&self) -> bool {
        matches!(self.origin, Origin::Builtin)
            && match self.group() {
                "" => matches!(
                    &*self.kind,
                    "Pod"
                        | "Service"
                        | "ServiceAccount"
                        | "PersistentVolume"
                        | "PersistentVolumeClaim"
                        | "PodTemplate"
                        | "ResourceQuota"
                ),
                "storage.k8s.io" => &*self.kind != "CSIStorageCapacity",
                _ => false,
            }
    }

    /// Returns the propagation for a deletion whose client does not choose one; none if the garbage collector does not handle the kind.
    pub(crate) fn default_propagation(&self) -> Option<Propagation> {
        match (&self.origin, self.group(), &*self.kind) {
            (Origin::Builtin, "" | "events.k8s.io", "Event") => None,
            (Origin::Builtin, "batch", "Job") | (Origin::Builtin, "", "ReplicationController") => Some(Propagation::Orphan),
            _ => Some(Propagation::Background),
        }
    }

    /// Returns whether it has a subresource.
    pub fn has(&self, subresource: Subresource) -> bool {
        self.subresources.contains(&subresource)
    }

    /// Brings an object that a client sent into the form in which it is stored: what a decode into the server's type and an encode
    /// back would make of it. Unknown fields are dropped; returns warnings about them.
    ///
    /// # Errors
    ///
    /// `BadRequest` when a value is of the wrong type (built-in kinds), or about unknown fields with [`FieldValidation::Strict`].
    pub fn decode(&self, object: &mut Value, validation: FieldValidation) -> Result<Vec<String>, Status> {
        self.strategy.decode(self, object, validation)
    }

    /// A stored object of this version as it is read: without what the schema no longer has, and with defaults that came into it
    /// since. None if that is how it is stored.
    pub(crate) fn as_read(&self, stored: &Value) -> Option<Value> {
        self.strategy.as_read(stored)
    }

    /// Puts defaults where fields are absent.
    pub fn default(&self, object: &mut Value) {
        self.strategy.default(self, object);
    }

    /// Prepares an object for its creation: drops the status, sets the generation, generates selectors, …
    pub fn prepare_for_create(&self, object: &mut Value) {
        self.strategy.prepare_for_create(self, object);
    }

    /// Prepares an object that replaces another: keeps the status (or, for the status, everything else), counts the
    /// generation.
    pub fn prepare_for_update(&self, subresource: Option<Subresource>, object: &mut Value, old: &Value) {
        self.strategy.prepare_for_update(self, subresource, object, old);
    }

    /// Validates a new object beyond its metadata.
    pub fn validate(&self, object: &Value) -> Vec<FieldError> {
        self.strategy.validate(self, object)
    }

    /// Validates an object that replaces another beyond its metadata.
    pub fn validate_update(&self, subresource: Option<Subresource>, object: &Value, old: &Value) -> Vec<FieldError> {
        self.strategy.validate_update(self, subresource, object, old)
    }

    /// The fields that a write to `subresource` (none: the object itself) cannot change, and so does not own: paths such as `["status"]`.
    pub fn reset_fields(&self, subresource: Option<Subresource>) -> Vec<Vec<&'static str>> {
        self.strategy.reset_fields(self, subresource)
    }

    /// The value of a field that field selectors may name beyond `metadata.name` and `metadata.namespace`; `None` if they may not.
    pub fn selectable_field(&self, object: &Value, field: &str) -> Option<String> {
        self.strategy.selectable_field(self, object, field)
    }
}

/// The strategy for the objects of a kind, with the methods of [`Kind`] of the same names; the registries' strategies.
pub(crate) trait Strategy: fmt::Debug + Send + Sync {
    fn decode(&self, kind: &Kind, object: &mut Value, validation: FieldValidation) -> Result<Vec<String>, Status>;
    fn as_read(&self, stored: &Value) -> Option<Value>;
    fn default(&self, kind: &Kind, object: &mut Value);
    fn prepare_for_create(&self, kind: &Kind, object: &mut Value);
    fn prepare_for_update(&self, kind: &Kind, subresource: Option<Subresource>, object: &mut Value, old: &Value);
    fn validate(&self, kind: &Kind, object: &Value) -> Vec<FieldError>;
    fn validate_update(&self, kind: &Kind, subresource: Option<Subresource>, object: &Value, old: &Value) -> Vec<FieldError>;
    fn reset_fields(&self, kind: &Kind, subresource: Option<Subresource>) -> Vec<Vec<&'static str>>;
    fn selectable_field(&self, kind: &Kind, object: &Value, field: &str) -> Option<String>;
}

/// The kinds that a server serves.
#[derive(Debug, Default)]
pub struct Kinds {
    /// By group, version and plural.
    groups: BTreeMap<Arc<str>, BTreeMap<Arc<str>, ByPlural>>,
    /// The number of changes.
    generation: u64,
}

type ByPlural = BTreeMap<Arc<str>, Arc<Kind>>;

impl Kinds {
    /// Returns the number of changes. Data that was derived from the kinds is out of date when it differs.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns whether this kind is served as it was: not if its definition has changed or is gone.
    pub(crate) fn still_has(&self, kind: &Kind) -> bool {
        let Origin::Custom(version) = &kind.origin else { return true };
        let current = self.get(kind.group(), &kind.version, &kind.resource.plural);
        current.is_some_and(|current| match &current.origin {
            Origin::Custom(current) => Arc::ptr_eq(current, version),
            Origin::Builtin => false,
        })
    }

    /// Serves a kind.
    pub fn insert(&mut self, kind: Kind) {
        self.generation += 1;
        let (group, version, plural) =
            (Arc::clone(&kind.resource.group), Arc::clone(&kind.version), Arc::clone(&kind.resource.plural));
        self.groups.entry(group).or_default().entry(version).or_default().insert(plural, Arc::new(kind));
    }

    /// Serves no version of a kind any longer.
    pub fn remove(&mut self, resource: &Resource) {
        self.generation += 1;
        if let Some(versions) = self.groups.get_mut(&resource.group) {
            for kinds in versions.values_mut() {
                kinds.remove(&resource.plural);
            }
            versions.retain(|_, kinds| !kinds.is_empty());
            if versions.is_empty() {
                self.groups.remove(&resource.group);
            }
        }
    }

    /// A kind by the names in its path.
    pub fn get(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Kind>> {
        self.groups.get(group)?.get(version)?.get(plural)
    }

    /// The kinds of a group version, by plural.
    pub fn of_version(&self, group: &str, version: &str) -> impl Iterator<Item = &Arc<Kind>> {
        self.groups.get(group).and_then(|versions| versions.get(version)).into_iter().flat_map(BTreeMap::values)
    }

    /// The group versions, by group, then by name of the version.
    pub fn versions(&self) -> impl Iterator<Item = (&str, &str)> {
        self.groups.iter().flat_map(|(group, versions)| versions.keys().map(move |version| (&**group, &**version)))
    }

    /// A kind by its own name, as `apiVersion` and `kind` give it.
    pub fn by_kind(&self, api_version: &str, kind: &str) -> Option<&Arc<Kind>> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        self.of_version(group, version).find(|candidate| *candidate.kind == *kind)
    }

    /// The version in which a kind's objects are stored.
    pub(crate) fn storage_version(&self, kind: &Kind) -> Option<Arc<Kind>> {
        let storage = kind.storage();
        let mut versions = self.of_resource(&storage);
        match &kind.origin {
            Origin::Custom(custom) => versions.find(|candidate| candidate.version == custom.storage_version).cloned(),
            Origin::Builtin => versions.last().cloned(),
        }
    }

    /// The served versions of a kind.
    pub fn of_resource(&self, resource: &Resource) -> impl Iterator<Item = &Arc<Kind>> {
        let plural = Arc::clone(&resource.plural);
        self.groups.get(&resource.group).into_iter().flat_map(BTreeMap::values).filter_map(move |kinds| kinds.get(&plural))
    }
}
