//! Has a status with only `phase`: the API server prunes the host's fields. Wants `phase: Done`.

use gyre_sdk::{Cluster, Manifest, NoSettings, Plan, Reconciler, Result};
use serde_json::json;

struct Slim;

impl Reconciler for Slim {
    type Parent = gyre_guests::Parent;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        let status = json!({"type": "object", "properties": {"phase": {"type": "string"}}});
        gyre_guests::probe_with_version("Slim", |version| version["schema"] = gyre_guests::schema(status))
    }

    fn reconcile(_: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        Ok(Plan::no_children().status(json!({"phase": "Done"})))
    }
}

gyre_sdk::export!(Slim);
