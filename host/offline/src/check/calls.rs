//! Checks the answer of each call, whether it can be repeated, and the resources that it used.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use gyre_core::object::GroupVersionKind;
use gyre_core::response::Child;
use gyre_engine::difference::NOT_SHOWN;
use gyre_engine::record::format::AnswerLine;
use gyre_engine::record::{CallInputs, CallRecord, CallResult, Redaction};
use gyre_sandbox::call::Error;
use gyre_sandbox::{Fault, Plugin, Reuse};
use parking_lot::Mutex;
use serde_json::{Map, Value};

use super::finding::{Flaw, Tally, Tried};
use crate::call_log::parent_of;
use crate::plan::Subject;
use crate::replay::show;

/// The most calls of one case that are repeated; further ones are similar.
const MOST_REPEATED: usize = 40;

const MOST_LINES: usize = 40;

/// Held while an instance is reused: experiments share idle instances, which affects results.
static SERVED: Mutex<()> = Mutex::new(());

/// A plugin that repeatedly requests a requeue sooner than this keeps a worker busy for nothing.
const SOON: Duration = Duration::from_secs(1);

pub(super) struct Remark {
    pub(super) flaw: Flaw,
    pub(super) what: String,
}

pub(super) fn remarks(calls: &[Arc<CallRecord>], other_builds: &[Plugin], tally: &mut Tally) -> Vec<Remark> {
    let mut remarks: Vec<Remark> = Vec::new();
    for call in calls {
        remarks.extend(fault(call));
        remarks.extend(outside(call));
    }
    let answered: Vec<_> = calls.iter().filter(|call| fault(call).is_none()).collect();
    for call in answered.iter().take(MOST_REPEATED) {
        tally.add(Tried::Calls, 1);
        repeat(call, other_builds, &mut remarks);
    }
    tally.add(Tried::NotCalled, answered.len().saturating_sub(MOST_REPEATED));
    remarks
}

pub(super) fn fault(call: &CallRecord) -> Option<Remark> {
    let error = call.answer.result.as_ref().err().filter(|error| error.fault() == Fault::Plugin)?;
    Some(Remark { flaw: Flaw::of_fault(error.reason()), what: format!("{}: {error}.", parent_of(call)) })
}

fn outside(call: &CallRecord) -> Vec<Remark> {
    let manifest = call.program.manifest();
    let mut remarks = Vec::new();
    if let Some(kind) = &call.usage.undeclared_read {
        remarks.push(Remark {
            flaw: Flaw::OutsideManifest,
            what: format!("The plugin reads {kind}, which its manifest does not declare."),
        });
    }
    for wanted in wanted(call) {
        let Some(child) = wanted.applied() else { continue };
        let kind = kind_of(&child.object);
        let declared = manifest.children.iter().find(|declared| declared.kind == kind);
        let what = match (declared, child.strategy) {
            (None, _) => format!("The plugin returns a child of the kind {kind}, which its manifest does not declare."),
            (Some(declared), Some(strategy)) if !declared.allows(strategy) => format!(
                "The plugin returns a child of the kind {kind} with the strategy {}, which its manifest does not declare.",
                strategy.as_str()
            ),
            (Some(_), _) => continue,
        };
        remarks.push(Remark { flaw: Flaw::OutsideManifest, what });
    }
    remarks
}

/// Parents with repeated early requeues although nothing changes, each with the requested time.
pub(super) fn hot_loops(calls: &[Arc<CallRecord>]) -> Vec<(Subject, Duration)> {
    let mut by_parent: BTreeMap<Subject, Vec<&CallRecord>> = BTreeMap::new();
    for call in calls {
        by_parent.entry(parent_of(call)).or_default().push(call);
    }
    let hot = by_parent.into_iter().filter_map(|(subject, calls)| match calls.as_slice() {
        [.., before, last] => {
            let [_, after] = [soon(before)?, soon(last)?];
            is_alike(before, last).then_some((subject, after))
        }
        _ => None,
    });
    hot.collect()
}

/// Returns the requested delay if it is too short to be useful.
fn soon(call: &CallRecord) -> Option<Duration> {
    let response = call.answer.result.as_ref().ok()?;
    response.requeue_after.filter(|after| *after < SOON && !response.done)
}

fn is_alike(one: &CallRecord, other: &CallRecord) -> bool {
    let is_seen = (&one.parent, &one.children, &one.reads) == (&other.parent, &other.children, &other.reads);
    is_seen && one.answer.texts == other.answer.texts
}

pub(super) fn wanted(call: &CallRecord) -> &[Child] {
    let response = call.answer.result.as_ref().ok();
    response.and_then(|response| response.children.as_deref()).unwrap_or_default()
}

pub(super) fn kind_of(object: &Map<String, Value>) -> GroupVersionKind {
    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    GroupVersionKind::from_api_version(text("apiVersion"), text("kind"))
}

/// Repeats a call: in a new instance, in an instance of another build, and in an instance that has
/// served a call before.
fn repeat(call: &CallRecord, other_builds: &[Plugin], remarks: &mut Vec<Remark>) {
    let plugin = &call.program.plugin;
    let mut given = CallInputs::of(call);
    given.limits.reuse = Reuse::Never;
    let alone = given.make(plugin);
    if ran_out_of_time(&alone) {
        // A timeout depends on the machine.
    } else if alone.answer != call.answer {
        let what = format!(
            "{}: the call was repeated with the same input, and the answer differs.\n{}",
            parent_of(call),
            difference(call, &alone)
        );
        remarks.push(Remark { flaw: Flaw::Nondeterministic, what });
    } else {
        remarks.extend(built_otherwise(call, &given, other_builds));
        // Like a mount with `limits.reuse`.
        given.limits.reuse = Reuse::UpTo(2);
        let served = {
            let _one = SERVED.lock();
            [given.make(plugin), given.make(plugin)]
        };
        if let Some(made) = served.iter().find(|made| made.answer != call.answer && !ran_out_of_time(made)) {
            let what = format!(
                "{}: an instance that has served an earlier call answers differently: it keeps state between calls.\n{}",
                parent_of(call),
                difference(call, made)
            );
            remarks.push(Remark { flaw: Flaw::Nondeterministic, what });
        }
    }
    // On a busy machine, one call may be slow; two slow calls are unlikely.
    let took = alone.usage.duration.min(call.usage.duration);
    if took > given.limits.deadline / 2 {
        let what = format!("{}: a call took {took:.1?}, and the deadline is {:?}.", parent_of(call), given.limits.deadline);
        remarks.push(Remark { flaw: Flaw::TooSlow, what });
    }
    let [peak, limit] = [call.usage.memory_peak_bytes, given.limits.memory_bytes];
    if peak > limit / 2 {
        let what = format!("{}: a call used {} MiB, and the memory limit is {} MiB.", parent_of(call), peak >> 20, limit >> 20);
        remarks.push(Remark { flaw: Flaw::TooLarge, what });
    }
}

/// Makes a call with another build of its plugin.
fn built_otherwise(call: &CallRecord, given: &CallInputs, other_builds: &[Plugin]) -> Option<Remark> {
    let name = &call.program.manifest().name;
    let other = other_builds.iter().find(|build| build.manifest().name == *name)?;
    let made = given.make(other);
    if made.answer == call.answer || ran_out_of_time(&made) {
        return None;
    }
    let what = format!(
        "{}: another build of the plugin answers differently: the answer depends on something that a build draws, such as the order of a set.\n{}",
        parent_of(call),
        difference(call, &made)
    );
    Some(Remark { flaw: Flaw::Nondeterministic, what })
}

/// The difference between two answers to the same call, line by line, without values of Secrets.
fn difference(call: &CallRecord, made: &CallResult) -> String {
    let seen = call.children.values().flatten().chain(call.reads.values().flatten().flatten()).chain([&call.parent]);
    let wanted = call.answer.texts.iter().chain(&made.answer.texts);
    let objects = seen.map(|object| &**object).chain(wanted.map(Vec::as_slice));
    let Some(mut redaction) = Redaction::new(objects, &[&call.program]) else { return NOT_SHOWN.to_owned() };
    let first = redaction.answer(AnswerLine::of(&call.answer, call.usage.clock));
    let again = redaction.answer(AnswerLine::of(&made.answer, made.usage.clock));
    let shown = show::difference(("at first", &first), ("again", &again));
    let mut lines: Vec<&str> = shown.lines().take(MOST_LINES).collect();
    if shown.lines().nth(MOST_LINES).is_some() {
        lines.push("…");
    }
    lines.join("\n")
}

/// Returns whether the host ended the call, which depends on the timing.
fn ran_out_of_time(made: &CallResult) -> bool {
    let is_of_time = |error: &Error| matches!(error, Error::DeadlineExceeded { .. }) || error.fault() == Fault::Host;
    made.answer.result.as_ref().is_err_and(is_of_time)
}
