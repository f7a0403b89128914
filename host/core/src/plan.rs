//! Which writes bring the observed children to the desired ones.
//!
//! ```text
//!   desired children ──▶ desired (normalised, marked as ours, digest) ──┐
//!                                                                     ├──▶ steps, refusals, what is still going away
//!   observed children ──▶ ownership (ours by UID?) ───────────────────┘
//! ```
//!
//! What is absent: requests. Where only the API server can know (whether a foreign object bears a name, whether a difference is more
//! than another way to write the same), a step says what to ask, and [`on_existing`] and [`AcceptedForm`] take the answer.

mod deletion;
mod desired;
mod existing;
mod listed;
mod ownership;
mod refusals;
mod to_list;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

pub use self::deletion::{
    DeletionPlan, FinalizerAction, RELEASE_ANNOTATION, finalizer, is_released, needs_finalizer, plan_deletion,
};
pub use self::listed::{ChildList, LARGEST_LIST, LIST_ANNOTATION_PREFIX, list_annotation};
pub use self::ownership::{Ownership, ownership};
pub use self::refusals::{Refusals, TOLD_ONE_BY_ONE};
pub use self::to_list::child_list;

use self::desired::{DesiredSet, Identity, Target, identity, kind_not_granted, not_in_mount};
use self::ownership::{Metadata, Owner};
use crate::contains::first_difference_in;
use crate::grants::{Grants, Scope};
use crate::manifest::{Propagation, Strategy};
use crate::object::{GroupVersionKind, ObjectKey, ObjectRef};
use crate::response::Child;

/// The label that names the plugin that made an object. Child caches select by it.
pub const PLUGIN_LABEL: &str = "gyre.dev/plugin";
/// The label that names the parent by its UID.
pub const OWNER_UID_LABEL: &str = "gyre.dev/owner-uid";
/// The annotation with the digest of what the plugin wanted when the object was last written.
pub const DIGEST_ANNOTATION: &str = "gyre.dev/desired-digest";

/// The object whose children are planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parent {
    /// Its kind.
    pub kind: GroupVersionKind,
    /// Its namespace and name.
    pub key: ObjectKey,
    /// Its UID: what owns, since a name may come to mean another object.
    pub uid: String,
    /// The children that it lists as its own.
    pub children: ChildList,
}

impl Parent {
    /// Whether an object with the labels that name this parent is a child of it: where an ownerReference is possible, and elsewhere if the
    /// parent lists it.
    pub fn claims(&self, kind: &GroupVersionKind, key: &ObjectKey) -> bool {
        ownership(self.key.namespace.as_deref(), key.namespace.as_deref()) == Ownership::Reference
            || self.children.is_missing()
            || self.children.contains(kind, key)
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
    /// The object. Whether it carries `apiVersion` and `kind` (items of lists do not) makes no difference.
    pub json: &'a [u8],
    /// What the API server last made of a write to the object with this UID, if this process has seen it.
    pub accepted: Option<&'a AcceptedForm>,
}

/// What the API server made of what was desired: an object that still looks like this needs no write, whatever the server made of it
/// that [`contains`](crate::contains) does not know (a default that takes the place of what was desired, a webhook's changes).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedForm {
    /// The digest of what was desired.
    pub digest: String,
    /// The resourceVersion of the answer.
    pub resource_version: String,
    /// The [`fingerprint`] of the answer. A change of the status does not change it.
    pub fingerprint: String,
}

impl AcceptedForm {
    /// Takes the answer to a write of this digest. Any successful answer will do, whether or not it changed something: it is what the
    /// server makes of what was desired.
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
    /// The desired children; none: the existing ones are left as they are.
    pub desired: Option<&'a [Child]>,
    /// The existing objects, in any order. Those that the parent does not own are ignored.
    pub observed: &'a [Observed<'a>],
}

/// A child as it is to be written.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Desired {
    /// Its kind and name.
    pub child: ObjectRef,
    /// The complete body for a POST, or for server-side apply.
    pub object: Map<String, Value>,
    /// The digest of what the plugin wants, as in the annotation.
    pub digest: String,
}

/// The reason why an existing object is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The plugin wants something else than when it was last written.
    DesiredChanged,
    /// It does not hold what is desired.
    Drifted {
        /// The first place where it does not, such as `spec.template.spec.containers[0].image`.
        path: String,
    },
    /// It had no owner, and the mount allows adoption.
    Adopted,
}

/// Whether a replacement is certain to be needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Confirm {
    /// It is.
    NotNeeded,
    /// The object seems to have drifted, but the API server may only spell it another way, and then replacing it would go on for ever.
    /// So apply it (with the UID in the body) as a dry run first. If the [`fingerprint`] of the answer is that of the object as read in
    /// the same version, nothing has drifted: remember `AcceptedForm::of(digest, &object)` and do not replace it. If the answer is another
    /// object, or the field is immutable, replace it.
    ByDryRun,
}

/// One write.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// No object of ours is known. Create it with POST. If the API server answers that the name is taken, read the object that has it:
    /// [`on_existing`] decides.
    Create {
        /// The object to create.
        desired: Desired,
    },
    /// Server-side apply; of an object that was created by POST, [`managed_fields`](crate::managed_fields) are turned into those of an apply
    /// first. The body carries `metadata.uid`, with which the API server refuses to create.
    Apply {
        /// The object to apply.
        desired: Desired,
        /// The UID of the object that exists.
        uid: String,
        /// The reason.
        cause: Cause,
    },
    /// Put the host's labels on an object of ours that lacks them and is not to be touched otherwise, as a merge patch with the UID. Child
    /// caches select by these labels, so the object would go unseen.
    Label {
        /// Its kind and name.
        child: ObjectRef,
        /// The UID of the object that exists.
        uid: String,
        /// The labels.
        labels: BTreeMap<String, String>,
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
    /// The object that is written.
    pub fn child(&self) -> &ObjectRef {
        match self {
            Self::Create { desired } | Self::Apply { desired, .. } | Self::Replace { desired, .. } => &desired.child,
            Self::Label { child, .. } | Self::Delete { child, .. } => child,
        }
    }

    /// The UID of the object that has to exist for this step; none for a creation.
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

/// Why something desired is not done. The words are the reasons of conditions and events, and labels of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum RefusalReason {
    /// The manifest does not declare the kind.
    UndeclaredKind,
    /// The operator's configuration does not grant the kind.
    KindNotGranted,
    /// The operator's configuration does not grant the namespace.
    NamespaceNotGranted,
    /// The API server does not serve the kind.
    NotServed,
    /// What the plugin returned is not an object that could be written.
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
    /// The parent's list of children that no ownerReference can name is full.
    ChildListFull,
}

impl RefusalReason {
    /// In CamelCase.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UndeclaredKind => "UndeclaredKind",
            Self::KindNotGranted => "KindNotGranted",
            Self::NamespaceNotGranted => "NamespaceNotGranted",
            Self::NotServed => "NotServed",
            Self::InvalidChild => "InvalidChild",
            Self::ForeignObject => "ForeignObject",
            Self::Conflict => "Conflict",
            Self::ImmutableField => "ImmutableField",
            Self::Rejected => "Rejected",
            Self::NamespaceTerminating => "NamespaceTerminating",
            Self::ChildListFull => "ChildListFull",
        }
    }
}

/// Something desired that will not be done.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Refusal {
    /// The child, if what the plugin returned names one.
    pub child: Option<ObjectRef>,
    /// The reason, for programs.
    pub reason: RefusalReason,
    /// The reason and the remedy, for people. It names the child.
    pub message: String,
}

/// The plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Plan {
    /// The writes: creations and changes in the plugin's order, then deletions by kind and key.
    pub steps: Vec<Step>,
    /// The refusals: in the plugin's order, then deletions by kind and key.
    pub refusals: Vec<Refusal>,
    /// Desired children whose objects are being deleted: to be created once they are gone, in the plugin's order.
    pub waiting: Vec<ObjectRef>,
    /// Owned objects that are not desired and are already being deleted, by kind and key. While a parent goes, its children are gone when
    /// there are neither deletions among the steps nor any of these.
    pub leaving: Vec<ObjectRef>,
}

/// The decision about an existing object with the name of a child to create.
#[derive(Clone, Debug, PartialEq)]
pub enum Existing {
    /// It is ours, or may be adopted: bring it to what is desired.
    Step(Step),
    /// It is ours and as desired (the cache was late).
    Nothing,
    /// It is going away; the message says what is waited for. Try again soon, since nothing may announce its end.
    Wait(String),
    /// It is not ours.
    Refuse(Refusal),
}

/// Decides all writes for one parent.
///
/// # Guarantees
///
/// - The same input gives the same plan; the order of `observed` makes no difference.
/// - Only objects that the parent owns, by UID, are changed or deleted.
/// - Only granted kinds and namespaces are written; all else becomes a refusal. What is owned and no longer wanted is deleted wherever the
///   mount reaches, also where it may not write (any more).
/// - What is refused is not pruned, as long as it can be told which object it means; where it cannot be, no object of the kind is
///   pruned, and where not even the kind is known, none at all. So nothing is lost because of a bad output.
/// - A child that holds what is desired gets no step.
///
/// # Assumptions
///
/// `observed` is all that there is: a child that it lacks is created, and that fails where the name is taken.
pub fn plan(input: &Input<'_>) -> Plan {
    let Some(children) = input.desired else { return Plan::default() };
    let wanted = DesiredSet::new(input, children);
    let observed = ByIdentity::new(input.observed);
    let mut plan = Plan { refusals: wanted.refusals.clone(), ..Plan::default() };
    for target in &wanted.targets {
        match step_for(input, target, &observed) {
            Next::Step(step) => plan.steps.push(*step),
            Next::Wait => plan.waiting.push(target.desired.child.clone()),
            Next::Nothing => {}
        }
    }
    prune(input, &observed, |object| !wanted.retains(object.kind, object.key), &mut plan);
    plan
}

/// The children that a plugin wants written, as they would be, whether or not they are so already; in the plugin's order. What is refused
/// or only kept is not among them.
pub fn desired(input: &Input<'_>) -> Vec<Desired> {
    let wanted = DesiredSet::new(input, input.desired.unwrap_or_default());
    wanted.targets.into_iter().map(|target| target.desired).collect()
}

/// Decides about an object that has the name of a child that is to be created, as a live read found it.
///
/// An object may be ours without being observed: the cache is late, somebody removed its labels, or an operator without labels made it.
pub fn on_existing(input: &Input<'_>, desired: &Desired, live: &Value) -> Existing {
    existing::decide(input, desired, live)
}

/// Identifies what an object says, apart from what changes without anyone wanting it: its status and the API server's book-keeping.
/// Neither `apiVersion` and `kind` count, which items of lists do not carry.
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

/// The digest of what a plugin wants of a child, before the host adds its labels and references: what the host adds is compared by
/// itself, so that a new version of gyre, or of the parent's API, does not replace every child.
fn digest_of(object: &Map<String, Value>) -> String {
    // The map is sorted, so this is the canonical JSON of the object; a test holds `serde_json` to it.
    let mut hasher = Sha256::new();
    let mut separator = '{';
    for (field, value) in object {
        hasher.update(format!("{separator}{}:{value}", Value::from(field.as_str())));
        separator = ',';
    }
    hasher.update("}");
    hexadecimal(hasher)
}

/// The first half of a SHA-256: nobody gains from a collision of what they want themselves, and annotations are bytes in etcd.
fn hexadecimal(hasher: Sha256) -> String {
    hasher.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// The observed objects, in an order that does not depend on that of the input.
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
        // An object may be in several caches, one for each version of its kind that is or was declared.
        for same in objects.values_mut() {
            same.sort_by_key(|object| (object.kind, object.uid, object.resource_version, object.json));
        }
        Self { objects }
    }

    /// In the child's own version if there is one.
    fn find(&self, child: &ObjectRef) -> impl Iterator<Item = &'a Observed<'a>> + use<'a, '_> {
        let identity = identity(&child.kind, child.key.namespace.as_deref(), &child.key.name);
        let same = self.objects.get(&identity).map_or(&[][..], Vec::as_slice);
        let kind = child.kind.clone();
        let (same_version, others): (Vec<_>, Vec<_>) = same.iter().copied().partition(|object| *object.kind == kind);
        same_version.into_iter().chain(others)
    }
}

/// The next action for a child.
enum Next {
    Nothing,
    Wait,
    Step(Box<Step>),
}

fn step_for(input: &Input<'_>, target: &Target, observed: &ByIdentity<'_>) -> Next {
    for object in observed.find(&target.desired.child) {
        let accepted = object.accepted.filter(|accepted| accepted.digest == target.desired.digest);
        if accepted.is_some_and(|accepted| accepted.resource_version == object.resource_version)
            && input.parent.claims(object.kind, object.key)
        {
            return Next::Nothing;
        }
        let Ok(live) = serde_json::from_slice::<Value>(object.json) else { continue };
        let Some(metadata) = owned(input, object, Metadata::of(&live)) else { continue };
        let same_version = *object.kind == target.desired.child.kind;
        return step_for_existing(target, &metadata, object.uid, same_version.then_some(&live), accepted);
    }
    Next::Step(Box::new(Step::Create { desired: target.desired.clone() }))
}

/// The metadata, if the object is ours.
fn owned(input: &Input<'_>, object: &Observed<'_>, metadata: Option<Metadata>) -> Option<Metadata> {
    metadata.filter(|metadata| {
        metadata.uid.as_deref() == Some(object.uid) && matches!(metadata.owner(input, object.kind, object.key), Owner::Us)
    })
}

/// Whether the garbage collector does not delete a child of this name when the parent is gone.
fn is_out_of_reach(input: &Input<'_>, child: &ObjectKey) -> bool {
    ownership(input.parent.key.namespace.as_deref(), child.namespace.as_deref()) == Ownership::Labels
}

fn is_owned(input: &Input<'_>, object: &Observed<'_>) -> bool {
    owned(input, object, Metadata::read(object.json)).is_some()
}

/// How to bring an object of ours to what is desired. Without `live` there is only the digest to go by: the object is known in another
/// version, whose fields may be other ones.
fn step_for_existing(
    target: &Target,
    metadata: &Metadata,
    uid: &str,
    live: Option<&Value>,
    accepted: Option<&AcceptedForm>,
) -> Next {
    if metadata.deletion_timestamp.is_some() {
        return Next::Wait;
    }
    let Target { desired, strategy, propagation } = target;
    let is_replaced = match strategy {
        Strategy::Apply => false,
        Strategy::Recreate => true,
        Strategy::CreateOnly => return Next::Nothing,
    };
    let cause = match metadata.digest() {
        Some(digest) if digest != desired.digest => Cause::DesiredChanged,
        _ => match live.and_then(|live| difference(desired, live)) {
            None => return Next::Nothing,
            Some(_) if accepted.is_some_and(|accepted| live.is_some_and(|live| accepted.fingerprint == fingerprint(live))) => {
                return Next::Nothing;
            }
            Some(path) => Cause::Drifted { path },
        },
    };
    // Metadata can always be changed in place, and the host's own part of it is no reason to delete anything.
    let in_metadata = matches!(&cause, Cause::Drifted { path } if path.split(['.', '[']).next() == Some("metadata"));
    if !is_replaced || in_metadata {
        return Next::Step(Box::new(apply(desired, uid, cause)));
    }
    let confirm = if cause == Cause::DesiredChanged { Confirm::NotNeeded } else { Confirm::ByDryRun };
    let (desired, uid) = (desired.clone(), uid.to_owned());
    Next::Step(Box::new(Step::Replace { desired, uid, propagation: *propagation, cause, confirm }))
}

/// The first difference, those outside of the metadata before those in it. Kind and version are known to be the same.
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

/// Deletes what is owned and has to go, computed from what there is and never from what there was.
fn prune(input: &Input<'_>, observed: &ByIdentity<'_>, must_go: impl Fn(&Observed<'_>) -> bool, plan: &mut Plan) {
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
