//! A parent that is being deleted and has the host's finalizer: the teardown, and its end.

use std::sync::Arc;
use std::time::Duration;

use gyre_core::generated::Issuers;
use gyre_core::outcome::{Changed, Outcome, Problem, ProblemKind};
use gyre_core::plan::{self, DeletionPlan, Parent, RELEASE_ANNOTATION, RefusalReason};
use gyre_core::queue::RECHECK;
use gyre_core::response::Response;
use tracing::info;

use super::Run;
use crate::call::Ask;
use crate::call::threads::Priority;
use crate::mounts::unreachable;
use crate::reconcile::call::{Answered, Called, call};
use crate::reconcile::plan_inputs::{Decision, DeletionDecision, PlanInputs};
use crate::writes::finalizers::{List, child_list};

/// Plans without a call and with at most this many children are computed on the async thread;
/// larger ones take milliseconds.
const FEW: usize = 100;

impl Run<'_> {
    pub(super) async fn reconcile_deleting(mut self) -> Outcome {
        // The deletions of its children do not count.
        self.mount.deletion_guard.lock().forget(&self.observed.parent.key());
        if plan::is_released(self.observed.parent.annotation(RELEASE_ANNOTATION).as_deref()) {
            info!("released without its plugin, because of the annotation {RELEASE_ANNOTATION}");
            self.report
                .warn("Released", &format!("released without its plugin, because of the annotation {RELEASE_ANNOTATION}"));
            self.remove_finalizer(List::Keep).await;
            return self.finish(Response::default()).await;
        }
        if let Some(held) = self.slow_down(&self.answers()) {
            return held;
        }
        let plan_inputs = Arc::new(PlanInputs::of(self.active, &self.observed, &self.state));
        let answered = if self.active.program.manifest().finalizes {
            let called = call(self.context, self.mount, self.active, &self.observed, &plan_inputs, Ask::Finalize).await;
            let result = called.and_then(|Called { result, answers, reads, .. }| {
                self.state.reads = answers.into_keys().collect();
                self.reads = reads;
                result
            });
            match result {
                Ok(answered) => Some(answered),
                Err(mut problem) => {
                    problem.message.push_str(&format!(
                        " (the annotation {RELEASE_ANNOTATION}: \"true\" releases the object without its plugin)"
                    ));
                    self.report.fail(problem);
                    return self.finish(Response::default()).await;
                }
            }
        } else {
            None
        };
        let (response, leaving) = match answered {
            Some(Answered { response, decision: Decision::Deletion(leaving), .. }) => (response, Some(leaving)),
            _ => (Response::default(), None),
        };
        self.carry_out_deletion(&plan_inputs, leaving).await;
        self.finish(response).await
    }

    async fn carry_out_deletion(&mut self, plan_inputs: &Arc<PlanInputs>, decision: Option<DeletionDecision>) {
        let decided = match decision {
            Some(decision) => Ok(decision),
            None => self.decide_deletion(plan_inputs, plan_inputs.parent(), None).await,
        };
        let DeletionDecision { leaving: DeletionPlan { plan, finalizer }, list, issuers } = match decided {
            Ok(decision) => decision,
            Err(problem) => return self.report.fail(problem),
        };
        let parent = match self.claim_and_execute(plan, plan_inputs, list.as_ref(), true, &issuers).await {
            Ok(parent) => parent,
            Err(problem) => return self.report.fail(problem),
        };
        let finalizer = if self.report.refusals.forget(RefusalReason::NamespaceTerminating) > 0 {
            // A terminating namespace accepts no children, so the teardown is cut short.
            self.report.warn(
                "TeardownCutShort",
                "the plugin returns children during the teardown, but nothing can be created in a namespace that is being deleted",
            );
            let cut_short = Response { done: true, ..Response::default() };
            let decided = self.decide_deletion(plan_inputs, &parent, Some(cut_short)).await;
            let DeletionPlan { plan, finalizer } = match decided {
                Ok(decision) => decision.leaving,
                Err(problem) => return self.report.fail(problem),
            };
            self.execute(plan, plan_inputs, &parent, self.context.services.queue.now(), &issuers).await;
            finalizer
        } else {
            finalizer
        };
        match finalizer {
            plan::FinalizerAction::Remove if self.report.problem.is_none() && self.report.changed == Changed::No => {
                self.remove_finalizer_if_nothing_is_left().await;
            }
            plan::FinalizerAction::Remove => self.report.requeue_after(Duration::ZERO),
            plan::FinalizerAction::Keep { message } => {
                self.report.waits = Some(("Finalizing", message));
                self.report.requeue_after(RECHECK);
            }
        }
    }

    /// Decides without a call, on a thread for calls if there are many children.
    async fn decide_deletion(
        &self,
        plan_inputs: &Arc<PlanInputs>,
        parent: &Parent,
        answer: Option<Response>,
    ) -> Result<DeletionDecision, Problem> {
        // Without a call, no child asks for values.
        let values = self.value_inputs(Issuers::new());
        if plan_inputs.children.len() <= FEW {
            return Ok(plan_inputs.decide_deletion(self.active, parent, answer.as_ref(), &values));
        }
        let (active, plan_inputs, parent) = (Arc::clone(self.active), Arc::clone(plan_inputs), parent.clone());
        let decide = move || plan_inputs.decide_deletion(&active, &parent, answer.as_ref(), &values);
        let decided = self.context.services.caller.run(Priority::Usual, decide).await;
        decided.map_err(|error| Problem::new(ProblemKind::Other, format!("cannot plan the children: {error}")))
    }

    async fn remove_finalizer_if_nothing_is_left(&mut self) {
        let (mut resources, plugin, parent) = (self.child_resources(), self.writer().plugin, &self.observed.parent);
        // A listed child that cannot be looked for must not be left behind.
        resources.extend(self.active.unpruned_kinds().into_iter().map(|kind| kind.resource));
        let left = match self.unreachable_children(&child_list(parent, plugin), &resources).await {
            Ok(left) if !left.iter().any(|(_, child)| unreachable::is_waited_for(plugin, parent, child)) => {
                return self.remove_finalizer(List::Remove).await;
            }
            Ok(left) => unreachable::delete(&self.active.client, &left).await,
            Err(error) => Err(error),
        };
        match left {
            Ok(()) => {
                self.report.changed = Changed::Yes;
                self.report.requeue_after(Duration::ZERO);
            }
            Err(error) => self.fail(&error),
        }
    }
}
