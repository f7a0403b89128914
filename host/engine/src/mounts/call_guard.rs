//! How far a program's plugin is trusted: its quarantine, and the parents that wait for the end of it or for their turn.
//!
//! It belongs to one program: a plugin that replaces another starts without a quarantine, and calls of the other that are still in flight do not affect it.

use std::sync::Arc;

use gyre_core::object::ObjectKey;
use gyre_core::outcome::{Problem, ProblemKind};
use gyre_core::quarantine::{Admission, CallEnd, Ended, Extent, Held, Lane, Quarantine, QuarantineScope};
use gyre_core::queue::Time;
use parking_lot::{Mutex, MutexGuard};

use crate::call::threads;

/// See the module's documentation. Clones are the same.
#[derive(Clone)]
pub(crate) struct CallGuard(Arc<Mutex<Quarantine>>);

/// A call that was admitted. Until [`Admitted::ended`] is called, it counts as one that was not made.
pub(crate) struct Admitted {
    call_guard: CallGuard,
    parent: ObjectKey,
    admission: Option<Admission>,
    now: Time,
}

impl CallGuard {
    /// For a plugin that is quarantined after faults in a row about so many different objects; none: never.
    pub(crate) fn new(quarantine_after: Option<u32>) -> Self {
        Self(Arc::new(Mutex::new(Quarantine::new(quarantine_after))))
    }

    /// Admits a call about a parent, or says why it is not made now, and when to ask again.
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

    /// The problem of a parent that is held at the moment; none: it is not.
    pub(crate) fn holds(&self, parent: &ObjectKey, now: Time) -> Option<Problem> {
        let (extent, held) = self.quarantine().holds(parent)?;
        Some(Problem::quarantined(&held, &describe(parent, extent), now, now))
    }

    /// The quarantine, if the plugin is in it as a whole.
    pub(crate) fn quarantined(&self) -> Option<Held> {
        self.quarantine().view()
    }

    /// The quarantines of single namespaces, and of single cluster-scoped parents: how many there are, and so many of them.
    pub(crate) fn quarantined_scopes(&self, most: usize) -> (usize, Vec<(QuarantineScope, Held)>) {
        let quarantine = self.quarantine();
        let listed = quarantine.held_scopes().take(most).map(|(scope, held)| (scope.clone(), held)).collect();
        (quarantine.held_scope_count(), listed)
    }

    /// The parents that are held, or wait for their turn.
    pub(crate) fn held(&self) -> Vec<ObjectKey> {
        self.quarantine().objects().cloned().collect()
    }

    /// Of how many parents and scopes something is known.
    #[cfg(test)]
    pub(crate) fn known(&self) -> (usize, usize) {
        self.quarantine().len()
    }

    /// A parent is gone.
    pub(crate) fn forget(&self, parent: &ObjectKey, now: Time) {
        self.quarantine().forget(parent, now);
    }

    fn quarantine(&self) -> MutexGuard<'_, Quarantine> {
        self.0.lock()
    }
}

impl Admitted {
    /// A plugin that has not answered yet, or whose last calls about such parents ended in faults, may spin again.
    pub(crate) fn priority(&self) -> threads::Priority {
        match self.admission {
            Some(Admission::Call(Lane::Usual)) => threads::Priority::Usual,
            _ => threads::Priority::Idle,
        }
    }

    /// The call has ended like that.
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

/// The quarantined objects, for people.
pub(crate) fn describe(parent: &ObjectKey, extent: Extent) -> String {
    match (extent, &parent.namespace) {
        (Extent::Mount, _) => "all objects".to_owned(),
        (Extent::Scope, Some(namespace)) => format!("objects in the namespace {namespace}"),
        (Extent::Scope, None) => format!("the object {}", parent.name),
    }
}
