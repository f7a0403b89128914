//! Deletes the children that are no longer desired.

use super::desired::{kind_not_granted, not_in_mount};
use super::observed::{ByIdentity, Observed};
use super::ownership::Metadata;
use super::refusals::{Refusal, RefusalReason};
use super::step::Step;
use super::{Input, Plan, outlives, owned};
use crate::object::ObjectRef;

/// Why children are deleted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Because {
    /// The plugin no longer wants them. [`PRUNE_ANNOTATION`](super::PRUNE_ANNOTATION) keeps them.
    Unwanted,
    /// The parent is being deleted, and its plugin may wait for the end of a child, so the
    /// annotation does not count. Those that outlive the parent stay.
    ParentIsDeleted,
}

/// Plans to delete the owned objects for which `must_go` is true.
pub(super) fn prune(
    input: &Input<'_>,
    observed: &ByIdentity<'_>,
    because: Because,
    must_go: impl Fn(&Observed<'_>) -> bool,
    plan: &mut Plan,
) {
    let stays = |object: &Observed<'_>| because == Because::ParentIsDeleted && outlives(input, object.kind, object.key);
    let mut unwanted: Vec<(&Observed<'_>, Metadata)> = Vec::new();
    for same in observed.groups() {
        let found = same
            .iter()
            .filter(|object| must_go(object) && !stays(object))
            .find_map(|object| owned(input, object, Metadata::read(object.json)).map(|metadata| (*object, metadata)));
        unwanted.extend(found);
    }
    unwanted.sort_by_key(|(object, _)| (object.kind, object.key));
    for (object, metadata) in unwanted {
        let child = ObjectRef { kind: object.kind.clone(), key: object.key.clone() };
        if metadata.deletion_timestamp.is_some() {
            plan.leaving.push(child);
        } else if because == Because::Unwanted && metadata.is_kept() {
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
