//! Creates a ConfigMap with an invalid label value.

use gyre_sdk::k8s::ConfigMap;
use gyre_sdk::{Cluster, Manifest, NoSettings, NoStatus, Object, Plan, Reconciler, Result, Strategy};

struct Misnamed;

impl Reconciler for Misnamed {
    type Parent = Object<gyre_guests::Parent, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe("Misnamed").child::<ConfigMap>(Strategy::Apply)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        let config_map = ConfigMap::new(&parent.metadata.name).with_labels([("title", "not a label's value")]);
        Ok(Plan::children([config_map]))
    }
}

gyre_sdk::export!(Misnamed);
