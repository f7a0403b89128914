//! The changes that a host would make in a live cluster, derived from a preview.

use std::collections::{BTreeMap, BTreeSet};

use gyre_core::outcome::ProblemKind;
use gyre_core::plan::{OWNER_UID_LABEL, RefusalReason};
use gyre_engine::difference::{Change, Counts, Difference, without_bookkeeping};
use gyre_engine::program::Program;
use serde_json::Value;

use crate::host_run::End;
use crate::plan::{Action, Subject, Verb, uid};
use crate::preview::Preview;
use crate::selection::{is_child_of, selects};

const PLANNED: &[RefusalReason] = &[
    RefusalReason::UndeclaredKind,
    RefusalReason::UndeclaredStrategy,
    RefusalReason::KindNotGranted,
    RefusalReason::UndeclaredParentDeletion,
    RefusalReason::ParentDeletionNotGranted,
    RefusalReason::UndeclaredParentField,
    RefusalReason::ParentFieldNotGranted,
    RefusalReason::InvalidParentFields,
    RefusalReason::NamespaceNotGranted,
    RefusalReason::NotServed,
    RefusalReason::InvalidChild,
    RefusalReason::ForeignObject,
    RefusalReason::ChildListFull,
    RefusalReason::PrerequisiteRefused,
    RefusalReason::ValueNotMade,
    RefusalReason::InvalidMemberStatus,
];
const APPLIED: &[RefusalReason] = &[
    RefusalReason::Conflict,
    RefusalReason::ImmutableField,
    RefusalReason::Rejected,
    RefusalReason::NamespaceTerminating,
    RefusalReason::MarksRemoved,
];
const FAILURES: &[&str] = &[
    "PluginTransient",
    "PluginRetryAfter",
    "PluginTerminal",
    "Quarantined",
    "Trapped",
    "DeadlineExceeded",
    "OutOfMemory",
    "StackOverflow",
    "OutputTooLarge",
    "OutputTooDeep",
    "TooManyChildren",
    "TooManyConditions",
    "TooManyEvents",
    "TooManyReads",
    "GroupTooLarge",
    "InvalidOutput",
    "LogFlood",
    "ClusterNotAllowed",
    "PoolSaturated",
    "SandboxFailed",
];

/// The changes that a host would make, by parent.
pub fn difference(programs: &[Program], preview: Preview) -> Difference {
    let mut parents = BTreeMap::new();
    let mut selected = BTreeSet::new();
    for (_, object) in &preview.copied {
        if programs.iter().any(|program| program.reconciles(object)) {
            parents.insert(uid(object).unwrap_or_default().to_owned(), Subject::of(object));
        }
        if programs.iter().any(|program| selects(program, object)) {
            selected.insert(uid(object).unwrap_or_default());
        }
    }
    let host_run = preview.host_run;
    // Events describe other actions, except for actions that were not attempted.
    let (events, actions): (Vec<Action>, Vec<Action>) =
        host_run.actions.into_iter().partition(|action| action.verb == Verb::Event);
    let mut changes: Vec<Change> = actions.into_iter().map(|action| change(action, &parents)).collect();
    for change in events.iter().filter_map(|event| change_of_event(event, &changes)).collect::<Vec<_>>() {
        let is_same =
            |other: &Change| (other.verb, &other.subject, &other.refusal) == (change.verb, &change.subject, &change.refusal);
        // A failed call is retried, and fails again.
        if !changes.iter().any(is_same) {
            changes.push(change);
        }
    }
    let changing: BTreeSet<&String> = changes.iter().filter_map(|change| change.parent.as_ref()).collect();
    // A parent that is no longer selected may change, too: it is released.
    let is_counted =
        |(uid, parent): &(&String, &Subject)| selected.contains(uid.as_str()) || changing.contains(&parent.to_string());
    let remark = (host_run.end == End::NonConverging).then(|| "the host never stops writing".to_owned());
    let held = programs.iter().flat_map(|program| held_deletions(program, &preview.copied, &changes));
    Difference {
        parents: parents.iter().filter(is_counted).count(),
        changing: changing.len(),
        counts: Counts::of(&changes),
        remarks: remark.into_iter().chain(held).chain(preview.remarks).collect(),
        changes,
    }
}

/// A remark about each kind of which the mount's guard would hold the deletions. The preview has no
/// guard, so that it shows what is no longer desired.
fn held_deletions(program: &Program, copied: &[(String, Value)], changes: &[Change]) -> Vec<String> {
    let limits = program.policy.deletion_guard;
    let is_ours = |object: &Value| is_child_of(std::slice::from_ref(program), object);
    let created: BTreeSet<&Subject> =
        changes.iter().filter(|change| change.verb == Verb::Create).map(|change| &change.subject).collect();
    let is_deleted = |object: &Value| object.pointer("/metadata/deletionTimestamp").is_some();
    let objects = copied.iter().map(|(_, object)| object);
    let deleted_parents: BTreeSet<String> =
        objects.clone().filter(|object| is_deleted(object)).map(|object| Subject::of(object).to_string()).collect();
    let mut deletions: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for change in changes.iter().filter(|change| change.verb == Verb::Delete && change.refusal.is_none()) {
        let has_parent = change.parent.as_ref().is_some_and(|parent| !deleted_parents.contains(parent));
        // A child that is created again is replaced, and the guard does not count it.
        if has_parent && is_ours(&change.before) && !created.contains(&change.subject) {
            *deletions.entry((&change.subject.api_version, &change.subject.kind)).or_default() += 1;
        }
    }
    let held = deletions.into_iter().filter_map(|((api_version, kind), count)| {
        let is_of_kind = |object: &&Value| object["apiVersion"] == api_version && object["kind"] == kind;
        let all = objects.clone().filter(is_of_kind).filter(|object| is_ours(object)).count() as u64;
        let most = limits.most(all);
        let remark = || format!("the host would hold all deletions of the kind {kind}: deletionGuard allows {most} of {all}");
        (count > most).then(remark)
    });
    held.collect()
}

/// The change that a Warning is about, or `None` if a rejected request already shows it.
fn change_of_event(event: &Action, changes: &[Change]) -> Option<Change> {
    let text = |field: &str| event.object.get(field).and_then(Value::as_str).unwrap_or_default();
    let (reason, note) = (text("reason"), text("note"));
    if text("type") != "Warning" {
        return None;
    }
    let subject = event.subject.clone();
    let parent = Some(subject.to_string());
    let is_among = |reasons: &[RefusalReason]| reasons.iter().any(|refusal| refusal.as_str() == reason);
    // A 403 is a failed reconcile, not a refused child.
    let is_rejected = is_among(APPLIED) || reason == ProblemKind::Forbidden.reason();
    let is_shown = || changes.iter().any(|change| change.refusal.is_some() && change.parent == parent);
    let (verb, refusal, message) = if is_among(PLANNED) || (is_rejected && !is_shown()) {
        (Verb::Create, Some(format!("{reason}: {note}")), None)
    } else if FAILURES.contains(&reason) {
        (Verb::Fail, None, Some(format!("{reason}: {note}")))
    } else {
        return None;
    };
    Some(Change { verb, subject, refusal, message, parent, before: Value::Null, after: Value::Null })
}

fn change(action: Action, parents: &BTreeMap<String, Subject>) -> Change {
    let parent = parent(&action, parents).map(Subject::to_string);
    let Action { verb, subject, states, refusal, .. } = action;
    let [before, after] = states.map(without_bookkeeping);
    Change { verb, subject, refusal, message: None, parent, before, after }
}

fn parent<'a>(action: &Action, parents: &'a BTreeMap<String, Subject>) -> Option<&'a Subject> {
    let [before, after] = &action.states;
    [before, after, &action.object].into_iter().find_map(|object| {
        let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
        let owners = owners.into_iter().flatten().filter_map(|owner| owner.get("uid")?.as_str());
        let labelled = object.pointer("/metadata/labels").and_then(|labels| labels.get(OWNER_UID_LABEL)?.as_str());
        owners.chain(labelled).chain(uid(object)).find_map(|uid| parents.get(uid))
    })
}
