//! Takes the host's finalizer off a parent.

use gyre_core::outcome::{Changed, Outcome};

use super::Run;
use crate::writes::finalizers::{self, List};

impl Run<'_> {
    /// Releases a parent that no longer matches the mount's selector; its children stay, and the
    /// fields are withdrawn that the plugin has set.
    pub(super) async fn release_parent(mut self) -> Outcome {
        if !self.observed.parent.is_deleting() {
            self.withdraw_parent_fields().await;
        }
        self.remove_finalizer(List::Keep).await;
        self.mount.forget(&self.observed.parent.key(), self.context.services.queue.now());
        self.report.outcome(None)
    }

    /// Removes the finalizer if no child needs it. A child that the caches do not show yet restores
    /// it.
    pub(super) async fn remove_finalizer_if_not_needed(&mut self) {
        if !finalizers::has_finalizer(&self.observed.parent, self.writer().plugin) {
            return;
        }
        let list = finalizers::child_list(&self.observed.parent, self.writer().plugin);
        // Children that cannot be listed may still need it.
        if self.active.unpruned_kinds().iter().any(|kind| list.is_missing() || list.has_kind(&kind.resource.kind())) {
            return;
        }
        match self.unreachable_children(&list, &self.child_resources()).await {
            Ok(children) if children.is_empty() => self.remove_finalizer(List::Remove).await,
            Ok(_) => {}
            Err(error) => self.fail(&error),
        }
    }

    pub(super) async fn remove_finalizer(&mut self, list: List) {
        if !finalizers::has_finalizer(&self.observed.parent, &self.active.program.manifest().name) {
            return;
        }
        match finalizers::remove_finalizer(&self.writer(), &self.observed.parent, list).await {
            Ok(released) => {
                self.report.changed = Changed::Yes;
                self.report.parent_goes = self.observed.parent.is_deleting();
                if let Some(released) = released {
                    self.observed.parent = released;
                }
            }
            Err(problem) => self.report.fail(problem),
        }
    }
}
