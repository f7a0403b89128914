//! Takes deletions out of a plan that the mount's guard does not allow, and reports them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use gyre_core::deletion_guard::{Circumstances, Decision, Limits, RELEASE_ANNOTATION, Release, is_released};
use gyre_core::object::GroupVersionKind;
use gyre_core::plan::{Plan, Refusal, RefusalReason, Step};
use jiff::Timestamp;

use super::Run;
use crate::cluster::object::Object;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

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
        let parent = self.active.parent(&self.observed.parent);
        parent.children.is_missing() && children.iter().any(|step| !parent.can_refer(&step.child().key))
    }

    fn decide(&mut self, unwanted: &BTreeMap<GroupVersionKind, u64>) -> BTreeMap<GroupVersionKind, Decision> {
        let (services, active) = (&self.context.services, self.active);
        let mut guard = self.mount.deletion_guard.lock();
        // Under the lock, so that the number of decided runs does not grow while it is compared.
        self._decided = Some(Arc::clone(&self.mount.decided));
        let circumstances = Circumstances {
            limits: active.program.policy.deletion_guard,
            release: if unwanted.is_empty() { Release::No } else { self.release() },
            has_backlog: guard.is_first_pass() && self.has_backlog(),
            now: services.queue.now(),
        };
        // Objects that have outlived their parents still have the labels of children.
        let has_parent = |child: &Object| child.owner_uid().is_some_and(|uid| active.parents.by_uid(uid).is_some());
        let count = |kind: &GroupVersionKind| {
            let view = self.observed.views.get(kind);
            view.map_or(0, |view| view.list(None).iter().filter(|child| active.is_ours(child) && has_parent(child)).count())
        };
        guard.decide(&self.observed.parent.key(), unwanted, &circumstances, count)
    }

    /// Returns whether the children of some parent may be unknown: it is queued, in progress and
    /// not decided about, or waits because its last reconcile failed or was postponed.
    ///
    /// Runs that were decided about do not count, because parents that wait for the end of the
    /// first pass come due together, and would wait for each other.
    fn has_backlog(&self) -> bool {
        let name = &self.mount.name;
        self.context.services.queue.inspect(|queue, now| {
            let waiting = queue.depth_of(name) + queue.retries_of(name);
            waiting > 0 || queue.in_progress_of(name, now).count > self.mount.decided_runs()
        })
    }

    fn release(&self) -> Release {
        let now: Timestamp = self.context.services.caller.clock.now();
        let days = [Some(now), now.checked_sub(DAY).ok()];
        let days: Vec<String> = days.into_iter().flatten().map(|day| day.strftime("%F").to_string()).collect();
        is_released(self.observed.parent.annotation(RELEASE_ANNOTATION).as_deref(), &self.version(), &days)
    }

    /// The version of the plugin in a release, as `gyre run --check` prints it.
    fn version(&self) -> String {
        self.active.program.plugin.digest().short()
    }

    /// The message depends only on the parent and the configuration, so that a status does not
    /// change whenever another parent does. The remedy comes first, because long messages are cut.
    fn held(&self, count: u64, kind: &GroupVersionKind) -> String {
        let Limits { children, percent } = self.active.program.policy.deletion_guard;
        format!(
            "{count} {kind} are no longer desired, but not deleted: if this is intended, annotate the parent with {RELEASE_ANNOTATION}={}/YYYY-MM-DD (today's date in UTC); held because more than {children} and more than {percent} % of all in this mount would be deleted",
            self.version(),
        )
    }
}
