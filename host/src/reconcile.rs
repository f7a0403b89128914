//! One reconcile: the parent from the cache, the call, the plan, its steps, the status, the events.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use gyre_core::object::{GroupVersionKind, ObjectKey, ObjectRef};
use gyre_core::outcome::{Changed, Fault, Outcome, Problem, ProblemKind};
use gyre_core::plan::{self, Input, Observed, Plan, Refusal, Settled};
use gyre_core::queue;
use gyre_core::response::{Event, Response, Severity};
use gyre_core::status::{Retry, Verdict};
use gyre_sandbox::{Call, ClockUse, call};
use kube::Client;
use tokio::time::Instant;
use tracing::{Instrument as _, Span, debug};

use crate::apply::{Applier, Done};
use crate::clock::Clock;
use crate::events::{Recorder, to_publish};
use crate::host::Calls;
use crate::memory::{Inputs, Memory};
use crate::metrics::Metrics;
use crate::mount::{Mount, View};
use crate::object::SharedObject;
use crate::status;
use crate::work::WorkQueue;
use crate::world::CallWorld;

/// What all reconciles of a host share.
pub(crate) struct Context {
    pub(crate) client: Client,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) recorder: Recorder,
    /// How failing keys are retried: a status says whether its object will be tried again.
    pub(crate) retries: queue::Options,
    pub(crate) queue: Arc<WorkQueue>,
    pub(crate) clock: Clock,
    pub(crate) calls: Calls,
}

/// What the cluster holds of one parent, as the caches have it at one moment.
struct Sight {
    parent: SharedObject,
    children: Vec<(GroupVersionKind, SharedObject)>,
    views: BTreeMap<GroupVersionKind, Arc<View>>,
}

/// One reconcile under way.
struct Run<'a> {
    context: &'a Context,
    mount: &'a Arc<Mount>,
    sight: &'a Sight,
    response: &'a Response,
    memory: &'a mut Memory,
    progress: Progress,
}

/// How far a call and its plan came.
struct Progress {
    changed: Changed,
    refusals: Vec<Refusal>,
    /// What some child has to wait for.
    waits: Option<String>,
    look_again: Option<Duration>,
    problem: Option<Problem>,
    failures: u32,
}

impl Progress {
    /// Whether the cache was behind. The retry that follows sees what is; there is nothing to tell anyone.
    fn is_stale(&self) -> bool {
        self.problem.as_ref().is_some_and(|problem| problem.kind == ProblemKind::Stale)
    }

    /// Takes what came of a step.
    fn note(&mut self, done: Result<Done, Problem>) {
        match done {
            Ok(Done::Wrote) => self.changed = Changed::Yes,
            Ok(Done::Nothing) => {}
            Ok(Done::Refused(refusal)) => self.refusals.push(refusal),
            Ok(Done::Waits(message)) => {
                self.changed = Changed::Yes;
                self.waits = Some(message);
            }
            Ok(Done::LookAgain(delay, message)) => {
                self.look_again = Some(delay);
                self.waits = Some(message);
            }
            Err(problem) => {
                self.problem.get_or_insert(problem);
            }
        }
    }

    /// What the status says of it.
    fn verdict(&self, retries: &queue::Options) -> Verdict<'_> {
        match (&self.problem, &self.waits) {
            (Some(problem), _) => problem.verdict(retries, self.failures),
            (None, _) if !self.refusals.is_empty() => Verdict::Refused(&self.refusals),
            (None, Some(message)) => Verdict::Failed { reason: "Waiting", message, retry: Retry::Later },
            (None, None) => Verdict::Ready,
        }
    }
}

impl Sight {
    /// The children as the plan knows them.
    fn observed<'a>(&'a self, keys: &'a [(ObjectKey, String)], settled: &'a BTreeMap<String, Settled>) -> Vec<Observed<'a>> {
        let children = self.children.iter().zip(keys);
        children
            .map(|((kind, child), (key, resource_version))| Observed {
                kind,
                key,
                uid: child.uid(),
                resource_version,
                json: child.json().as_bytes(),
                settled: settled.get(child.uid()),
            })
            .collect()
    }
}

/// Brings the cluster to what the plugin wants for one parent.
///
/// # Guarantees
///
/// If nothing has to change, no request is sent. `failures` is how often the key has failed in a row before.
pub(crate) async fn reconcile(context: &Context, mount: &Arc<Mount>, key: &ObjectKey, failures: u32) -> Outcome {
    let Some(sight) = look(mount, key) else {
        mount.forget(key);
        return Outcome::Gone;
    };
    if sight.parent.is_deleting() {
        // The garbage collector takes the children; nothing new is made for a parent that goes.
        return Outcome::Reconciled { changed: Changed::No, requeue_after: None };
    }
    let mut memory = mount.memory(key);
    if memory.uid != sight.parent.uid() {
        memory = Memory { uid: sight.parent.uid().to_owned(), ..Memory::default() };
    }
    let inputs = Inputs::of(&sight.parent, &sight.children, sight.views.keys());
    let due = memory.requeue_at.map(|at| at.saturating_duration_since(Instant::now()));
    if memory.inputs == Some(inputs) && due != Some(Duration::ZERO) {
        context.metrics.memo_hit(&mount.name);
        return Outcome::Reconciled { changed: Changed::No, requeue_after: due };
    }
    memory.inputs = None;

    let (response, clock) = call_plugin(context, mount, &sight).await;
    let (response, problem) = match response {
        Ok(response) => (response, None),
        Err(problem) => (Response { children: None, ..Response::default() }, Some(problem)),
    };
    let progress = Progress { changed: Changed::No, refusals: Vec::new(), waits: None, look_again: None, problem, failures };
    let run = Run { context, mount, sight: &sight, response: &response, memory: &mut memory, progress };
    let progress = run.finish().await;

    let has_settled = progress.look_again.is_none() && clock == ClockUse::NotRead;
    let outcome = outcome(&response, progress);
    if has_settled && matches!(outcome, Outcome::Reconciled { changed: Changed::No, .. }) {
        memory.inputs = Some(inputs);
    }
    memory.requeue_at = response.requeue_after.map(|delay| Instant::now() + delay);
    mount.remember(key, memory);
    outcome
}

fn look(mount: &Mount, key: &ObjectKey) -> Option<Sight> {
    let parent = mount.parents()?.get(key)?;
    let views = mount.children();
    let children = views
        .iter()
        .flat_map(|(kind, view)| view.owned_by(parent.uid()).into_iter().map(|child| (kind.clone(), child)))
        .collect();
    Some(Sight { parent, children, views })
}

/// Calls the plugin.
async fn call_plugin(context: &Context, mount: &Arc<Mount>, sight: &Sight) -> (Result<Response, Problem>, ClockUse) {
    let (plugin, limits, settings) = (mount.plugin.clone(), mount.limits.clone(), Arc::clone(&mount.settings));
    let parent = Arc::clone(&sight.parent);
    let world = CallWorld::new(Span::current(), &sight.children, sight.views.keys());
    let now = context.clock.now().into();
    let call = move || {
        let input = gyre_sandbox::Input { parent: parent.json().as_bytes(), settings: &settings, seed: parent.uid(), now };
        plugin.reconcile(&input, &limits, Box::new(world))
    };
    let called = match context.calls {
        Calls::OnThreads => tokio::task::spawn_blocking(call).await,
        Calls::Inline => Ok(call()),
    };
    let Call { result, usage, .. } = match called {
        Ok(call) => call,
        Err(error) => {
            let kind = ProblemKind::Sandbox { reason: "SandboxFailed", fault: Fault::Host };
            return (Err(Problem::new(kind, format!("the call did not end: {error}"))), ClockUse::NotRead);
        }
    };
    let outcome = result.as_ref().err().map_or("Success", call::Error::reason);
    context.metrics.called(&mount.name, outcome, usage.duration, usage.memory_peak_bytes);
    (result.map_err(call_problem), usage.clock)
}

fn call_problem(error: call::Error) -> Problem {
    let fault = match error.fault() {
        gyre_sandbox::Fault::Plugin | gyre_sandbox::Fault::Neither => Fault::Plugin,
        gyre_sandbox::Fault::Host => Fault::Host,
    };
    match error {
        call::Error::Failed(failure) => failure.into(),
        error => Problem::new(ProblemKind::Sandbox { reason: error.reason(), fault }, error.to_string()),
    }
}

impl Run<'_> {
    async fn finish(mut self) -> Progress {
        if self.progress.problem.is_none() {
            self.carry_out().await;
        }
        if !self.progress.is_stale() {
            self.write_status().await;
        }
        self.count_problems();
        if !self.progress.is_stale() {
            self.publish_events().await;
        }
        self.progress
    }

    /// Plans, and carries the plan out as far as it goes: one step that fails does not keep the others from being done.
    async fn carry_out(&mut self) {
        let (mount, sight) = (self.mount, self.sight);
        let keys: Vec<(ObjectKey, String)> =
            sight.children.iter().map(|(_, child)| (child.key(), child.resource_version().to_string())).collect();
        let settled = self.memory.settled.clone();
        let observed = sight.observed(&keys, &settled);
        let scopes = sight.views.iter().map(|(kind, view)| (kind.clone(), view.resource.scope)).collect();
        let parent = mount.parent(&sight.parent);
        let input = Input {
            plugin: &mount.name,
            parent: &parent,
            grants: &mount.grants,
            scopes: &scopes,
            desired: self.response.children.as_deref(),
            observed: &observed,
        };
        let Plan { steps, refusals, waiting, leaving } = plan::plan(&input);
        debug!(steps = steps.len(), refusals = refusals.len(), waiting = waiting.len(), leaving = leaving.len(), "planned");
        // What is no longer there need not be remembered.
        self.memory.settled.retain(|uid, _| observed.iter().any(|child| child.uid == uid));
        self.memory.taken_back.retain(|uid, _| observed.iter().any(|child| child.uid == uid));
        self.progress.refusals = refusals;
        self.progress.waits =
            waiting.first().map(|child| format!("{child} is being deleted, and will be created once it is gone"));
        let mut applier = Applier {
            client: &self.context.client,
            metrics: &self.context.metrics,
            plugin: &mount.name,
            views: &sight.views,
            settled: &mut self.memory.settled,
            taken_back: &mut self.memory.taken_back,
            now: self.context.queue.now(),
        };
        for step in &steps {
            let done = applier.execute(step, &input).await;
            self.progress.note(done);
        }
    }

    async fn write_status(&mut self) {
        let (context, mount, parent) = (self.context, self.mount, &self.sight.parent);
        let Some(parents) = mount.parents() else { return };
        let writer = status::Writer {
            client: &context.client,
            metrics: &context.metrics,
            plugin: &mount.name,
            parents,
            own_writes: &mount.own_writes,
            queue: &context.queue,
            clock: &context.clock,
        };
        let verdict = self.progress.verdict(&context.retries);
        let written = writer.write(parent, self.response, verdict, &mut self.memory.settled_status).await;
        match written {
            Ok(status::Written::No) => {}
            Ok(status::Written::Conditions) => self.progress.changed = Changed::Yes,
            Ok(status::Written::PluginStatus) => {
                self.progress.changed = Changed::Yes;
                // The plugin may have more to say to that. It is asked with back-off, as its status may never come to rest.
                self.progress.look_again = Some(Duration::ZERO);
            }
            Err(error) => {
                let subject = ObjectRef { kind: mount.manifest().parent.clone(), key: parent.key() };
                // The parent may have been deleted meanwhile: its deletion is on its way to us.
                let problem = crate::apply::problem(&error, &subject);
                if problem.kind != ProblemKind::NotFound {
                    self.progress.problem.get_or_insert(problem);
                }
            }
        }
    }

    async fn publish_events(&mut self) {
        let (context, mount, progress) = (self.context, self.mount, &self.progress);
        let mut events = self.response.events.clone();
        events.extend(progress.refusals.iter().map(|refusal| warning(refusal.reason.as_str(), &refusal.message)));
        events.extend(progress.problem.iter().map(|problem| warning(problem.reason(), &problem.message)));
        if let Some(problem) = &progress.problem
            && context.retries.parks(problem.retry(), progress.failures)
        {
            let message =
                format!("failed {} times, and is not tried again until the object changes: {problem}", progress.failures + 1);
            events.push(warning("RetriesExhausted", &message));
        }
        for event in to_publish(&events, self.memory.events.as_deref(), progress.changed) {
            context.recorder.publish(&mount.name, &mount.manifest().parent, &self.sight.parent, event).in_current_span().await;
        }
        self.memory.events = Some(events);
    }

    fn count_problems(&self) {
        let refusals = self.progress.refusals.iter().map(|refusal| refusal.reason.as_str());
        for reason in refusals.chain(self.progress.problem.iter().map(Problem::reason)) {
            self.context.metrics.problem(&self.mount.name, reason);
        }
    }
}

fn warning(reason: &str, message: &str) -> Event {
    Event { severity: Severity::Warning, reason: reason.to_owned(), message: message.to_owned() }
}

fn outcome(response: &Response, progress: Progress) -> Outcome {
    let Progress { changed, refusals, look_again, problem, .. } = progress;
    let requeue_after = match (response.requeue_after, look_again) {
        (Some(asked), Some(needed)) => Some(asked.min(needed)),
        (asked, needed) => asked.or(needed),
    };
    match problem {
        Some(problem) => Outcome::Failed(problem),
        None if refusals.is_empty() => Outcome::Reconciled { changed, requeue_after },
        None => Outcome::Refused { refusals, changed, requeue_after },
    }
}
