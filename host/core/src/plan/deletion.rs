//! The plan for the children of a parent that is being deleted and carries the host's finalizer.
//!
//! ```text
//!   the plugin finalizes ── not done ──▶ plan as for other parents, wait
//!                        ── done ──┐
//!   it does not ───────────────────┴──▶ delete what the garbage collector does not, or the plugin
//!                                       wants gone
//!                                         │ something is still there ──▶ wait
//!                                         └ nothing ─────────────────▶ release
//! ```
//!
//! Namespaces decide what the garbage collector reaches, and not the existing references:
//! `--cascade=orphan` removes these while the parent has our finalizer, and such children must
//! stay.

use super::desired::DesiredSet;
use super::observed::{ByIdentity, Observed};
use super::outliving::{references_removed, without_steps};
use super::prerequisites::Holds;
use super::prune::{Because, prune};
use super::step::{Cause, Step};
use super::{ChildAction, Input, Plan, cannot_refer, is_owned, names, plan_with, step_for};
use crate::object::ObjectRef;
use crate::response::Response;

/// The annotation, with any value but `false`, that releases a parent whose plugin is gone or never
/// finishes, and leaves its children.
pub const RELEASE_ANNOTATION: &str = "gyre.dev/release";

/// The finalizer of a plugin: two plugins may reconcile the same parent.
pub fn finalizer(plugin: &str) -> String {
    format!("gyre.dev/{plugin}")
}

/// Returns whether this value of [`RELEASE_ANNOTATION`] releases the parent.
pub fn is_released(annotation: Option<&str>) -> bool {
    annotation.is_some_and(|value| value != "false")
}

/// Returns whether the parent needs the finalizer first: if the plugin finalizes, or a child that
/// the garbage collector does not reach exists or will be written.
pub fn needs_finalizer(input: &Input<'_>, plan: &Plan, finalizes: bool) -> bool {
    let written = || plan.steps.iter().any(|step| cannot_refer(input, &step.child().key));
    let there = || input.observed.iter().any(|object| cannot_refer(input, object.key) && is_owned(input, object));
    finalizes || written() || there()
}

/// The plan for a parent that is being deleted.
#[derive(Clone, Debug, PartialEq)]
pub struct DeletionPlan {
    /// The writes.
    pub plan: Plan,
    /// The action on the finalizer after the writes.
    pub finalizer: FinalizerAction,
}

/// The action on the finalizer of a parent that is being deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FinalizerAction {
    /// Remove it once the steps, which delete nothing, are done.
    Remove,
    /// It stays.
    Keep {
        /// The reason, for people.
        message: String,
    },
}

/// Plans all writes for one parent that is being deleted. `answer` is that of the plugin's
/// `finalize`, if it finalizes. The input's desired children are ignored.
///
/// # Guarantees
///
/// Those of [`plan()`](super::plan()), except that no annotation keeps a child, and:
///
/// - At [`FinalizerAction::Remove`], nothing is left that the garbage collector does not reach, or
///   that the plugin no longer wants.
/// - Once the plugin is done, nothing is created. Existing children are still updated.
/// - Other children are left to the garbage collector, unless the plugin wants them gone first.
/// - A child of a kind that outlives the parent is not deleted, and has no ownerReference to it.
///
/// # Assumptions
///
/// `observed` is complete, also for undeclared kinds: a missing child is left behind.
pub fn plan_deletion(input: &Input<'_>, answer: Option<&Response>) -> DeletionPlan {
    let desired = answer.and_then(|answer| answer.children.as_deref());
    let input = &Input { desired, ..*input };
    match answer {
        Some(Response { done: false, .. }) => {
            let message = format!("the plugin {} has not finished its teardown", input.plugin);
            DeletionPlan { plan: plan_with(input, Because::ParentIsDeleted), finalizer: FinalizerAction::Keep { message } }
        }
        _ => last_steps(input),
    }
}

fn last_steps(input: &Input<'_>) -> DeletionPlan {
    let wanted = input.desired.map(|children| DesiredSet::new(input, children));
    let observed = ByIdentity::new(input.observed);
    let references = references_removed(input);
    let mut plan = Plan::default();
    if let Some(wanted) = &wanted {
        plan.refusals.clone_from(&wanted.refusals);
        let targets = without_steps(&wanted.targets, &references);
        let stays = targets.filter(|target| !cannot_refer(input, &target.desired.child.key));
        plan.steps.extend(stays.filter_map(|target| match step_for(input, target, &observed) {
            ChildAction::Step(step) => match *step {
                Step::Apply { cause: Cause::Adopted, .. } => None,
                step @ (Step::Apply { .. } | Step::Label { .. }) => Some(step),
                _ => None,
            },
            _ => None,
        }));
        let children = input.desired.unwrap_or_default();
        Holds::known(input, children, &observed, &plan.steps).take_from(&mut plan);
        // Nothing is created any more, so nothing waits for its creation.
        plan.waiting.clear();
    }
    plan.steps.extend(references);
    let wanted_refusals = plan.refusals.len();
    let is_unwanted = |object: &Observed<'_>| wanted.as_ref().is_some_and(|wanted| !wanted.retains(object.kind, object.key));
    let must_go = |object: &Observed<'_>| cannot_refer(input, object.key) || is_unwanted(object);
    prune(input, &observed, Because::ParentIsDeleted, must_go, &mut plan);
    let refused: Vec<&str> = plan.refusals.iter().skip(wanted_refusals).map(|refusal| refusal.message.as_str()).collect();
    let finalizer = finalizer_action(input, &plan, &refused);
    DeletionPlan { plan, finalizer }
}

fn finalizer_action(input: &Input<'_>, plan: &Plan, refused: &[&str]) -> FinalizerAction {
    if let Some(first) = refused.first() {
        let more = if refused.len() > 1 { format!(" (and {} more)", refused.len() - 1) } else { String::new() };
        let message =
            format!("{first}{more}; or leave this child behind by the annotation {RELEASE_ANNOTATION}=true on the parent");
        return FinalizerAction::Keep { message };
    }
    let deleted = plan.steps.iter().filter_map(|step| match step {
        Step::Delete { child, .. } => Some(child),
        _ => None,
    });
    // If the parent has no list, a child with a finalizer may be forged to keep the parent.
    let is_waited_for = |child: &&ObjectRef| !(input.parent.children.is_missing() && cannot_refer(input, &child.key));
    let going: Vec<&ObjectRef> = deleted.chain(plan.leaving.iter().filter(is_waited_for)).collect();
    if going.is_empty() {
        return FinalizerAction::Remove;
    }
    FinalizerAction::Keep { message: format!("waiting until these are deleted: {}", names(going.into_iter())) }
}
