//! Creates children, with POST: it fails where the name is taken, so no object of others is ever merged into.

use gyre_core::outcome::{Problem, ProblemKind};
use gyre_core::plan::{self, Desired, Existing, Input, Refusal, RefusalReason};
use kube::Api;
use kube::api::PostParams;
use kube::core::{Request, Status};

use super::{Applier, LOOK_AGAIN_AFTER, StepResult, field_manager, parsed, problem, refusal};
use crate::client::answered;
use crate::cluster::object::Received;

impl Applier<'_> {
    /// Creates a child of which no object is known.
    ///
    /// # Guarantees
    ///
    /// An object that has the name already is read, and `gyre_core::plan` decides about it. Until then nothing is written to it.
    ///
    /// # Errors
    ///
    /// What kept it from being done, to be tried again.
    pub(super) async fn create(&mut self, desired: &Desired, input: &Input<'_>) -> Result<StepResult, Problem> {
        let child = &desired.child;
        let view = self.views.get(&child.kind);
        let epoch = view.and_then(|view| view.write_epoch(child.key.namespace.as_deref()));
        self.metrics.wrote(self.mount, "create");
        let answer = match self.post(&self.api(child)?, desired).await {
            Ok(answer) => answer,
            // Not by the code alone: a quota that changes meanwhile is a 409, too.
            Err(kube::Error::Api(status)) if status.is_already_exists() => {
                return self.on_existing(desired, input, &status).await;
            }
            Err(kube::Error::Api(status)) => return refusal(&status, child).map(StepResult::Refused),
            Err(error) => return Err(problem(&error, child)),
        };
        let (object, answer) = parsed(answer, child)?;
        if object.key() != child.key {
            // Another name would be created in its place after each attempt.
            let message = format!(
                "{child} was created as {:?}: a webhook changes its name or namespace; exempt it from that webhook",
                object.key().to_string()
            );
            return Ok(StepResult::Refused(Refusal { child: Some(child.clone()), reason: RefusalReason::Rejected, message }));
        }
        if let Some(view) = view {
            view.insert_written(&object, epoch);
        }
        self.settle(desired, &answer, object.uid());
        Ok(StepResult::Wrote)
    }

    async fn post(&self, api: &Api<Received>, desired: &Desired) -> Result<Received, kube::Error> {
        let body = serde_json::to_vec(&desired.object).map_err(kube::Error::SerdeError)?;
        let params = PostParams { field_manager: Some(field_manager(self.plugin)), ..PostParams::default() };
        let mut request = Request::new(api.resource_url()).create(&params, body).map_err(kube::Error::BuildRequest)?;
        // Without it the API server drops fields that it does not know; it refuses them in an apply. `PostParams` lacks it.
        let uri = format!("{}&fieldValidation=Strict", request.uri());
        *request.uri_mut() = uri.parse().map_err(|error: http::uri::InvalidUri| kube::Error::HttpError(error.into()))?;
        answered(self.client.request(request)).await
    }

    /// Somebody has the name: another host, this one in a request whose answer was lost, or a stranger.
    async fn on_existing(&mut self, desired: &Desired, input: &Input<'_>, status: &Status) -> Result<StepResult, Problem> {
        let child = &desired.child;
        let live = match answered(self.api(child)?.get(&child.key.name)).await {
            Ok(live) => live,
            Err(kube::Error::Api(gone)) if gone.is_not_found() => {
                return Err(Problem::new(
                    ProblemKind::Stale,
                    format!("{child}: {}, but it does not exist any more", status.message),
                ));
            }
            Err(error) => return Err(problem(&error, child)),
        };
        let (object, live) = parsed(live, child)?;
        match plan::on_existing(input, desired, &live) {
            Existing::Nothing => Ok(StepResult::Nothing),
            Existing::Wait(message) => Ok(StepResult::Requeue(LOOK_AGAIN_AFTER, message)),
            Existing::Refuse(refusal) => Ok(StepResult::Refused(refusal)),
            Existing::Step(step) => self.change(&step, Some(object.as_ref())).await,
        }
    }
}
