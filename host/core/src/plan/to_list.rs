//! Computes which children the parent must list before its plan is executed.

use super::desired::DesiredSet;
use super::listed::ChildList;
use super::observed::Observed;
use super::step::Step;
use super::{Input, Plan, cannot_refer, is_owned};

/// The children that no ownerReference can name and that exist or will be written. The parent has
/// to list them before the steps of its plan are executed.
///
/// If the list is missing, undesired children are not among them, unless they are kept: their
/// deletion has to be sent before the list is written.
pub fn child_list(input: &Input<'_>, plan: &Plan) -> ChildList {
    let mut list = ChildList::default();
    let is_missing = input.parent.children.is_missing();
    let wanted = is_missing.then(|| DesiredSet::new(input, input.desired.unwrap_or_default()));
    let stays = |object: &Observed<'_>| wanted.as_ref().is_none_or(|wanted| wanted.retains(object.kind, object.key));
    for object in input.observed.iter().filter(|object| cannot_refer(input, object.key)) {
        if stays(object) && is_owned(input, object) {
            list.insert(object.kind, object.key);
        }
    }
    let written = plan.steps.iter().filter(|step| !matches!(step, Step::Delete { .. })).map(Step::child);
    let waiting = plan.waiting.iter().map(|waiting| &waiting.child);
    // Kept children are deleted with the parent, which would forget them without a list.
    for child in written.chain(waiting).chain(&plan.kept).filter(|child| cannot_refer(input, &child.key)) {
        list.insert(&child.kind, &child.key);
    }
    list
}
