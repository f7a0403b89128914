//! **It holds a finalizer on every Pod that it is mounted for: a Pod is written to when it appears, and when it is deleted it is gone only
//! after the host has removed the finalizer.** So restrict the mount to few Pods, with `namespaces` and a `selector` such as
//! `pod-log.gyre.dev/watch=true`, which the sample has. Never mount it for Pods that the host itself needs to start.
//!
//! It logs what becomes of Pods, and does not miss their end: that of a Pod whose deletion happens while the host is down is still
//! reported, because the Pod waits for the finalizer.
//!
//! ```text
//!   Pod ──▶ "Sync/Add/Update for Pod …", at every change
//!    └─ deleted ──▶ its containers end ──▶ "Pod … does not exist anymore" ──▶ finalizer removed, gone
//! ```
//!
//! What is absent: children, status, conditions and events, for Pods belong to others. To give a Pod up after 5 retries is
//! `maxRetries: 5` of the mount.

use gyre_sdk::{Cluster, Failure, Kind, Manifest, NoSettings, Reconciler, Response, Teardown, log};
use serde::Deserialize;

/// The kind of the parents. It is a built-in kind, so that no CRD comes with the plugin.
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

    fn reconcile(pod: &Pod, _: &NoSettings, _: &Cluster) -> Result<Response, Failure> {
        pod.log("Sync/Add/Update for Pod ", "");
        Ok(Response::status_only())
    }

    fn finalize(pod: &Pod, _: &NoSettings, _: &Cluster) -> Result<Teardown, Failure> {
        let done = pod.has_ended();
        if done {
            pod.log("Pod ", " does not exist anymore");
        } else {
            pod.log("Sync/Add/Update for Pod ", "");
        }
        Ok(Teardown { response: Response::status_only(), done })
    }
}

/// The parent: all that matters of it is its metadata.
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
    /// A deleted Pod has a `deletionTimestamp` while its containers still run. The kubelet deletes it once more, without grace, when
    /// they have ended; one that runs nowhere has no grace from the start.
    fn has_ended(&self) -> bool {
        self.metadata.deletion_grace_period_seconds.unwrap_or_default() == 0
    }

    fn log(&self, before: &str, after: &str) {
        log::info(&[before, &self.metadata.name, after].concat(), &[("namespace", &self.metadata.namespace)]);
    }
}

#[cfg(test)]
mod tests;
