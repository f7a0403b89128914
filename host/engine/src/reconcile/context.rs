//! What the reconciles of a host have in common.

use std::sync::Arc;

use gyre_core::queue;

use crate::call::Caller;
use crate::leadership::claim::Claim;
use crate::mounts::inventory::Inventory;
use crate::record::Recordings;
use crate::telemetry::metrics::Metrics;
use crate::work::WorkQueue;
use crate::writes::events::Recorder;

/// What all reconciles of a host share.
pub(crate) struct Context {
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) recorder: Recorder,
    /// How failing keys are retried: a status says whether its object will be tried again.
    pub(crate) retries: queue::Options,
    pub(crate) queue: Arc<WorkQueue>,
    pub(crate) caller: Arc<Caller>,
    pub(crate) recordings: Recordings,
    /// What a later start of the host knows of its mounts,
    pub(crate) inventory: Arc<Inventory>,
    /// and the claim to write it.
    pub(crate) inventory_claim: Claim,
}
