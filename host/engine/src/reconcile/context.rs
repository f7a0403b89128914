//! The services that the reconciles of a host share.

use std::sync::Arc;

use gyre_core::queue;

use crate::mounts::services::HostServices;
use crate::record::Recordings;

pub(crate) struct Context {
    pub(crate) services: Arc<HostServices>,
    /// The retries of failing keys, which a status mentions.
    pub(crate) retries: queue::Options,
    pub(crate) recordings: Recordings,
}
