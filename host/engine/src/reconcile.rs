//! One reconcile: the parent from the cache, the call, the plan, its steps, the status, the events.
//!
//! ```text
//!   parent lives ─▶ reconcile ─▶ plan ─▶ finalizer, if needed ─▶ steps ─▶ status, events
//!   parent goes  ─▶ finalize  ─▶ plan ─────────────────────────▶ steps ─▶ status, events
//!                                                   ─▶ remove the finalizer, if nothing is left
//! ```

pub(crate) mod call;
pub(crate) mod call_context;
pub(crate) mod context;
pub(crate) mod plan_inputs;
pub mod report;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use gyre_core::grants::Namespaces;
use gyre_core::object::ObjectKey;
use gyre_core::outcome::{Changed, Outcome, Problem, ProblemKind, RECHECK, requeue_after};
use gyre_core::pace;
use gyre_core::plan::{
    self, ChildList, DeletionPlan, Input, LARGEST_LIST, Ownership, Parent, Plan, RELEASE_ANNOTATION, RefusalReason, Step,
    ownership,
};
use gyre_core::response::{Event, Response, Severity};
use gyre_sandbox::ClockUse;
use tokio::time::Instant;
use tracing::{debug, info, warn};

use crate::call::Ask;
use crate::call::threads::Priority;
use crate::cluster::kinds::Resource;
use crate::cluster::object::SharedObject;
use crate::cluster::view::Comparison;
use crate::fingerprint::fingerprint;
use crate::mounts::active_program::ActiveProgram;
use crate::mounts::mount::{Lead, Mount};
use crate::mounts::parent_state::{Inputs, ParentState};
use crate::mounts::trail::{Cause, ReadPrints, Seen, Trail};
use crate::mounts::unreachable;
use crate::reconcile::call::{Answered, Called, call};
use crate::reconcile::context::Context;
use crate::reconcile::plan_inputs::{Decision, DeletionDecision, LiveDecision, ObservedState, PlanInputs};
use crate::reconcile::report::{ReconcileReport, SLOWED_DOWN, slowed_down, warning};
use crate::writes::apply::Applier;
use crate::writes::events::to_publish;
use crate::writes::finalizers::{self, List};
use crate::writes::parent::ParentWriter;
use crate::writes::status;

/// Plans without a call and with at most this many children are computed on the async thread;
/// larger ones take milliseconds.
const FEW: usize = 100;

/// Brings the cluster to the state that the plugin wants for one parent.
///
/// # Guarantees
///
/// If nothing has to change, no request is sent. `failures` counts the consecutive failures of the
/// key so far.
pub(crate) async fn reconcile(context: &Context, mount: &Arc<Mount>, key: &ObjectKey, failures: u32) -> Outcome {
    let _in_flight = mount.begin_reconcile().await;
    let Some(active) = mount.active() else { return Outcome::Gone };
    let Some(parent) = active.parents.get(key) else {
        mount.forget(key, context.services.queue.now());
        return Outcome::Gone;
    };
    let state = mount.parent_state(key);
    let state =
        if state.uid == parent.uid() { state } else { ParentState { uid: parent.uid().to_owned(), ..ParentState::default() } };
    let has_finalizer = finalizers::has_finalizer(&parent, &active.program.manifest().name);
    let (is_selected, is_leaving) = (active.selects(&parent), parent.is_deleting());
    let observed = ObservedState::of(&active, parent);
    let report = ReconcileReport::new(failures);
    let reads = state.trail.as_ref().map_or_else(ReadPrints::default, |trail| trail.reads);
    let (cause, written) = (Cause::Change, BTreeSet::new());
    let run = Run { context, mount, active: &active, observed, state, report, cause, reads, written };
    let outcome = match (is_selected, is_leaving, has_finalizer) {
        (true, false, _) => run.reconcile_live().await,
        (true, true, true) => run.reconcile_deleting().await,
        (false, _, true) => run.release_parent().await,
        // The garbage collector deletes the children.
        (true, true, false) | (false, _, false) => {
            mount.forget(key, context.services.queue.now());
            Outcome::Reconciled { changed: Changed::No, requeue_after: None }
        }
    };
    // If the claim was lost and the parent deleted meanwhile, nobody takes its key any more. If
    // another program was activated, it may have forgotten parents that this one saw.
    if mount.leads() != Lead::Yes || mount.active().is_none_or(|now| !Arc::ptr_eq(&now, &active)) {
        mount.forget_if_gone(&context.services.queue, key);
    }
    outcome
}

struct Run<'a> {
    context: &'a Context,
    mount: &'a Arc<Mount>,
    active: &'a Arc<ActiveProgram>,
    observed: ObservedState,
    state: ParentState,
    report: ReconcileReport,
    cause: Cause,
    /// The reads of this call, or of the last one.
    reads: ReadPrints,
    /// The UIDs of the children that were written or attempted.
    written: BTreeSet<String>,
}

impl Run<'_> {
    async fn reconcile_live(mut self) -> Outcome {
        let answers = self.answers();
        let inputs = self.fingerprint(&answers);
        let due = self.state.requeue_at.map(|at| at.saturating_duration_since(Instant::now()));
        if self.state.inputs == Some(inputs) && due != Some(Duration::ZERO) {
            self.context.services.metrics.memo_hit(&self.mount.name);
            return Outcome::Reconciled { changed: Changed::No, requeue_after: due };
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
        let plan_inputs = Arc::new(PlanInputs::of(self.active, &self.observed, &self.state));
        let called = call(self.context, self.mount, self.active, &self.observed, &plan_inputs, Ask::Reconcile).await;
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
            Ok(Answered { names_children, response, decision }) => {
                if let Decision::Live(living) = decision {
                    self.carry_out_live(&plan_inputs, living, names_children).await;
                }
                response
            }
            Err(problem) => {
                self.report.fail(problem);
                Response::default()
            }
        };
        self.finish_and_remember(response, inputs).await
    }

    fn answers(&self) -> BTreeMap<gyre_core::reads::Read, u64> {
        let namespace = self.observed.parent.namespace();
        let answer = |read| self.active.lookup.fingerprint(read, namespace);
        self.state.reads.iter().map(|read| (read.clone(), answer(read))).collect()
    }

    /// Returns an outcome if the reconcile must wait, because earlier ones kept writing although
    /// only time had passed.
    fn slow_down(&mut self, answers: &BTreeMap<gyre_core::reads::Read, u64>) -> Option<Outcome> {
        let (active, parent) = (self.active, &self.observed.parent);
        let of_others = || {
            let answer = |read| active.lookup.answer(read, parent.namespace());
            let others = self.state.reads.iter().map(|read| answer(read).fingerprint_of_others(parent.uid()));
            fingerprint(&others.collect::<Vec<_>>())
        };
        let trail = self.state.trail.as_ref();
        let cause = trail.map_or(Cause::Change, |trail| trail.cause(&self.seen(), fingerprint(answers), of_others));
        self.cause = cause;
        match cause {
            Cause::Change => {
                self.state.pace.restore();
                None
            }
            Cause::Time => {
                let now = self.context.services.queue.now();
                let until = self.state.pace.held_until(now)?;
                Some(Outcome::SlowedDown { after: until.saturating_since(now) })
            }
        }
    }

    fn seen(&self) -> Seen<'_> {
        let ObservedState { parent, children, views } = &self.observed;
        Seen { surroundings: fingerprint(&(self.active.id, views.keys().collect::<Vec<_>>())), parent, children }
    }

    fn fingerprint(&self, answers: &BTreeMap<gyre_core::reads::Read, u64>) -> Inputs {
        let answers = answers.iter().map(|(read, answer)| (read, *answer));
        Inputs::of(
            self.active.id,
            &self.observed.shown_parent(self.active),
            &self.observed.children,
            self.observed.views.keys(),
            answers,
        )
    }

    /// Carries out a plan. A step that fails does not prevent the others.
    async fn carry_out_live(&mut self, plan_inputs: &PlanInputs, living: LiveDecision, names_children: bool) {
        let LiveDecision { plan, needs_finalizer, list } = living;
        let parent = match self.claim_and_execute(plan, plan_inputs, names_children.then_some(&list), needs_finalizer).await {
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
        }
    }

    /// Claims the children, and executes the plan. Creates nothing for a parent that is gone.
    async fn claim_and_execute(
        &mut self,
        plan: Plan,
        plan_inputs: &PlanInputs,
        list: Option<&ChildList>,
        is_needed: bool,
    ) -> Result<Parent, Problem> {
        let (plan, parent) = self.claim_children(plan, plan_inputs, list, is_needed).await?;
        if plan.steps.iter().any(|step| matches!(step, Step::Create { .. })) {
            self.check_that_parent_lives().await?;
        }
        self.execute(plan, plan_inputs, &parent).await;
        Ok(parent)
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
            self.execute(Plan { steps: first, ..Plan::default() }, plan_inputs, plan_inputs.parent()).await;
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

    /// Removes deleted children from the list. Asks the API server, because the caches may lag.
    async fn shorten_list(&mut self, list: &ChildList, known: &ChildList) {
        let unknown = list.without(known);
        if unknown == ChildList::default() {
            return;
        }
        let (resources, namespaces) = self.where_children_are();
        let resources: Vec<Resource> = resources.into_iter().filter(|resource| unknown.has_kind(&resource.kind())).collect();
        let (client, parent) = (&self.active.reads, &self.observed.parent);
        let there = match unreachable::children(client, self.writer().plugin, parent, &resources, namespaces).await {
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
            Err(error) => Err(crate::writes::apply::problem(&error, &writer.subject(parent))),
        }
    }

    async fn reconcile_deleting(mut self) -> Outcome {
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
        let DeletionDecision { leaving: DeletionPlan { plan, finalizer }, list } = match decided {
            Ok(decision) => decision,
            Err(problem) => return self.report.fail(problem),
        };
        let parent = match self.claim_and_execute(plan, plan_inputs, list.as_ref(), true).await {
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
            self.execute(plan, plan_inputs, &parent).await;
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
        if plan_inputs.children.len() <= FEW {
            return Ok(plan_inputs.decide_deletion(self.active, parent, answer.as_ref()));
        }
        let (active, plan_inputs, parent) = (Arc::clone(self.active), Arc::clone(plan_inputs), parent.clone());
        let decide = move || plan_inputs.decide_deletion(&active, &parent, answer.as_ref());
        let decided = self.context.services.caller.run(Priority::Usual, decide).await;
        decided.map_err(|error| Problem::new(ProblemKind::Other, format!("cannot plan the children: {error}")))
    }

    /// Removes the finalizer if no child needs it. A child that the caches do not show yet restores
    /// it.
    async fn remove_finalizer_if_not_needed(&mut self) {
        if !finalizers::has_finalizer(&self.observed.parent, self.writer().plugin) {
            return;
        }
        let (client, parent) = (&self.active.reads, &self.observed.parent);
        let (resources, namespaces) = self.where_children_are();
        match unreachable::children(client, self.writer().plugin, parent, &resources, namespaces).await {
            Ok(children) if children.is_empty() => self.remove_finalizer(List::Remove).await,
            Ok(_) => {}
            Err(error) => self.fail(&error),
        }
    }

    fn where_children_are(&self) -> (Vec<Resource>, Option<&BTreeSet<String>>) {
        let resources = self.observed.views.values().map(|view| view.resource.clone()).collect();
        let namespaces = match &self.active.program.namespaces {
            Namespaces::All => None,
            Namespaces::Only(names) => Some(names),
        };
        (resources, namespaces)
    }

    /// Asks the API server, because the caches may not show recently created children.
    async fn remove_finalizer_if_nothing_is_left(&mut self) {
        let (resources, namespaces) = self.where_children_are();
        let (active, parent) = (self.active, &self.observed.parent);
        let left = match unreachable::children(&active.reads, self.writer().plugin, parent, &resources, namespaces).await {
            Ok(left) if !left.iter().any(|(_, child)| unreachable::is_waited_for(self.writer().plugin, parent, child)) => {
                return self.remove_finalizer(List::Remove).await;
            }
            Ok(left) => unreachable::delete(&active.client, &left).await,
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

    /// Releases a parent that no longer matches the mount's selector; its children stay.
    async fn release_parent(mut self) -> Outcome {
        self.remove_finalizer(List::Keep).await;
        self.mount.forget(&self.observed.parent.key(), self.context.services.queue.now());
        self.report.outcome(None)
    }

    fn fail(&mut self, error: &kube::Error) {
        let problem = crate::writes::apply::problem(error, &self.writer().subject(&self.observed.parent));
        self.report.fail(problem);
    }

    fn writer(&self) -> ParentWriter<'_> {
        parent_writer(self.context, self.mount, self.active)
    }

    async fn add_finalizer(&mut self, children: &ChildList) -> Result<(), Problem> {
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

    async fn remove_finalizer(&mut self, list: List) {
        if !finalizers::has_finalizer(&self.observed.parent, &self.active.program.manifest().name) {
            return;
        }
        match finalizers::remove_finalizer(&self.writer(), &self.observed.parent, list).await {
            Ok(released) => {
                self.report.changed = Changed::Yes;
                self.report.released = true;
                if let Some(released) = released {
                    self.observed.parent = released;
                }
            }
            Err(problem) => self.report.fail(problem),
        }
    }

    async fn execute(&mut self, plan: Plan, plan_inputs: &PlanInputs, parent: &Parent) {
        let Plan { steps, refusals, waiting, leaving } = plan;
        debug!(steps = steps.len(), refusals = refusals.len(), waiting = waiting.len(), leaving = leaving.len(), "planned");
        if !self.state.accepted.is_empty() || !self.state.forced_applies.is_empty() {
            let observed: HashSet<&str> = plan_inputs.children.iter().map(|(_, child)| child.uid()).collect();
            self.state.accepted.retain(|uid, _| observed.contains(uid.as_str()));
            self.state.forced_applies.retain(|uid, _| observed.contains(uid.as_str()));
        }
        self.written.extend(steps.iter().filter_map(Step::uid).map(str::to_owned));
        let input = Input { parent, ..plan_inputs.input(self.active, None, &[]) };
        self.report.refusals.extend(refusals);
        if let Some(child) = waiting.first() {
            self.report.wait(format!("{child} is being deleted, and will be created once it is gone"));
        }
        let mut applier = Applier {
            client: &self.active.client,
            metrics: &self.context.services.metrics,
            mount: &self.mount.name,
            plugin: input.plugin,
            views: &self.observed.views,
            accepted: &mut self.state.accepted,
            forced_applies: &mut self.state.forced_applies,
            terminating: &self.mount.terminating,
            now: self.context.services.queue.now(),
        };
        for step in &steps {
            let done = applier.execute(step, &input).await;
            self.report.record_step(done);
        }
    }

    async fn finish(self, response: Response) -> Outcome {
        self.finish_and_remember(response, None).await
    }

    /// Stores the result. After a success, unchanged `inputs` make the next reconcile unnecessary.
    async fn finish_and_remember(mut self, response: Response, inputs: Option<Inputs>) -> Outcome {
        if !self.report.is_stale() {
            self.write_status(&response).await;
        }
        self.count_problems();
        let published = if self.report.is_stale() { Changed::No } else { self.queue_events(&response) };
        self.leave_trail(published);
        let has_settled = self.report.requeue.is_none();
        let asked = requeue_after(response.requeue_after, self.active.program.requeue_floor);
        let Self { mount, observed, mut state, report, .. } = self;
        let outcome = report.outcome(asked);
        if has_settled && matches!(outcome, Outcome::Reconciled { changed: Changed::No, .. }) {
            state.inputs = inputs;
        }
        state.requeue_at = asked.map(|delay| Instant::now() + delay);
        mount.set_parent_state(&observed.parent.key(), state);
        outcome
    }

    async fn write_status(&mut self, response: &Response) {
        let context = self.context;
        if self.report.released && self.observed.parent.is_deleting() {
            return;
        }
        let retries = self.mount.retries(&context.retries);
        let refusals = self.report.refusals.reported();
        let readiness = self.report.readiness(&retries, &refusals);
        let writer = parent_writer(context, self.mount, self.active);
        let parent = &Arc::clone(&self.observed.parent);
        let written = status::write(
            &writer,
            &context.services.caller.clock,
            parent,
            response,
            readiness,
            &mut self.state.accepted_status,
        )
        .await;
        let written = written.map(|(written, answer)| {
            self.observed.parent = answer.unwrap_or_else(|| Arc::clone(parent));
            written
        });
        match written {
            Ok(status::Written::No) => {}
            Ok(status::Written::Conditions) => self.report.changed = Changed::Yes,
            Ok(status::Written::PluginStatus) => {
                self.report.changed = Changed::Yes;
                // The plugin may react to its own status; with back-off, because it may never
                // converge.
                let backoff = context.retries.delay(&parent.key(), self.report.failures.saturating_add(1));
                let delay = if backoff > pace::INTERVAL { pace::INTERVAL } else { Duration::ZERO };
                self.report.requeue_after(delay);
            }
            Err(error) => {
                let problem = crate::writes::apply::problem(&error, &writer.subject(parent));
                if problem.kind != ProblemKind::NotFound {
                    self.report.fail(problem);
                }
            }
        }
    }

    fn queue_events(&mut self, response: &Response) -> Changed {
        let (context, mount, report) = (self.context, self.mount, &self.report);
        // Normal events are published only after a success, or if the last reconcile had them.
        let last = self.state.events.as_deref();
        let is_told = |event: &&Event| {
            event.severity == Severity::Warning || report.is_carried_out() || last.is_some_and(|last| last.contains(event))
        };
        let published = self.active.program.events;
        let is_published = |event: &&Event| published.includes(event.severity) && is_told(event);
        let mut events: Vec<Event> = response.events.iter().filter(is_published).cloned().collect();
        events.extend(report.host_events.iter().cloned());
        events.extend(report.refusals.reported().iter().map(|refusal| warning(refusal.reason.as_str(), &refusal.message)));
        events.extend(report.problem.iter().map(|problem| warning(problem.reason(), &problem.message)));
        if let Some(problem) = &report.problem
            && mount.retries(&context.retries).parks(problem.retry(), report.failures)
        {
            let message =
                format!("failed {} times, and is not retried until the object changes: {problem}", report.failures + 1);
            events.push(warning("RetriesExhausted", &message));
        }
        let wrote = report.changed == Changed::Yes || !to_publish(&events, last, report.changed).is_empty();
        let kind = &self.active.program.manifest().parent;
        if wrote && self.cause == Cause::Time {
            self.state.pace.spend(context.services.queue.now());
            if self.state.pace.held_until(context.services.queue.now()).is_some() {
                context.services.metrics.problem(&mount.name, SLOWED_DOWN);
                events.push(slowed_down());
            }
        }
        let news = to_publish(&events, last, report.changed);
        if let Some(slowed_down) = news.iter().find(|event| event.reason == SLOWED_DOWN) {
            warn!(reason = SLOWED_DOWN, "{}", slowed_down.message);
        }
        // Nor can Events be created in a namespace that is being deleted.
        let is_terminating = |namespace: &str| mount.terminating.lock().contains(namespace);
        let can_publish = !self.observed.parent.namespace().is_some_and(is_terminating);
        for event in news.iter().filter(|_| can_publish) {
            context.services.events.add(&mount.name, Arc::clone(mount) as _, kind, &self.observed.parent, event);
        }
        let published = if news.is_empty() { Changed::No } else { Changed::Yes };
        self.state.events = Some(events);
        published
    }

    /// Records what the next reconcile is compared with, if this one wrote or a recent one did.
    fn leave_trail(&mut self, published: Changed) {
        let now = self.context.services.queue.now();
        let wrote = self.report.changed == Changed::Yes || published == Changed::Yes;
        let last = if wrote { Some(now) } else { self.state.trail.as_ref().map(|trail| trail.wrote) };
        // By then the whole budget has been restored.
        let last = last.filter(|last| now.saturating_since(*last) < pace::INTERVAL * pace::BURST);
        let trail = last.map(|last| Arc::new(Trail::new(&self.seen(), &self.written, self.reads, last)));
        self.state.trail = trail;
    }

    fn count_problems(&self) {
        for (reason, count) in self.report.refusals.counts() {
            self.context.services.metrics.problems_of(&self.mount.name, reason.as_str(), count);
        }
        if let Some(problem) = self.report.problem.as_ref().filter(|problem| problem.is_failure()) {
            self.context.services.metrics.problem(&self.mount.name, problem.reason());
        }
    }
}

fn parent_writer<'a>(context: &'a Context, mount: &'a Mount, active: &'a ActiveProgram) -> ParentWriter<'a> {
    let manifest = active.program.manifest();
    ParentWriter {
        mount: &mount.name,
        kind: &manifest.parent,
        plugin: &manifest.name,
        status_capabilities: active.status_capabilities,
        parents: &active.parents,
        client: &active.client,
        own_writes: &mount.own_writes,
        queue: &context.services.queue,
        metrics: &context.services.metrics,
    }
}
