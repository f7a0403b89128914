//! The part of a reconcile that only groups of parents need: their objects, and the statuses of
//! their members.

use std::collections::BTreeMap;

use futures::StreamExt as _;
use gyre_core::groups::{self, Membership};
use gyre_core::manifest::Propagation;
use gyre_core::member_statuses;
use gyre_core::object::{ObjectKey, ObjectRef};
use gyre_core::outcome::{Changed, Outcome, Problem, ProblemKind};
use gyre_core::queue::RECHECK;
use gyre_core::response::{MemberStatus, Response};
use gyre_core::status::Execution;
use tokio::time::Instant;
use tracing::{info, warn};

use super::Run;
use crate::cluster::object::SharedObject;
use crate::cluster::view::CATCH_UP_PAUSE;
use crate::error::{error_chain, is_gone, is_stale};
use crate::mounts::active_program::ActiveProgram;
use crate::mounts::members::Members;
use crate::mounts::mount::Mount;
use crate::mounts::parent_state::ParentState;
use crate::reconcile::context::Context;
use crate::reconcile::plan_inputs::{PlanInputs, ValueInputs};
use crate::writes::apply::{post, problem};
use crate::writes::parent::ParentWriter;
use crate::writes::status::{self, AcceptedStatus, Written};

/// The statuses of members that are written at a time: the API server has other clients.
const WRITES_AT_A_TIME: usize = 8;

/// Returns an outcome if the reconcile of a group must wait until the caches show what hosts have
/// written.
pub(super) async fn wait_for_cache(
    context: &Context,
    mount: &Mount,
    active: &ActiveProgram,
    key: &ObjectKey,
) -> Option<Outcome> {
    match active.is_caught_up(&context.services.claims.of(&mount.name)).await {
        Ok(true) => None,
        Ok(false) => Some(Outcome::Postponed { after: CATCH_UP_PAUSE }),
        Err(error) => {
            let group = ObjectRef { kind: active.program.manifest().parent.clone(), key: key.clone() };
            Some(Outcome::Failed(problem(&error, &group)))
        }
    }
}

/// Returns the object of a group that should exist, and creates it if it is missing; `None` if the
/// key is of no group.
///
/// # Errors
/// If the API server does not create it, or if another object has its name.
pub(super) async fn parent_or_new_group(
    context: &Context,
    mount: &Mount,
    active: &ActiveProgram,
    key: &ObjectKey,
) -> Result<Option<SharedObject>, Problem> {
    let manifest = active.program.manifest();
    let subject = ObjectRef { kind: manifest.parent.clone(), key: key.clone() };
    if let Some(parent) = active.parents.get(key) {
        if active.has_group(key) && !active.selects(&parent) {
            let message =
                format!("{subject} is in the way of the group of this name, which has another spec: delete the object");
            return Err(Problem::new(ProblemKind::Invalid, message));
        }
        return Ok(Some(parent));
    }
    let Some(group) = active.members.as_ref().and_then(|members| members.group(&key.name)) else { return Ok(None) };
    let api = active.parents.resource.api(&active.client, None);
    let epoch = active.parents.write_epoch(None);
    context.services.metrics.wrote(&mount.name, "create-group");
    let object = group.object(&manifest.name);
    let created = post(&active.client, &api, &manifest.name, &object).await.map_err(|error| match error {
        // Another host, or this one before its cache was filled.
        kube::Error::Api(status) if status.is_already_exists() => {
            Problem::new(ProblemKind::Stale, format!("{subject} exists, but the cache was not up to date"))
        }
        error => problem(&error, &subject),
    })?;
    info!(mount = %mount.name, group = group.name, value = group.value, "created the object of a group");
    let created = created.object.ok();
    if let Some(created) = &created {
        active.parents.insert_written(created, epoch);
    }
    Ok(created)
}

/// Returns an outcome if a group was called a moment ago: large ones would keep the host busy.
pub(super) fn pause(active: &ActiveProgram, state: &ParentState, key: &ObjectKey) -> Option<Outcome> {
    let members = active.members.as_ref()?;
    let next = state.called_at? + groups::pause(members.count(&key.name));
    let wait = next.saturating_duration_since(Instant::now());
    (!wait.is_zero()).then_some(Outcome::Postponed { after: wait })
}

impl Run<'_> {
    /// Returns what has to be done about the group, if the parent is one.
    pub(super) fn group_state(&self) -> GroupState {
        let Some(members) = &self.active.members else { return GroupState::Callable };
        match members.membership(self.observed.parent.name()) {
            None => GroupState::Empty,
            Some(Membership::NotSelected) => GroupState::NotSelected,
            Some(Membership::Member) => GroupState::Callable,
        }
    }

    /// Deletes the children of a group without members, as if its plugin wanted none, and then the
    /// group. So the mount's limit of deletions holds.
    pub(super) async fn dissolve(mut self) -> Outcome {
        let plan_inputs = PlanInputs::of(self.active, &self.observed, &self.state);
        let now = self.context.services.caller.clock.now().as_second();
        let values = ValueInputs { issuers: Default::default(), digests: None, now };
        let living = plan_inputs.decide_live(self.active, Some(&[]), &values);
        let has_children = !self.observed.children.is_empty();
        self.carry_out_live(&plan_inputs, living, true).await;
        if !has_children && self.report.is_carried_out() {
            match self.writer().delete(&self.observed.parent, Propagation::Background).await {
                Ok(changed) => {
                    self.report.changed = changed;
                    self.report.parent_goes = true;
                }
                Err(problem) => self.report.fail(problem),
            }
        }
        self.finish(Response::default()).await
    }

    /// Returns the statuses of members that the plugin returned, and refuses those of others.
    pub(super) fn decide_member_statuses<'r>(&mut self, response: &'r Response) -> MemberStatuses<'r> {
        if response.members.is_empty() {
            return MemberStatuses::default();
        }
        let keys = self.observed.members.iter().map(|member| member.key()).collect();
        let (statuses, refused) = member_statuses::decide(&keys, &response.members);
        self.report.refusals.extend(refused);
        statuses
    }

    /// Writes the statuses of members.
    ///
    /// # Guarantees
    ///
    /// - A member whose status is as desired costs no request.
    /// - A status is only written over the state that the plugin saw. A member that has changed
    ///   since is left to the next call, which its change causes.
    pub(super) async fn write_member_statuses(&mut self, statuses: &MemberStatuses<'_>, execution: Execution) {
        if statuses.is_empty() {
            return;
        }
        let Some(members) = &self.active.members else { return };
        let execution = if self.report.problem.is_none() { execution } else { Execution::Incomplete };
        let group = self.observed.parent.key();
        let writes: Vec<_> = self
            .observed
            .members
            .iter()
            .enumerate()
            .filter_map(|(index, member)| Some((index, member, *statuses.get(&member.key())?)))
            .map(|(index, member, status)| {
                let accepted = self.state.accepted_members.get(&member.key()).cloned();
                self.write_member_status((members, &group), (index, member), status, execution, accepted)
            })
            .collect();
        let written: Vec<WrittenMember> = futures::stream::iter(writes).buffer_unordered(WRITES_AT_A_TIME).collect().await;
        self.state.accepted_members.clear();
        for WrittenMember { index, result, accepted } in written {
            let Some(member) = self.observed.members.get_mut(index) else { continue };
            if let Some(accepted) = accepted {
                self.state.accepted_members.insert(member.key(), accepted);
            }
            match result {
                Ok((Written::No, _)) => {}
                Ok((written, answer)) => {
                    self.report.changed = Changed::Yes;
                    if let Some(answer) = answer {
                        *member = answer;
                    }
                    if written == Written::PluginStatus {
                        self.requeue_after_own_write();
                    }
                }
                Err(kube::Error::Api(error)) if is_stale(&error) => self.report.requeue_after(RECHECK),
                // Deleted meanwhile, which the watch reports.
                Err(kube::Error::Api(error)) if is_gone(&error) => members.view.doubt_kind(),
                Err(error) => {
                    let subject = ObjectRef { kind: members.declared.kind.clone(), key: member.key() };
                    self.report.fail(problem(&error, &subject));
                }
            }
        }
        let dropped = self.state.accepted_members.values().find_map(|accepted| accepted.dropped().cloned());
        if let Some(dropped) = dropped {
            self.warn_of_dropped_fields(&dropped, &members.declared.kind);
        }
    }

    async fn write_member_status(
        &self,
        (members, group): (&Members, &ObjectKey),
        (index, member): (usize, &SharedObject),
        wanted: &MemberStatus,
        execution: Execution,
        mut accepted: Option<AcceptedStatus>,
    ) -> WrittenMember {
        let retries = self.mount.retries(&self.context.retries);
        let refusals = self.report.refusals.reported();
        let readiness = self.report.readiness(&retries, &refusals);
        let response = wanted.as_response();
        let writer = ParentWriter {
            kind: &members.declared.kind,
            parents: &members.view,
            own_writes: &self.mount.member_writes,
            status_capabilities: members.status_capabilities,
            reconciled: Some(group),
            ..self.writer()
        };
        let (clock, now) = (&self.context.services.caller.clock, self.context.services.queue.now());
        let states = (readiness, execution);
        let result = status::write(&writer, clock, member, &response, states, &mut accepted, now).await;
        if let Err(error) = &result {
            let problem = problem(error, &writer.subject(member));
            if problem.kind == ProblemKind::Invalid {
                // Its conditions tell the member's owner. The problem is reported in any case.
                let states = (problem.readiness(&retries, self.report.failures), Execution::Incomplete);
                let nothing = Response::default();
                let told = status::write(&writer, clock, member, &nothing, states, &mut accepted, now).await;
                if let Err(error) = told {
                    warn!("the conditions of the host are rejected, too: {}", error_chain(&error));
                }
            }
        }
        WrittenMember { index, result, accepted }
    }
}

/// The statuses of members that are wanted.
pub(super) type MemberStatuses<'r> = BTreeMap<&'r ObjectKey, &'r MemberStatus>;

/// Whether a group is called.
pub(super) enum GroupState {
    Callable,
    /// Never, because it has no members.
    Empty,
    /// Never, because the mount selects none of the parents with its value. Its children stay, as
    /// those of a parent that is not selected: the selector may be wrong.
    NotSelected,
}

struct WrittenMember {
    /// Among the members of the call.
    index: usize,
    result: Result<(Written, Option<SharedObject>), kube::Error>,
    accepted: Option<AcceptedStatus>,
}
