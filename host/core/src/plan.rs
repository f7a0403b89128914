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
mod digest;
mod existing;
mod listed;
mod marks;
mod observed;
mod outliving;
mod ownership;
mod prerequisites;
mod prune;
mod refusals;
mod step;
mod to_list;
mod values;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

pub use self::deletion::{
    DeletionPlan, FinalizerAction, RELEASE_ANNOTATION, finalizer, is_released, needs_finalizer, plan_deletion,
};
pub(crate) use self::digest::digest_of;
pub use self::digest::{AcceptedForm, fingerprint};
pub use self::listed::{ChildList, LARGEST_LIST, LIST_ANNOTATION_PREFIX, list_annotation};
pub use self::marks::marks_removed;
pub use self::observed::Observed;
pub use self::ownership::{Ownership, ownership};
pub use self::prerequisites::{Held, Holds, StepEnd};
pub use self::refusals::{REPORTED_ONE_BY_ONE, Refusal, RefusalReason, Refusals};
pub use self::step::{Cause, Confirm, Desired, Step};
pub use self::to_list::child_list;
pub use self::values::{Generation, given, not_made, plan_values};

use self::desired::{DesiredSet, Target};
use self::observed::ByIdentity;
use self::outliving::{references_removed, without_steps};
use self::ownership::{Metadata, Owner};
use self::prerequisites::comes_first;
use self::prune::{Because, prune};
use crate::contains::first_difference_in;
use crate::grants::{Grants, Scope};
use crate::manifest::Strategy;
use crate::object::{GroupVersionKind, ObjectKey, ObjectRef};
use crate::response::Child;

/// The label that names the plugin that made an object. Child caches select by it.
pub const PLUGIN_LABEL: &str = "gyre.dev/plugin";
/// The label that names the parent by its UID.
pub const OWNER_UID_LABEL: &str = "gyre.dev/owner-uid";
/// The annotation that keeps a child that is no longer desired, with the value `false`. Plugins and
/// people may set it. The deletion of the parent still deletes the child.
pub const PRUNE_ANNOTATION: &str = "gyre.dev/prune";
/// The annotation of a child that outlives its parent, with the namespace and the name of the
/// parent: a new parent of this name may get it back.
pub const OUTLIVES_ANNOTATION: &str = "gyre.dev/outlives-parent";
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
/// - A child of a kind that outlives the parent has no ownerReference to it after the plan.
/// - A child is replaced only if the manifest declares the strategy `recreate` for its kind, as the
///   strategy of the kind or as the strongest one.
///
/// # Assumptions
///
/// `observed` is complete: a missing child is created, which fails where the name is taken.
pub fn plan(input: &Input<'_>) -> Plan {
    plan_with(input, Because::Unwanted)
}

fn plan_with(input: &Input<'_>, because: Because) -> Plan {
    let references = references_removed(input);
    let Some(children) = input.desired else { return Plan { steps: references, ..Plan::default() } };
    let mut wanted = DesiredSet::new(input, children);
    wanted.targets.sort_by_key(|target| !comes_first(&target.desired.child.kind));
    let observed = ByIdentity::new(input.observed);
    let mut plan = Plan { refusals: wanted.refusals.clone(), ..Plan::default() };
    for target in without_steps(&wanted.targets, &references) {
        match step_for(input, target, &observed) {
            ChildAction::Step(step) => plan.steps.push(*step),
            ChildAction::Wait => plan.waiting.push(gone_first(&target.desired.child)),
            ChildAction::Nothing => {}
        }
    }
    // A step is held back if its Namespace or CustomResourceDefinition is not the parent's.
    Holds::known(input, children, &observed, &plan.steps).take_from(&mut plan);
    let written = plan.steps.len();
    prune(input, &observed, because, |object| !wanted.retains(object.kind, object.key), &mut plan);
    // Also of those that are deleted, because the deletion may be held up.
    plan.steps.splice(written..written, references);
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
/// parent of the plugin has this UID, `None` if that is unknown.
pub fn on_existing(
    input: &Input<'_>,
    desired: &Desired,
    live: &Value,
    unmarked: Option<&str>,
    parent_exists: impl Fn(&str) -> Option<bool>,
) -> Existing {
    existing::decide(input, desired, live, unmarked, parent_exists)
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

/// Returns whether a child outlives the parent.
fn outlives(input: &Input<'_>, kind: &GroupVersionKind, child: &ObjectKey) -> bool {
    let namespace = &input.parent.key.namespace;
    namespace.is_some() && *namespace == child.namespace && input.grants.outlives_parent(kind)
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

#[cfg(test)]
mod tests;
