//! **It sets a finalizer on every Pod that it is mounted for: a deleted Pod remains until the host
//! has removed the finalizer.** So restrict the mount to few Pods, with `namespaces` and a
//! `selector` such as `pod-log.gyre.dev/watch=true`. Never mount it for Pods that the host needs to
//! start.
//!
//! It logs changes of Pods, and also deletions while the host is down.
//!
//! ```text
//!   Pod ──▶ "Sync/Add/Update for Pod …", at every change
//!    └─ deleted ──▶ its containers end ──▶ "Pod … does not exist anymore" ──▶ finalizer removed
//! ```
//!
//! What is absent: children, status, conditions and events, because Pods belong to others. Use
//! `maxRetries: 5` of the mount to give up after 5 retries.

use gyre_sdk::{Cluster, Kind, Manifest, NoSettings, Plan, Reconciler, Result, log};
use serde::Deserialize;

/// The kind of the parents, which needs no CRD.
pub const POD: Kind = Kind::new("v1", "Pod");

/// The plugin.
pub struct PodLogger;

gyre_sdk::export!(PodLogger);

impl Reconciler for PodLogger {
    type Parent = Pod;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        Manifest::new("pod-log", env!("CARGO_PKG_VERSION"), POD).description(env!("CARGO_PKG_DESCRIPTION")).finalizes()
    }

    fn reconcile(pod: &Pod, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        pod.log("Sync/Add/Update for Pod ", "");
        Ok(Plan::keep_children())
    }

    fn finalize(pod: &Pod, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        if pod.has_ended() {
            pod.log("Pod ", " does not exist anymore");
            return Ok(Plan::keep_children().release_parent());
        }
        pod.log("Sync/Add/Update for Pod ", "");
        Ok(Plan::keep_children())
    }
}

/// The parent, of which only metadata is read.
#[derive(Debug, Deserialize)]
pub struct Pod {
    metadata: PodMetadata,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PodMetadata {
    name: String,
    #[serde(default)]
    namespace: String,
    deletion_grace_period_seconds: Option<i64>,
}

impl Pod {
    /// A deleted Pod has a `deletionTimestamp` while its containers still run. When they have
    /// ended, the kubelet deletes it again without a grace period. A Pod without a node has no
    /// grace period.
    fn has_ended(&self) -> bool {
        self.metadata.deletion_grace_period_seconds.unwrap_or_default() == 0
    }

    fn log(&self, before: &str, after: &str) {
        log::info(&[before, &self.metadata.name, after].concat(), &[("namespace", &self.metadata.namespace)]);
    }
}

#[cfg(test)]
mod tests;
