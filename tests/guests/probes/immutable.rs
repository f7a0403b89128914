//! Creates an immutable ConfigMap `<name>` with `spec.text`: the API server rejects changes of it.

use gyre_guests::CONFIG_MAP;
use gyre_sdk::{Cluster, Failure, Manifest, NoSettings, NoStatus, Object, Reconciler, Response, Strategy};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct Spec {
    #[serde(default)]
    text: String,
}

struct Immutable;

impl Reconciler for Immutable {
    type Parent = Object<Spec, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe("Immutable").child(CONFIG_MAP, Strategy::Apply)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Response, Failure> {
        Response::children().apply(&json!({
            "apiVersion": CONFIG_MAP.api_version,
            "kind": CONFIG_MAP.kind,
            "metadata": {"name": parent.metadata.name},
            "immutable": true,
            "data": {"text": parent.spec.text},
        }))
    }
}

gyre_sdk::export!(Immutable);
