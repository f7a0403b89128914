//! Calls a plugin about one parent: its quarantine, its reads, and the thread of the call.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use gyre_core::generated::Requests;
use gyre_core::object::ObjectKey;
use gyre_core::outcome::{Fault, Problem, ProblemKind, pause_after_fault};
use gyre_core::quarantine::{self, CallEnd, Change};
use gyre_core::queue::Priority;
use gyre_core::reads::Read;
use gyre_core::response::{Child, Response};
use gyre_sandbox::{Bytes, Call, ClockUse, Input, Usage, call};
use tracing::{error, info};

use crate::call::{Ask, make, threads};
use crate::cluster::lookup;
use crate::fingerprint::fingerprint;
use crate::mounts::active_program::ActiveProgram;
use crate::mounts::call_guard::describe;
use crate::mounts::mount::Mount;
use crate::mounts::trail::ReadPrints;
use crate::reconcile::call_context::{CallContext, log};
use crate::reconcile::context::Context;
use crate::reconcile::plan_inputs::{Decision, ObservedState, PlanInputs, ValueInputs};
use crate::record::{CallAnswer, CallRecord};
use crate::telemetry::metrics::ANSWERED;
use crate::values::shown;

pub(crate) struct Called {
    pub(crate) result: Result<Answered, Problem>,
    pub(crate) clock: ClockUse,
    /// Its reads, with the fingerprint of each answer.
    pub(crate) answers: BTreeMap<Read, u64>,
    pub(crate) reads: ReadPrints,
}

pub(crate) struct Answered {
    /// Whether the plugin says which children there should be.
    pub(crate) names_children: bool,
    pub(crate) response: Response,
    pub(crate) decision: Decision,
    /// The Secrets whose values have to be renewed.
    pub(crate) secrets: Vec<Child>,
}

/// Calls the plugin, and decides about its answer on the thread of the call.
///
/// # Errors
///
/// If it is not called now: it is quarantined, or another call comes first.
pub(crate) async fn call(
    context: &Context,
    mount: &Arc<Mount>,
    active: &Arc<ActiveProgram>,
    observed: &ObservedState,
    plan_inputs: &Arc<PlanInputs>,
    ask: Ask,
) -> Result<Called, Problem> {
    let key = observed.parent.key();
    let admitted = active.call_guard.admit(&key, context.services.queue.now())?;
    let Ended { result, usage, read_answers, reads_version, lacked_digests } =
        run(context, mount, active, observed, plan_inputs, ask, admitted.priority()).await;
    let answers: BTreeMap<Read, u64> = read_answers.iter().map(|(read, answer)| (read.clone(), answer.fingerprint())).collect();
    let uid = observed.parent.uid();
    let of_others: Vec<u64> = read_answers.values().map(|answer| answer.fingerprint_of_others(uid)).collect();
    let reads = ReadPrints { all: fingerprint(&answers), of_others: fingerprint(&of_others) };
    let end = match &result {
        Ok(_) | Err(call::Error::Failed(_)) => CallEnd::Answered,
        Err(error) => match error.fault() {
            gyre_sandbox::Fault::Host => CallEnd::HostFault,
            gyre_sandbox::Fault::Plugin | gyre_sandbox::Fault::Neither => CallEnd::PluginFault { reason: error.reason() },
        },
    };
    apply_quarantine_changes(context, mount, &key, admitted.ended(end, context.services.queue.now()));
    mount.has_read(&key, answers.keys().cloned().collect::<BTreeSet<_>>());
    // Changes between the snapshot and now were reported to nobody.
    let is_as_read =
        |(read, fingerprint): (&Read, &u64)| active.lookup.fingerprint(read, key.namespace.as_deref()) == *fingerprint;
    if reads_version != active.lookup.version() && !answers.iter().all(is_as_read) {
        mount.enqueue(&context.services.queue, key.clone(), Priority::Normal);
    }
    if let Some(observer) = mount.observer() {
        observer.called(&key);
    }
    if lacked_digests {
        // Its answer would differ from one with digests, and so restart Pods.
        context.services.digests.key(&active.reads).await?;
        return Err(Problem::new(ProblemKind::Stale, "it read generated values before the key of their digests was known"));
    }
    Ok(Called { result: result.map_err(problem), clock: usage.clock, answers, reads })
}

/// Reports changes of quarantines, and queues the objects that they concern.
fn apply_quarantine_changes(context: &Context, mount: &Mount, parent: &ObjectKey, ended: quarantine::Ended) {
    for change in &ended.changes {
        match *change {
            Change::Quarantined(extent) => {
                let whom = describe(parent, extent);
                error!("the plugin keeps failing by its own fault: it is quarantined for {whom}, and only probed from now on");
            }
            Change::Recovered(extent) => {
                info!("the plugin answers again: its quarantine for {} is over", describe(parent, extent));
            }
        }
    }
    for (parents, priority) in [(ended.next, Priority::Normal), (ended.released, Priority::Low)] {
        parents.into_iter().for_each(|parent| mount.enqueue(&context.services.queue, parent, priority));
    }
}

struct Ended {
    result: Result<Answered, call::Error>,
    usage: Usage,
    read_answers: BTreeMap<Read, lookup::ReadResult>,
    reads_version: u64,
    lacked_digests: bool,
}

async fn run(
    context: &Context,
    mount: &Arc<Mount>,
    active: &Arc<ActiveProgram>,
    observed: &ObservedState,
    plan_inputs: &Arc<PlanInputs>,
    ask: Ask,
    priority: threads::Priority,
) -> Ended {
    let program = Arc::clone(&active.program);
    let parent = observed.shown_parent(active);
    let reads = Arc::new(active.lookup.snapshot());
    let reads_version = reads.version();
    let digests = context.services.digests.known();
    let shown = shown(&program.manifest().parent, &parent, digests.as_ref());
    let (mut inputs_lack_digests, shown) = (shown.lacks_digests, shown.json);
    let members = observed.shown_members(active, digests.as_ref());
    inputs_lack_digests |= members.iter().any(|member| member.lacks_digests);
    let members: Vec<Bytes> = members.into_iter().map(|member| member.json).collect();
    let (children, served) = (observed.shown_children(active), observed.views.keys());
    let mut imports = Box::new(CallContext::new(reads, parent.key(), children, served, digests.clone()));
    if context.recordings.wants(&mount.name) {
        imports.start_transcript();
    }
    let now = context.services.caller.clock.now().into();
    let in_progress = mount.running.register(program.policy.limits.deadline);
    let progress = in_progress.progress();
    let (json, members_json) = (Bytes::clone(&shown), members.clone());
    let seconds = context.services.caller.clock.now().as_second();
    let is_recorded = imports.transcript.is_some();
    let (deciding, plan_inputs) = (Arc::clone(active), Arc::clone(plan_inputs));
    let work = move || {
        let members: Vec<&[u8]> = members_json.iter().map(|member| &**member).collect();
        let input = Input { parent: &json, members: &members, settings: &program.settings, seed: parent.uid(), now };
        progress.begin();
        let Call { result, usage, imports } = make(&program.plugin, ask, &input, &program.policy.limits, imports);
        progress.end();
        let recorded = is_recorded.then(|| result.clone());
        let mut imports = imports.downcast::<CallContext>().ok();
        let decided = result.map(|response| {
            let children = response.children.as_deref().unwrap_or_default();
            let issuers = imports.as_mut().map(|imports| imports.issuers(children)).unwrap_or_default();
            answered(&deciding, &plan_inputs, ask, response, &ValueInputs { issuers, digests, now: seconds })
        });
        (decided, recorded, usage, imports)
    };
    let called = context.services.caller.run(priority, work).await;
    drop(in_progress);
    let (result, recorded, usage, mut imports) = match called {
        Ok(called) => called,
        Err(error) => {
            let error = call::Error::Internal(format!("the call did not end: {error}"));
            let (usage, read_answers) = (Usage::default(), BTreeMap::new());
            return Ended { result: Err(error), usage, read_answers, reads_version, lacked_digests: false };
        }
    };
    let outcome = result.as_ref().err().map_or(ANSWERED, call::Error::reason);
    context.services.metrics.called(&mount.name, outcome, usage.duration, usage.memory_peak_bytes);
    imports.iter().for_each(|imports| log(&imports.lines));
    if let Some((imports, transcript)) =
        imports.as_mut().and_then(|imports| imports.transcript.take().map(|taken| (imports, taken)))
        && let Some(recorded) = recorded
    {
        context.recordings.take(CallRecord {
            program: Arc::clone(&active.program),
            ask,
            parent: shown,
            members,
            seed: observed.parent.uid().into(),
            now,
            children: imports.shown_children(),
            reads: transcript.reads,
            answer: CallAnswer { result: recorded, texts: transcript.texts, log: transcript.log },
            usage: usage.clone(),
        });
    }
    let lacked_digests = inputs_lack_digests || imports.as_ref().is_some_and(|imports| imports.lacked_digests);
    let read_answers = imports.map(|imports| imports.answers).unwrap_or_default();
    Ended { result, usage, read_answers, reads_version, lacked_digests }
}

/// Decides, and drops the children: both take milliseconds for a large answer.
fn answered(
    active: &ActiveProgram,
    plan_inputs: &PlanInputs,
    ask: Ask,
    mut response: Response,
    values: &ValueInputs,
) -> Answered {
    let decision = match ask {
        Ask::Reconcile => Decision::Live(plan_inputs.decide_live(active, response.children.as_deref(), values)),
        Ask::Finalize => Decision::Deletion(plan_inputs.decide_deletion(active, plan_inputs.parent(), Some(&response), values)),
    };
    response = response.completed();
    let children = response.children.take();
    let names_children = children.is_some();
    let mut secrets = children.unwrap_or_default();
    let is_renewed = matches!(&decision, Decision::Live(live) if live.renewal.is_some());
    secrets.retain(|child| is_renewed && child.applied().is_some_and(|child| Requests::are_in(&child.object)));
    Answered { names_children, response, decision, secrets }
}

pub(crate) fn problem(error: call::Error) -> Problem {
    let fault = match error.fault() {
        gyre_sandbox::Fault::Plugin | gyre_sandbox::Fault::Neither => Fault::Plugin,
        gyre_sandbox::Fault::Host => Fault::Host,
    };
    // The duration of the other calls differs from run to run, and simulations must be repeatable.
    let lasted = match &error {
        call::Error::DeadlineExceeded { deadline } => *deadline,
        _ => Duration::ZERO,
    };
    match (error, fault) {
        (call::Error::Failed(failure), _) => failure.into(),
        (error, fault) => {
            let problem = Problem::new(ProblemKind::Sandbox { reason: error.reason(), fault }, error.to_string());
            match fault {
                Fault::Plugin => problem.not_before(pause_after_fault(lasted)),
                Fault::Host => problem,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_ends_by_the_plugins_fault_is_followed_by_a_pause() {
        let second = Duration::from_secs(1);
        let retry_after = |error| problem(error).retry_after;
        assert_eq!(retry_after(call::Error::StackOverflow), Some(second));
        assert_eq!(retry_after(call::Error::DeadlineExceeded { deadline: second / 10 }), Some(second));
        assert_eq!(retry_after(call::Error::DeadlineExceeded { deadline: 3 * second }), Some(12 * second));
        assert_eq!(retry_after(call::Error::Internal("a defect of the host".to_owned())), None);
    }
}
