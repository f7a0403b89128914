//! The kinds of a server, each with its `Strategy` from `builtin` (the dump of a real server) or
//! `custom` (CustomResourceDefinitions).

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
    /// Group and plural, under which its objects are stored.
    pub resource: Resource,
    /// The version, e.g. `v1`.
    pub version: Arc<str>,
    /// The kind, e.g. `Job`.
    pub kind: Arc<str>,
    /// The kind of lists, e.g. `JobList`.
    pub list_kind: Arc<str>,
    /// The scope.
    pub scope: Scope,
    /// Its `APIResourceDiscovery` in aggregated discovery.
    pub discovery: Arc<Value>,
    /// The verbs that it serves.
    pub verbs: Arc<[String]>,
    /// Its subresources.
    pub subresources: Arc<[Subresource]>,
    /// The schema of its objects.
    pub schema: RootSchema,
    /// The origin of the kind, with the data that depends on it.
    pub origin: Origin,
    pub(crate) strategy: Arc<dyn Strategy>,
}

/// The origin of a kind.
#[derive(Clone, Debug)]
pub enum Origin {
    /// Built into the server.
    Builtin,
    /// Defined by a CustomResourceDefinition.
    Custom(Arc<CustomVersion>),
}

/// The parts of a version of a CustomResourceDefinition that decide how it is served.
#[derive(Debug)]
pub struct CustomVersion {
    /// The columns of its Table, without the name.
    pub columns: Vec<Column>,
    /// The warnings for requests in this version.
    pub warnings: Vec<String>,
    /// The version in which its objects are stored.
    pub storage_version: Arc<str>,
    /// The fields of the subresource `scale`, if the version has it.
    pub scale: Option<Scale>,
    /// Its `openAPIV3Schema` as the definition has it.
    pub open_api_schema: Arc<Value>,
}

/// A column beside the name.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its heading.
    pub name: String,
    /// `string`, `integer`, `number`, `boolean` or `date`.
    pub kind: String,
    /// The format, e.g. `name`; usually empty.
    pub format: String,
    /// A description of its values.
    pub description: String,
    /// Columns with a priority above 0 are shown only with `-o wide`.
    pub priority: i64,
    /// The path of its value in an object, e.g. `.spec.message`.
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
    /// Returns the names of the fields on a path.
    pub fn fields(path: &str) -> impl Iterator<Item = &str> {
        path.strip_prefix('.').unwrap_or(path).split('.')
    }
}

impl Kind {
    /// Returns the API group, which is empty for the core group.
    pub fn group(&self) -> &str {
        &self.resource.group
    }

    /// Returns `group/version`, or only the version in the core group.
    pub fn api_version(&self) -> String {
        match self.group() {
            "" => self.version.to_string(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// Returns the stored resource: `events.k8s.io` shows the events of the core group.
    pub fn storage(&self) -> Resource {
        match (self.group(), &*self.resource.plural) {
            ("events.k8s.io", "events") => Resource::new("", "events"),
            _ => self.resource.clone(),
        }
    }

    fn is(&self, group: &str, kind: &str) -> bool {
        matches!(self.origin, Origin::Builtin) && self.group() == group && &*self.kind == kind
    }

    pub(crate) fn is_namespace(&self) -> bool {
        self.is("", "Namespace")
    }

    pub(crate) fn is_pod(&self) -> bool {
        self.is("", "Pod")
    }

    pub(crate) fn is_service(&self) -> bool {
        self.is("", "Service")
    }

    pub(crate) fn is_job(&self) -> bool {
        self.is("batch", "Job")
    }

    /// Returns whether its objects are answered, and not stored.
    pub(crate) fn is_review(&self) -> bool {
        matches!(self.origin, Origin::Builtin) && matches!(self.group(), "authentication.k8s.io" | "authorization.k8s.io")
    }

    pub(crate) fn is_signing_request(&self) -> bool {
        self.is("certificates.k8s.io", "CertificateSigningRequest")
    }

    pub(crate) fn is_definition(&self) -> bool {
        self.is("apiextensions.k8s.io", "CustomResourceDefinition")
    }

    /// Returns whether a PUT creates an absent object (`AllowCreateOnUpdate` of the strategies).
    pub(crate) fn is_created_by_update(&self) -> bool {
        matches!(self.origin, Origin::Builtin)
            && match self.group() {
                "rbac.authorization.k8s.io" => true,
                "coordination.k8s.io" => &*self.kind == "Lease",
                "" => matches!(&*self.kind, "LimitRange" | "Event" | "Service" | "Endpoints"),
                "events.k8s.io" | "node.k8s.io" => true,
                _ => false,
            }
    }

    /// Returns whether updates need no resourceVersion (`AllowUnconditionalUpdate`).
    pub(crate) fn may_be_updated_blindly(&self) -> bool {
        matches!(self.origin, Origin::Builtin)
            && self.group() != "admissionregistration.k8s.io"
            && !matches!(
                &*self.kind,
                "PodDisruptionBudget"
                    | "APIService"
                    | "Lease"
                    | "RuntimeClass"
                    | "CustomResourceDefinition"
                    | "CSIDriver"
                    | "CSINode"
                    | "CSIStorageCapacity"
                    | "VolumeAttachment"
            )
    }

    /// Returns whether a deletion returns the object (the registries' `ReturnDeletedObject`).
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

    /// Returns the propagation of a deletion that names none; `None` for kinds without garbage.
    pub(crate) fn default_propagation(&self) -> Option<Propagation> {
        match (&self.origin, self.group(), &*self.kind) {
            (Origin::Builtin, "" | "events.k8s.io", "Event") => None,
            (Origin::Builtin, "batch", "Job") | (Origin::Builtin, "", "ReplicationController") => Some(Propagation::Orphan),
            _ => Some(Propagation::Background),
        }
    }

    /// Returns whether it has this subresource.
    pub fn has(&self, subresource: Subresource) -> bool {
        self.subresources.contains(&subresource)
    }

    /// Converts an object of a client into the stored form, as decoding into the server's Go type
    /// and encoding again would. Drops unknown fields, and returns the warnings about them.
    ///
    /// # Errors
    ///
    /// `BadRequest` for values of the wrong type (built-in kinds), and for unknown fields with
    /// [`FieldValidation::Strict`].
    pub fn decode(&self, object: &mut Value, validation: FieldValidation) -> Result<Vec<String>, Status> {
        self.strategy.decode(self, object, validation)
    }

    /// Returns an object as clients read it, pruned and with new defaults; `None` if unchanged.
    pub(crate) fn as_read(&self, stored: &Value) -> Option<Value> {
        self.strategy.as_read(stored)
    }

    /// Sets the defaults of absent fields.
    pub fn default(&self, object: &mut Value) {
        self.strategy.default(self, object);
    }

    /// Prepares a new object, e.g. drops the status, sets the generation and generates selectors.
    pub fn prepare_for_create(&self, object: &mut Value) {
        self.strategy.prepare_for_create(self, object);
    }

    /// Prepares an update: keeps what `subresource` cannot change, and counts the generation.
    pub fn prepare_for_update(&self, subresource: Option<Subresource>, object: &mut Value, old: &Value) {
        self.strategy.prepare_for_update(self, subresource, object, old);
    }

    /// Validates a new object without its metadata.
    pub fn validate(&self, object: &Value) -> Vec<FieldError> {
        self.strategy.validate(self, object)
    }

    /// Validates an object that replaces another, without its metadata.
    pub fn validate_update(&self, subresource: Option<Subresource>, object: &Value, old: &Value) -> Vec<FieldError> {
        self.strategy.validate_update(self, subresource, object, old)
    }

    /// Returns the paths that a write to `subresource` cannot change, so that it does not own them.
    pub fn reset_fields(&self, subresource: Option<Subresource>) -> Vec<Vec<&'static str>> {
        self.strategy.reset_fields(self, subresource)
    }

    /// Returns the value of a field for field selectors, or `None` if they cannot select it.
    pub fn selectable_field(&self, object: &Value, field: &str) -> Option<String> {
        self.strategy.selectable_field(self, object, field)
    }
}

/// The strategy for objects of a kind, as in the server's registries. [`Kind`] wraps it.
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
    generation: u64,
}

type ByPlural = BTreeMap<Arc<str>, Arc<Kind>>;

impl Kinds {
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns whether this kind is still served with the same definition.
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

    /// Stops serving all versions of a kind.
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

    /// Returns a kind by the names in its path.
    pub fn get(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Kind>> {
        self.groups.get(group)?.get(version)?.get(plural)
    }

    /// Returns the kinds of a group version, by plural.
    pub fn of_version(&self, group: &str, version: &str) -> impl Iterator<Item = &Arc<Kind>> {
        self.groups.get(group).and_then(|versions| versions.get(version)).into_iter().flat_map(BTreeMap::values)
    }

    /// Returns the group versions, ordered by group and version.
    pub fn versions(&self) -> impl Iterator<Item = (&str, &str)> {
        self.groups.iter().flat_map(|(group, versions)| versions.keys().map(move |version| (&**group, &**version)))
    }

    /// Returns a kind by `apiVersion` and `kind` of an object.
    pub fn by_kind(&self, api_version: &str, kind: &str) -> Option<&Arc<Kind>> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        self.of_version(group, version).find(|candidate| *candidate.kind == *kind)
    }

    pub(crate) fn storage_version(&self, kind: &Kind) -> Option<Arc<Kind>> {
        let storage = kind.storage();
        let mut versions = self.of_resource(&storage);
        match &kind.origin {
            Origin::Custom(custom) => versions.find(|candidate| candidate.version == custom.storage_version).cloned(),
            Origin::Builtin => versions.last().cloned(),
        }
    }

    /// Returns the served versions of a kind.
    pub fn of_resource(&self, resource: &Resource) -> impl Iterator<Item = &Arc<Kind>> {
        let plural = Arc::clone(&resource.plural);
        self.groups.get(&resource.group).into_iter().flat_map(BTreeMap::values).filter_map(move |kinds| kinds.get(&plural))
    }
}
