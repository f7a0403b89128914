//! The end of every reconcile: status, deletion of the parent, events, trail, and the state for the
//! next one.

use std::sync::Arc;
use std::time::Duration;

use gyre_core::manifest::Propagation;
use gyre_core::object::GroupVersionKind;
use gyre_core::outcome::{Changed, Outcome, Problem, ProblemKind, requeue_after};
use gyre_core::pace;
use gyre_core::parent_deletion::{self, Decision};
use gyre_core::queue::RECHECK;
use gyre_core::response::{Event, Response, Severity};
use gyre_core::status::{DroppedFields, Execution};
use tokio::time::Instant;
use tracing::warn;

use super::{Run, parent_writer};
use crate::error::error_chain;
use crate::mounts::parent_state::Inputs;
use crate::mounts::trail::{Cause, Trail};
use crate::reconcile::report::{
    PARENT_DELETION_DELAYED, SLOWED_DOWN, STATUS_FIELDS_DROPPED, skipped_fields, slowed_down, warning,
};
use crate::writes::apply::{FIELDS_SKIPPED, problem};
use crate::writes::events::to_publish;
use crate::writes::status::{self, AcceptedStatus};

/// The warnings that say nothing of a single object only, and so are logged, too.
const LOGGED: [&str; 4] = [SLOWED_DOWN, STATUS_FIELDS_DROPPED, FIELDS_SKIPPED, PARENT_DELETION_DELAYED];

impl Run<'_> {
    pub(super) async fn finish(self, response: Response) -> Outcome {
        self.finish_and_remember(response, None).await
    }

    /// Stores the result. After a success, unchanged `inputs` make the next reconcile unnecessary.
    pub(super) async fn finish_and_remember(mut self, response: Response, inputs: Option<Inputs>) -> Outcome {
        let retries = self.mount.retries(&self.context.retries);
        let (deletion, due) = self.decide_parent_deletion(&response);
        if !self.report.is_stale(&retries) {
            self.apply_parent_fields(&response).await;
        }
        // A wrong status of a member withholds no other status.
        let execution = self.report.execution();
        let member_statuses = self.decide_member_statuses(&response);
        if !self.report.is_stale(&retries) {
            self.write_status(&response, execution).await;
        }
        // After the status of the group, in which the plugin may keep what it has given to members.
        if !self.report.is_stale(&retries) {
            self.write_member_statuses(&member_statuses, execution).await;
        }
        if let Some(propagation) = deletion {
            self.delete_parent(propagation).await;
        }
        self.count_problems();
        let published = if self.report.is_stale(&retries) { Changed::No } else { self.queue_events(&response) };
        self.leave_trail(published);
        let has_settled = self.report.requeue.is_none() && self.report.saw_all_children;
        let asked = [response.requeue_after, due].into_iter().flatten().min();
        let asked = requeue_after(asked, self.active.program.policy.requeue_floor);
        let Self { mount, observed, mut state, report, .. } = self;
        let outcome = report.outcome([asked, state.next_renewal()].into_iter().flatten().min());
        if has_settled && matches!(outcome, Outcome::Reconciled { changed: Changed::No, .. }) {
            state.inputs = inputs;
        }
        state.requeue_at = asked.map(|delay| Instant::now() + delay);
        mount.set_parent_state(&observed.parent.key(), state);
        outcome
    }

    /// Returns the deletion of the parent that is due, or the time until one is due.
    fn decide_parent_deletion(&mut self, response: &Response) -> (Option<Propagation>, Option<Duration>) {
        let parent = &self.observed.parent;
        if parent.is_deleting() {
            return (None, None);
        }
        let (program, subject) = (&self.active.program, self.writer().subject(parent));
        let wanted = response.delete_parent.as_ref();
        match parent_deletion::decide(wanted, &program.manifest().name, &subject, &program.grants) {
            Decision::Keep => (None, None),
            Decision::Later(after) => (None, Some(after)),
            Decision::Refuse(refusal) => {
                self.report.refusals.add(refusal);
                (None, None)
            }
            Decision::Delete(propagation) => {
                let now = self.context.services.queue.now();
                let delay = self.mount.parent_deletions.lock().delay(&parent.key(), now);
                let Some(delay) = delay else { return (Some(propagation), None) };
                if !self.has_told(PARENT_DELETION_DELAYED) {
                    // Otherwise it would not count as new for an object that has just been created.
                    self.report.changed = Changed::Yes;
                }
                self.report.warn(
                    PARENT_DELETION_DELAYED,
                    "the plugin deletes the object, and somebody creates it again: the next deletion waits; stop one of the two",
                );
                (None, Some(delay))
            }
        }
    }

    /// Returns whether the last reconcile returned an Event with this reason.
    fn has_told(&self, reason: &str) -> bool {
        let last = self.state.events.as_deref();
        last.is_some_and(|events| events.iter().any(|event| event.reason == reason))
    }

    /// Deletes the parent, if everything else is done.
    ///
    /// # Guarantees
    ///
    /// The preconditions are the UID and the resourceVersion that the plugin saw, or that the
    /// writes of this reconcile, which have the same preconditions, resulted in.
    async fn delete_parent(&mut self, propagation: Propagation) {
        if !self.report.is_carried_out() || self.report.execution() == Execution::Incomplete {
            return;
        }
        let deleted = self.writer().delete(&self.observed.parent, propagation).await;
        match deleted {
            Ok(changed) => {
                let now = self.context.services.queue.now();
                self.mount.parent_deletions.lock().record(&self.observed.parent.key(), now);
                if changed == Changed::Yes {
                    self.report.changed = Changed::Yes;
                }
            }
            Err(problem) => self.report.fail(problem),
        }
    }

    async fn write_status(&mut self, response: &Response, execution: Execution) {
        if self.report.parent_goes {
            return;
        }
        let Err(error) = self.try_to_write_status(response, execution).await else { return };
        let problem = problem(&error, &self.writer().subject(&self.observed.parent));
        match problem.kind {
            // Either the parent is gone, which its watch reports soon, or the kind has lost its
            // status subresource.
            ProblemKind::NotFound => {
                self.active.parents.doubt_kind();
                self.report.fail(Problem { kind: ProblemKind::Stale, ..problem });
            }
            ProblemKind::Invalid => {
                let message = format!("the API server rejects the status that the plugin returned: {}", problem.message);
                self.report.fail(Problem { message, ..problem });
                // Otherwise nothing would say so but an Event.
                if let Err(error) = self.try_to_write_status(&Response::default(), execution).await {
                    warn!("the conditions of the host are rejected, too: {}", error_chain(&error));
                }
            }
            _ => self.report.fail(problem),
        }
    }

    async fn try_to_write_status(&mut self, response: &Response, execution: Execution) -> Result<(), kube::Error> {
        let context = self.context;
        let retries = self.mount.retries(&context.retries);
        let refusals = self.report.refusals.reported();
        let readiness = self.report.readiness(&retries, &refusals);
        let writer = parent_writer(context, self.mount, self.active);
        let parent = &Arc::clone(&self.observed.parent);
        let before = self.state.accepted_status.as_ref().and_then(AcceptedStatus::dropped).cloned();
        let (written, answer) = status::write(
            &writer,
            &context.services.caller.clock,
            parent,
            response,
            (readiness, execution),
            &mut self.state.accepted_status,
            context.services.queue.now(),
        )
        .await?;
        let dropped = self.state.accepted_status.as_ref().and_then(AcceptedStatus::dropped);
        if let Some(dropped) = dropped {
            let (dropped, kind) = (dropped.clone(), self.active.program.manifest().parent.clone());
            self.warn_of_dropped_fields(&dropped, &kind);
            if answer.is_some() {
                context.services.metrics.problem(&self.mount.name, STATUS_FIELDS_DROPPED);
                // Also if the kind has got a status subresource, the whole status is dropped.
                self.active.parents.doubt_kind();
            }
            if Some(dropped) != before {
                // Otherwise the warning would not count as new after a start.
                self.report.changed = Changed::Yes;
            }
        }
        self.observed.parent = answer.unwrap_or_else(|| Arc::clone(parent));
        match written {
            status::Written::No => {}
            status::Written::Conditions => self.report.changed = Changed::Yes,
            status::Written::PluginStatus => {
                self.report.changed = Changed::Yes;
                self.requeue_after_own_write();
            }
        }
        Ok(())
    }

    /// Tells that the API server lacks a place for fields of a status.
    pub(super) fn warn_of_dropped_fields(&mut self, dropped: &DroppedFields, kind: &GroupVersionKind) {
        let message = format!(
            "the API server dropped {dropped}, because the CustomResourceDefinition of {kind} lacks such fields: apply the one that belongs to the plugin (`gyre crds` prints it)"
        );
        self.report.warn(STATUS_FIELDS_DROPPED, &message);
        self.report.requeue_after(RECHECK);
    }

    /// Calls the plugin again, which may react to what it has written itself; with back-off,
    /// because it may never converge.
    pub(super) fn requeue_after_own_write(&mut self) {
        let key = self.observed.parent.key();
        let backoff = self.context.retries.delay(&key, self.report.failures.saturating_add(1));
        let delay = if backoff > pace::INTERVAL { pace::INTERVAL } else { Duration::ZERO };
        self.report.requeue_after(delay);
    }

    fn queue_events(&mut self, response: &Response) -> Changed {
        let (context, mount, report) = (self.context, self.mount, &self.report);
        // Normal events are published only after a success, or if the last reconcile had them.
        let last = self.state.events.as_deref();
        let is_told = |event: &&Event| {
            event.severity == Severity::Warning || report.is_carried_out() || last.is_some_and(|last| last.contains(event))
        };
        let published = self.active.program.policy.events;
        let is_published = |event: &&Event| published.includes(event.severity) && is_told(event);
        let mut events: Vec<Event> = response.events.iter().filter(is_published).cloned().collect();
        events.extend(report.host_events.iter().cloned());
        events.extend(report.refusals.reported().iter().map(|refusal| warning(refusal.reason.as_str(), &refusal.message)));
        events.extend(skipped_fields(&self.state.skipped));
        events.extend(report.problem.iter().map(|problem| warning(problem.reason(), &problem.message)));
        if let Some(problem) = &report.problem
            && mount.retries(&context.retries).parks(problem.retry(), report.failures)
        {
            let message =
                format!("failed {} times, and is not retried until the object changes: {problem}", report.failures + 1);
            events.push(warning("RetriesExhausted", &message));
        }
        let capabilities = &self.active.status_capabilities;
        let wrote = report.changed == Changed::Yes || !to_publish(&events, last, report.changed, capabilities).is_empty();
        let kind = &self.active.program.manifest().parent;
        if wrote && self.cause == Cause::Time {
            self.state.pace.spend(context.services.queue.now());
            if self.state.pace.held_until(context.services.queue.now()).is_some() {
                context.services.metrics.problem(&mount.name, SLOWED_DOWN);
                events.push(slowed_down());
            }
        }
        let news = to_publish(&events, last, report.changed, capabilities);
        for event in news.iter().filter(|event| LOGGED.contains(&event.reason.as_str())) {
            warn!(reason = event.reason, "{}", event.message);
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
