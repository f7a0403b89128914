//! Counts its calls in memory of its own, and writes the number into its ConfigMap `<name>`: it is no pure function.

use std::sync::atomic::{AtomicU64, Ordering};

use gyre_guests::{CONFIG_MAP, config_map};
use gyre_sdk::{Cluster, Failure, Manifest, NoSettings, NoStatus, Object, Reconciler, Response, Strategy};
use serde_json::json;

static CALLS: AtomicU64 = AtomicU64::new(0);

struct Remembering;

impl Reconciler for Remembering {
    type Parent = Object<gyre_guests::Parent, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe("Remembering").child(CONFIG_MAP, Strategy::Apply)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Response, Failure> {
        let calls = CALLS.fetch_add(1, Ordering::Relaxed);
        Response::new().apply(&config_map(&parent.metadata.name, json!({"calls": calls.to_string()})))
    }
}

gyre_sdk::export!(Remembering);
