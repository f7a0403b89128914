//! The renewal of certificates, for which the plugin is not called.

use std::sync::Arc;
use std::time::Duration;

use gyre_core::generated::Issuers;
use gyre_core::object::ObjectKey;
use gyre_core::outcome::{Changed, Outcome, Problem};
use gyre_core::reads::Read;
use gyre_core::response::Child;
use tokio::time::Instant;

use super::Run;
use crate::cluster::lookup::ReadResult;
use crate::mounts::parent_state::Renewals;
use crate::reconcile::plan_inputs::{PlanInputs, ValueInputs};
use crate::values::issuers::issuers;
use crate::values::may_have_values;

/// The longest time between two decisions about certificates: clocks may be set.
const DECIDE_AGAIN_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// The time until a plugin is called after a renewal, if the watch does not report it earlier.
const SHOWN_AFTER: Duration = Duration::from_secs(1);

impl Run<'_> {
    /// Reads the key of digests if an object has generated values: the plugin sees digests.
    pub(super) async fn load_digests(&self) -> Result<(), Problem> {
        let parent_kind = &self.active.program.manifest().parent;
        let has_values = self.observed.children.iter().any(|(kind, child)| may_have_values(kind, child))
            || may_have_values(parent_kind, &self.observed.parent);
        if has_values {
            self.context.services.digests.key(&self.active.reads).await?;
        }
        Ok(())
    }

    pub(super) fn value_inputs(&self, issuers: Issuers) -> ValueInputs {
        let digests = self.context.services.digests.known();
        ValueInputs { issuers, digests, now: self.context.services.caller.clock.now().as_second() }
    }

    /// `at` is in seconds since 1970.
    pub(super) fn renewals(&self, secrets: Arc<[Child]>, at: i64) -> Box<Renewals> {
        let seconds = u64::try_from(at.saturating_sub(self.context.services.caller.clock.now().as_second())).unwrap_or(0);
        // A moment that is due already is one that a step of this reconcile takes care of.
        let delay = Duration::from_secs(seconds.max(1)).min(DECIDE_AGAIN_AFTER);
        Box::new(Renewals { secrets, at: Instant::now() + delay })
    }

    pub(super) fn renewals_are_due(&self) -> bool {
        self.state.renewals.as_ref().is_some_and(|renewals| renewals.at <= Instant::now())
    }

    /// Renews what is due, although nothing has changed that would call the plugin.
    pub(super) async fn renew_without_a_call(mut self, due: Option<Duration>) -> Outcome {
        let plan_inputs = PlanInputs::of(self.active, &self.observed, &self.state);
        match self.load_digests().await {
            Ok(()) => self.renew(&plan_inputs).await,
            Err(problem) => self.report.fail(problem),
        }
        let Self { mount, observed, state, report, .. } = self;
        // The plugin sees the new digests at once.
        let seen = (report.changed == Changed::Yes).then_some(SHOWN_AFTER);
        let next = [seen, due, state.next_renewal()].into_iter().flatten().min();
        mount.set_parent_state(&observed.parent.key(), state);
        report.outcome(next)
    }

    /// Writes the Secrets whose certificates are due.
    pub(super) async fn renew(&mut self, plan_inputs: &PlanInputs) {
        let Some(secrets) = self.state.renewals.as_ref().map(|renewals| Arc::clone(&renewals.secrets)) else { return };
        let parent_namespace = self.observed.parent.namespace().map(str::to_owned);
        let found = issuers(&secrets, |kind, issuer| {
            let namespace = issuer.namespace.as_deref().or(parent_namespace.as_deref());
            let read = Read::Get { kind: kind.clone(), key: ObjectKey::new(namespace, &issuer.name) };
            match self.active.lookup.answer(&read, parent_namespace.as_deref()) {
                ReadResult::Objects(objects) => Ok(objects.into_iter().next()),
                ReadResult::Error(error) => Err(error),
            }
        });
        let values = self.value_inputs(found);
        let (plan, renewal) = plan_inputs.decide_renewals(self.active, &secrets, &values);
        let now = self.context.services.queue.now();
        self.execute(plan, plan_inputs, plan_inputs.parent(), now, &values.issuers).await;
        // After a failure, the renewal stays due, and the retry of the problem comes to it again.
        if self.report.is_carried_out() && self.report.requeue.is_none() {
            self.state.renewals = renewal.map(|at| self.renewals(secrets, at));
        }
    }
}
