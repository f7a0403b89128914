//! Plans the writes that bring the observed children to the desired ones.
//!
//! ```text
//!   desired children ──▶ normalised, marked as ours, digest ──┐
//!                                                             ├──▶ steps, refusals, waiting …
//!   observed children ──▶ ours by UID? ───────────────────────┘
//! ```
//!
//! What is absent: requests. Where only the API server knows the answer (e.g. whether a foreign
//! object has the name), a step says what to ask, and [`on_existing`] and [`AcceptedForm`] take the
//! answer.

mod deletion;
mod desired;
mod existing;
mod listed;
mod marks;
mod ownership;
mod prerequisites;
mod refusals;
mod to_list;
mod values;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

pub use self::deletion::{
    DeletionPlan, FinalizerAction, RELEASE_ANNOTATION, finalizer, is_released, needs_finalizer, plan_deletion,
};
pub use self::listed::{ChildList, LARGEST_LIST, LIST_ANNOTATION_PREFIX, list_annotation};
pub use self::marks::marks_removed;
pub use self::ownership::{Ownership, ownership};
pub use self::prerequisites::{Held, Holds, StepEnd};
pub use self::refusals::{REPORTED_ONE_BY_ONE, Refusals};
pub use self::to_list::child_list;
pub use self::values::{Generation, given, not_made, plan_values};

use self::desired::{DesiredSet, Identity, Target, identity, kind_not_granted, not_in_mount};
use self::ownership::{Metadata, Owner};
use self::prerequisites::comes_first;
use crate::contains::first_difference_in;
use crate::generated::Requests;
use crate::grants::{Grants, Scope};
use crate::manifest::{Propagation, Strategy};
use crate::object::{GroupVersionKind, ObjectKey, ObjectRef};
use crate::response::Child;

/// The label that names the plugin that made an object. Child caches select by it.
pub const PLUGIN_LABEL: &str = "gyre.dev/plugin";
/// The label that names the parent by its UID.
pub const OWNER_UID_LABEL: &str = "gyre.dev/owner-uid";
/// The annotation that keeps a child that is no longer desired, with the value `false`. Plugins and
/// people may set it. The deletion of the parent still deletes the child.
pub const PRUNE_ANNOTATION: &str = "gyre.dev/prune";
/// The annotation with the digest of what the plugin wanted when the object was last written.
pub const DIGEST_ANNOTATION: &str = "gyre.dev/desired-digest";

/// The object whose children are planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parent {
    /// Its kind.
    pub kind: GroupVersionKind,
    /// Its namespace and name.
    pub key: ObjectKey,
    /// Its UID, which decides ownership: another object may have the same name later.
    pub uid: String,
    /// The children on its list.
    pub children: ChildList,
}

impl Parent {
    /// Returns whether a child can have an ownerReference to this parent: see [`fn@ownership`].
    pub fn can_refer(&self, child: &ObjectKey) -> bool {
        ownership(self.key.namespace.as_deref(), child.namespace.as_deref()) == Ownership::Reference
    }

    /// Returns whether an object with the labels of this parent is its child. Where no
    /// ownerReference is possible, the parent has to list it; if the list is missing, the labels
    /// are enough.
    pub fn claims(&self, kind: &GroupVersionKind, key: &ObjectKey) -> bool {
        self.can_refer(key) || self.children.is_missing() || self.children.contains(kind, key)
    }
}

/// A child as the cache holds it.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    /// Its kind, in the version that the cache watches.
    pub kind: &'a GroupVersionKind,
    /// Its namespace and name.
    pub key: &'a ObjectKey,
    /// Its UID.
    pub uid: &'a str,
    /// Its resourceVersion.
    pub resource_version: &'a str,
    /// The object, with or without `apiVersion` and `kind`, which items of lists lack.
    pub json: &'a [u8],
    /// The API server's form of the last write to this UID, if this process has seen it.
    pub accepted: Option<&'a AcceptedForm>,
}

/// The API server's form of a desired object. A live object that looks like it needs no write, even
/// if [`contains`](crate::contains) finds a difference, e.g. a webhook's change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedForm {
    /// The digest of what was desired.
    pub digest: String,
    /// The resourceVersion of the answer.
    pub resource_version: String,
    /// The [`fingerprint`] of the answer, which a change of the status leaves the same.
    pub fingerprint: String,
}

impl AcceptedForm {
    /// Records a successful answer to a write of this digest, even if nothing changed.
    pub fn of(digest: &str, answer: &Value) -> Self {
        let resource_version = answer.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default();
        Self { digest: digest.to_owned(), resource_version: resource_version.to_owned(), fingerprint: fingerprint(answer) }
    }
}

/// The inputs of a plan.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The plugin's name.
    pub plugin: &'a str,
    /// The parent.
    pub parent: &'a Parent,
    /// The write grants.
    pub grants: &'a Grants,
    /// The kinds that the API server serves.
    pub scopes: &'a BTreeMap<GroupVersionKind, Scope>,
    /// The desired children; `None` leaves the existing ones as they are.
    pub desired: Option<&'a [Child]>,
    /// The existing objects, in any order. The plan ignores those that the parent does not own.
    pub observed: &'a [Observed<'a>],
}

/// A child as it will be written.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Desired {
    /// Its kind and name.
    pub child: ObjectRef,
    /// The complete body for a POST or a server-side apply.
    pub object: Map<String, Value>,
    /// The digest of what the plugin wants, as in the annotation. The strategy is not part of it,
    /// so another strategy alone writes nothing.
    pub digest: String,
    /// How it is changed if it exists.
    pub strategy: Strategy,
    /// The values that the host makes, of a Secret. `object` does not have them.
    #[serde(skip_serializing_if = "Requests::is_empty")]
    pub generated: Requests,
}

impl Desired {
    /// The object as the plugin returned it: with the requests for values in `data`.
    pub fn with_requests(&self) -> Map<String, Value> {
        let mut object = self.object.clone();
        if let Some(Value::Object(data)) = object.get_mut("data") {
            data.extend(self.generated.in_order().map(|(key, request)| (key.to_owned(), json!(request))));
        }
        object
    }
}

/// Why an existing object is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The plugin's desired object changed since the last write.
    DesiredChanged,
    /// The object differs from what is desired.
    Drifted {
        /// The first difference, such as `spec.template.spec.containers[0].image`.
        path: String,
    },
    /// It had no owner. Either the mount allows adoption, or it has the labels of this child.
    Adopted,
    /// A generated value is missing, is due to be renewed, or has a new epoch.
    Generated,
}

/// Whether a replacement needs a confirmation by the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Confirm {
    /// The replacement is needed for certain.
    NotNeeded,
    /// The difference may be only another notation, and then replacing would never end. So apply it
    /// first, with the UID in the body, as a dry run. If the answer has the [`fingerprint`] of the
    /// object as read in the same version, remember `AcceptedForm::of(digest, &object)`. If it has
    /// another, or the field is immutable, replace the object.
    ByDryRun,
}

/// One write.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Create it with POST. If the name is taken, read that object and call [`on_existing`].
    Create {
        /// The object to create.
        desired: Desired,
    },
    /// Server-side apply, with `metadata.uid`, so that it never creates. After a POST, the
    /// [`managed_fields`](crate::managed_fields) have to become those of an apply first.
    Apply {
        /// The object to apply.
        desired: Desired,
        /// The UID of the object that exists.
        uid: String,
        /// The reason.
        cause: Cause,
    },
    /// Add the host's labels, by which child caches select, to an object that must not be changed
    /// otherwise, as a merge patch with the UID and the resourceVersion.
    Label {
        /// Its kind and name.
        child: ObjectRef,
        /// The UID of the object that exists.
        uid: String,
        /// The labels.
        labels: BTreeMap<String, String>,
        /// All its ownerReferences, with one to the parent; `None` leaves them as they are.
        owner_references: Option<Vec<Value>>,
    },
    /// Delete with the UID as a precondition, then create once it is gone.
    Replace {
        /// The object to create.
        desired: Desired,
        /// The UID of the object to delete.
        uid: String,
        /// The propagation of the deletion.
        propagation: Propagation,
        /// The reason.
        cause: Cause,
        /// Whether to ask the API server first.
        confirm: Confirm,
    },
    /// Delete with the UID as a precondition.
    Delete {
        /// Its kind and name.
        child: ObjectRef,
        /// The UID of the object to delete.
        uid: String,
        /// The propagation of the deletion.
        propagation: Propagation,
    },
}

impl Step {
    /// The child that is written.
    pub fn child(&self) -> &ObjectRef {
        match self {
            Self::Create { desired } | Self::Apply { desired, .. } | Self::Replace { desired, .. } => &desired.child,
            Self::Label { child, .. } | Self::Delete { child, .. } => child,
        }
    }

    /// The child as it will be; `None` if the step does not write all of it.
    pub fn desired(&self) -> Option<&Desired> {
        match self {
            Self::Create { desired } | Self::Apply { desired, .. } | Self::Replace { desired, .. } => Some(desired),
            Self::Label { .. } | Self::Delete { .. } => None,
        }
    }

    /// The UID of the object that must exist for this step; `None` for a creation.
    pub fn uid(&self) -> Option<&str> {
        match self {
            Self::Create { .. } => None,
            Self::Apply { uid, .. } | Self::Label { uid, .. } | Self::Replace { uid, .. } | Self::Delete { uid, .. } => {
                Some(uid)
            }
        }
    }

    /// One word for metrics and logs.
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Create { .. } => "create",
            Self::Apply { .. } => "apply",
            Self::Label { .. } => "label",
            Self::Replace { .. } => "replace",
            Self::Delete { .. } => "delete",
        }
    }
}

/// Why something desired is not done: a reason of conditions and events, and a label of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum RefusalReason {
    /// The manifest does not declare the kind.
    UndeclaredKind,
    /// The child names a stronger strategy than the manifest declares for its kind.
    UndeclaredStrategy,
    /// The operator's configuration does not grant the kind.
    KindNotGranted,
    /// The operator's configuration does not grant the namespace.
    NamespaceNotGranted,
    /// The manifest does not declare that the plugin deletes parents.
    UndeclaredParentDeletion,
    /// The operator's configuration does not grant deletions of parents.
    ParentDeletionNotGranted,
    /// The API server does not serve the kind.
    NotServed,
    /// The plugin returned something that is not an object that could be written.
    InvalidChild,
    /// The name is taken by an object that the parent does not own.
    ForeignObject,
    /// Another field manager holds a field. Found when applying.
    Conflict,
    /// A field cannot be changed in place. Found when applying.
    ImmutableField,
    /// The API server does not accept the object. Found when applying.
    Rejected,
    /// The namespace is being deleted, so nothing can be created in it. Found when applying.
    NamespaceTerminating,
    /// A webhook removed the labels or the ownerReference of a child. Found when applying.
    MarksRemoved,
    /// The parent's list of children that no ownerReference can name is full.
    ChildListFull,
    /// Its Namespace or CustomResourceDefinition is among the same children, and is not the
    /// parent's.
    PrerequisiteRefused,
    /// Too many children would be deleted: see [`crate::deletion_guard`]. Found when applying.
    DeletionHeld,
    /// A value of a Secret cannot be made, e.g. because its issuer is missing.
    ValueNotMade,
}

impl RefusalReason {
    /// The name in CamelCase.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UndeclaredKind => "UndeclaredKind",
            Self::UndeclaredStrategy => "UndeclaredStrategy",
            Self::KindNotGranted => "KindNotGranted",
            Self::NamespaceNotGranted => "NamespaceNotGranted",
            Self::UndeclaredParentDeletion => "UndeclaredParentDeletion",
            Self::ParentDeletionNotGranted => "ParentDeletionNotGranted",
            Self::NotServed => "NotServed",
            Self::InvalidChild => "InvalidChild",
            Self::ForeignObject => "ForeignObject",
            Self::Conflict => "Conflict",
            Self::ImmutableField => "ImmutableField",
            Self::Rejected => "Rejected",
            Self::NamespaceTerminating => "NamespaceTerminating",
            Self::MarksRemoved => "MarksRemoved",
            Self::ChildListFull => "ChildListFull",
            Self::PrerequisiteRefused => "PrerequisiteRefused",
            Self::DeletionHeld => "DeletionHeld",
            Self::ValueNotMade => "ValueNotMade",
        }
    }
}

/// Something desired that will not be done.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Refusal {
    /// The child, if the plugin named one.
    pub child: Option<ObjectRef>,
    /// The reason, for programs.
    pub reason: RefusalReason,
    /// The reason and the remedy, for people. It names the child.
    pub message: String,
}

/// A desired child that is written later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Waiting {
    /// Its kind and name.
    pub child: ObjectRef,
    /// The reason, for people. It names the child.
    pub message: String,
}

/// The plan for one parent.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Plan {
    /// The writes: first Namespaces and CustomResourceDefinitions, then other creations and
    /// changes, each in the plugin's order, then deletions by kind and key. Ask [`Holds`] before
    /// each.
    pub steps: Vec<Step>,
    /// The refusals: in the plugin's order, then deletions by kind and key.
    pub refusals: Vec<Refusal>,
    /// Desired children to write later, because an object is being deleted.
    pub waiting: Vec<Waiting>,
    /// Owned, undesired objects that are already being deleted, by kind and key. A deleted parent's
    /// children are gone once there are none of these, nor deletions among the steps.
    pub leaving: Vec<ObjectRef>,
    /// Owned, undesired objects that stay because of [`PRUNE_ANNOTATION`], by kind and key.
    pub kept: Vec<ObjectRef>,
}

impl Plan {
    /// The number of children to delete, by kind.
    pub fn deletions(&self) -> BTreeMap<GroupVersionKind, u64> {
        let mut deletions = BTreeMap::new();
        for step in self.steps.iter().filter(|step| matches!(step, Step::Delete { .. })) {
            *deletions.entry(step.child().kind.clone()).or_default() += 1;
        }
        deletions
    }
}

/// The most objects that a message names. The plan has them all.
const NAMED: usize = 3;

/// The first names, for people, and the number of the others.
pub fn names<'a>(children: impl ExactSizeIterator<Item = &'a ObjectRef>) -> String {
    let more = children.len().saturating_sub(NAMED);
    let named: Vec<String> = children.take(NAMED).map(ToString::to_string).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    named.join(", ") + &more
}

/// The decision about an existing object that has the name of a child to create.
#[derive(Clone, Debug, PartialEq)]
pub enum Existing {
    /// It is ours, or may be adopted: do this step.
    Step(Step),
    /// It is ours and as desired; the cache was late.
    Nothing,
    /// It is being deleted, as the message says. Try again soon, because no watch may report it.
    Wait(String),
    /// It is not ours.
    Refuse(Refusal),
}

/// Plans all writes for one parent.
///
/// # Guarantees
///
/// - The same input gives the same plan; the order of `observed` makes no difference.
/// - Only objects that the parent owns, by UID, are changed or deleted.
/// - Only granted kinds and namespaces are written; all else becomes a refusal. But unwanted
///   objects are deleted in all namespaces of the mount.
/// - A bad output loses nothing: a refused child is not pruned, nor any object of its kind if its
///   name is unknown, nor any object at all if its kind is unknown.
/// - A child that is as desired gets no step.
/// - A child whose Namespace or CustomResourceDefinition is desired, too, is written only if that
///   is the parent's, or is created by an earlier step: see [`Holds`].
/// - A child with [`PRUNE_ANNOTATION`] is not pruned.
/// - A child is replaced only if the manifest declares the strategy `recreate` for its kind, as the
///   strategy of the kind or as the strongest one.
///
/// # Assumptions
///
/// `observed` is complete: a missing child is created, which fails where the name is taken.
pub fn plan(input: &Input<'_>) -> Plan {
    plan_with(input, PruneAnnotation::Counts)
}

/// Whether [`PRUNE_ANNOTATION`] keeps children.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PruneAnnotation {
    Counts,
    /// The parent is being deleted, and its plugin may wait for the end of a child.
    Ignored,
}

fn plan_with(input: &Input<'_>, annotation: PruneAnnotation) -> Plan {
    let Some(children) = input.desired else { return Plan::default() };
    let mut wanted = DesiredSet::new(input, children);
    wanted.targets.sort_by_key(|target| !comes_first(&target.desired.child.kind));
    let observed = ByIdentity::new(input.observed);
    let mut plan = Plan { refusals: wanted.refusals.clone(), ..Plan::default() };
    for target in &wanted.targets {
        match step_for(input, target, &observed) {
            ChildAction::Step(step) => plan.steps.push(*step),
            ChildAction::Wait => plan.waiting.push(gone_first(&target.desired.child)),
            ChildAction::Nothing => {}
        }
    }
    // A step is held back if its Namespace or CustomResourceDefinition is not the parent's.
    Holds::known(input, children, &observed, &plan.steps).take_from(&mut plan);
    prune(input, &observed, annotation, |object| !wanted.retains(object.kind, object.key), &mut plan);
    plan
}

/// The children to write, in the plugin's order, whether or not they exist already.
pub fn desired(input: &Input<'_>) -> Vec<Desired> {
    let wanted = DesiredSet::new(input, input.desired.unwrap_or_default());
    wanted.targets.into_iter().map(|target| target.desired).collect()
}

/// Decides about a live object that has the name of a child to create. It may be ours: the cache
/// may be late, or its labels were removed. `unmarked` is the UID of the object that this host
/// stored for the child, and that lost all marks in doing so. `parent_exists` returns whether a
/// parent of the plugin has this UID, and true if that is unknown.
pub fn on_existing(
    input: &Input<'_>,
    desired: &Desired,
    live: &Value,
    unmarked: Option<&str>,
    parent_exists: impl Fn(&str) -> bool,
) -> Existing {
    existing::decide(input, desired, live, unmarked, parent_exists)
}

/// A hash of an object without its status, the API server's book-keeping, and `apiVersion` and
/// `kind`, which items of lists lack.
pub fn fingerprint(object: &Value) -> String {
    const BOOK_KEEPING: [&str; 4] = ["generation", "managedFields", "resourceVersion", "selfLink"];
    let mut hasher = Sha256::new();
    let mut add = |section: &str, field: &str, value: &Value| {
        hasher.update(format!("{section}\n{}\n{value}\n", Value::from(field)));
    };
    for (field, value) in object.as_object().into_iter().flatten() {
        match (field.as_str(), value) {
            ("apiVersion" | "kind" | "status", _) => {}
            ("metadata", Value::Object(metadata)) => {
                for (field, value) in metadata.iter().filter(|(field, _)| !BOOK_KEEPING.contains(&field.as_str())) {
                    add("metadata", field, value);
                }
            }
            (field, value) => add("object", field, value),
        }
    }
    hexadecimal(hasher)
}

/// The digest of the plugin's child without the host's labels and references, so that a new version
/// of gyre, or of the parent's API, does not replace every child.
fn digest_of(object: &Map<String, Value>) -> String {
    // A test asserts that `serde_json` sorts maps, so this is canonical JSON.
    let mut hasher = Sha256::new();
    let mut separator = '{';
    for (field, value) in object {
        hasher.update(format!("{separator}{}:{value}", Value::from(field.as_str())));
        separator = ',';
    }
    hasher.update("}");
    hexadecimal(hasher)
}

/// Half of a SHA-256: a collision gains nobody anything, and annotations are bytes in etcd.
fn hexadecimal(hasher: Sha256) -> String {
    hasher.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// The observed objects, in an order that does not depend on the input's.
struct ByIdentity<'a> {
    objects: BTreeMap<Identity, Vec<&'a Observed<'a>>>,
}

impl<'a> ByIdentity<'a> {
    fn new(observed: &'a [Observed<'a>]) -> Self {
        let mut objects: BTreeMap<Identity, Vec<&Observed<'_>>> = BTreeMap::new();
        for object in observed {
            let identity = identity(object.kind, object.key.namespace.as_deref(), &object.key.name);
            objects.entry(identity).or_default().push(object);
        }
        // An object may be in several caches: one for each declared version of its kind.
        for same in objects.values_mut() {
            same.sort_by_key(|object| (object.kind, object.uid, object.resource_version, object.json));
        }
        Self { objects }
    }

    /// The objects with this identity, first those in the child's own version.
    fn find(&self, child: &ObjectRef) -> impl Iterator<Item = &'a Observed<'a>> + use<'a, '_> {
        let identity = identity(&child.kind, child.key.namespace.as_deref(), &child.key.name);
        let same = self.objects.get(&identity).map_or(&[][..], Vec::as_slice);
        let kind = child.kind.clone();
        let (same_version, others): (Vec<_>, Vec<_>) = same.iter().copied().partition(|object| *object.kind == kind);
        same_version.into_iter().chain(others)
    }
}

fn gone_first(child: &ObjectRef) -> Waiting {
    Waiting { child: child.clone(), message: format!("{child} is being deleted, and will be created once it is gone") }
}

enum ChildAction {
    Nothing,
    Wait,
    Step(Box<Step>),
}

impl ChildAction {
    /// Returns the action for an object that had no owner: it is only changed in place, because
    /// consent to adopt it is not consent to delete it.
    fn adopting(self) -> Self {
        match self {
            Self::Step(step) => Self::Step(Box::new(match *step {
                Step::Apply { desired, uid, .. } => Step::Apply { desired, uid, cause: Cause::Adopted },
                Step::Replace { desired, uid, .. } => apply(&desired, &uid, Cause::Adopted),
                step => step,
            })),
            other => other,
        }
    }
}

fn step_for(input: &Input<'_>, target: &Target, observed: &ByIdentity<'_>) -> ChildAction {
    for object in observed.find(&target.desired.child) {
        let accepted = object.accepted.filter(|accepted| accepted.digest == target.desired.digest);
        if accepted.is_some_and(|accepted| accepted.resource_version == object.resource_version)
            && input.parent.claims(object.kind, object.key)
        {
            return ChildAction::Nothing;
        }
        let Ok(live) = serde_json::from_slice::<Value>(object.json) else { continue };
        let Some(metadata) = ours_if_wanted(input, object, Metadata::of(&live)) else { continue };
        let same_version = *object.kind == target.desired.child.kind;
        let action = step_for_existing(target, &metadata, object.uid, same_version.then_some(&live), accepted);
        let has_owner = matches!(metadata.owner(input, object.kind, object.key), Owner::Us);
        return if has_owner { action } else { action.adopting() };
    }
    ChildAction::Step(Box::new(Step::Create { desired: target.desired.clone() }))
}

/// Returns the metadata of an object if the parent owns it.
fn owned(input: &Input<'_>, object: &Observed<'_>, metadata: Option<Metadata>) -> Option<Metadata> {
    ours_if_wanted(input, object, metadata)
        .filter(|metadata| matches!(metadata.owner(input, object.kind, object.key), Owner::Us))
}

/// As [`owned`], but also for an object without an owner that has the labels of a child of the
/// parent: it is a child if the plugin wants its name.
fn ours_if_wanted(input: &Input<'_>, object: &Observed<'_>, metadata: Option<Metadata>) -> Option<Metadata> {
    let is_ours = |owner: &Owner<'_>| matches!(owner, Owner::Us | Owner::Labelled);
    metadata.filter(|metadata| {
        metadata.uid.as_deref() == Some(object.uid) && is_ours(&metadata.owner(input, object.kind, object.key))
    })
}

/// Returns whether a child cannot have an ownerReference to the parent.
fn cannot_refer(input: &Input<'_>, child: &ObjectKey) -> bool {
    !input.parent.can_refer(child)
}

fn is_owned(input: &Input<'_>, object: &Observed<'_>) -> bool {
    owned(input, object, Metadata::read(object.json)).is_some()
}

/// `live` is `None` if the object is known in another version only; then the digest decides.
fn step_for_existing(
    target: &Target,
    metadata: &Metadata,
    uid: &str,
    live: Option<&Value>,
    accepted: Option<&AcceptedForm>,
) -> ChildAction {
    if metadata.deletion_timestamp.is_some() {
        return ChildAction::Wait;
    }
    let Target { desired, propagation } = target;
    let is_replaced = match desired.strategy {
        Strategy::Apply => false,
        Strategy::Recreate => true,
        Strategy::CreateOnly => return ChildAction::Nothing,
    };
    let cause = match metadata.digest() {
        Some(digest) if digest != desired.digest => Cause::DesiredChanged,
        _ => match live.and_then(|live| difference(desired, live)) {
            None => return ChildAction::Nothing,
            Some(_) if accepted.is_some_and(|accepted| live.is_some_and(|live| accepted.fingerprint == fingerprint(live))) => {
                return ChildAction::Nothing;
            }
            Some(path) => Cause::Drifted { path },
        },
    };
    // Metadata can be changed in place, so a difference in it is no reason to delete the object.
    let in_metadata = matches!(&cause, Cause::Drifted { path } if path.split(['.', '[']).next() == Some("metadata"));
    if !is_replaced || in_metadata {
        return ChildAction::Step(Box::new(apply(desired, uid, cause)));
    }
    let confirm = if cause == Cause::DesiredChanged { Confirm::NotNeeded } else { Confirm::ByDryRun };
    let (desired, uid) = (desired.clone(), uid.to_owned());
    ChildAction::Step(Box::new(Step::Replace { desired, uid, propagation: *propagation, cause, confirm }))
}

/// The first difference, if possible outside of the metadata.
fn difference(desired: &Desired, live: &Value) -> Option<String> {
    first_difference_in(&desired.object, live, |field| !matches!(field, "apiVersion" | "kind" | "metadata"))
        .or_else(|| first_difference_in(&desired.object, live, |field| field == "metadata"))
}

fn apply(desired: &Desired, uid: &str, cause: Cause) -> Step {
    let mut desired = desired.clone();
    if let Some(Value::Object(metadata)) = desired.object.get_mut("metadata") {
        metadata.insert("uid".to_owned(), Value::from(uid));
    }
    Step::Apply { desired, uid: uid.to_owned(), cause }
}

/// Plans to delete the owned objects for which `must_go` is true.
fn prune(
    input: &Input<'_>,
    observed: &ByIdentity<'_>,
    annotation: PruneAnnotation,
    must_go: impl Fn(&Observed<'_>) -> bool,
    plan: &mut Plan,
) {
    let mut unwanted: Vec<(&Observed<'_>, Metadata)> = Vec::new();
    for same in observed.objects.values() {
        let found = same
            .iter()
            .filter(|object| must_go(object))
            .find_map(|object| owned(input, object, Metadata::read(object.json)).map(|metadata| (*object, metadata)));
        unwanted.extend(found);
    }
    unwanted.sort_by_key(|(object, _)| (object.kind, object.key));
    for (object, metadata) in unwanted {
        let child = ObjectRef { kind: object.kind.clone(), key: object.key.clone() };
        if metadata.deletion_timestamp.is_some() {
            plan.leaving.push(child);
        } else if annotation == PruneAnnotation::Counts && metadata.is_kept() {
            plan.kept.push(child);
        } else if !input.grants.allows_kind(object.kind) {
            let message = format!("{child} is no longer wanted and cannot be deleted: {}", kind_not_granted(object.kind));
            plan.refusals.push(Refusal { child: Some(child), reason: RefusalReason::KindNotGranted, message });
        } else if !input.grants.allows_deletion_in(object.key.namespace.as_deref()) {
            let message = format!("an object is no longer wanted and cannot be deleted: {}", not_in_mount(&child));
            plan.refusals.push(Refusal { child: Some(child), reason: RefusalReason::NamespaceNotGranted, message });
        } else {
            let propagation = input.grants.propagation(object.kind);
            plan.steps.push(Step::Delete { child, uid: object.uid.to_owned(), propagation });
        }
    }
}

#[cfg(test)]
mod tests;
