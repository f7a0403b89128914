//! The quarantine of a program's plugin, and the parents that wait for its end or for their turn.
//!
//! It belongs to one program: a plugin that replaces another starts without a quarantine.

use std::sync::Arc;

use gyre_core::object::ObjectKey;
use gyre_core::outcome::{Problem, ProblemKind};
use gyre_core::quarantine::{Admission, CallEnd, Ended, Extent, Held, Lane, Quarantine, QuarantineScope};
use gyre_core::queue::Time;
use parking_lot::{Mutex, MutexGuard};

use crate::call::threads;

#[derive(Clone)]
pub(crate) struct CallGuard(Arc<Mutex<Quarantine>>);

/// An admitted call. Dropped before [`Admitted::ended`], it counts as not made.
pub(crate) struct Admitted {
    call_guard: CallGuard,
    parent: ObjectKey,
    admission: Option<Admission>,
    now: Time,
}

impl CallGuard {
    /// Quarantines after consecutive faults on this many distinct objects.
    pub(crate) fn new(quarantine_after: Option<u32>) -> Self {
        Self(Arc::new(Mutex::new(Quarantine::new(quarantine_after))))
    }

    /// Admits a call about a parent, or returns why and until when it must wait.
    pub(crate) fn admit(&self, parent: &ObjectKey, now: Time) -> Result<Admitted, Problem> {
        let mut quarantine = self.quarantine();
        match quarantine.admit(parent, now) {
            Admission::Wait => {
                Err(Problem::new(ProblemKind::Deferred, "another call of the plugin, which may fault, is in progress"))
            }
            Admission::Held { until, .. } => Err(match quarantine.holds(parent) {
                Some((extent, held)) => Problem::quarantined(&held, &describe(parent, extent), until, now),
                None => Problem::new(ProblemKind::Stale, "the quarantine of the plugin has just ended"),
            }),
            admission @ (Admission::Call(_) | Admission::Probe(_)) => {
                let (call_guard, parent) = (self.clone(), parent.clone());
                Ok(Admitted { call_guard, parent, admission: Some(admission), now })
            }
        }
    }

    pub(crate) fn holds(&self, parent: &ObjectKey, now: Time) -> Option<Problem> {
        let (extent, held) = self.quarantine().holds(parent)?;
        Some(Problem::quarantined(&held, &describe(parent, extent), now, now))
    }

    pub(crate) fn quarantined(&self) -> Option<Held> {
        self.quarantine().view()
    }

    /// The number of quarantined scopes, and at most `most` of them.
    pub(crate) fn quarantined_scopes(&self, most: usize) -> (usize, Vec<(QuarantineScope, Held)>) {
        let quarantine = self.quarantine();
        let listed = quarantine.held_scopes().take(most).map(|(scope, held)| (scope.clone(), held)).collect();
        (quarantine.held_scope_count(), listed)
    }

    /// The parents that are held, or wait for their turn.
    pub(crate) fn held(&self) -> Vec<ObjectKey> {
        self.quarantine().objects().cloned().collect()
    }

    #[cfg(test)]
    pub(crate) fn known(&self) -> (usize, usize) {
        self.quarantine().len()
    }

    pub(crate) fn forget(&self, parent: &ObjectKey, now: Time) {
        self.quarantine().forget(parent, now);
    }

    fn quarantine(&self) -> MutexGuard<'_, Quarantine> {
        self.0.lock()
    }
}

impl Admitted {
    /// Calls that may spin get a low priority: the first of a plugin, and those after faults.
    pub(crate) fn priority(&self) -> threads::Priority {
        match self.admission {
            Some(Admission::Call(Lane::Usual)) => threads::Priority::Usual,
            _ => threads::Priority::Idle,
        }
    }

    pub(crate) fn ended(mut self, end: CallEnd, now: Time) -> Ended {
        self.end(end, now)
    }

    fn end(&mut self, end: CallEnd, now: Time) -> Ended {
        self.admission
            .take()
            .map(|admission| self.call_guard.quarantine().ended(&self.parent, admission, end, now))
            .unwrap_or_default()
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.end(CallEnd::HostFault, self.now);
    }
}

pub(crate) fn describe(parent: &ObjectKey, extent: Extent) -> String {
    match (extent, &parent.namespace) {
        (Extent::Mount, _) => "all objects".to_owned(),
        (Extent::Scope, Some(namespace)) => format!("objects in the namespace {namespace}"),
        (Extent::Scope, None) => format!("the object {}", parent.name),
    }
}
