//! An Xca becomes active once, and its status says when.
//!
//! ```text
//!   not active ──▶ active, since now ──▶ nothing more is done
//! ```
//!
//! The clock is read on the way only: an answer that depends on it is never taken for a later one, so an active Xca that read it
//! would be reconciled each time that somebody looks at it. What is absent: children, and trying again when the status could not be
//! written, which is the host's.

use gyre_sdk::{Cluster, Failure, Kind, Manifest, NoSettings, Reconciler, Response, clock};
use serde::{Deserialize, Serialize};

/// What is reconciled.
pub const XCA: Kind = Kind::new("apps.xca.k8s.kb.cx/v1beta1", "Xca");

/// The plugin.
pub struct XcaReconciler;

gyre_sdk::export!(XcaReconciler);

impl Reconciler for XcaReconciler {
    type Parent = Xca;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        Manifest::new("xca", env!("CARGO_PKG_VERSION"), XCA)
            .description(env!("CARGO_PKG_DESCRIPTION"))
            .crd(include_str!("../crd.json"))
    }

    fn reconcile(xca: &Xca, _: &NoSettings, cluster: &Cluster) -> Result<Response, Failure> {
        if xca.status.as_ref().is_some_and(|status| status.active) {
            return Ok(Response::leaving_children());
        }
        let last_update_time = clock::rfc3339(cluster.now());
        Response::leaving_children().status(&XcaStatus { active: true, last_update_time: Some(last_update_time) })
    }
}

/// The parent. Its spec says nothing that matters, and may be missing.
#[derive(Debug, Deserialize)]
pub struct Xca {
    /// What is recorded of it.
    pub status: Option<XcaStatus>,
}

/// What is recorded of an Xca, beside the conditions.
#[derive(Debug, Deserialize, Serialize)]
pub struct XcaStatus {
    /// Whether it became active.
    #[serde(default)]
    pub active: bool,
    /// When it did, in RFC 3339.
    #[serde(skip_deserializing)]
    pub last_update_time: Option<String>,
}

#[cfg(test)]
mod tests;
