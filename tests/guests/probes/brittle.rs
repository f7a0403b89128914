//! Divides by `spec.size`, which may be 0.

use gyre_guests::{SizedParent, config_map};
use gyre_sdk::k8s::ConfigMap;
use gyre_sdk::{Cluster, Manifest, NoSettings, Plan, Reconciler, Result, Strategy};
use serde_json::json;

struct Brittle;

impl Reconciler for Brittle {
    type Parent = SizedParent;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe_with_version("Brittle", |version| version["schema"] = gyre_guests::sized(0))
            .child::<ConfigMap>(Strategy::Apply)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        let share = 100 / parent.spec.size;
        Ok(Plan::children([config_map(&parent.metadata.name, json!({"share": share.to_string()}))]))
    }
}

gyre_sdk::export!(Brittle);
