//! Needs `spec.size`, which is required today, but absent in the older version of its kind.

use gyre_guests::{SizedParent, config_map};
use gyre_sdk::k8s::ConfigMap;
use gyre_sdk::{Cluster, Manifest, NoSettings, Plan, Reconciler, Result, Strategy};
use serde_json::json;

struct Modern;

impl Reconciler for Modern {
    type Parent = SizedParent;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        let older = gyre_guests::of_spec(&json!({"type": "object", "properties": {"text": {"type": "string"}}}));
        gyre_guests::probe_with_older_version("Modern", ("v1alpha1", &older), &gyre_guests::sized(0))
            .child::<ConfigMap>(Strategy::Apply)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        Ok(Plan::children([config_map(&parent.metadata.name, json!({"size": parent.spec.size.to_string()}))]))
    }
}

gyre_sdk::export!(Modern);
