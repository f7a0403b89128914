//! What the host remembers of a parent between two reconciles. It may be lost at any time: that costs a call or a request
//! that changes nothing, never a wrong result.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use gyre_core::conflict::ForceApplyHistory;
use gyre_core::object::GroupVersionKind;
use gyre_core::pace::Pace;
use gyre_core::plan::AcceptedForm;
use gyre_core::reads::Read;
use gyre_core::response::Event;
use tokio::time::Instant;

use crate::cluster::object::{Object, SharedObject};
use crate::mounts::trail::Trail;

/// See the module's documentation.
#[derive(Clone, Debug, Default)]
pub(crate) struct ParentState {
    /// The parent that this is about: another of the same name is another object.
    pub(crate) uid: String,
    /// The inputs of the last reconcile that went well, if the plugin need not be called again while they hold.
    pub(crate) inputs: Option<Inputs>,
    /// The reads of the last call.
    pub(crate) reads: BTreeSet<Read>,
    /// The time for which the plugin requested the next call.
    pub(crate) requeue_at: Option<Instant>,
    /// The events that held at the last reconcile; none: it is not known, as after a restart.
    pub(crate) events: Option<Vec<Event>>,
    /// By the UID of a child: what the API server made of what was desired, where it spells it otherwise.
    pub(crate) accepted: BTreeMap<String, AcceptedForm>,
    /// By the UID of a child: how often its fields were taken back from those who edited them.
    pub(crate) forced_applies: BTreeMap<String, ForceApplyHistory>,
    /// The status that was sent, and what the API server made of it where that differs (it drops fields that the CRD has no room for).
    pub(crate) accepted_status: Option<(u64, u64)>,
    /// The writes without a new input.
    pub(crate) pace: Pace,
    /// What that is told by; none: it has not been written for in a while.
    pub(crate) trail: Option<Arc<Trail>>,
}

/// A fingerprint of all that a reconcile depends on: the program, the parent, its children, which of their kinds are served, and what the
/// plugin read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Inputs(u64, u64);

impl Inputs {
    /// The parent counts without its resource version, which every write moves.
    pub(crate) fn of<'a>(
        program_id: u64,
        parent: &Object,
        children: &[(GroupVersionKind, SharedObject)],
        served: impl Iterator<Item = &'a GroupVersionKind> + Clone,
        answers: impl Iterator<Item = (&'a Read, u64)> + Clone,
    ) -> Self {
        // Two hashes with different beginnings: a collision would make the host blind to a change.
        let [first, second] = [1_u8, 2].map(|seed| {
            let mut hasher = DefaultHasher::new();
            seed.hash(&mut hasher);
            program_id.hash(&mut hasher);
            parent.around_resource_version().hash(&mut hasher);
            served.clone().for_each(|kind| kind.hash(&mut hasher));
            for (_, child) in children {
                (child.uid(), child.resource_version()).hash(&mut hasher);
            }
            answers.clone().for_each(|answer| answer.hash(&mut hasher));
            hasher.finish()
        });
        Self(first, second)
    }
}
