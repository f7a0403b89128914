//! Has a status with `seen: <spec.text>`, but no subresource: status writes raise the generation.

use gyre_sdk::{Cluster, Manifest, NoSettings, NoStatus, Object, Plan, Reconciler, Result};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct Spec {
    #[serde(default)]
    text: String,
}

struct Bare;

impl Reconciler for Bare {
    type Parent = Object<Spec, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe_with_version("Bare", |version| version["subresources"] = json!({}))
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        Ok(Plan::no_children().status(json!({"seen": parent.spec.text})))
    }
}

gyre_sdk::export!(Bare);
