//! The earlier version of `narrowed`: creates a ConfigMap and a Secret `<name>`.

use gyre_guests::{CONFIG_MAP, SECRET, config_map};
use gyre_sdk::{Cluster, Failure, Manifest, NoSettings, NoStatus, Object, Reconciler, Response, Strategy};
use serde_json::json;

struct Widened;

impl Reconciler for Widened {
    type Parent = Object<gyre_guests::Parent, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe("Narrowing").child(CONFIG_MAP, Strategy::Apply).child(SECRET, Strategy::Apply)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Response, Failure> {
        let name = &parent.metadata.name;
        let secret = json!({"apiVersion": SECRET.api_version, "kind": SECRET.kind, "metadata": {"name": name}});
        Response::children().apply(&config_map(name, json!({})))?.apply(&secret)
    }
}

gyre_sdk::export!(Widened);
