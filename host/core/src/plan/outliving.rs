//! Children that stay when their parent is deleted.
//!
//! No ownerReference names the parent: the garbage collector would delete them. They are owned by
//! their labels and an annotation that names the parent, and only in its namespace. Controllers
//! copy labels, so labels alone are not enough.
//!
//! The parent has no list of them. Such a list protects children in other namespaces from people
//! who may label objects there. In the namespace of the parent, these people can usually add an
//! ownerReference, too.

use serde_json::Value;

use super::desired::Target;
use super::existing::label;
use super::observed::Observed;
use super::ownership::Metadata;
use super::step::Step;
use super::{Input, outlives, owned};
use crate::object::ObjectRef;

/// The steps that take the reference to the parent from children that outlive it. They have one if
/// an earlier version of the plugin did not declare it.
pub(super) fn references_removed(input: &Input<'_>) -> Vec<Step> {
    let outliving = input.observed.iter().filter(|object| outlives(input, object.kind, object.key));
    let mut steps: Vec<Step> = outliving.filter_map(|object| without_reference(input, object)).collect();
    steps.sort_by(|one, other| (&one.child().kind, &one.child().key).cmp(&(&other.child().kind, &other.child().key)));
    steps.dedup_by(|one, other| one.uid() == other.uid());
    steps
}

/// The targets whose children have no step among these. The next plan writes the other differences
/// of the others, once their reference is gone.
pub(super) fn without_steps<'a>(targets: &'a [Target], steps: &'a [Step]) -> impl Iterator<Item = &'a Target> {
    targets.iter().filter(|target| !steps.iter().any(|step| *step.child() == target.desired.child))
}

fn without_reference(input: &Input<'_>, object: &Observed<'_>) -> Option<Step> {
    let metadata = owned(input, object, Metadata::read(object.json))?;
    let is_granted = input.grants.allows_kind(object.kind) && input.grants.allows_deletion_in(object.key.namespace.as_deref());
    if !metadata.refers_to(&input.parent.uid) || metadata.deletion_timestamp.is_some() || !is_granted {
        return None;
    }
    let live: Value = serde_json::from_slice(object.json).ok()?;
    let references = live.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    let is_other = |reference: &&Value| reference.get("uid").and_then(Value::as_str) != Some(input.parent.uid.as_str());
    let child = ObjectRef { kind: object.kind.clone(), key: object.key.clone() };
    let others = references.into_iter().flatten().filter(is_other).cloned().collect();
    Some(label(input, &child, object.uid, Some(others)))
}
