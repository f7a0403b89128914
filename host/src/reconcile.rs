//! One reconcile: the parent from the cache, the call, the plan, its steps, the status, the events.
//!
//! ```text
//!   parent lives ──▶ reconcile ──▶ plan ──▶ finalizer, if one is needed ──▶ steps ──▶ status, events
//!   parent goes  ──▶ finalize  ──▶ leave ─────────────────────────────────▶ steps ──▶ status, events ──▶ let go, if nothing is left
//! ```

pub(crate) mod call;
pub(crate) mod fresh;
pub(crate) mod memory;
pub(crate) mod probation;
pub(crate) mod progress;
pub(crate) mod running;
pub(crate) mod threads;
pub(crate) mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use gyre_core::grants::{Namespaces, Scope};
use gyre_core::object::{GroupVersionKind, ObjectKey};
use gyre_core::outcome::{Changed, Outcome, Problem, ProblemKind, RECHECK};
use gyre_core::plan::{
    self, ChildList, Input, Leaving, OWNER_UID_LABEL, Observed, Ownership, Parent, Plan, RELEASE_ANNOTATION, RefusalReason,
    Settled, Step, ownership,
};
use gyre_core::queue;
use gyre_core::response::{Child, Event, Response, Severity, Teardown};
use gyre_sandbox::ClockUse;
use tokio::time::Instant;
use tracing::{Instrument as _, debug, info};

use crate::cluster::kinds::Resource;
use crate::cluster::object::SharedObject;
use crate::cluster::view::View;
use crate::leadership::claim::Claim;
use crate::mounts::inventory::Inventory;
use crate::mounts::live::Live;
use crate::mounts::mount::Mount;
use crate::mounts::release;
use crate::reconcile::call::{Ask, Called, Caller, call};
use crate::reconcile::memory::{Inputs, Memory};
use crate::reconcile::progress::{Progress, warning};
use crate::record::Recordings;
use crate::telemetry::metrics::Metrics;
use crate::work::WorkQueue;
use crate::writes::apply::Applier;
use crate::writes::events::{Recorder, to_publish};
use crate::writes::finalizers::{self, List};
use crate::writes::parent::{Found, ParentWriter};
use crate::writes::status;

/// What all reconciles of a host share.
pub(crate) struct Context {
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) recorder: Recorder,
    /// How failing keys are retried: a status says whether its object will be tried again.
    pub(crate) retries: queue::Options,
    pub(crate) queue: Arc<WorkQueue>,
    pub(crate) caller: Arc<Caller>,
    pub(crate) recordings: Recordings,
    /// What a later start of the host knows of its mounts,
    pub(crate) inventory: Arc<Inventory>,
    /// and the claim to write it.
    pub(crate) inventory_claim: Claim,
}

/// What the cluster holds of one parent, as the caches have it at one moment.
pub(crate) struct Sight {
    pub(crate) parent: SharedObject,
    pub(crate) children: Vec<(GroupVersionKind, SharedObject)>,
    pub(crate) views: BTreeMap<GroupVersionKind, Arc<View>>,
}

impl Sight {
    pub(crate) fn of(live: &Live, parent: SharedObject) -> Self {
        let views = live.children();
        let owner = live.parent(&parent);
        let mut children = Vec::new();
        for (kind, view) in &views {
            let owned = view.owned_by(parent.uid()).into_iter().filter(|child| is_child(live, &owner, kind, child));
            children.extend(owned.map(|child| (kind.clone(), child)));
        }
        Self { parent, children, views }
    }

    /// The parent as the plugin is shown it: without the host's list of its children, which would have it called again for nothing.
    pub(crate) fn shown_parent(&self, live: &Live) -> SharedObject {
        finalizers::without_list(&self.parent, &live.program.manifest().name)
    }
}

/// Whether an object whose owner is said to be this parent is a child of it: a parent may have children of other plugins, too, and whoever
/// may create objects may say that they are a parent's.
fn is_child(live: &Live, parent: &Parent, kind: &GroupVersionKind, object: &SharedObject) -> bool {
    let says_so = match ownership(parent.key.namespace.as_deref(), object.namespace()) {
        Ownership::Reference => true,
        Ownership::Labels => object.label(OWNER_UID_LABEL).as_deref() == Some(&*parent.uid),
    };
    says_so && live.is_ours(object) && parent.claims(kind, &object.key())
}

/// What plans are made from, in the form that they take it.
pub(crate) struct Basis {
    parent: Parent,
    children: Vec<(GroupVersionKind, SharedObject)>,
    keys: Vec<(ObjectKey, String)>,
    scopes: BTreeMap<GroupVersionKind, Scope>,
    settled: BTreeMap<String, Settled>,
}

impl Basis {
    pub(crate) fn of(live: &Live, sight: &Sight, memory: &Memory) -> Self {
        let key = |(_, child): &(_, SharedObject)| (child.key(), child.resource_version().to_string());
        Self {
            parent: live.parent(&sight.parent),
            children: sight.children.clone(),
            keys: sight.children.iter().map(key).collect(),
            scopes: sight.views.iter().map(|(kind, view)| (kind.clone(), view.resource.scope)).collect(),
            settled: memory.settled.clone(),
        }
    }

    pub(crate) fn observed(&self) -> Vec<Observed<'_>> {
        let children = self.children.iter().zip(&self.keys);
        children
            .map(|((kind, child), (key, resource_version))| Observed {
                kind,
                key,
                uid: child.uid(),
                resource_version,
                json: child.json().as_bytes(),
                settled: self.settled.get(child.uid()),
            })
            .collect()
    }

    pub(crate) fn input<'a>(&'a self, live: &'a Live, desired: Option<&'a [Child]>, observed: &'a [Observed<'a>]) -> Input<'a> {
        let plugin = &live.program.manifest().name;
        Input { plugin, parent: &self.parent, grants: &live.program.grants, scopes: &self.scopes, desired, observed }
    }
}

/// Brings the cluster to what the plugin wants for one parent.
///
/// # Guarantees
///
/// If nothing has to change, no request is sent. `failures` is how often the key has failed in a row before.
pub(crate) async fn reconcile(context: &Context, mount: &Arc<Mount>, key: &ObjectKey, failures: u32) -> Outcome {
    let _in_flight = mount.enter_flight().await;
    let Some(live) = mount.live() else { return Outcome::Gone };
    let Some(parent) = live.parents.get(key) else {
        mount.forget(key);
        return Outcome::Gone;
    };
    let memory = mount.memory(key);
    let memory = if memory.uid == parent.uid() { memory } else { Memory { uid: parent.uid().to_owned(), ..Memory::default() } };
    let is_held = finalizers::is_held(&parent, &live.program.manifest().name);
    let (is_selected, is_leaving) = (live.selects(&parent), parent.is_deleting());
    let sight = Sight::of(&live, parent);
    let run = Run { context, mount, live: &live, sight, memory, progress: Progress::new(failures) };
    match (is_selected, is_leaving, is_held) {
        (true, false, _) => run.living().await,
        (true, true, true) => run.leaving().await,
        (false, _, true) => run.no_longer_ours().await,
        // The garbage collector takes the children; nothing new is made for a parent that goes.
        (true, true, false) | (false, _, false) => {
            mount.forget(key);
            Outcome::Reconciled { changed: Changed::No, requeue_after: None }
        }
    }
}

/// One reconcile under way.
struct Run<'a> {
    context: &'a Context,
    mount: &'a Arc<Mount>,
    live: &'a Arc<Live>,
    sight: Sight,
    memory: Memory,
    progress: Progress,
}

impl Run<'_> {
    async fn living(mut self) -> Outcome {
        let inputs = self.inputs();
        let due = self.memory.requeue_at.map(|at| at.saturating_duration_since(Instant::now()));
        if self.memory.inputs == Some(inputs) && due != Some(Duration::ZERO) {
            self.context.metrics.memo_hit(&self.mount.name);
            return Outcome::Reconciled { changed: Changed::No, requeue_after: due };
        }
        self.memory.inputs = None;
        if self.live.program.manifest().finalizes
            && !finalizers::is_held(&self.sight.parent, &self.live.program.manifest().name)
            && let Err(problem) = self.hold(&ChildList::default()).await
        {
            self.progress.fail(problem);
            return self.finish(Response { children: None, ..Response::default() }).await;
        }
        let Called { result, clock, answers } = call(self.context, self.mount, self.live, &self.sight, Ask::Reconcile).await;
        // As they were at the call: whatever the steps change, the next reconcile is not spared.
        let inputs = (clock == ClockUse::NotRead).then(|| self.fingerprint(&answers));
        let response = match result {
            Ok(teardown) => {
                self.carry_out_living(&teardown.response).await;
                teardown.response
            }
            Err(problem) => {
                self.progress.fail(problem);
                Response { children: None, ..Response::default() }
            }
        };
        self.memory.reads = answers.keys().cloned().collect();
        self.finish_and_remember(response, inputs).await
    }

    /// The inputs that the reconcile would have now, if the plugin read what it read last time.
    fn inputs(&self) -> Inputs {
        let namespace = self.sight.parent.namespace();
        let answer = |read| self.live.lookup.fingerprint(read, namespace);
        let answers = self.memory.reads.iter().map(|read| (read.clone(), answer(read))).collect();
        self.fingerprint(&answers)
    }

    fn fingerprint(&self, answers: &BTreeMap<gyre_core::reads::Read, u64>) -> Inputs {
        let answers = answers.iter().map(|(read, answer)| (read, *answer));
        Inputs::of(self.live, &self.sight.shown_parent(self.live), &self.sight.children, self.sight.views.keys(), answers)
    }

    /// Plans, and carries the plan out as far as it goes: one step that fails does not keep the others from being done.
    async fn carry_out_living(&mut self, response: &Response) {
        let basis = Basis::of(self.live, &self.sight, &self.memory);
        let observed = basis.observed();
        let input = basis.input(self.live, response.children.as_deref(), &observed);
        let plan = plan::plan(&input);
        let is_needed = plan::needs_finalizer(&input, &plan, self.live.program.manifest().finalizes);
        let (plan, parent) = match self.claim_children(plan, &input, is_needed).await {
            Ok(claimed) => claimed,
            Err(problem) => return self.progress.fail(problem),
        };
        // As it is now, for what is found to exist already.
        let input = Input { parent: &parent, ..input };
        if plan.steps.iter().any(|step| matches!(step, Step::Create { .. }))
            && let Err(problem) = self.check_that_parent_lives().await
        {
            return self.progress.fail(problem);
        }
        let list = plan::child_list(&input, &plan);
        self.execute(plan, &input).await;
        if response.children.is_none() || self.progress.problem.is_some() {
            return;
        }
        if !is_needed {
            self.let_go_if_it_need_not_be_held().await;
        } else if self.progress.changed == Changed::No {
            self.shorten_list(&parent.children, &list).await;
        }
    }

    /// Sees to it that the parent lists the children of its plan that no ownerReference can name, before they are written; returns what is
    /// still to be done of the plan, and the parent as it is then.
    async fn claim_children(&mut self, mut plan: Plan, input: &Input<'_>, is_needed: bool) -> Result<(Plan, Parent), Problem> {
        let list = plan::child_list(input, &plan);
        if input.parent.children.is_missing() && input.desired.is_some() {
            // What does not get on the list would be forgotten, so it is deleted first.
            let (first, then) = plan.steps.into_iter().partition(|step| matches!(step, Step::Delete { .. }));
            plan.steps = then;
            self.execute(Plan { steps: first, ..Plan::default() }, input).await;
            if let Some(problem) = self.progress.problem.take() {
                return Err(problem);
            }
        }
        if is_needed && input.desired.is_some() {
            self.hold(&list).await?;
            // What was there already, and is listed only now, was not shown to the plugin.
            if Sight::of(self.live, self.sight.parent.clone()).children.len() > self.sight.children.len() {
                self.progress.look_again_after(Duration::ZERO);
            }
        }
        Ok((plan, self.live.parent(&self.sight.parent)))
    }

    /// Takes what is gone off the parent's list. What the caches do not show may be there all the same, so the API server is asked.
    async fn shorten_list(&mut self, list: &ChildList, known: &ChildList) {
        let unknown = list.without(known);
        if unknown == ChildList::default() {
            return;
        }
        let (resources, namespaces) = self.where_children_are();
        let resources: Vec<Resource> = resources.into_iter().filter(|resource| unknown.has_kind(&resource.kind())).collect();
        let (client, parent) = (&self.live.reads, &self.sight.parent);
        let there = match release::unreachable(client, self.writer().plugin(), parent, &resources, namespaces).await {
            Ok(there) => there,
            Err(error) => {
                let problem = crate::writes::apply::problem(&error, &self.writer().subject(parent));
                return self.progress.fail(problem);
            }
        };
        // Of kinds that are not served nothing can be said.
        let unseen = resources.iter().fold(unknown, |unknown, resource| unknown.without_kind(&resource.kind()));
        let mut rest = known.union(&unseen);
        there.iter().for_each(|(resource, child)| rest.insert(&resource.kind(), &child.key()));
        if rest != *list {
            match finalizers::hold(&self.writer(), &self.sight.parent, &rest).await {
                Ok(parent) => self.sight.parent = parent,
                Err(problem) => self.progress.fail(problem),
            }
        }
    }

    /// A child that is missing may have gone with its parent, which the cache of parents does not show yet. To create it again would run
    /// its Job once more, and again each time that the garbage collector has deleted it.
    async fn check_that_parent_lives(&self) -> Result<(), Problem> {
        let (writer, parent) = (self.writer(), &self.sight.parent);
        if self.live.fresh.take(parent.uid()) {
            return Ok(());
        }
        let stale = |what| Problem::new(ProblemKind::Stale, format!("{} {what}", writer.subject(parent)));
        match writer.look(parent).await {
            Ok(Found::Same) => Ok(()),
            // Its status may say that the missing child has done its work.
            Ok(Found::Changed) => Err(stale("has changed, which the cache did not show yet")),
            Ok(Found::Gone) => Err(stale("is gone or going, which the cache does not show yet")),
            Err(error) => Err(crate::writes::apply::problem(&error, &writer.subject(parent))),
        }
    }

    /// The parent has a deletionTimestamp, and our finalizer.
    async fn leaving(mut self) -> Outcome {
        if plan::is_released(self.sight.parent.annotation(RELEASE_ANNOTATION).as_deref()) {
            info!("let go without its plugin, as the annotation {RELEASE_ANNOTATION} says");
            self.progress.warn("Released", &format!("let go without its plugin, as its annotation {RELEASE_ANNOTATION} says"));
            self.let_go(List::Keep).await;
            return self.finish(Response { children: None, ..Response::default() }).await;
        }
        let teardown = if self.live.program.manifest().finalizes {
            match call(self.context, self.mount, self.live, &self.sight, Ask::Finalize).await.result {
                Ok(teardown) => Some(teardown),
                Err(mut problem) => {
                    problem.message.push_str(&format!(
                        " (the annotation {RELEASE_ANNOTATION}: \"true\" lets the object go without its plugin)"
                    ));
                    self.progress.fail(problem);
                    return self.finish(Response { children: None, ..Response::default() }).await;
                }
            }
        } else {
            None
        };
        self.carry_out_leaving(teardown.as_ref()).await;
        let response =
            teardown.map_or_else(|| Response { children: None, ..Response::default() }, |teardown| teardown.response);
        self.finish(response).await
    }

    async fn carry_out_leaving(&mut self, teardown: Option<&Teardown>) {
        let basis = Basis::of(self.live, &self.sight, &self.memory);
        let observed = basis.observed();
        let input = basis.input(self.live, None, &observed);
        let Leaving { plan, end } = plan::leave(&input, teardown);
        let desired = teardown.and_then(|teardown| teardown.response.children.as_deref());
        let is_done = teardown.is_none_or(|teardown| teardown.done);
        let wanted = if is_done { Some(&[][..]) } else { desired };
        let (plan, parent) = match self.claim_children(plan, &Input { desired: wanted, ..input }, true).await {
            Ok(claimed) => claimed,
            Err(problem) => return self.progress.fail(problem),
        };
        let input = Input { parent: &parent, ..input };
        self.execute(plan, &input).await;
        let is_terminating = |refusal: &plan::Refusal| refusal.reason == RefusalReason::NamespaceTerminating;
        let end = if self.progress.refusals.iter().any(is_terminating) {
            // What the plugin still wants can never be: the namespace takes nothing new. The rest of its way down is cut short.
            self.progress.refusals.retain(|refusal| !is_terminating(refusal));
            self.progress.warn(
                "TeardownCutShort",
                "the plugin wants children on the way down, and in a namespace that is being deleted nothing can be created",
            );
            let cut_short = Teardown { response: Response { children: None, ..Response::default() }, done: true };
            let Leaving { plan, end } = plan::leave(&input, Some(&cut_short));
            self.execute(plan, &input).await;
            end
        } else {
            end
        };
        match end {
            plan::End::Release if self.progress.problem.is_none() && self.progress.changed == Changed::No => {
                self.let_go_if_nothing_is_left().await;
            }
            // What was just changed has to be seen first.
            plan::End::Release => self.progress.look_again_after(Duration::ZERO),
            plan::End::Wait { message } => {
                self.progress.waits = Some(("Finalizing", message));
                self.progress.look_again_after(RECHECK);
            }
        }
    }

    /// The parent lives, and as far as the caches show it has no children any more that the garbage collector does not reach. One that was
    /// just made, and that they do not show yet, brings the parent back.
    async fn let_go_if_it_need_not_be_held(&mut self) {
        if !finalizers::is_held(&self.sight.parent, self.writer().plugin()) {
            return;
        }
        let (client, parent) = (&self.live.reads, &self.sight.parent);
        let (resources, namespaces) = self.where_children_are();
        match release::unreachable(client, self.writer().plugin(), parent, &resources, namespaces).await {
            Ok(children) if children.is_empty() => self.let_go(List::Remove).await,
            Ok(_) => {}
            Err(error) => {
                let problem = crate::writes::apply::problem(&error, &self.writer().subject(parent));
                self.progress.fail(problem);
            }
        }
    }

    fn where_children_are(&self) -> (Vec<Resource>, Option<&BTreeSet<String>>) {
        let resources = self.sight.views.values().map(|view| view.resource.clone()).collect();
        let namespaces = match &self.live.program.namespaces {
            Namespaces::All => None,
            Namespaces::Only(names) => Some(names),
        };
        (resources, namespaces)
    }

    /// What the caches do not show may be there all the same: made moments ago, by this host or by the one that led before it.
    async fn let_go_if_nothing_is_left(&mut self) {
        let (resources, namespaces) = self.where_children_are();
        let (live, parent) = (self.live, &self.sight.parent);
        let left = match release::unreachable(&live.reads, self.writer().plugin(), parent, &resources, namespaces).await {
            Ok(left) if !left.iter().any(|(_, child)| release::is_waited_for(self.writer().plugin(), parent, child)) => {
                return self.let_go(List::Remove).await;
            }
            Ok(left) => release::delete(&live.client, &left).await,
            Err(error) => Err(error),
        };
        match left {
            Ok(()) => {
                self.progress.changed = Changed::Yes;
                self.progress.look_again_after(Duration::ZERO);
            }
            Err(error) => {
                let problem = crate::writes::apply::problem(&error, &self.writer().subject(parent));
                self.progress.fail(problem);
            }
        }
    }

    /// The parent no longer matches the mount's selector: its children stay, and nothing of ours keeps it.
    async fn no_longer_ours(mut self) -> Outcome {
        self.let_go(List::Keep).await;
        self.mount.forget(&self.sight.parent.key());
        self.progress.outcome(None)
    }

    fn writer(&self) -> ParentWriter<'_> {
        ParentWriter { mount: self.mount, live: self.live, queue: &self.context.queue, metrics: &self.context.metrics }
    }

    /// Sees to it that the parent carries our finalizer, and lists these children.
    async fn hold(&mut self, children: &ChildList) -> Result<(), Problem> {
        let plugin = &self.live.program.manifest().name;
        let list = finalizers::child_list(&self.sight.parent, plugin);
        // Where there is nothing to list, a missing list is not written: after an upgrade each parent that is held would be.
        let is_far = |child: &SharedObject| ownership(self.sight.parent.namespace(), child.namespace()) == Ownership::Labels;
        let lists_enough = !list.is_missing() || !self.sight.children.iter().any(|(_, child)| is_far(child));
        let is_listed = children.without(&list) == ChildList::default() && lists_enough;
        if finalizers::is_held(&self.sight.parent, plugin) && is_listed {
            return Ok(());
        }
        // One whose mount nobody knew of would never be removed.
        let Context { inventory, inventory_claim, .. } = self.context;
        inventory.tried(&self.mount.name, inventory_claim).await;
        if let Err(why) = inventory.knows(&self.mount.name) {
            let message = format!("{} needs a finalizer, and gets none: {why}", self.writer().subject(&self.sight.parent));
            return Err(Problem::new(ProblemKind::InventoryNotWritten, message));
        }
        self.sight.parent = finalizers::hold(&self.writer(), &self.sight.parent, &list.union(children)).await?;
        self.progress.changed = Changed::Yes;
        Ok(())
    }

    /// Sees to it that the parent does not carry our finalizer.
    async fn let_go(&mut self, list: List) {
        if !finalizers::is_held(&self.sight.parent, &self.live.program.manifest().name) {
            return;
        }
        match finalizers::let_go(&self.writer(), &self.sight.parent, list).await {
            Ok(released) => {
                self.progress.changed = Changed::Yes;
                self.progress.released = true;
                if let Some(released) = released {
                    self.sight.parent = released;
                }
            }
            Err(problem) => self.progress.fail(problem),
        }
    }

    async fn execute(&mut self, plan: Plan, input: &Input<'_>) {
        let Plan { steps, refusals, waiting, leaving } = plan;
        debug!(steps = steps.len(), refusals = refusals.len(), waiting = waiting.len(), leaving = leaving.len(), "planned");
        // What is no longer there need not be remembered.
        self.memory.settled.retain(|uid, _| input.observed.iter().any(|child| child.uid == uid));
        self.memory.taken_back.retain(|uid, _| input.observed.iter().any(|child| child.uid == uid));
        self.progress.refusals.extend(refusals);
        if let Some(child) = waiting.first() {
            self.progress.wait(format!("{child} is being deleted, and will be created once it is gone"));
        }
        let mut applier = Applier {
            client: &self.live.client,
            metrics: &self.context.metrics,
            mount: &self.mount.name,
            plugin: input.plugin,
            views: &self.sight.views,
            settled: &mut self.memory.settled,
            taken_back: &mut self.memory.taken_back,
            now: self.context.queue.now(),
        };
        for step in &steps {
            let done = applier.execute(step, input).await;
            self.progress.note(done);
        }
    }

    async fn finish(self, response: Response) -> Outcome {
        self.finish_and_remember(response, None).await
    }

    /// Says what came of it, and remembers it; `inputs` are those that need not be looked at again if it all went well.
    async fn finish_and_remember(mut self, response: Response, inputs: Option<Inputs>) -> Outcome {
        if !self.progress.is_stale() {
            self.write_status(&response).await;
        }
        self.count_problems();
        if !self.progress.is_stale() {
            self.publish_events(&response).await;
        }
        let has_settled = self.progress.look_again.is_none();
        let Self { mount, sight, mut memory, progress, .. } = self;
        let outcome = progress.outcome(response.requeue_after);
        if has_settled && matches!(outcome, Outcome::Reconciled { changed: Changed::No, .. }) {
            memory.inputs = inputs;
        }
        memory.requeue_at = response.requeue_after.map(|delay| Instant::now() + delay);
        mount.remember(&sight.parent.key(), memory);
        outcome
    }

    async fn write_status(&mut self, response: &Response) {
        let context = self.context;
        if self.progress.released && self.sight.parent.is_deleting() {
            return;
        }
        let retries = self.mount.retries(&context.retries);
        let verdict = self.progress.verdict(&retries);
        let writer = ParentWriter { mount: self.mount, live: self.live, queue: &context.queue, metrics: &context.metrics };
        let parent = &self.sight.parent;
        let written =
            status::write(&writer, &context.caller.clock, parent, response, verdict, &mut self.memory.settled_status).await;
        match written {
            Ok(status::Written::No) => {}
            Ok(status::Written::Conditions) => self.progress.changed = Changed::Yes,
            Ok(status::Written::PluginStatus) => {
                self.progress.changed = Changed::Yes;
                // The plugin may have more to say to that. It is asked with back-off, as its status may never come to rest.
                self.progress.look_again_after(Duration::ZERO);
            }
            Err(error) => {
                // The parent may have been deleted meanwhile: its deletion is on its way to us.
                let problem = crate::writes::apply::problem(&error, &writer.subject(parent));
                if problem.kind != ProblemKind::NotFound {
                    self.progress.fail(problem);
                }
            }
        }
    }

    async fn publish_events(&mut self, response: &Response) {
        let (context, mount, progress) = (self.context, self.mount, &self.progress);
        // What a plugin tells of as done is told once it is done. What was told before is not told again after a failure in between.
        let last = self.memory.events.as_deref();
        let is_told = |event: &&Event| {
            event.severity == Severity::Warning || progress.is_carried_out() || last.is_some_and(|last| last.contains(event))
        };
        let mut events: Vec<Event> = response.events.iter().filter(is_told).cloned().collect();
        events.extend(progress.notices.iter().cloned());
        events.extend(progress.refusals.iter().map(|refusal| warning(refusal.reason.as_str(), &refusal.message)));
        events.extend(progress.problem.iter().map(|problem| warning(problem.reason(), &problem.message)));
        if let Some(problem) = &progress.problem
            && mount.retries(&context.retries).parks(problem.retry(), progress.failures)
        {
            let message =
                format!("failed {} times, and is not tried again until the object changes: {problem}", progress.failures + 1);
            events.push(warning("RetriesExhausted", &message));
        }
        let kind = &self.live.program.manifest().parent;
        for event in to_publish(&events, last, progress.changed) {
            context.recorder.publish(&self.live.client, &mount.name, kind, &self.sight.parent, event).in_current_span().await;
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
