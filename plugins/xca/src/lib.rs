//! An Xca becomes active once, and its status says when.
//!
//! ```text
//!   not active ──▶ active, since now ──▶ nothing more is done
//! ```
//!
//! The clock is read on the way only: an answer that depends on it is never taken for a later one, so an active Xca that read it
//! would be reconciled each time that somebody looks at it. What is absent: children, and trying again when the status could not be
//! written, which is the host's.

use gyre_sdk::{Cluster, CustomResource, Failure, Manifest, NoSettings, Reconciler, Response, Schema, clock};
use serde::{Deserialize, Serialize};

/// Becomes active once, and says when.
#[derive(Debug, Deserialize, CustomResource)]
#[resource(group = "apps.xca.k8s.kb.cx", version = "v1beta1", kind = "Xca", status = XcaStatus, spec_optional)]
#[resource(column("Foo", ".spec.foo"), column("Active", ".status.active", "boolean"))]
#[resource(column("Last Update", ".status.last_update_time", "date"), condition("Ready"), age)]
pub struct XcaSpec {
    /// Whatever you like: nothing depends on it.
    pub foo: Option<String>,
}

/// What is recorded of an Xca, beside the conditions.
#[derive(Debug, Deserialize, Serialize, Schema)]
pub struct XcaStatus {
    /// Whether it became active.
    #[serde(default)]
    pub active: bool,
    /// When it became active.
    #[schema(format = "date-time")]
    #[serde(skip_deserializing)]
    pub last_update_time: Option<String>,
}

/// The parent. Its spec says nothing that matters, and may be missing.
#[derive(Debug, Deserialize)]
pub struct Xca {
    /// What is recorded of it.
    pub status: Option<XcaStatus>,
}

/// The plugin.
pub struct XcaReconciler;

gyre_sdk::export!(XcaReconciler);

impl Reconciler for XcaReconciler {
    type Parent = Xca;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_sdk::manifest!(XcaSpec)
    }

    fn reconcile(xca: &Xca, _: &NoSettings, cluster: &Cluster) -> Result<Response, Failure> {
        if xca.status.as_ref().is_some_and(|status| status.active) {
            return Ok(Response::status_only());
        }
        let last_update_time = clock::rfc3339(cluster.now());
        Response::status_only().status(&XcaStatus { active: true, last_update_time: Some(last_update_time) })
    }
}

#[cfg(test)]
mod tests;
