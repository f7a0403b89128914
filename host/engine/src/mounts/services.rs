use std::sync::Arc;

use kube::Client;

use crate::call::Caller;
use crate::client::{self, Connection};
use crate::cluster::informer::Informers;
use crate::leadership::{Claims, LeadableMounts};
use crate::mounts::inventory::Inventory;
use crate::mounts::release::Releaser;
use crate::program::ServiceAccount;
use crate::telemetry::metrics::Metrics;
use crate::values::Randomness;
use crate::values::digests::Digests;
use crate::work::WorkQueue;
use crate::writes::events::Events;

/// The services that all mounts of a host share.
pub(crate) struct HostServices {
    pub(crate) connection: Connection,
    /// The client for requests that need no claim.
    pub(crate) client: Client,
    pub(crate) caller: Caller,
    pub(crate) claims: Claims,
    pub(crate) leadable: LeadableMounts,
    pub(crate) informers: Informers,
    pub(crate) queue: Arc<WorkQueue>,
    pub(crate) events: Arc<Events>,
    pub(crate) inventory: Arc<Inventory>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) randomness: Randomness,
    pub(crate) digests: Arc<Digests>,
}

impl HostServices {
    /// Waits for the claim, and returns clients. `account` is what the removed mount wrote as.
    pub(crate) async fn releaser(&self, mount: &str, account: Option<&ServiceAccount>) -> Releaser {
        let claim = self.claims.of(mount);
        claim.held().await;
        Releaser {
            host: client::fenced(&self.connection, &claim),
            account: account.map(|account| client::for_account(&self.connection, &claim, account)),
        }
    }
}
