//! Applies the fields of the parent that the plugin sets. `gyre_core::parent_fields` decides.

use std::borrow::Cow;
use std::sync::Arc;

use gyre_core::conflict::{Conflict, OnConflict, skip};
use gyre_core::object::ObjectRef;
use gyre_core::outcome::Changed;
use gyre_core::parent_fields::{Decision, Fields, Input, decide, mark};
use gyre_core::plan::{AcceptedForm, Refusal, RefusalReason};
use gyre_core::queue::RECHECK;
use gyre_core::refused::{Denial, StepInputs};
use gyre_core::response::Response;
use kube::core::Status;
use serde_json::{Map, Value};
use tracing::warn;

use super::Run;
use crate::cluster::object::SharedObject;
use crate::error::is_gone;
use crate::writes::apply::{FIELDS_SKIPPED, conflicts, managed_fields, refusal};
use crate::writes::finalizers::{has_fields, without_mark};
use crate::writes::parent::At;

impl Run<'_> {
    /// Brings the parent's fields to those that the plugin returned.
    ///
    /// # Guarantees
    ///
    /// - Fields of other managers are never forced.
    /// - The request carries the UID and the resourceVersion that the plugin saw, or that the
    ///   writes of this reconcile resulted in.
    pub(super) async fn apply_parent_fields(&mut self, response: &Response) {
        if self.observed.parent.is_deleting() {
            return;
        }
        if let Some(wanted) = &response.parent {
            self.set_parent_fields(wanted).await;
        }
    }

    /// Withdraws the fields of a parent that the mount no longer reconciles.
    pub(super) async fn withdraw_parent_fields(&mut self) {
        self.set_parent_fields(&Map::new()).await;
    }

    async fn set_parent_fields(&mut self, wanted: &Map<String, Value>) {
        let program = &self.active.program;
        let mark = mark(&program.manifest().name);
        if wanted.is_empty() && self.observed.parent.annotation(&mark).is_none() {
            return;
        }
        let Ok(live) = serde_json::from_str::<Value>(self.observed.parent.json()) else { return };
        let parent = self.writer().subject(&self.observed.parent);
        let decision = decide(&Input {
            plugin: &program.manifest().name,
            parent: &parent,
            live: &live,
            grants: &program.grants,
            wanted,
            accepted: self.state.accepted_fields.as_deref(),
        });
        match decision {
            Decision::Keep => {}
            Decision::Refuse(refusal) => self.report.refusals.add(refusal),
            Decision::Apply(fields) => {
                let inputs = StepInputs::of_parent_fields(&fields.digest, &live, self.active.id);
                let now = self.context.services.queue.now();
                match self.state.refused.held(&parent, &inputs, now) {
                    Some((held_for, Denial::Refusal(refusal))) => {
                        self.report.refusals.add(refusal.clone());
                        self.report.requeue_after(held_for);
                    }
                    _ => self.apply_fields(&parent, &fields, &mark, inputs).await,
                }
            }
        }
    }

    async fn apply_fields(&mut self, parent: &ObjectRef, fields: &Fields, mark: &str, inputs: StepInputs) {
        let mut object = Cow::Borrowed(&fields.object);
        let mut skipped = Vec::new();
        let answer = loop {
            let status = match self.writer().apply(&self.observed.parent, &object).await {
                Ok(answer) => break answer,
                Err(kube::Error::Api(status)) => status,
                Err(error) => return self.fail(&error),
            };
            match self.without_fields_of_others(&object, &status) {
                Some((rest, conflicts)) => {
                    skipped.extend(conflicts);
                    object = Cow::Owned(rest);
                }
                None => return self.refuse_fields(parent, &status, inputs),
            }
        };
        self.state.refused.forget(parent);
        if !skipped.is_empty() {
            let message = format!(
                "{parent} keeps fields that other field managers own, and that the plugin sets otherwise: {}",
                managed_fields(&skipped)
            );
            self.report.warn(FIELDS_SKIPPED, &message);
        }
        match answer {
            Some(answer) => {
                self.take_answer(parent, fields, mark, answer);
                if fields.digest.is_empty() {
                    self.remove_foreign_mark().await;
                }
            }
            None => warn!(%parent, "the API server's answer to the fields of the plugin cannot be read"),
        }
    }

    fn without_fields_of_others(
        &self,
        object: &Map<String, Value>,
        status: &Status,
    ) -> Option<(Map<String, Value>, Vec<Conflict>)> {
        match self.active.program.policy.on_conflict {
            OnConflict::Refuse => None,
            OnConflict::SkipField => skip(object, &conflicts(status)).map(|rest| (rest.object, rest.conflicts)),
        }
    }

    fn refuse_fields(&mut self, parent: &ObjectRef, status: &Status, inputs: StepInputs) {
        if is_gone(status) {
            // Its watch reports soon that the parent is gone.
            return self.fail(&kube::Error::Api(Box::new(status.clone())));
        }
        match refusal(status, parent) {
            Ok(Refusal { child: _, reason, message }) => {
                let message = match reason {
                    RefusalReason::ImmutableField => {
                        format!("the plugin sets a field of its parent {parent} that cannot be changed: {}", status.message)
                    }
                    _ => format!("the fields that the plugin sets of its parent are refused: {message}"),
                };
                let refusal = Refusal { child: None, reason, message };
                let (denial, now) = (Denial::Refusal(refusal.clone()), self.context.services.queue.now());
                self.report.requeue_after(self.state.refused.record(parent, inputs, denial, None, now).unwrap_or(RECHECK));
                self.report.refusals.add(refusal);
            }
            Err(problem) => self.report.fail(problem),
        }
    }

    /// Removes the mark if somebody else has set it: otherwise, the parent would be applied again
    /// and again.
    async fn remove_foreign_mark(&mut self) {
        let plugin = &self.active.program.manifest().name;
        if !has_fields(&self.observed.parent, plugin) {
            return;
        }
        let patch = without_mark(plugin);
        match self.writer().patch(&self.observed.parent, patch, At::Object, "parent-fields").await {
            Ok(answer) => {
                self.report.changed = Changed::Yes;
                self.observed.parent = answer.unwrap_or_else(|| Arc::clone(&self.observed.parent));
            }
            Err(error) => self.fail(&error),
        }
    }

    fn take_answer(&mut self, parent: &ObjectRef, fields: &Fields, mark: &str, answer: SharedObject) {
        let written: Value = serde_json::from_str(answer.json()).unwrap_or_default();
        let is_whole = fields.digest.is_empty() || fields.are_in(&written);
        let form = (!is_whole).then(|| Box::new(AcceptedForm::of(&fields.digest, &written)));
        let is_unmarked = !fields.digest.is_empty() && answer.annotation(mark).is_none();
        // Without the mark, the fields are applied again, and so reported again.
        self.state.accepted_fields = form.filter(|_| !is_unmarked);
        if is_unmarked {
            let message = format!(
                "{parent} was written, but the annotation {mark} is missing in the API server's answer: a webhook removes it, so the fields of the plugin could not be withdrawn; exempt it from that webhook"
            );
            self.report.refusals.add(Refusal { child: None, reason: RefusalReason::MarksRemoved, message });
        }
        if answer.resource_version() != self.observed.parent.resource_version() {
            self.report.changed = Changed::Yes;
            // The plugin sees what it has set.
            self.requeue_after_own_write();
        }
        self.observed.parent = answer;
    }
}
