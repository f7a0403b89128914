//! Compares a shadow with its mount: calls both plugins with the same inputs, and decides for each
//! what a host would do.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use gyre_core::generated::{self, DigestKey};
use gyre_core::member_statuses;
use gyre_core::object::{GroupVersionKind, ObjectKey, ObjectRef};
use gyre_core::outcome::Problem;
use gyre_core::parent_deletion::{self, Decision};
use gyre_core::parent_fields;
use gyre_core::plan::{self, DIGEST_ANNOTATION, DeletionPlan, Desired, Plan, Refusal, Step};
use gyre_core::quarantine::CallEnd;
use gyre_core::queue::Options;
use gyre_core::response::{MemberStatus, Response};
use gyre_core::status::{Execution, StatusCapabilities};
use gyre_sandbox::{Bytes, Call, Input, Limits, LogLine, call};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::queue::ComparisonResult;
use super::redaction::redacted;
use crate::call::{Ask, make};
use crate::cluster::lookup::ReadSnapshot;
use crate::cluster::object::{Object, SharedObject};
use crate::cluster::view::ViewSnapshot;
use crate::difference::{Change, Subject, Verb, without_bookkeeping};
use crate::mounts::active_program::ActiveProgram;
use crate::mounts::parent_state::ParentState;
use crate::reconcile::call::problem;
use crate::reconcile::call_context::CallContext;
use crate::reconcile::plan_inputs::{ObservedState, PlanInputs};
use crate::reconcile::report::ReconcileReport;
use crate::values::shown;
use crate::writes::finalizers::has_fields;
use crate::writes::status::{decide, status_of};

/// The factor of deadlines: on a busy machine, idle threads would exceed the usual ones.
const PATIENCE: u32 = 10;

/// One of the two plugins, and what its caches show. Comparing takes no lock of the caches, because
/// its thread has the idle priority.
pub(super) struct Side {
    active: Arc<ActiveProgram>,
    observed: ObservedState,
    reads: Arc<ReadSnapshot>,
    secrets: Vec<ViewSnapshot>,
}

impl Side {
    pub(super) fn new(active: &Arc<ActiveProgram>, parent: SharedObject) -> Self {
        let observed = ObservedState::of(active, parent);
        Self { observed, reads: Arc::new(active.lookup.snapshot()), secrets: active.secrets(), active: Arc::clone(active) }
    }
}

/// The inputs of a comparison.
pub(super) struct Pair {
    pub(super) ask: Ask,
    pub(super) has_finalizer: bool,
    pub(super) now: Timestamp,
    pub(super) retries: Options,
    pub(super) state: ParentState,
    /// The reason why the mount's plugin is not called, if it is quarantined.
    pub(super) held: Option<Problem>,
    /// The key of digests of generated values, if the mount needed it.
    pub(super) digests: Option<DigestKey>,
    pub(super) mounted: Side,
    pub(super) shadow: Side,
}

pub(super) struct Comparison {
    /// The end of the shadow's call; `None` if there was no call.
    pub(super) end: Option<CallEnd>,
    pub(super) outcome: ComparisonResult,
    /// The log lines of the shadow.
    pub(super) lines: Vec<LogLine>,
}

/// A call of one plugin.
struct Asked {
    result: Result<Response, call::Error>,
    /// Whether it exceeded the deadline of a mount.
    is_late: bool,
    lines: Vec<LogLine>,
}

impl Pair {
    /// Compares, and blocks while both plugins run; `None` if the host could not call one of them.
    pub(super) fn compare(self) -> Option<Comparison> {
        let mounted = match &self.held {
            Some(problem) => self.intent(&self.mounted, Some(Err(problem.clone()))),
            None => {
                let asked = call_plugin(&self.mounted, self.ask, self.now, self.digests.as_ref());
                if call_end(asked.as_ref()) == Some(CallEnd::HostFault) {
                    return None;
                }
                self.intent(&self.mounted, asked.map(|asked| asked.result.map_err(problem)))
            }
        };
        let mut asked = call_plugin(&self.shadow, self.ask, self.now, self.digests.as_ref());
        let lines = asked.as_mut().map(|asked| std::mem::take(&mut asked.lines)).unwrap_or_default();
        let end = call_end(asked.as_ref());
        let is_late = asked.as_ref().is_some_and(|asked| asked.is_late);
        if end == Some(CallEnd::HostFault) {
            return None;
        }
        let shadow = self.intent(&self.shadow, asked.map(|asked| asked.result.map_err(problem)));
        let observed = [&self.mounted, &self.shadow].into_iter().flat_map(|side| side.observed.children.iter());
        let observed = observed.map(|(kind, child)| (identity(kind, &child.key()), json_with_kind(kind, child))).collect();
        let parent =
            Subject::of(&json_with_kind(&self.mounted.active.program.manifest().parent, &self.mounted.observed.parent));
        let changes = changes(&parent, &observed, &mounted, &shadow);
        // Redacted now, because changes are kept longer than Secrets exist.
        let changes = if changes.is_empty() { changes } else { self.redacted(changes) };
        Some(Comparison { end, outcome: ComparisonResult::of(&changes, is_late), lines })
    }

    fn redacted(&self, changes: Vec<Change>) -> Vec<Change> {
        redacted(changes, [&self.mounted, &self.shadow].map(|side| (&*side.active.program, &*side.secrets))).0
    }

    /// Returns the actions that an answer leads to. It is `None` if the plugin was not called.
    fn intent(&self, side: &Side, answer: Option<Result<Response, Problem>>) -> Intent {
        let Side { active, observed, .. } = side;
        let plan_inputs = PlanInputs::of(active, observed, &self.state);
        let observed = plan_inputs.observed();
        let finalizes = active.program.manifest().finalizes;
        let (response, failure) = match answer {
            Some(Ok(response)) => (Some(response.completed()), None),
            Some(Err(problem)) => (None, Some(problem)),
            None => (None, None),
        };
        let children = response.as_ref().and_then(|response| response.children.as_deref());
        let input = plan_inputs.input(active, children, &observed);
        let (mut plan, has_finalizer) = match self.ask {
            Ask::Reconcile => {
                let plan = plan::plan(&input);
                let needs = plan::needs_finalizer(&input, &plan, finalizes);
                // Without an answer, no finalizer is removed.
                let has_finalizer = needs || self.has_finalizer && children.is_none();
                (plan, has_finalizer)
            }
            Ask::Finalize if failure.is_some() => (Plan::default(), true),
            Ask::Finalize => {
                let DeletionPlan { plan, finalizer } = plan::plan_deletion(&input, response.as_ref());
                let has_finalizer = finalizer != plan::FinalizerAction::Remove || !plan.steps.is_empty();
                (plan, has_finalizer)
            }
        };
        let subject = ObjectRef { kind: active.program.manifest().parent.clone(), key: side.observed.parent.key() };
        let wanted = response.as_ref().filter(|_| self.ask == Ask::Reconcile);
        let wanted = wanted.and_then(|response| response.delete_parent.as_ref());
        let plugin = &active.program.manifest().name;
        let deletion = parent_deletion::decide(wanted, plugin, &subject, &active.program.grants);
        let deletes_parent = matches!(deletion, Decision::Delete(_));
        if let Decision::Refuse(refusal) = deletion {
            plan.refusals.push(refusal);
        }
        let fields = self.fields(side, &subject, response.as_ref(), &mut plan);
        let nothing = Response::default();
        let returned = response.as_ref().unwrap_or(&nothing);
        let mut report = self.report(&plan, failure.as_ref());
        let execution = report.execution();
        let keys = side.observed.members.iter().map(|member| member.key()).collect();
        let (wanted, refused) = member_statuses::decide(&keys, &returned.members);
        report.refusals.extend(refused);
        let states = (&report, execution);
        let status = self.status_of_object(&side.observed.parent, side.active.status_capabilities, states, returned);
        let members = self.member_statuses(side, states, &wanted);
        let desired = plan::desired(&input).into_iter().map(|desired| (identity_of(&desired.child), desired)).collect();
        let refused = plan.refusals.iter().filter_map(|refusal| refusal.child.as_ref()).map(identity_of).collect();
        Intent { desired, plan, refused, status, members, fields, has_finalizer, deletes_parent, failure }
    }

    /// Returns the fields that the plugin changes of the parent, and adds a refusal to the plan.
    fn fields(&self, side: &Side, subject: &ObjectRef, response: Option<&Response>, plan: &mut Plan) -> Value {
        let wanted = response.filter(|_| self.ask == Ask::Reconcile).and_then(|response| response.parent.as_ref());
        let Some(wanted) = wanted else { return Value::Null };
        let Side { active, observed, .. } = side;
        let plugin = &active.program.manifest().name;
        if wanted.is_empty() && !has_fields(&observed.parent, plugin) {
            return Value::Null;
        }
        let live = json_with_kind(&active.program.manifest().parent, &observed.parent);
        let accepted = self.state.accepted_fields.as_deref();
        let input =
            parent_fields::Input { plugin, parent: subject, live: &live, grants: &active.program.grants, wanted, accepted };
        match parent_fields::decide(&input) {
            parent_fields::Decision::Keep => Value::Null,
            parent_fields::Decision::Apply(fields) => plain(Value::Object(fields.object)),
            parent_fields::Decision::Refuse(refusal) => {
                plan.refusals.push(refusal);
                Value::Null
            }
        }
    }

    fn report(&self, plan: &Plan, failure: Option<&Problem>) -> ReconcileReport {
        let mut report = ReconcileReport::new(0);
        report.refusals.extend(plan.refusals.iter().cloned());
        if let Some(waiting) = plan.waiting.first() {
            report.wait(waiting.message.clone());
        }
        if let Some(problem) = failure {
            report.fail(problem.clone());
        }
        report
    }

    /// Returns the statuses of members of a group that result from those that are wanted.
    fn member_statuses(
        &self,
        side: &Side,
        states: (&ReconcileReport, Execution),
        wanted: &BTreeMap<&ObjectKey, &MemberStatus>,
    ) -> BTreeMap<ObjectRef, Value> {
        let Some(members) = &side.active.members else { return BTreeMap::new() };
        let status = |member: &SharedObject| {
            let wanted = wanted.get(&member.key())?.as_response();
            let status = self.status_of_object(member, members.status_capabilities, states, &wanted);
            Some((ObjectRef { kind: members.declared.kind.clone(), key: member.key() }, status))
        };
        side.observed.members.iter().filter_map(status).collect()
    }

    fn status_of_object(
        &self,
        object: &Object,
        capabilities: StatusCapabilities,
        (report, execution): (&ReconcileReport, Execution),
        response: &Response,
    ) -> Value {
        let current = status_of(object);
        let refusals = report.refusals.reported();
        let readiness = report.readiness(&self.retries, &refusals);
        let decided = decide(current.as_ref(), object, response, (readiness, execution), capabilities, self.now);
        decided.map(Value::Object).or(current).unwrap_or_default()
    }
}

/// Calls the plugin of a side; `None` if it has nothing to do when a parent is finalized.
fn call_plugin(side: &Side, ask: Ask, now: Timestamp, digests: Option<&DigestKey>) -> Option<Asked> {
    let Side { active, observed, reads, .. } = side;
    let program = &active.program;
    if ask == Ask::Finalize && !program.manifest().finalizes {
        return None;
    }
    let parent = &observed.parent;
    let (children, served) = (observed.shown_children(active), observed.views.keys());
    let imports = CallContext::new(Arc::clone(reads), parent.key(), children, served, digests.cloned());
    let limits = Limits { deadline: program.policy.limits.deadline.saturating_mul(PATIENCE), ..program.policy.limits.clone() };
    let shown = shown(&program.manifest().parent, &observed.shown_parent(active), digests).json;
    let members: Vec<Bytes> = observed.shown_members(active, digests).into_iter().map(|member| member.json).collect();
    let members: Vec<&[u8]> = members.iter().map(|member| &**member).collect();
    let input = Input { parent: &shown, members: &members, settings: &program.settings, seed: parent.uid(), now: now.into() };
    let Call { result, usage, imports } = make(&program.plugin, ask, &input, &limits, Box::new(imports));
    let lines = imports.downcast::<CallContext>().map(|imports| imports.lines).unwrap_or_default();
    Some(Asked { result, is_late: usage.duration > program.policy.limits.deadline, lines })
}

fn call_end(asked: Option<&Asked>) -> Option<CallEnd> {
    Some(match &asked?.result {
        Ok(_) | Err(call::Error::Failed(_)) => CallEnd::Answered,
        Err(error) if error.fault() == gyre_sandbox::Fault::Host => CallEnd::HostFault,
        Err(error) => CallEnd::PluginFault { reason: error.reason() },
    })
}

/// The actions for one parent that an answer leads to.
struct Intent {
    /// The desired children, including unchanged ones.
    desired: BTreeMap<Identity, Desired>,
    plan: Plan,
    refused: BTreeSet<Identity>,
    status: Value,
    members: BTreeMap<ObjectRef, Value>,
    /// The fields of the parent that are applied; null if they stay as they are.
    fields: Value,
    has_finalizer: bool,
    deletes_parent: bool,
    failure: Option<Problem>,
}

/// Identifies an object in any version.
type Identity = (String, String, ObjectKey);

fn identity(kind: &GroupVersionKind, key: &ObjectKey) -> Identity {
    (kind.group.clone(), kind.kind.clone(), key.clone())
}

fn identity_of(child: &ObjectRef) -> Identity {
    identity(&child.kind, &child.key)
}

/// Returns an object with `apiVersion` and `kind`, which items of lists lack.
fn json_with_kind(kind: &GroupVersionKind, object: &Object) -> Value {
    let mut object: Value = serde_json::from_str(object.json()).unwrap_or_default();
    if let Some(fields) = object.as_object_mut() {
        fields.insert("apiVersion".to_owned(), Value::from(kind.api_version()));
        fields.insert("kind".to_owned(), Value::from(kind.kind.as_str()));
    }
    object
}

/// The state of a child after the actions for its parent.
#[derive(Clone, Copy)]
enum Fate<'a> {
    /// It does not exist.
    Absent,
    /// It exists and is not written.
    AsIs,
    /// It is created, or changed in place.
    Written(&'a Desired),
    /// It is deleted and created again.
    Replaced(&'a Desired),
}

impl Intent {
    fn fates(&self) -> BTreeMap<Identity, Fate<'_>> {
        let steps = self.plan.steps.iter().filter_map(|step| Some((identity_of(step.child()), Fate::after(step)?)));
        // They are recreated after their deletion.
        let waiting = self.plan.waiting.iter().map(|waiting| identity_of(&waiting.child));
        let waiting = waiting.filter_map(|child| {
            let desired = self.desired.get(&child)?;
            Some((child, Fate::Written(desired)))
        });
        let leaving = self.plan.leaving.iter().map(|child| (identity_of(child), Fate::Absent));
        steps.chain(waiting).chain(leaving).collect()
    }
}

impl<'a> Fate<'a> {
    /// `None` if the step does not depend on the plugin.
    fn after(step: &'a Step) -> Option<Self> {
        match step {
            Step::Create { desired } | Step::Apply { desired, .. } => Some(Self::Written(desired)),
            Step::Replace { desired, .. } => Some(Self::Replaced(desired)),
            Step::Delete { .. } => Some(Self::Absent),
            Step::Label { .. } => None,
        }
    }

    fn exists(self) -> bool {
        !matches!(self, Self::Absent)
    }

    fn is_same(self, other: Self) -> bool {
        match (self, other) {
            (Self::AsIs, Self::AsIs) | (Self::Absent, Self::Absent) => true,
            (Self::Written(one), Self::Written(other)) | (Self::Replaced(one), Self::Replaced(other)) => {
                one.digest == other.digest
            }
            _ => false,
        }
    }
}

/// Returns what the shadow would change in the state that the mount leads to.
fn changes(parent: &Subject, observed: &BTreeMap<Identity, Value>, mounted: &Intent, shadow: &Intent) -> Vec<Change> {
    let mounted_fates = mounted.fates();
    let shadow_fates = shadow.fates();
    let children: BTreeSet<&Identity> = observed.keys().chain(mounted_fates.keys()).chain(shadow_fates.keys()).collect();
    let mut changes = Vec::new();
    let change = |verb, subject, before, after| Change {
        verb,
        subject,
        refusal: None,
        message: None,
        parent: Some(parent.to_string()),
        before,
        after,
    };
    for child in children {
        let otherwise = if observed.contains_key(child) { Fate::AsIs } else { Fate::Absent };
        let mounted_fate = mounted_fates.get(child).copied().unwrap_or(otherwise);
        let shadow_fate = shadow_fates.get(child).copied().unwrap_or(otherwise);
        if mounted_fate.is_same(shadow_fate) {
            if let (Fate::AsIs, Some(desired)) = (mounted_fate, different_if_recreated(child, mounted, shadow)) {
                let [before, after] = desired.map(|desired| plain(Value::Object(desired.with_requests())));
                changes.push(change(Verb::WouldRecreate, Subject::of(&after), before, after));
            }
            continue;
        }
        let before = state(mounted_fate, child, observed, mounted, &Value::Null);
        let after = state(shadow_fate, child, observed, shadow, &before);
        let subject = Subject::of(if mounted_fate.exists() { &before } else { &after });
        match (mounted_fate.exists(), shadow_fate) {
            (false, Fate::Absent) => {}
            (true, Fate::Absent) => changes.push(change(Verb::Delete, subject, before, Value::Null)),
            (false, _) => changes.push(change(Verb::Create, subject, Value::Null, after)),
            (true, Fate::Replaced(_)) => {
                changes.push(change(Verb::Delete, subject.clone(), before, Value::Null));
                changes.push(change(Verb::Create, subject, Value::Null, after));
            }
            (true, _) => changes.push(change(Verb::Update, subject, before, after)),
        }
    }
    if mounted.has_finalizer != shadow.has_finalizer {
        changes.push(change(Verb::Finalizers, parent.clone(), json!(mounted.has_finalizer), json!(shadow.has_finalizer)));
    }
    if mounted.fields != shadow.fields {
        changes.push(change(Verb::Update, parent.clone(), mounted.fields.clone(), shadow.fields.clone()));
    }
    match (mounted.deletes_parent, shadow.deletes_parent) {
        (false, true) => changes.push(change(Verb::Delete, parent.clone(), Value::Null, Value::Null)),
        (true, false) => {
            let stays = change(Verb::Create, parent.clone(), Value::Null, Value::Null);
            changes.push(Change { message: Some("only the mounted version deletes it".to_owned()), ..stays });
        }
        (true, true) | (false, false) => {}
    }
    if mounted.status != shadow.status {
        let [before, after] = [mounted, shadow].map(|intent| json!({ "status": intent.status }));
        changes.push(change(Verb::Status, parent.clone(), before, after));
    }
    let of_members: BTreeSet<&ObjectRef> = mounted.members.keys().chain(shadow.members.keys()).collect();
    for member in of_members {
        let [before, after] = [mounted, shadow].map(|intent| intent.members.get(member));
        if before != after {
            let [before, after] = [before, after].map(|status| json!({ "status": status }));
            changes.push(change(Verb::Status, subject_of(member), before, after));
        }
    }
    let known: BTreeSet<&Refusal> = mounted.plan.refusals.iter().collect();
    for Refusal { child, message, .. } in shadow.plan.refusals.iter().filter(|refusal| !known.contains(refusal)) {
        let subject = child.as_ref().map_or_else(|| parent.clone(), subject_of);
        let refused = change(Verb::Create, subject, Value::Null, Value::Null);
        changes.push(Change { refusal: Some(message.clone()), ..refused });
    }
    if let Some(problem) = shadow.failure.as_ref().filter(|problem| mounted.failure.as_ref() != Some(problem)) {
        let failed = change(Verb::Fail, parent.clone(), Value::Null, Value::Null);
        changes.push(Change { message: Some(format!("{}: {problem}", problem.reason())), ..failed });
    }
    changes
}

/// Returns the desired states, of the mount and of the shadow, of a child that is created only
/// once, if they differ.
fn different_if_recreated<'a>(child: &Identity, mounted: &'a Intent, shadow: &'a Intent) -> Option<[&'a Desired; 2]> {
    let wanted = |intent: &'a Intent| intent.desired.get(child).filter(|_| !intent.refused.contains(child));
    let before = wanted(mounted)?;
    let after = wanted(shadow)?;
    (before.digest != after.digest).then_some([before, after])
}

fn subject_of(child: &ObjectRef) -> Subject {
    let ObjectRef { kind, key } = child;
    Subject {
        api_version: kind.api_version(),
        kind: kind.kind.clone(),
        namespace: key.namespace.clone(),
        name: key.name.clone(),
    }
}

/// Returns a child as the plugin wants it, or else as observed. It gets the fields of an observed
/// `before` that it lacks, so that the API server's defaults are no difference.
fn state(fate: Fate<'_>, child: &Identity, observed: &BTreeMap<Identity, Value>, intent: &Intent, before: &Value) -> Value {
    let live = observed.get(child).unwrap_or(&Value::Null);
    let desired = match fate {
        Fate::Absent => return Value::Null,
        Fate::Written(desired) | Fate::Replaced(desired) => Some(desired),
        Fate::AsIs => intent.desired.get(child).filter(|desired| digest_of(live) == Some(&*desired.digest)),
    };
    let Some(desired) = desired else { return plain(live.clone()) };
    let object = plain(Value::Object(desired.with_requests()));
    let was_observed = before.get("metadata").is_some_and(|metadata| metadata.get("creationTimestamp").is_some());
    if was_observed { over(before, &object) } else { object }
}

fn digest_of(object: &Value) -> Option<&str> {
    object.pointer("/metadata/annotations")?.get(DIGEST_ANNOTATION)?.as_str()
}

/// Removes fields that do not depend on the plugin.
fn plain(object: Value) -> Value {
    let mut object = without_bookkeeping(generated::shown(&object, None).unwrap_or(object));
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("uid");
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove(DIGEST_ANNOTATION);
            if annotations.is_empty() {
                metadata.remove("annotations");
            }
        }
    }
    object
}

/// Returns `object` with the fields of `base` that it lacks.
fn over(base: &Value, object: &Value) -> Value {
    let (Value::Object(base), Value::Object(fields)) = (base, object) else { return object.clone() };
    let mut merged = base.clone();
    for (field, value) in fields {
        let value = base.get(field).map_or_else(|| value.clone(), |base| over(base, value));
        merged.insert(field.clone(), value);
    }
    Value::Object(merged)
}

#[cfg(test)]
mod tests;
