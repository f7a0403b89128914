//! A Gateway's desired state is logged, and an event says that it was.
//!
//! It is so again every 30 seconds, and whenever the Gateway changes. What is absent: children, and a status but for the conditions
//! that the host writes. That an update which changes nothing is skipped, and how many are worked on at once, is up to the host:
//! two workers is `workers: 2` of the mount.

use std::time::Duration;

use gyre_sdk::{Cluster, Event, Failure, Kind, Manifest, Metadata, NoSettings, Reconciler, Response, log};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The kind of the parents.
pub const GATEWAY: Kind = Kind::new("app.example.com/v1", "Gateway");

/// As long as the resync period of the informers that it had before.
const RESYNC: Duration = Duration::from_secs(30);

/// The maximum length of a spec in the log. A call may log 64 KiB, and people read the start.
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

    fn reconcile(gateway: &Gateway, _: &NoSettings, _: &Cluster) -> Result<Response, Failure> {
        let spec = gateway.spec.as_deref().map_or("{}", RawValue::get);
        let message = format!("the desired state of Gateway {}", gateway.metadata.name);
        log::info(&message, &[("spec", shown(spec))]);
        let synced = Event::normal("Synced", "Student synced successfully");
        Ok(Response::status_only().event(synced).requeue_after(RESYNC))
    }
}

/// The parent.
#[derive(Debug, Deserialize)]
pub struct Gateway {
    /// Its metadata.
    pub metadata: Metadata,
    /// The desired state, as it stands.
    pub spec: Option<Box<RawValue>>,
}

/// The start of a text, up to a whole character.
fn shown(text: &str) -> &str {
    text.get(..text.floor_char_boundary(SHOWN_BYTES)).unwrap_or(text)
}

#[cfg(test)]
mod tests;
