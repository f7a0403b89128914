//! Creates children by POST, which fails if the name is taken, so no foreign object is merged into.

use gyre_core::answer::is_denied_by_admission;
use gyre_core::object::ObjectRef;
use gyre_core::outcome::{Problem, ProblemKind};
use gyre_core::plan::{self, Desired, Existing, Input, Refusal, RefusalReason, marks_removed};
use kube::api::PostParams;
use kube::core::Request;
use kube::{Api, Client};
use serde::Serialize;

use super::{Applier, LOOK_AGAIN_AFTER, StepResult, field_manager, namespace_terminates, parsed, problem, refusal};
use crate::client::answered;
use crate::cluster::object::Received;
use crate::error::{is_gone, problem_kind};

impl Applier<'_> {
    /// Creates a child. `gyre_core::plan` decides about an existing object of its name.
    pub(super) async fn create(&mut self, desired: &Desired, input: &Input<'_>) -> Result<StepResult, Problem> {
        let child = &desired.child;
        let namespace = child.key.namespace.as_deref();
        if let Some(namespace) = namespace
            && let Err(held_for) = self.terminating.lock().admit(namespace, self.now)
        {
            return Ok(StepResult::RefusedFor(held_for, namespace_terminates(child)));
        }
        // Values are costly to make: not for a name that somebody else has taken.
        if !desired.generated.is_empty()
            && self.refused.contains(child)
            && let Some(live) = self.look_up(child).await?
        {
            return self.on_existing(desired, input, live).await;
        }
        let view = self.views.get(&child.kind);
        let epoch = view.and_then(|view| view.write_epoch(namespace));
        let object = match self.body(desired, None).await? {
            Ok(object) => object,
            Err(result) => return Ok(result),
        };
        self.metrics.wrote(self.mount, "create");
        let answer = match post(self.client, &self.api(child)?, self.plugin, &object).await {
            Ok(answer) => answer,
            // A 409 alone could be a quota that changed meanwhile, or a webhook's.
            Err(kube::Error::Api(status)) if status.is_already_exists() && !is_denied_by_admission(&status.message) => {
                let Some(live) = self.look_up(child).await? else {
                    let message = format!("{child}: {}, but it does not exist any more", status.message);
                    return Err(Problem::new(ProblemKind::Stale, message));
                };
                return self.on_existing(desired, input, live).await;
            }
            Err(kube::Error::Api(status)) => {
                let is_terminating = problem_kind(&status) == ProblemKind::NamespaceTerminating;
                if let Some(namespace) = namespace.filter(|_| is_terminating) {
                    let held_for = self.terminating.lock().record(namespace, self.now);
                    return Ok(StepResult::RefusedFor(held_for, namespace_terminates(child)));
                }
                // The namespace is gone, so it is no longer being deleted.
                if is_gone(&status) {
                    namespace.iter().for_each(|namespace| self.terminating.lock().forget(namespace));
                }
                return refusal(&status, child).map(StepResult::Refused);
            }
            Err(error) => return Err(problem(&error, child)),
        };
        namespace.iter().for_each(|namespace| self.terminating.lock().forget(namespace));
        let (object, answer) = parsed(answer, child)?;
        if object.key() != child.key {
            let message = format!(
                "{child} was created as {:?}: a webhook changes its name or namespace; exempt it from that webhook",
                object.key().to_string()
            );
            return Ok(StepResult::Refused(Refusal { child: Some(child.clone()), reason: RefusalReason::Rejected, message }));
        }
        if let Some(refusal) = marks_removed(child, &desired.object, &answer) {
            return Ok(StepResult::Unmarked(refusal, object.uid().to_owned()));
        }
        if let Some(view) = view {
            view.insert_written(&object, epoch);
        }
        self.settle(desired, &answer, object.uid());
        Ok(StepResult::Wrote)
    }

    /// Returns the object that has the name of a child, of any owner.
    async fn look_up(&self, child: &ObjectRef) -> Result<Option<Received>, Problem> {
        match answered(self.api(child)?.get(&child.key.name)).await {
            Ok(live) => Ok(Some(live)),
            Err(kube::Error::Api(gone)) if is_gone(&gone) => Ok(None),
            Err(error) => Err(problem(&error, child)),
        }
    }

    /// Handles another host's object, this one's if the answer was lost, or a foreign one.
    async fn on_existing(&mut self, desired: &Desired, input: &Input<'_>, live: Received) -> Result<StepResult, Problem> {
        let child = &desired.child;
        let (object, live) = parsed(live, child)?;
        let unmarked = self.refused.unmarked(child);
        match plan::on_existing(input, desired, &live, unmarked, |uid| self.parents.exists(uid)) {
            Existing::Nothing => Ok(StepResult::Unseen),
            Existing::Wait(message) => Ok(StepResult::Requeue(LOOK_AGAIN_AFTER, message)),
            Existing::Refuse(refusal) => Ok(StepResult::Refused(refusal)),
            Existing::Step(step) => match self.change(&step, Some(object.as_ref())).await? {
                StepResult::Nothing => Ok(StepResult::Unseen),
                result => Ok(result),
            },
        }
    }
}

/// Creates an object; fails if its name is taken.
pub(crate) async fn post(
    client: &Client,
    api: &Api<Received>,
    plugin: &str,
    object: &impl Serialize,
) -> Result<Received, kube::Error> {
    let body = serde_json::to_vec(object).map_err(kube::Error::SerdeError)?;
    let params = PostParams { field_manager: Some(field_manager(plugin)), ..PostParams::default() };
    let mut request = Request::new(api.resource_url()).create(&params, body).map_err(kube::Error::BuildRequest)?;
    // Without it the API server drops unknown fields.
    let uri = format!("{}&fieldValidation=Strict", request.uri());
    *request.uri_mut() = uri.parse().map_err(|error: http::uri::InvalidUri| kube::Error::HttpError(error.into()))?;
    answered(client.request(request)).await
}
