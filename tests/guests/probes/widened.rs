//! The earlier version of `narrowed`: creates a ConfigMap and a Secret `<name>`.

use gyre_guests::config_map;
use gyre_sdk::k8s::{ConfigMap, Secret};
use gyre_sdk::{Cluster, Manifest, NoSettings, NoStatus, Object, Plan, Reconciler, Result, Strategy};
use serde_json::json;

struct Widened;

impl Reconciler for Widened {
    type Parent = Object<gyre_guests::Parent, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe("Narrowing").child::<ConfigMap>(Strategy::Apply).child::<Secret>(Strategy::Apply)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        let name = &parent.metadata.name;
        Ok(Plan::children([config_map(name, json!({}))]).apply(Secret::new(name)))
    }
}

gyre_sdk::export!(Widened);
