//! Creates an immutable ConfigMap `<name>` with `spec.text`: the API server rejects changes of it.

use gyre_sdk::k8s::ConfigMap;
use gyre_sdk::{Cluster, Manifest, NoSettings, NoStatus, Object, Plan, Reconciler, Result, Strategy};
use serde::Deserialize;

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
        gyre_guests::probe("Immutable").child::<ConfigMap>(Strategy::Apply)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        let data = [("text", &parent.spec.text)];
        Ok(Plan::children([ConfigMap::new(&parent.metadata.name).with_immutable(true).with_data(data)]))
    }
}

gyre_sdk::export!(Immutable);
