//! The decision about an existing object with the name of a child to create.

use serde_json::Value;

use super::desired::{Target, kind_not_granted};
use super::ownership::{Metadata, Owner};
use super::refusals::{Refusal, RefusalReason};
use super::step::{Cause, Desired, Step};
use super::{
    ChildAction, Existing, Input, OUTLIVES_ANNOTATION, OWNER_UID_LABEL, PLUGIN_LABEL, apply, gone_first, outlives,
    step_for_existing,
};
use crate::grants::Adoption;
use crate::manifest::Strategy;
use crate::object::ObjectRef;

pub(super) fn decide(
    input: &Input<'_>,
    desired: &Desired,
    live: &Value,
    unmarked: Option<&str>,
    parent_exists: impl Fn(&str) -> Option<bool>,
) -> Existing {
    let child = &desired.child;
    let refuse =
        |reason: RefusalReason, message: String| Existing::Refuse(Refusal { child: Some(child.clone()), reason, message });
    let Some(child_kind) = input.grants.child(&child.kind) else {
        return refuse(RefusalReason::KindNotGranted, kind_not_granted(&child.kind));
    };
    let metadata = Metadata::of(live).unwrap_or_default();
    let Some(uid) = metadata.uid.as_deref() else {
        return refuse(
            RefusalReason::ForeignObject,
            format!("{child} exists, and its owner cannot be determined from its metadata"),
        );
    };
    let wait = || Existing::Wait(gone_first(child).message);
    if metadata.deletion_timestamp.is_some() {
        return wait();
    }
    let hand_over = "delete it, or give the child another name";
    match metadata.owner(input, &child.kind, &child.key) {
        Owner::Us if desired.strategy == Strategy::CreateOnly && !metadata.is_labelled(input) => {
            Existing::Step(label(input, child, uid, None))
        }
        owner @ (Owner::Us | Owner::Labelled) => {
            let target = Target { desired: desired.clone(), propagation: child_kind.propagation };
            let action = step_for_existing(&target, &metadata, uid, Some(live), None);
            match if matches!(owner, Owner::Us) { action } else { action.adopting() } {
                ChildAction::Nothing => Existing::Nothing,
                ChildAction::Wait => wait(),
                ChildAction::Step(step) => Existing::Step(*step),
            }
        }
        Owner::Predecessor => Existing::Wait(format!(
            "{child} belongs to an earlier {} of the same name, and will be created once the garbage collector has deleted it",
            input.parent.kind.kind
        )),
        Owner::Controller(controller) => refuse(
            RefusalReason::ForeignObject,
            format!("{child} exists and is controlled by {} {}: {hand_over}", controller.owner_kind(), controller.name),
        ),
        Owner::Nobody | Owner::Labels { uid: None, .. } if unmarked == Some(uid) => match desired.strategy {
            Strategy::CreateOnly => Existing::Step(label(input, child, uid, references(desired, live))),
            Strategy::Apply | Strategy::Recreate => Existing::Step(apply(desired, uid, Cause::Adopted)),
        },
        // Where that is unknown, a child that outlived a parent of this name has no other one:
        // names are unique.
        Owner::Labels { plugin: Some(plugin), uid: Some(owner) }
            if plugin == input.plugin && !parent_exists(owner).unwrap_or(!metadata.outlives(input.parent)) =>
        {
            match (input.grants.adoption(), desired.strategy) {
                (Adoption::Refused, _) => refuse(
                    RefusalReason::ForeignObject,
                    format!(
                        "{child} exists, and is labelled as a child of a parent that no longer exists (UID {owner}), \
                         e.g. because both were restored from a backup: allow the mount to adopt objects, or {hand_over}"
                    ),
                ),
                // The plugin created it once, so only the marks change.
                (Adoption::Allowed, Strategy::CreateOnly) => {
                    Existing::Step(label(input, child, uid, references(desired, live)))
                }
                (Adoption::Allowed, Strategy::Apply | Strategy::Recreate) => {
                    Existing::Step(apply(desired, uid, Cause::Adopted))
                }
            }
        }
        Owner::Labels { plugin, uid } => refuse(
            RefusalReason::ForeignObject,
            format!(
                "{child} exists and is labelled as a child of {} (UID {}): {hand_over}, or remove its labels {PLUGIN_LABEL} and {OWNER_UID_LABEL}",
                plugin.unwrap_or("no plugin"),
                uid.unwrap_or("none"),
            ),
        ),
        Owner::Nobody => match (input.grants.adoption(), desired.strategy) {
            (Adoption::Refused, _) => refuse(
                RefusalReason::ForeignObject,
                format!(
                    "{child} exists, and nothing marks it as a child of this parent: {hand_over}, or allow the mount to adopt objects"
                ),
            ),
            // Adoption would overwrite an object that was created only once, and not by us.
            (Adoption::Allowed, Strategy::CreateOnly) => refuse(
                RefusalReason::ForeignObject,
                format!(
                    "{child} exists, and a child that is created only once is not adopted: {hand_over}, or hand it over with the labels {PLUGIN_LABEL}={} and {OWNER_UID_LABEL}={}, and an owner reference to the parent if it can have one",
                    input.plugin, input.parent.uid
                ),
            ),
            // In place even for kinds that are replaced: consent to adopt is not consent to delete.
            (Adoption::Allowed, Strategy::Apply | Strategy::Recreate) => Existing::Step(apply(desired, uid, Cause::Adopted)),
        },
    }
}

pub(super) fn label(input: &Input<'_>, child: &ObjectRef, uid: &str, owner_references: Option<Vec<Value>>) -> Step {
    let labels = [(PLUGIN_LABEL, input.plugin), (OWNER_UID_LABEL, &input.parent.uid)];
    let labels = labels.map(|(label, value)| (label.to_owned(), value.to_owned())).into();
    let annotation =
        outlives(input, &child.kind, &child.key).then(|| (OUTLIVES_ANNOTATION.to_owned(), input.parent.key.to_string()));
    let annotations = annotation.into_iter().collect();
    Step::Label { child: child.clone(), uid: uid.to_owned(), labels, annotations, owner_references }
}

/// The live references and those of the desired object, if it has some.
fn references(desired: &Desired, live: &Value) -> Option<Vec<Value>> {
    let ours = desired.object.get("metadata")?.get("ownerReferences")?.as_array()?;
    let theirs = live.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    Some(theirs.into_iter().flatten().chain(ours).cloned().collect())
}
