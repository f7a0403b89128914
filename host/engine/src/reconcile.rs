//! One reconcile: the parent from the cache, the call, the plan, its steps, the status, the events.
//!
//! ```text
//!   live:     reconcile ─▶ plan ─▶ guard ─▶ children: finalizer, if needed ─▶ steps ─▶ finish: status, events
//!   deletion: finalize  ─▶ plan ─▶ children: ───────────────────────▶ steps ─▶ finish: status, events
//!                                                   ─▶ remove the finalizer, if nothing is left
//!   release:  remove the finalizer
//! ```

pub(crate) mod call;
pub(crate) mod call_context;
mod children;
pub(crate) mod context;
mod deletion;
mod finish;
mod group;
mod guard;
mod live;
mod parent_fields;
pub(crate) mod plan_inputs;
mod release;
mod renewal;
pub mod report;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use gyre_core::object::ObjectKey;
use gyre_core::outcome::{Changed, Outcome};
use gyre_core::reads::Read;
use tracing::debug;

use crate::fingerprint::fingerprint;
use crate::mounts::active_program::ActiveProgram;
use crate::mounts::mount::{Lead, Mount};
use crate::mounts::parent_state::{Inputs, ParentState};
use crate::mounts::trail::{Cause, ReadPrints, Seen};
use crate::reconcile::context::Context;
use crate::reconcile::plan_inputs::ObservedState;
use crate::reconcile::report::ReconcileReport;
use crate::writes::apply::problem;
use crate::writes::finalizers;
use crate::writes::parent::ParentWriter;

/// Brings the cluster to the state that the plugin wants for one parent.
///
/// # Guarantees
///
/// If nothing has to change, no request is sent. `failures` counts the consecutive failures of the
/// key so far.
pub(crate) async fn reconcile(context: &Context, mount: &Arc<Mount>, key: &ObjectKey, failures: u32) -> Outcome {
    let _in_flight = mount.begin_reconcile().await;
    let Some(active) = mount.active() else { return Outcome::Gone };
    if let Some(waiting) = group::wait_for_cache(context, mount, &active, key).await {
        return waiting;
    }
    let parent = match group::parent_or_new_group(context, mount, &active, key).await {
        Ok(Some(parent)) => parent,
        Ok(None) => {
            mount.forget(key, context.services.queue.now());
            return Outcome::Gone;
        }
        Err(problem) => return Outcome::Failed(problem),
    };
    let state = mount.parent_state(key);
    let state =
        if state.uid == parent.uid() { state } else { ParentState { uid: parent.uid().to_owned(), ..ParentState::default() } };
    if let Some(paused) = group::pause(&active, &state, key) {
        return paused;
    }
    let has_finalizer = finalizers::has_finalizer(&parent, &active.program.manifest().name);
    let (is_selected, is_leaving) = (active.selects(&parent), parent.is_deleting());
    let observed = ObservedState::of(&active, parent);
    let report = ReconcileReport::new(failures);
    let reads = state.trail.as_ref().map_or_else(ReadPrints::default, |trail| trail.reads);
    let (cause, written) = (Cause::Change, BTreeSet::new());
    let run = Run { context, mount, active: &active, observed, state, report, cause, reads, written, _decided: None };
    let outcome = match (is_selected, is_leaving, has_finalizer) {
        (true, false, _) => run.reconcile_live().await,
        (true, true, true) => run.reconcile_deleting().await,
        (false, _, true) => run.release_parent().await,
        (false, false, false) if finalizers::has_fields(&run.observed.parent, &active.program.manifest().name) => {
            run.release_parent().await
        }
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
    /// Set once the mount's guard has decided about the deletions: see [`Mount::decided_runs`].
    _decided: Option<Arc<()>>,
}

impl Run<'_> {
    fn answers(&self) -> BTreeMap<Read, u64> {
        let namespace = self.observed.parent.namespace();
        let answer = |read| self.active.lookup.fingerprint(read, namespace);
        self.state.reads.iter().map(|read| (read.clone(), answer(read))).collect()
    }

    /// Returns an outcome if the reconcile must wait, because earlier ones kept writing although
    /// only time had passed.
    fn slow_down(&mut self, answers: &BTreeMap<Read, u64>) -> Option<Outcome> {
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
                debug!("slowed down: its reconciles keep writing although nothing but the time has changed");
                Some(Outcome::Postponed { after: until.saturating_since(now) })
            }
        }
    }

    fn seen(&self) -> Seen<'_> {
        let ObservedState { parent, members, children, views } = &self.observed;
        let members: Vec<_> = members.iter().map(|member| member.around_resource_version()).collect();
        let surroundings = fingerprint(&(self.active.id, views.keys().collect::<Vec<_>>(), members));
        Seen { surroundings, parent, children }
    }

    fn fingerprint(&self, answers: &BTreeMap<Read, u64>) -> Inputs {
        let answers = answers.iter().map(|(read, answer)| (read, *answer));
        // With the mark of fields, which is set again if somebody removes it.
        let parent = finalizers::without_list(&self.observed.parent, &self.active.program.manifest().name);
        Inputs::of(
            self.active.id,
            &parent,
            &self.observed.members,
            &self.observed.children,
            self.observed.views.keys(),
            answers,
        )
    }

    fn fail(&mut self, error: &kube::Error) {
        let problem = problem(error, &self.writer().subject(&self.observed.parent));
        self.report.fail(problem);
    }

    fn writer(&self) -> ParentWriter<'_> {
        parent_writer(self.context, self.mount, self.active)
    }
}

fn parent_writer<'a>(context: &'a Context, mount: &'a Mount, active: &'a ActiveProgram) -> ParentWriter<'a> {
    let manifest = active.program.manifest();
    ParentWriter {
        mount: &mount.name,
        kind: &manifest.parent,
        plugin: &manifest.name,
        definitions: &manifest.crds,
        status_capabilities: active.status_capabilities,
        parents: &active.parents,
        client: &active.client,
        own_writes: &mount.own_writes,
        reconciled: None,
        queue: &context.services.queue,
        metrics: &context.services.metrics,
    }
}
