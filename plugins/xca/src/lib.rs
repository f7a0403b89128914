//! Activates an Xca once, and records the time in its status.
//!
//! ```text
//!   not active ──▶ active, since now ──▶ nothing more
//! ```
//!
//! The clock is read only when an Xca becomes active, because calls that read the clock are always
//! repeated. What is absent: children, and retries of the write, which the host does.

use gyre_sdk::{Cluster, CustomResource, Manifest, NoSettings, Plan, Reconciler, Result, Schema, Time};
use serde::{Deserialize, Serialize};

/// Becomes active once, and says when.
#[derive(Debug, Deserialize, CustomResource)]
#[resource(group = "apps.xca.k8s.kb.cx", version = "v1beta1", kind = "Xca", status = XcaStatus, spec_optional)]
#[resource(column("Foo", ".spec.foo"), column("Active", ".status.active", "boolean"))]
#[resource(column("Last Update", ".status.last_update_time", "date"), condition("Ready"), age)]
pub struct XcaSpec {
    /// Any text. Nothing depends on it.
    pub foo: Option<String>,
}

/// The status of an Xca, without the conditions.
#[derive(Debug, Deserialize, Serialize, Schema)]
pub struct XcaStatus {
    /// If true, the Xca has become active.
    #[serde(default)]
    pub active: bool,
    /// The time at which it became active.
    #[serde(skip_deserializing)]
    pub last_update_time: Option<Time>,
}

/// The parent, whose spec is not read.
#[derive(Debug, Deserialize)]
pub struct Xca {
    /// The status.
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

    fn reconcile(xca: &Xca, _: &NoSettings, cluster: &Cluster) -> Result<Plan> {
        if xca.status.as_ref().is_some_and(|status| status.active) {
            return Ok(Plan::keep_children());
        }
        let now = cluster.now().to_second();
        Ok(Plan::keep_children().status(XcaStatus { active: true, last_update_time: Some(now) }))
    }
}

#[cfg(test)]
mod tests;
