//! What happens to the children of a parent that is being deleted and carries the host's finalizer.
//!
//! ```text
//!    the plugin finalizes ── not done ─────────▶ plan as for the living, wait
//!                         ── done ──┐
//!    it does not ───────────────────┴──▶ delete what the garbage collector does not reach, and what the plugin wants gone
//!                                          │ something is still there ──▶ wait
//!                                          └ nothing ─────────────────▶ release
//! ```
//!
//! What the garbage collector reaches is told by namespaces and not by the owner references that there are: a parent that was deleted
//! with `--cascade=orphan` has its references taken from the children while it still carries our finalizer, and they are to stay.

use super::{ByIdentity, DesiredSet, Input, Next, Observed, Plan, Step, is_out_of_reach, is_owned, plan, prune, step_for};
use crate::object::ObjectRef;
use crate::response::Response;

/// The annotation on a parent that lets it go without its plugin and without its children, with any value but `false`: when the plugin
/// is gone, or never comes to an end, nothing else would but to edit the finalizers.
pub const RELEASE_ANNOTATION: &str = "gyre.dev/release";

/// Objects that a message names; the plan has them all.
const NAMED: usize = 3;

/// The finalizer that a plugin's parents carry. Each plugin has its own, since two may reconcile the same parent.
pub fn finalizer(plugin: &str) -> String {
    format!("gyre.dev/{plugin}")
}

/// Whether the finalizer of a parent with this value of [`RELEASE_ANNOTATION`] is removed.
pub fn is_released(annotation: Option<&str>) -> bool {
    annotation.is_some_and(|value| value != "false")
}

/// Whether the parent must carry the finalizer before the steps of its plan are carried out: if the plugin finalizes, or if a child is to
/// be written or is there that the garbage collector does not reach. If not, a finalizer that it carries can be removed.
pub fn needs_finalizer(input: &Input<'_>, plan: &Plan, finalizes: bool) -> bool {
    let written = || plan.steps.iter().any(|step| is_out_of_reach(input, &step.child().key));
    let there = || input.observed.iter().any(|object| is_out_of_reach(input, object.key) && is_owned(input, object));
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
    /// Once the steps, which delete nothing, are carried out: remove the finalizer. Nothing is left that must be gone before.
    Remove,
    /// The finalizer stays.
    Keep {
        /// The reason, for people.
        message: String,
    },
}

/// Decides all writes for one parent that is being deleted. `teardown` is what the plugin's `finalize` answered; none: the plugin does
/// not finalize. What the input says to be desired makes no difference.
///
/// # Guarantees
///
/// Those of [`plan()`], and:
///
/// - At [`FinalizerAction::Remove`] nothing is left that the parent owns and the garbage collector does not reach, nor anything that the plugin,
///   when it was done, no longer wanted.
/// - Once the plugin is done, nothing is created. What it wants to exist and already does is still brought to what is wanted.
/// - Children that the garbage collector reaches are left to it, unless the plugin wants them gone before the parent.
///
/// # Assumptions
///
/// `observed` is all that there is, also of kinds that the manifest no longer declares: a child that it lacks is left behind.
pub fn plan_deletion(input: &Input<'_>, answer: Option<&Response>) -> DeletionPlan {
    let desired = answer.and_then(|answer| answer.children.as_deref());
    let input = &Input { desired, ..*input };
    match answer {
        Some(Response { done: false, .. }) => {
            let message = format!("the plugin {} has not finished its teardown", input.plugin);
            DeletionPlan { plan: plan(input), finalizer: FinalizerAction::Keep { message } }
        }
        _ => last_steps(input),
    }
}

fn last_steps(input: &Input<'_>) -> DeletionPlan {
    let wanted = input.desired.map(|children| DesiredSet::new(input, children));
    let observed = ByIdentity::new(input.observed);
    let mut plan = Plan::default();
    if let Some(wanted) = &wanted {
        plan.refusals.clone_from(&wanted.refusals);
        let stays = wanted.targets.iter().filter(|target| !is_out_of_reach(input, &target.desired.child.key));
        plan.steps.extend(stays.filter_map(|target| match step_for(input, target, &observed) {
            // To replace a child is to create it again.
            Next::Step(step) if matches!(*step, Step::Apply { .. } | Step::Label { .. }) => Some(*step),
            _ => None,
        }));
    }
    let wanted_refusals = plan.refusals.len();
    let is_unwanted = |object: &Observed<'_>| wanted.as_ref().is_some_and(|wanted| !wanted.retains(object.kind, object.key));
    prune(input, &observed, |object| is_out_of_reach(input, object.key) || is_unwanted(object), &mut plan);
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
    // Where the parent lists nothing, a child with a finalizer on it may be forged to keep the parent.
    let is_waited_for = |child: &&ObjectRef| !(input.parent.children.is_missing() && is_out_of_reach(input, &child.key));
    let going: Vec<&ObjectRef> = deleted.chain(plan.leaving.iter().filter(is_waited_for)).collect();
    if going.is_empty() {
        return FinalizerAction::Remove;
    }
    let named: Vec<String> = going.iter().take(NAMED).map(ToString::to_string).collect();
    let more = if going.len() > NAMED { format!(" and {} more", going.len() - NAMED) } else { String::new() };
    FinalizerAction::Keep { message: format!("waiting until these are deleted: {}{more}", named.join(", ")) }
}
