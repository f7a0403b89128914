//! The host's state of a parent between two reconciles. Losing it costs a call or a request, but
//! never makes a result wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use gyre_core::conflict::ForceApplyHistory;
use gyre_core::object::{GroupVersionKind, ObjectKey};
use gyre_core::pace::Pace;
use gyre_core::plan::AcceptedForm;
use gyre_core::reads::Read;
use gyre_core::refused::RefusedSteps;
use gyre_core::response::{Child, Event};
use tokio::time::Instant;

use crate::cluster::object::{Object, SharedObject};
use crate::mounts::trail::Trail;
use crate::writes::status::AcceptedStatus;

#[derive(Clone, Debug, Default)]
pub(crate) struct ParentState {
    /// The UID of the parent; another object of the same name has another state.
    pub(crate) uid: String,
    /// The inputs of the last reconcile, if equal inputs need no call.
    pub(crate) inputs: Option<Inputs>,
    pub(crate) reads: BTreeSet<Read>,
    pub(crate) requeue_at: Option<Instant>,
    /// When the last call about a group ended; `None` for other parents.
    pub(crate) called_at: Option<Instant>,
    /// The Secrets whose certificates have to be renewed, and when.
    pub(crate) renewals: Option<Box<Renewals>>,
    /// The events of the last reconcile; `None` if unknown, as after a restart.
    pub(crate) events: Option<Vec<Event>>,
    /// The stored form of a child, by its UID, if the API server changed the desired one.
    pub(crate) accepted: BTreeMap<String, AcceptedForm>,
    /// By the UID of a child.
    pub(crate) forced_applies: BTreeMap<String, ForceApplyHistory>,
    /// By the UID of a child, which fields of others were left out when it was applied.
    pub(crate) skipped: BTreeMap<String, String>,
    pub(crate) refused: RefusedSteps,
    /// The last written status, if the API server dropped fields of it.
    pub(crate) accepted_status: Option<AcceptedStatus>,
    /// The last written statuses of members, if the API server dropped fields of them.
    pub(crate) accepted_members: BTreeMap<ObjectKey, AcceptedStatus>,
    /// The stored form of the fields of the parent, if the API server changed them.
    pub(crate) accepted_fields: Option<Box<AcceptedForm>>,
    pub(crate) pace: Pace,
    /// The inputs of the last reconcile without its own writes, to detect changes by others;
    /// `None` if no reconcile wrote recently.
    pub(crate) trail: Option<Arc<Trail>>,
}

impl ParentState {
    /// The time until certificates have to be renewed; zero if they are due.
    pub(crate) fn next_renewal(&self) -> Option<Duration> {
        self.renewals.as_ref().map(|renewals| renewals.at.saturating_duration_since(Instant::now()))
    }
}

/// The certificates of a parent, renewed without a call: its plugin may be in quarantine by then.
#[derive(Clone, Debug)]
pub(crate) struct Renewals {
    /// The Secrets as the plugin returned them, with requests in place of values.
    pub(crate) secrets: Arc<[Child]>,
    pub(crate) at: Instant,
}

/// A fingerprint of everything that a reconcile depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Inputs(u64, u64);

impl Inputs {
    /// Ignores the parent's resource version, which changes with every write. `answers` are the
    /// results of reads.
    pub(crate) fn of<'a>(
        program_id: u64,
        parent: &Object,
        members: &[SharedObject],
        children: &[(GroupVersionKind, SharedObject)],
        served: impl Iterator<Item = &'a GroupVersionKind> + Clone,
        answers: impl Iterator<Item = (&'a Read, u64)> + Clone,
    ) -> Self {
        // Two hashes with different seeds, because a collision would hide a change.
        let [first, second] = [1_u8, 2].map(|seed| {
            let mut hasher = DefaultHasher::new();
            seed.hash(&mut hasher);
            program_id.hash(&mut hasher);
            parent.around_resource_version().hash(&mut hasher);
            members.iter().for_each(|member| member.around_resource_version().hash(&mut hasher));
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
