//! How far a program's plugin is trusted: its quarantine, the parents that wait for the end of it, and its share of the workers.
//!
//! It belongs to one program: a plugin that replaces another begins anew, and what is still in flight of the other says nothing of it.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use gyre_core::object::ObjectKey;
use gyre_core::outcome::{Problem, ProblemKind};
use gyre_core::quarantine::{Admission, Change, End, Held, Quarantine, Share};
use gyre_core::queue::Time;

/// See the module's documentation.
pub(crate) struct Probation(Mutex<State>);

struct State {
    quarantine: Quarantine<ObjectKey>,
    /// Parents that wait for the end of the quarantine.
    held: BTreeSet<ObjectKey>,
    /// The share that was last given.
    share: Share,
}

impl Probation {
    /// For a plugin that is quarantined after faults in a row about so many different objects; none: never.
    pub(crate) fn new(quarantine_after: Option<u32>) -> Self {
        let quarantine = Quarantine::new(quarantine_after);
        let share = quarantine.share();
        Self(Mutex::new(State { quarantine, held: BTreeSet::new(), share }))
    }

    /// Whether the plugin is called now.
    pub(crate) fn admit(&self, now: Time) -> Admission {
        self.state().quarantine.admit(now)
    }

    /// How a call about that parent ended, which was admitted like this.
    pub(crate) fn ended(&self, parent: &ObjectKey, admission: Admission, end: End, now: Time) -> Change {
        self.state().quarantine.ended(parent, admission, end, now)
    }

    /// The quarantine, if the plugin is in it.
    pub(crate) fn quarantined(&self) -> Option<Held> {
        self.state().quarantine.view()
    }

    /// The parent has to wait until then, or until the quarantine is over.
    pub(crate) fn hold(&self, parent: &ObjectKey, until: Time, now: Time) -> Problem {
        let mut state = self.state();
        // It may be over by now; then the parent is called for again at once.
        let Some(held) = state.quarantine.view() else {
            return Problem::new(ProblemKind::Stale, "the quarantine of the plugin has just ended");
        };
        state.held.insert(parent.clone());
        Problem::quarantined(&held, until, now)
    }

    /// The parents that were held: what comes after a quarantine.
    pub(crate) fn take_held(&self) -> BTreeSet<ObjectKey> {
        std::mem::take(&mut self.state().held)
    }

    /// The parents that are held.
    pub(crate) fn held(&self) -> Vec<ObjectKey> {
        self.state().held.iter().cloned().collect()
    }

    /// A parent is gone.
    pub(crate) fn forget(&self, parent: &ObjectKey) {
        self.state().held.remove(parent);
    }

    /// The share of workers that the plugin deserves now.
    pub(crate) fn share(&self) -> Share {
        self.state().quarantine.share()
    }

    /// Whether that is another one than when it was last asked.
    pub(crate) fn has_new_share(&self) -> bool {
        let mut state = self.state();
        let share = state.quarantine.share();
        std::mem::replace(&mut state.share, share) != share
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
