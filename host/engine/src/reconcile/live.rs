//! A parent that lives: the call, the plan, its steps.

use std::sync::Arc;
use std::time::Duration;

use gyre_core::outcome::{Changed, Outcome};
use gyre_core::plan::{ChildList, LARGEST_LIST};
use gyre_core::queue::RECHECK;
use gyre_core::response::Response;
use gyre_sandbox::ClockUse;
use tokio::time::Instant;

use super::Run;
use super::group::GroupState;
use crate::call::Ask;
use crate::reconcile::call::{Answered, Called, call};
use crate::reconcile::plan_inputs::{Decision, LiveDecision, PlanInputs};
use crate::writes::finalizers;

impl Run<'_> {
    pub(super) async fn reconcile_live(mut self) -> Outcome {
        match self.group_state() {
            GroupState::Callable => {}
            GroupState::Empty => return self.dissolve().await,
            GroupState::NotSelected => {
                self.mount.forget(&self.observed.parent.key(), self.context.services.queue.now());
                return Outcome::Reconciled { changed: Changed::No, requeue_after: None };
            }
        }
        let answers = self.answers();
        let inputs = self.fingerprint(&answers);
        let due = self.state.requeue_at.map(|at| at.saturating_duration_since(Instant::now()));
        if self.state.inputs == Some(inputs) && due != Some(Duration::ZERO) {
            if self.renewals_are_due() {
                return self.renew_without_a_call(due).await;
            }
            self.context.services.metrics.memo_hit(&self.mount.name);
            let next = [due, self.state.next_renewal()].into_iter().flatten().min();
            return Outcome::Reconciled { changed: Changed::No, requeue_after: next };
        }
        if let Some(held) = self.slow_down(&answers) {
            return held;
        }
        self.state.inputs = None;
        if self.active.program.manifest().finalizes
            && !finalizers::has_finalizer(&self.observed.parent, &self.active.program.manifest().name)
            && let Err(problem) = self.add_finalizer(&ChildList::default()).await
        {
            self.report.fail(problem);
            return self.finish(Response::default()).await;
        }
        if let Err(problem) = self.load_digests().await {
            self.report.fail(problem);
            return self.finish(Response::default()).await;
        }
        let plan_inputs = Arc::new(PlanInputs::of(self.active, &self.observed, &self.state));
        let called = call(self.context, self.mount, self.active, &self.observed, &plan_inputs, Ask::Reconcile).await;
        self.state.called_at = self.active.members.is_some().then(Instant::now);
        // The inputs at the time of the call: if the steps change them, the next reconcile is not
        // skipped.
        let mut inputs = None;
        let result = called.and_then(|Called { result, clock, answers, reads }| {
            inputs = (clock == ClockUse::NotRead).then(|| self.fingerprint(&answers));
            self.state.reads = answers.into_keys().collect();
            self.reads = reads;
            result
        });
        let response = match result {
            Ok(Answered { names_children, response, decision, secrets }) => {
                if let Decision::Live(living) = decision {
                    if names_children {
                        self.state.renewals = living.renewal.map(|at| self.renewals(secrets.into(), at));
                    }
                    self.carry_out_live(&plan_inputs, living, names_children).await;
                }
                response
            }
            // The deletion guard still counts the children that the last answer left out.
            Err(problem) => {
                if self.renewals_are_due() {
                    self.renew(&plan_inputs).await;
                }
                self.report.fail(problem);
                Response::default()
            }
        };
        self.finish_and_remember(response, inputs).await
    }

    /// Carries out a plan. A step that fails does not prevent the others.
    pub(super) async fn carry_out_live(&mut self, plan_inputs: &PlanInputs, living: LiveDecision, names_children: bool) {
        let LiveDecision { mut plan, needs_finalizer, list, issuers, renewal: _ } = living;
        let prevented = self.guard_deletions(&mut plan);
        if self.would_be_forgotten(&prevented) {
            return;
        }
        let listed = names_children.then_some(&list);
        let parent = match self.claim_and_execute(plan, plan_inputs, listed, needs_finalizer, &issuers).await {
            Ok(parent) => parent,
            Err(problem) => return self.report.fail(problem),
        };
        if !names_children {
            return;
        }
        // Even if there was a problem, because it may persist.
        if !needs_finalizer {
            if self.report.problem.is_none() {
                self.remove_finalizer_if_not_needed().await;
            }
        } else if self.report.changed == Changed::No || parent.children.size() > LARGEST_LIST / 2 {
            // There may never be a reconcile without changes.
            self.shorten_list(&parent.children, &list).await;
        } else if parent.children.without(&list) != ChildList::default() {
            // A write that changes no value causes no reconcile.
            self.report.requeue_after(RECHECK);
        }
    }

    /// Removes deleted children from the list.
    async fn shorten_list(&mut self, list: &ChildList, known: &ChildList) {
        let unknown = list.without(known);
        if unknown == ChildList::default() {
            return;
        }
        let resources = self.child_resources();
        let there = match self.unreachable_children(&unknown, &resources).await {
            Ok(there) => there,
            Err(error) => return self.fail(&error),
        };
        // Children of kinds that are not served stay on the list.
        let unseen = resources.iter().fold(unknown, |unknown, resource| unknown.without_kind(&resource.kind()));
        let mut rest = known.union(&unseen);
        there.iter().for_each(|(resource, child)| rest.insert(&resource.kind(), &child.key()));
        if rest != *list {
            match finalizers::add_finalizer(&self.writer(), &self.observed.parent, &rest).await {
                Ok(parent) => self.observed.parent = parent,
                Err(problem) => self.report.fail(problem),
            }
        }
    }
}
