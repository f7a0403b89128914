//! Has another default of `spec.size` in its older version: manifests mean different things by age.

use gyre_guests::{SizedParent, config_map};
use gyre_sdk::k8s::ConfigMap;
use gyre_sdk::{Cluster, Manifest, NoSettings, Plan, Reconciler, Result, Strategy};
use serde_json::{Value, json};

struct Moody;

fn schema(default: i64) -> Value {
    let size = json!({"type": "integer", "minimum": 0, "maximum": 10, "default": default});
    gyre_guests::of_spec(&json!({"type": "object", "properties": {"size": size}}))
}

impl Reconciler for Moody {
    type Parent = SizedParent;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe_with_older_version("Moody", ("v1alpha1", &schema(1)), &schema(3)).child::<ConfigMap>(Strategy::Apply)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        Ok(Plan::children([config_map(&parent.metadata.name, json!({"size": parent.spec.size.to_string()}))]))
    }
}

gyre_sdk::export!(Moody);
