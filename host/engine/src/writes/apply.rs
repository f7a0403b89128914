//! Carries out the steps of a plan, which `gyre_core::plan` has decided.
//!
//! ```text
//!   create: POST ─ 409 AlreadyExists ─▶ GET ─▶ plan::on_existing ─▶ refusal, nothing, or a step
//!   apply:  created by POST, never applied? ─▶ upgrade of managedFields ─▶ server-side apply
//! ```

mod create;
mod inputs;
mod upgrade;
mod values;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use gyre_core::answer::{is_denied_by_admission, schema_violations};
use gyre_core::conflict::{Conflict, ForceApplyHistory, Hold, OnConflict, Resolution, Skipped, skip};
use gyre_core::contains::first_difference;
use gyre_core::manifest::Propagation;
use gyre_core::object::{GroupVersionKind, ObjectRef};
use gyre_core::outcome::{Problem, ProblemKind};
use gyre_core::plan::{self, AcceptedForm, Confirm, Desired, Input, Refusal, RefusalReason, Step, marks_removed};
use gyre_core::queue::{RECHECK, Time};
use gyre_core::refused::{Denial, RefusedSteps};
use gyre_core::terminating::TerminatingNamespaces;
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions, PropagationPolicy};
use kube::core::Status;
use kube::{Api, Client};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tracing::{debug, info};

pub(crate) use self::create::post;
pub(crate) use self::inputs::InputObjects;
use self::values::Body;
pub(crate) use self::values::SecretValues;
use crate::client::answered;
use crate::cluster::object::{FIELD_MANAGER_PREFIX, Object, Received, SharedObject};
use crate::cluster::view::View;
use crate::error::{error_chain, is_gone, problem_kind, said};
use crate::leadership::claim::NotHeld;
use crate::telemetry::metrics::Metrics;

/// The reason of the Event about a child that was applied without fields of others, and the label
/// of its metric.
pub(crate) const FIELDS_SKIPPED: &str = "FieldsSkipped";

/// The time until the values of further Secrets of a parent are made.
const MAKE_MORE_AFTER: Duration = Duration::from_secs(1);

/// When a child's name is checked again while another object of that name is being deleted.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) enum StepResult {
    Wrote,
    Nothing,
    /// The child exists as desired, but the cache does not show it yet.
    Unseen,
    Refused(Refusal),
    /// Refused, because the object with this UID was stored without the marks of a child.
    Unmarked(Refusal, String),
    /// Something else must happen first, which a watch will report; the message says what.
    Waits(String),
    /// Refused, and not attempted again until this time has passed.
    RefusedFor(Duration, Refusal),
    /// As [`StepResult::Waits`], but no watch reports it.
    Requeue(Duration, String),
}

enum Drift {
    None,
    Real,
    /// The dry run is refused, e.g. because another field manager would set the field again.
    Refused(Refusal),
}

pub(crate) struct Applier<'a> {
    pub(crate) client: &'a Client,
    pub(crate) metrics: &'a Metrics,
    pub(crate) mount: &'a str,
    pub(crate) plugin: &'a str,
    pub(crate) views: &'a BTreeMap<GroupVersionKind, Arc<View>>,
    pub(crate) parents: &'a View,
    /// By the UID of a child; see [`AcceptedForm`].
    pub(crate) accepted: &'a mut BTreeMap<String, AcceptedForm>,
    pub(crate) forced_applies: &'a mut BTreeMap<String, ForceApplyHistory>,
    pub(crate) on_conflict: OnConflict,
    /// By the UID of a child, what was applied without which fields.
    pub(crate) skipped: &'a mut BTreeMap<String, String>,
    pub(crate) refused: &'a mut RefusedSteps,
    pub(crate) inputs: &'a InputObjects<'a>,
    pub(crate) terminating: &'a Mutex<TerminatingNamespaces>,
    pub(crate) values: SecretValues<'a>,
    pub(crate) now: Time,
}

impl Applier<'_> {
    /// Carries out one step. Ask [`InputObjects::held`] before.
    ///
    /// # Guarantees
    ///
    /// - Existing objects are changed or deleted only if they have the UID of the step.
    /// - A creation never takes over an existing object.
    pub(crate) async fn execute(&mut self, step: &Step, input: &Input<'_>) -> Result<StepResult, Problem> {
        // As it was before the request: a later state may lack the cause of a refusal.
        let cached = self.inputs.cached(step.child());
        let done = match step {
            Step::Create { desired } => self.create(desired, input).await,
            step => self.change(step, cached.as_deref()).await,
        };
        let (denial, unmarked) = match &done {
            Ok(StepResult::Refused(refusal)) => (Denial::Refusal(refusal.clone()), None),
            Ok(StepResult::Unmarked(refusal, uid)) => (Denial::Refusal(refusal.clone()), Some(uid.as_str())),
            Err(problem) => (Denial::Problem(problem.clone()), None),
            Ok(_) => {
                self.refused.forget(step.child());
                return done;
            }
        };
        let inputs = self.inputs.of(step, cached.as_deref());
        let held_for = self.refused.record(step.child(), inputs, denial, unmarked, self.now);
        match (held_for, done) {
            (Some(held_for), Ok(StepResult::Refused(refusal) | StepResult::Unmarked(refusal, _))) => {
                Ok(StepResult::RefusedFor(held_for, refusal))
            }
            (_, done) => done,
        }
    }

    async fn change(&mut self, step: &Step, known: Option<&Object>) -> Result<StepResult, Problem> {
        let known = known.filter(|known| step.uid() == Some(known.uid()));
        match step {
            Step::Create { desired } => {
                Err(Problem::new(ProblemKind::Other, format!("{} exists, and cannot be created", desired.child)))
            }
            Step::Apply { desired, uid, cause } => {
                debug!(child = %desired.child, ?cause, "applying");
                self.apply(desired, uid, known).await
            }
            Step::Label { child, labels, annotations, owner_references, .. } => {
                info!(%child, "labelling an existing child");
                let references = owner_references.as_deref();
                let known = known.ok_or_else(|| Problem::new(ProblemKind::Stale, format!("{child} is gone")))?;
                self.label(child, known, labels, annotations, references).await
            }
            Step::Replace { desired, uid, propagation, confirm, cause } => {
                if *confirm == Confirm::ByDryRun {
                    match self.drift(desired, uid, known).await? {
                        Drift::None => return Ok(StepResult::Nothing),
                        Drift::Refused(refusal) => return Ok(StepResult::Refused(refusal)),
                        Drift::Real => {}
                    }
                }
                info!(child = %desired.child, ?cause, "replacing");
                self.delete(&desired.child, uid, *propagation).await?;
                // The watch reports the deletion, and then the name is free.
                Ok(StepResult::Waits(format!("{} is being deleted, and will be created once it is gone", desired.child)))
            }
            Step::Delete { child, uid, propagation } => {
                info!(%child, "deleting a child that is no longer desired");
                self.delete(child, uid, *propagation).await
            }
        }
    }

    async fn apply(&mut self, desired: &Desired, uid: &str, known: Option<&Object>) -> Result<StepResult, Problem> {
        let child = &desired.child;
        let api = self.api(child)?;
        let upgraded = self.upgrade_if_needed(desired, uid, known).await?;
        let view = self.views.get(&child.kind);
        let epoch = view.and_then(|view| view.write_epoch(child.key.namespace.as_deref()));
        let before = upgraded.or(known.map(Object::resource_version));
        if known.is_none() && !desired.generated.is_empty() {
            // Its values would be made again.
            return Err(Problem::new(ProblemKind::Stale, format!("{child} is not in the cache")));
        }
        let mut object = match self.body(desired, known).await? {
            Ok(object) => object,
            Err(result) => return Ok(result),
        };
        if !desired.generated.is_empty()
            && let (Some(version), Some(Value::Object(metadata))) = (before, object.to_mut().get_mut("metadata"))
        {
            // The body has values of this version, and a person may have changed them since.
            metadata.insert("resourceVersion".to_owned(), Value::String(version.to_string()));
        }
        let mut skipped = Vec::new();
        let mut params = self.patch_params();
        let answer = loop {
            self.metrics.wrote(self.mount, "apply");
            let status = match answered(api.patch(&child.key.name, &params, &Patch::Apply(&*object))).await {
                Ok(answer) => break answer,
                Err(kube::Error::Api(status)) => status,
                Err(error) => return Err(problem(&error, child)),
            };
            let conflicts = conflicts(&status);
            if !params.force && self.may_take_back(&conflicts, uid) {
                info!(%child, "reverting fields that another client changed: {}", status.message);
                params.force = true;
            } else if let Some(rest) = self.without_conflicts(&object, &conflicts) {
                skipped.extend(rest.conflicts);
                object = Cow::Owned(rest.object);
            } else {
                return refusal(&status, child).map(StepResult::Refused);
            }
        };
        self.record_skipped(child, uid, &skipped);
        let (object, answer) = parsed(answer, child)?;
        if let Some(refusal) = marks_removed(child, &desired.object, &answer) {
            return Ok(StepResult::Unmarked(refusal, object.uid().to_owned()));
        }
        if let Some(view) = view {
            view.insert_written(&object, epoch);
        }
        self.settle(desired, &answer, object.uid());
        Ok(if before == Some(object.resource_version()) { StepResult::Nothing } else { StepResult::Wrote })
    }

    /// Returns the body of a write, or the result of the step if there is none.
    async fn body<'b>(
        &mut self,
        desired: &'b Desired,
        live: Option<&Object>,
    ) -> Result<Result<Cow<'b, Map<String, Value>>, StepResult>, Problem> {
        Ok(match self.values.body(desired, live).await? {
            Body::Ready(object) => Ok(object),
            // It is attempted again when the issuer changes, of which refused steps know nothing.
            Body::Refused(refusal) => Err(StepResult::RefusedFor(RECHECK, refusal)),
            Body::Later(message) => Err(StepResult::Requeue(MAKE_MORE_AFTER, message)),
        })
    }

    async fn upgrade_if_needed(&self, desired: &Desired, uid: &str, known: Option<&Object>) -> Result<Option<u64>, Problem> {
        match known.filter(|known| known.has_update_entry()) {
            // Generated values are kept as they are in this version: it has to be the current one.
            Some(known) if !desired.generated.is_empty() => {
                self.upgrade(&desired.child, uid, Some(known.resource_version())).await
            }
            Some(_) => self.upgrade(&desired.child, uid, None).await,
            None => Ok(None),
        }
    }

    async fn label(
        &mut self,
        child: &ObjectRef,
        known: &Object,
        labels: &BTreeMap<String, String>,
        annotations: &BTreeMap<String, String>,
        owner_references: Option<&[Value]>,
    ) -> Result<StepResult, Problem> {
        let view = self.views.get(&child.kind);
        let epoch = view.and_then(|view| view.write_epoch(child.key.namespace.as_deref()));
        let version = known.resource_version().to_string();
        let mut patch = json!({ "metadata": { "uid": known.uid(), "resourceVersion": version, "labels": labels } });
        if let Some(Value::Object(metadata)) = patch.get_mut("metadata") {
            let annotations = (!annotations.is_empty()).then(|| json!(annotations));
            metadata.extend(annotations.map(|annotations| ("annotations".to_owned(), annotations)));
            let references = owner_references.map(|references| json!(references));
            metadata.extend(references.map(|references| ("ownerReferences".to_owned(), references)));
        }
        let params = PatchParams { field_manager: Some(field_manager(self.plugin)), ..PatchParams::default() };
        self.metrics.wrote(self.mount, "label");
        let answer = answered(self.api(child)?.patch(&child.key.name, &params, &Patch::Merge(&patch))).await;
        let (object, answer) = parsed(answer.map_err(|error| problem(&error, child))?, child)?;
        if let Some(refusal) = patch.as_object().and_then(|patch| marks_removed(child, patch, &answer)) {
            return Ok(StepResult::Unmarked(refusal, object.uid().to_owned()));
        }
        if let Some(view) = view {
            view.insert_written(&object, epoch);
        }
        Ok(StepResult::Wrote)
    }

    fn without_conflicts(&self, object: &Map<String, Value>, conflicts: &[Conflict]) -> Option<Skipped> {
        match self.on_conflict {
            OnConflict::Refuse => None,
            OnConflict::SkipField => skip(object, conflicts),
        }
    }

    fn record_skipped(&mut self, child: &ObjectRef, uid: &str, skipped: &[Conflict]) {
        if skipped.is_empty() {
            self.skipped.remove(uid);
            return;
        }
        let message = format!(
            "{child} was applied without fields that other field managers own: {}; make them give up these fields, or do not set them",
            managed_fields(skipped)
        );
        self.metrics.problem(self.mount, FIELDS_SKIPPED);
        self.skipped.insert(uid.to_owned(), message);
    }

    fn may_take_back(&mut self, conflicts: &[Conflict], uid: &str) -> bool {
        let forced_applies = self.forced_applies.entry(uid.to_owned()).or_default();
        forced_applies.resolve(conflicts, self.now) == Resolution::ForceApply
    }

    fn settle(&mut self, desired: &Desired, answer: &Value, uid: &str) {
        if first_difference(&Value::Object(desired.object.clone()), answer).is_some() {
            self.accepted.insert(uid.to_owned(), AcceptedForm::of(&desired.digest, answer));
        } else {
            self.accepted.remove(uid);
        }
    }

    async fn drift(&mut self, desired: &Desired, uid: &str, known: Option<&Object>) -> Result<Drift, Problem> {
        let child = &desired.child;
        let api = self.api(child)?;
        // Otherwise the Update entry would conflict with our own apply.
        self.upgrade_if_needed(desired, uid, known).await?;
        let live = match answered(api.get(&child.key.name)).await {
            Ok(live) => parsed(live, child)?.1,
            Err(kube::Error::Api(status)) if is_gone(&status) => return Ok(Drift::None),
            Err(error) => return Err(problem(&error, child)),
        };
        let mut body = desired.object.clone();
        if let Some(Value::Object(metadata)) = body.get_mut("metadata") {
            metadata.insert("uid".to_owned(), Value::String(uid.to_owned()));
        }
        let params = PatchParams { dry_run: true, ..self.patch_params() };
        let mut skipped = Vec::new();
        let answer = loop {
            let answer = answered(api.patch(&child.key.name, &params, &Patch::Apply(&body))).await;
            let Err(kube::Error::Api(status)) = &answer else { break answer };
            let conflicts = conflicts(status);
            let is_edit = conflicts.iter().all(|conflict| conflict.hold == Hold::Updated);
            match self.without_conflicts(&body, &conflicts).filter(|_| !is_edit) {
                Some(rest) => {
                    skipped.extend(rest.conflicts);
                    body = rest.object;
                }
                None => break answer,
            }
        };
        match answer {
            Ok(answer) => {
                let (_, answer) = parsed(answer, child)?;
                if let Some(refusal) = marks_removed(child, &desired.object, &answer) {
                    return Ok(Drift::Refused(refusal));
                }
                if plan::fingerprint(&answer) != plan::fingerprint(&live) {
                    return Ok(Drift::Real);
                }
                self.record_skipped(child, uid, &skipped);
                self.accepted.insert(uid.to_owned(), AcceptedForm::of(&desired.digest, &live));
                Ok(Drift::None)
            }
            Err(kube::Error::Api(status)) if status.is_invalid() && !is_denied_by_admission(&status.message) => Ok(Drift::Real),
            Err(kube::Error::Api(status)) if !conflicts(&status).is_empty() => {
                let is_edit = conflicts(&status).iter().all(|conflict| conflict.hold == Hold::Updated);
                if is_edit { Ok(Drift::Real) } else { refusal(&status, child).map(Drift::Refused) }
            }
            Err(kube::Error::Api(status)) => refusal(&status, child).map(Drift::Refused),
            Err(error) => Err(problem(&error, child)),
        }
    }

    async fn delete(&mut self, child: &ObjectRef, uid: &str, propagation: Propagation) -> Result<StepResult, Problem> {
        let api = self.api(child)?;
        let params = DeleteParams {
            propagation_policy: Some(propagation_policy(propagation)),
            preconditions: Some(Preconditions { uid: Some(uid.to_owned()), resource_version: None }),
            ..DeleteParams::default()
        };
        self.metrics.wrote(self.mount, "delete");
        match answered(api.delete(&child.key.name, &params)).await {
            Ok(_) => {
                self.accepted.remove(uid);
                Ok(StepResult::Wrote)
            }
            Err(kube::Error::Api(status)) if is_gone(&status) => Ok(StepResult::Nothing),
            Err(error) => Err(problem(&error, child)),
        }
    }

    fn patch_params(&self) -> PatchParams {
        PatchParams::apply(&field_manager(self.plugin))
    }

    fn api(&self, child: &ObjectRef) -> Result<Api<Received>, Problem> {
        let view = self.views.get(&child.kind);
        let view =
            view.ok_or_else(|| Problem::new(ProblemKind::NotFound, format!("the API server does not serve {}", child.kind)))?;
        Ok(view.resource.api(self.client, child.key.namespace.as_deref()))
    }
}

pub(crate) fn propagation_policy(propagation: Propagation) -> PropagationPolicy {
    match propagation {
        Propagation::Background => PropagationPolicy::Background,
        Propagation::Foreground => PropagationPolicy::Foreground,
        Propagation::Orphan => PropagationPolicy::Orphan,
    }
}

pub(crate) fn field_manager(plugin: &str) -> String {
    format!("{FIELD_MANAGER_PREFIX}{plugin}")
}

/// Returns the refusal if the answer is permanent, and otherwise a problem.
pub(crate) fn refusal(status: &Status, child: &ObjectRef) -> Result<Refusal, Problem> {
    let (reason, message) = match problem_kind(status) {
        ProblemKind::Conflict => {
            let message = format!(
                "{child} has fields that other field managers own: {}; make them give up these fields, or do not set them",
                managed_fields(&conflicts(status))
            );
            (RefusalReason::Conflict, message)
        }
        ProblemKind::Immutable => (
            RefusalReason::ImmutableField,
            format!("{child} cannot be changed in place: {}; delete it to have it recreated", status.message),
        ),
        ProblemKind::Invalid => {
            let why = schema_violations(&status.message).map_or_else(
                || format!(": {}", said(status)),
                |violations| format!(", because it does not match the schema of its kind: {violations}"),
            );
            (RefusalReason::Rejected, format!("the API server rejects {child}{why}"))
        }
        ProblemKind::NamespaceTerminating => return Ok(namespace_terminates(child)),
        kind => return Err(problem_of(kind, status, child)),
    };
    Ok(Refusal { child: Some(child.clone()), reason, message })
}

pub(crate) fn managed_fields(conflicts: &[Conflict]) -> String {
    let fields = conflicts.iter().map(|conflict| format!("{} (by {:?})", conflict.field, conflict.manager));
    fields.collect::<Vec<_>>().join(", ")
}

fn namespace_terminates(child: &ObjectRef) -> Refusal {
    let message = format!("{child} cannot be created, because its namespace is being deleted");
    Refusal { child: Some(child.clone()), reason: RefusalReason::NamespaceTerminating, message }
}

pub(crate) fn conflicts(status: &Status) -> Vec<Conflict> {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes
        .filter(|cause| cause.reason == "FieldManagerConflict")
        .map(|cause| Conflict::parse(&cause.field, &cause.message))
        .collect()
}

pub(crate) fn problem(error: &kube::Error, subject: &ObjectRef) -> Problem {
    match error {
        kube::Error::Api(status) => problem_of(problem_kind(status), status, subject),
        kube::Error::Service(error) if error.is::<NotHeld>() => {
            Problem::new(ProblemKind::NoClaim, format!("{subject}: {error}"))
        }
        error => Problem::new(ProblemKind::Unavailable, format!("{subject}: {}", error_chain(error))),
    }
}

fn problem_of(kind: ProblemKind, status: &Status, subject: &ObjectRef) -> Problem {
    let problem = Problem::new(kind, format!("{subject}: {}", said(status)));
    let seconds = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
    match u64::from(seconds) {
        0 => problem,
        seconds => problem.not_before(Duration::from_secs(seconds)),
    }
}

fn parsed(answer: Received, child: &ObjectRef) -> Result<(SharedObject, Value), Problem> {
    let odd = |error: &dyn std::fmt::Display| {
        Problem::new(ProblemKind::Other, format!("the API server's answer about {child}: {error}"))
    };
    let object = answer.object.map_err(|error| odd(&error))?;
    let value = serde_json::from_str(object.json()).map_err(|error| odd(&error))?;
    Ok((object, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers of an API server of version 1.36.
    const ANSWERS: &[(u16, &str, &str)] = &[
        (
            500,
            "failed to create typed patch object (default/it; apps/v1, Kind=Deployment): .spec.templat: field not declared in schema",
            "spec.templat: field not declared in schema",
        ),
        (
            400,
            "Deployment in version \"v1\" cannot be handled as a Deployment: strict decoding error: unknown field \"spec.templat\"",
            "spec.templat: field not declared in schema",
        ),
    ];

    #[test]
    fn schema_violations_are_rejections_and_not_outages() {
        let child = ObjectRef {
            kind: GroupVersionKind::from_api_version("apps/v1", "Deployment"),
            key: gyre_core::object::ObjectKey::new(Some("default"), "it"),
        };
        for (code, answer, violations) in ANSWERS {
            let status = Status { code: *code, message: (*answer).to_owned(), ..Status::default() };
            let refused = refusal(&status, &child).expect("a refusal");
            assert_eq!(refused.reason, RefusalReason::Rejected, "{answer}");
            assert!(refused.message.ends_with(&format!(" match the schema of its kind: {violations}")), "{}", refused.message);
            assert_eq!(problem_kind(&status), ProblemKind::Invalid, "{answer}");
        }
        for answer in
            ["failed to create typed live object (default/it; v1, Kind=Pod): .x: field not declared in schema", "etcd is gone"]
        {
            let status = Status { code: 500, message: answer.to_owned(), ..Status::default() };
            assert_eq!(refusal(&status, &child).expect_err("a problem").kind, ProblemKind::Unavailable, "{answer}");
        }
    }
}
