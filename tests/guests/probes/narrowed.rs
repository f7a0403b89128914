//! The later version of the plugin `narrowing`: creates a ConfigMap `<name>`, and no longer
//! declares the Secrets of the earlier version `widened`.

use gyre_guests::{CONFIG_MAP, config_map};
use gyre_sdk::{Cluster, Failure, Manifest, NoSettings, NoStatus, Object, Reconciler, Response, Strategy};
use serde_json::json;

struct Narrowed;

impl Reconciler for Narrowed {
    type Parent = Object<gyre_guests::Parent, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe("Narrowing").child(CONFIG_MAP, Strategy::Apply)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Response, Failure> {
        Response::children().apply(&config_map(&parent.metadata.name, json!({})))
    }
}

gyre_sdk::export!(Narrowed);
