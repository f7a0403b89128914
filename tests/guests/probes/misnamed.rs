//! Creates a ConfigMap with an invalid label value.

use gyre_guests::CONFIG_MAP;
use gyre_sdk::{Cluster, Failure, Manifest, NoSettings, NoStatus, Object, Reconciler, Response, Strategy};
use serde_json::json;

struct Misnamed;

impl Reconciler for Misnamed {
    type Parent = Object<gyre_guests::Parent, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe("Misnamed").child(CONFIG_MAP, Strategy::Apply)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Response, Failure> {
        Response::children().apply(&json!({
            "apiVersion": CONFIG_MAP.api_version,
            "kind": CONFIG_MAP.kind,
            "metadata": {"name": parent.metadata.name, "labels": {"title": "not a label's value"}},
        }))
    }
}

gyre_sdk::export!(Misnamed);
