//! Has the required setting `greeting`, and writes it into its ConfigMap `<name>`.

use gyre_sdk::k8s::ConfigMap;
use gyre_sdk::{Cluster, Manifest, NoStatus, Object, Plan, Reconciler, Result, Schema, Strategy};
use serde::Deserialize;

#[derive(Deserialize, Schema)]
struct Greeting {
    greeting: String,
}

struct Demanding;

impl Reconciler for Demanding {
    type Parent = Object<gyre_guests::Parent, NoStatus>;
    type Settings = Greeting;

    fn manifest() -> Manifest {
        gyre_guests::probe("Demanding").child::<ConfigMap>(Strategy::Apply)
    }

    fn reconcile(parent: &Self::Parent, settings: &Greeting, _: &Cluster) -> Result<Plan> {
        Ok(Plan::children([ConfigMap::new(&parent.metadata.name).with_data([("greeting", &settings.greeting)])]))
    }
}

gyre_sdk::export!(Demanding);
