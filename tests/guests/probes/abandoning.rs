//! Creates the ConfigMap `<name>` once, records that in its status, and does not restore it.

use gyre_guests::{CONFIG_MAP, config_map};
use gyre_sdk::{Cluster, Failure, Manifest, NoSettings, Object, Reconciler, Response, Strategy};
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
        gyre_guests::probe("Abandoning").child(CONFIG_MAP, Strategy::Apply)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, cluster: &Cluster) -> Result<Response, Failure> {
        let there: Vec<serde_json::Value> = cluster.children(CONFIG_MAP)?;
        let is_made = parent.status.as_ref().is_some_and(|status| status.made);
        let response = if is_made && there.is_empty() {
            Response::children()
        } else {
            Response::children().apply(&config_map(&parent.metadata.name, json!({})))?
        };
        response.status(&Status { made: true })
    }
}

gyre_sdk::export!(Abandoning);
