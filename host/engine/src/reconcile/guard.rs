//! Takes deletions out of a plan that the mount's guard does not allow, and reports them.

use std::collections::BTreeMap;
use std::time::Duration;

use gyre_core::deletion_guard::{Circumstances, Decision, Limits, RELEASE_ANNOTATION, Release, is_released};
use gyre_core::object::GroupVersionKind;
use gyre_core::plan::{Ownership, Plan, Refusal, RefusalReason, Step, ownership};
use jiff::Timestamp;

use super::Run;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The length of a plugin's digest in a release, as `gyre run --check` prints it.
const VERSION: usize = 12;

impl Run<'_> {
    /// Asks the guard, and returns the children of the plan that are not deleted now.
    pub(super) fn guard_deletions(&mut self, plan: &mut Plan) -> Vec<Step> {
        let unwanted = plan.deletions();
        let decisions = self.decide(&unwanted);
        let is_prevented = |step: &Step| {
            matches!(step, Step::Delete { .. }) && decisions.get(&step.child().kind).is_some_and(|it| *it != Decision::Delete)
        };
        let (prevented, steps) = std::mem::take(&mut plan.steps).into_iter().partition(is_prevented);
        plan.steps = steps;
        for (kind, decision) in decisions {
            let count = unwanted.get(&kind).copied().unwrap_or_default();
            match decision {
                Decision::Delete => {}
                Decision::Wait(delay) => {
                    self.report.requeue_after(delay);
                    self.report.wait(format!(
                        "{count} {kind} are no longer desired, and are deleted once all objects have been reconciled since the start of the host or of this version of the plugin"
                    ));
                }
                Decision::Hold => {
                    let message = self.held(count, &kind);
                    self.report.refusals.add(Refusal { child: None, reason: RefusalReason::DeletionHeld, message });
                }
            }
        }
        prevented
    }

    /// Returns whether one of these children would be forgotten if the parent got its list now.
    pub(super) fn would_be_forgotten(&self, children: &[Step]) -> bool {
        let parent = &self.observed.parent;
        let is_far = |step: &Step| ownership(parent.namespace(), step.child().key.namespace.as_deref()) == Ownership::Labels;
        self.active.parent(parent).children.is_missing() && children.iter().any(is_far)
    }

    fn decide(&self, unwanted: &BTreeMap<GroupVersionKind, u64>) -> BTreeMap<GroupVersionKind, Decision> {
        let (services, active) = (&self.context.services, self.active);
        let circumstances = Circumstances {
            limits: active.program.deletion_guard,
            release: if unwanted.is_empty() { Release::No } else { self.release() },
            has_backlog: services.queue.inspect(|queue, _| queue.depth_of(&self.mount.name) > 0),
            now: services.queue.now(),
        };
        let count = |kind: &GroupVersionKind| {
            let view = self.observed.views.get(kind);
            view.map_or(0, |view| view.list(None).iter().filter(|child| active.is_ours(child)).count())
        };
        self.mount.deletion_guard.lock().decide(&self.observed.parent.key(), unwanted, &circumstances, count)
    }

    fn release(&self) -> Release {
        let now: Timestamp = self.context.services.caller.clock.now();
        let days = [Some(now), now.checked_sub(DAY).ok()];
        let days: Vec<String> = days.into_iter().flatten().map(|day| day.strftime("%F").to_string()).collect();
        is_released(self.observed.parent.annotation(RELEASE_ANNOTATION).as_deref(), &self.version(), &days)
    }

    fn version(&self) -> String {
        let mut version = self.active.program.plugin.digest().to_string();
        version.truncate(VERSION);
        version
    }

    /// The message depends only on the parent and the configuration, so that a status does not
    /// change whenever another parent does. The remedy comes first, because long messages are cut.
    fn held(&self, count: u64, kind: &GroupVersionKind) -> String {
        let Limits { children, percent } = self.active.program.deletion_guard;
        format!(
            "{count} {kind} are no longer desired, but not deleted: if this is intended, annotate the parent with {RELEASE_ANNOTATION}={}/YYYY-MM-DD (today's date in UTC); held because more than {children} and more than {percent} % of all in this mount would be deleted",
            self.version(),
        )
    }
}
