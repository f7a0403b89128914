//! Creates the ConfigMap `<name>` once, records that in its status, and does not restore it.

use gyre_guests::config_map;
use gyre_sdk::k8s::ConfigMap;
use gyre_sdk::{Cluster, Manifest, NoSettings, Object, Plan, Reconciler, Result, Strategy};
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Deserialize, Serialize)]
struct Status {
    #[serde(default)]
    made: bool,
}

struct Abandoning;

impl Reconciler for Abandoning {
    type Parent = Object<gyre_guests::Parent, Status>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe("Abandoning").child::<ConfigMap>(Strategy::Apply)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, cluster: &Cluster) -> Result<Plan> {
        let there = cluster.children::<ConfigMap>()?;
        let is_made = parent.status.as_ref().is_some_and(|status| status.made);
        let plan = if is_made && there.is_empty() {
            Plan::no_children()
        } else {
            Plan::children([config_map(&parent.metadata.name, json!({}))])
        };
        Ok(plan.status(Status { made: true }))
    }
}

gyre_sdk::export!(Abandoning);
