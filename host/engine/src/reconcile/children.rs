//! Writes the children of a plan: lists them on the parent where needed, then carries out the
//! steps.

use std::collections::HashSet;
use std::time::Duration;

use gyre_core::generated::Issuers;
use gyre_core::outcome::{Changed, Problem, ProblemKind};
use gyre_core::plan::{ChildList, Holds, Input, Ownership, Parent, Plan, Step, StepEnd, ownership};
use gyre_core::queue::Time;
use tracing::debug;

use super::Run;
use crate::cluster::kinds::Resource;
use crate::cluster::object::SharedObject;
use crate::cluster::view::Comparison;
use crate::mounts::parent_state::ParentState;
use crate::mounts::unreachable;
use crate::reconcile::plan_inputs::{ObservedState, PlanInputs};
use crate::writes::apply::{Applier, InputObjects, SecretValues, StepResult, problem};
use crate::writes::finalizers;

impl Run<'_> {
    /// Claims the children, and executes the plan. Creates nothing for a parent that is gone.
    pub(super) async fn claim_and_execute(
        &mut self,
        plan: Plan,
        plan_inputs: &PlanInputs,
        list: Option<&ChildList>,
        is_needed: bool,
        issuers: &Issuers,
    ) -> Result<Parent, Problem> {
        let (plan, parent) = self.claim_children(plan, plan_inputs, list, is_needed).await?;
        let now = self.context.services.queue.now();
        if self.will_create(&plan, now) || self.deletes_what_outlives(&plan) {
            self.check_that_parent_lives().await?;
        }
        self.execute(plan, plan_inputs, &parent, now, issuers).await;
        Ok(parent)
    }

    /// Returns whether a creation will be attempted, if the plan is executed with the same `now`.
    fn will_create(&self, plan: &Plan, now: Time) -> bool {
        let inputs = InputObjects::new(&self.observed.views, self.observed.shown_parent(self.active), self.active.id);
        let mut creations = plan.steps.iter().filter(|step| matches!(step, Step::Create { .. }));
        creations.any(|step| inputs.held(step, &self.state.refused, now).is_none())
    }

    /// Returns whether it deletes a child that would stay if the parent were deleted meanwhile.
    fn deletes_what_outlives(&self, plan: &Plan) -> bool {
        let grants = &self.active.program.grants;
        plan.steps.iter().any(|step| matches!(step, Step::Delete { child, .. } if grants.outlives_parent(&child.kind)))
    }

    /// Records on the parent the children that no ownerReference can name, and returns the rest of
    /// the plan. `list` is `None` if the plugin names no children.
    async fn claim_children(
        &mut self,
        mut plan: Plan,
        plan_inputs: &PlanInputs,
        list: Option<&ChildList>,
        is_needed: bool,
    ) -> Result<(Plan, Parent), Problem> {
        let Some(list) = list else { return Ok((plan, self.active.parent(&self.observed.parent))) };
        if plan_inputs.parent().children.is_missing() {
            // A child that is not on the list would be forgotten, so it is deleted first.
            let (first, then) = plan.steps.into_iter().partition(|step| matches!(step, Step::Delete { .. }));
            plan.steps = then;
            let now = self.context.services.queue.now();
            let first = Plan { steps: first, ..Plan::default() };
            self.execute(first, plan_inputs, plan_inputs.parent(), now, &Issuers::new()).await;
            if let Some(problem) = self.report.problem.take() {
                return Err(problem);
            }
        }
        if is_needed {
            self.add_finalizer(list).await?;
            // The plugin has not seen children that existed, but were not on the list.
            if ObservedState::of(self.active, self.observed.parent.clone()).children.len() > self.observed.children.len() {
                self.report.requeue_after(Duration::ZERO);
            }
        }
        Ok((plan, self.active.parent(&self.observed.parent)))
    }

    /// Fails if the parent is gone, or the cache was behind: a missing child may have gone with it,
    /// and its Job would run once more.
    async fn check_that_parent_lives(&self) -> Result<(), Problem> {
        let (writer, parent) = (self.writer(), &self.observed.parent);
        if self.active.fresh.take(parent.uid()) {
            return Ok(());
        }
        let stale = |what| Problem::new(ProblemKind::Stale, format!("{} {what}", writer.subject(parent)));
        match writer.parents.compare(writer.client, parent).await {
            Ok(Comparison::Same) => Ok(()),
            // The new status may say that the missing child has done its work.
            Ok(Comparison::Changed) => Err(stale("has changed, but the cache was not up to date")),
            Ok(Comparison::Gone) => Err(stale("is deleted or being deleted, but the cache was not up to date")),
            Err(error) => Err(problem(&error, &writer.subject(parent))),
        }
    }

    pub(super) async fn add_finalizer(&mut self, children: &ChildList) -> Result<(), Problem> {
        let plugin = &self.active.program.manifest().name;
        let list = finalizers::child_list(&self.observed.parent, plugin);
        // An empty list is not written to each parent after an upgrade.
        let is_far = |child: &SharedObject| ownership(self.observed.parent.namespace(), child.namespace()) == Ownership::Labels;
        let lists_enough = !list.is_missing() || !self.observed.children.iter().any(|(_, child)| is_far(child));
        let is_listed = children.without(&list) == ChildList::default() && lists_enough;
        if finalizers::has_finalizer(&self.observed.parent, plugin) && is_listed {
            return Ok(());
        }
        // A finalizer of a mount that is not in the inventory would never be removed.
        if !finalizers::has_finalizer(&self.observed.parent, plugin) {
            let services = &self.context.services;
            services.inventory.tried(&self.mount.name, &services.claims.of_inventory()).await;
            if let Err(why) = services.inventory.knows(&self.mount.name) {
                let message =
                    format!("{} needs a finalizer, but does not get it: {why}", self.writer().subject(&self.observed.parent));
                return Err(Problem::new(ProblemKind::InventoryNotWritten, message));
            }
        }
        self.observed.parent = finalizers::add_finalizer(&self.writer(), &self.observed.parent, &list.union(children)).await?;
        self.report.changed = Changed::Yes;
        Ok(())
    }

    /// Carries out the steps. `issuers` are those of certificates among them.
    pub(super) async fn execute(
        &mut self,
        plan: Plan,
        plan_inputs: &PlanInputs,
        parent: &Parent,
        now: Time,
        issuers: &Issuers,
    ) {
        let Plan { steps, refusals, waiting, leaving, kept } = plan;
        debug!(steps = steps.len(), refusals = refusals.len(), waiting = waiting.len(), leaving = leaving.len(), "planned");
        let ParentState { accepted, forced_applies, skipped, .. } = &mut self.state;
        if !accepted.is_empty() || !forced_applies.is_empty() || !skipped.is_empty() {
            let observed: HashSet<&str> = plan_inputs.children.iter().map(|(_, child)| child.uid()).collect();
            accepted.retain(|uid, _| observed.contains(uid.as_str()));
            forced_applies.retain(|uid, _| observed.contains(uid.as_str()));
            skipped.retain(|uid, _| observed.contains(uid.as_str()));
        }
        let input = Input { parent, ..plan_inputs.input(self.active, None, &[]) };
        self.report.refusals.extend(refusals);
        self.report.keep(&kept);
        if let Some(waiting) = waiting.first() {
            self.report.wait(waiting.message.clone());
        }
        let inputs = InputObjects::new(&self.observed.views, self.observed.shown_parent(self.active), self.active.id);
        let mut applier = Applier {
            client: &self.active.client,
            metrics: &self.context.services.metrics,
            mount: &self.mount.name,
            plugin: input.plugin,
            views: &self.observed.views,
            parents: &self.active.parents,
            accepted: &mut self.state.accepted,
            forced_applies: &mut self.state.forced_applies,
            on_conflict: self.active.program.policy.on_conflict,
            skipped: &mut self.state.skipped,
            refused: &mut self.state.refused,
            inputs: &inputs,
            terminating: &self.mount.terminating,
            values: SecretValues {
                caller: &self.context.services.caller,
                randomness: &self.context.services.randomness,
                digests: &self.context.services.digests,
                client: &self.active.reads,
                issuers,
                cost: 0,
            },
            now,
        };
        let mut holds = Holds::default();
        for step in &steps {
            if let Some(held) = holds.held(step) {
                debug!(child = %step.child(), ?held, "held back");
                self.report.record_held(held);
                continue;
            }
            let done = match inputs.held(step, applier.refused, now) {
                Some(held) => held,
                None => {
                    self.written.extend(step.uid().map(str::to_owned));
                    applier.execute(step, &input).await
                }
            };
            if let (Step::Delete { child, .. }, Ok(StepResult::Wrote)) = (step, &done) {
                self.mount.deletion_guard.lock().record_deletion(&parent.key, &child.kind, now);
            }
            holds.record(step, step_end(&done));
            self.report.record_step(done);
        }
    }

    pub(super) fn child_resources(&self) -> Vec<Resource> {
        self.observed.views.values().map(|view| view.resource.clone()).collect()
    }

    /// Asks the API server for the children that the garbage collector does not reach, because the
    /// caches may lag. `listed` says where they may be.
    pub(super) async fn unreachable_children<'a>(
        &self,
        listed: &ChildList,
        resources: &'a [Resource],
    ) -> Result<Vec<(&'a Resource, SharedObject)>, kube::Error> {
        let (program, parent) = (&self.active.program, &self.observed.parent);
        let plugin = &program.manifest().name;
        unreachable::children(&self.active.reads, plugin, parent, listed, resources, &program.namespaces).await
    }
}

fn step_end(done: &Result<StepResult, Problem>) -> StepEnd {
    match done {
        Ok(StepResult::Wrote | StepResult::Nothing | StepResult::Unseen) => StepEnd::Done,
        Ok(StepResult::Refused(_) | StepResult::Unmarked(..) | StepResult::RefusedFor(..)) => StepEnd::Refused,
        Ok(StepResult::Waits(_) | StepResult::Requeue(..)) => StepEnd::Waits,
        Err(problem) if matches!(problem.kind, ProblemKind::Stale | ProblemKind::NotFound) => StepEnd::Gone,
        Err(_) => StepEnd::Failed,
    }
}
