//! Logs the desired state of a Gateway and publishes an event, after changes and every 30 seconds.
//!
//! What is absent: children, and a status besides the conditions of the host. The host skips
//! updates that change nothing; use `workers: 2` of the mount for two workers.

use std::time::Duration;

use gyre_sdk::{Cluster, Event, Kind, Manifest, Metadata, NoSettings, Plan, Reconciler, Result, log};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The kind of the parents.
pub const GATEWAY: Kind = Kind::new("app.example.com/v1", "Gateway");

/// The resync period of the informers that it replaces.
const RESYNC: Duration = Duration::from_secs(30);

/// The maximum length of a spec in the log. A call may log 64 KiB.
const SHOWN_BYTES: usize = 4096;

/// The plugin.
pub struct GatewayReconciler;

gyre_sdk::export!(GatewayReconciler);

impl Reconciler for GatewayReconciler {
    type Parent = Gateway;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        Manifest::new("gateway", env!("CARGO_PKG_VERSION"), GATEWAY)
            .description(env!("CARGO_PKG_DESCRIPTION"))
            .crd(include_str!("../crd.json"))
    }

    fn reconcile(gateway: &Gateway, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        let spec = gateway.spec.as_deref().map_or("{}", RawValue::get);
        let message = format!("the desired state of Gateway {}", gateway.metadata.name);
        log::info(&message, &[("spec", shown(spec))]);
        let synced = Event::normal("Synced", "Student synced successfully");
        Ok(Plan::keep_children().event(synced).requeue_after(RESYNC))
    }
}

/// The parent.
#[derive(Debug, Deserialize)]
pub struct Gateway {
    /// Its metadata.
    pub metadata: Metadata,
    /// The desired state, unparsed.
    pub spec: Option<Box<RawValue>>,
}

/// Returns the start of a text, cut between characters.
fn shown(text: &str) -> &str {
    text.get(..text.floor_char_boundary(SHOWN_BYTES)).unwrap_or(text)
}

#[cfg(test)]
mod tests;
