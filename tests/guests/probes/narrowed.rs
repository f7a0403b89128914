//! The later version of the plugin `narrowing`: creates a ConfigMap `<name>`, and no longer
//! declares the Secrets of the earlier version `widened`.

use gyre_guests::config_map;
use gyre_sdk::k8s::ConfigMap;
use gyre_sdk::{Cluster, Manifest, NoSettings, NoStatus, Object, Plan, Reconciler, Result, Strategy};
use serde_json::json;

struct Narrowed;

impl Reconciler for Narrowed {
    type Parent = Object<gyre_guests::Parent, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe("Narrowing").child::<ConfigMap>(Strategy::Apply)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        Ok(Plan::children([config_map(&parent.metadata.name, json!({}))]))
    }
}

gyre_sdk::export!(Narrowed);
