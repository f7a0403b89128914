//! Reads the clock without using it, and requests a requeue after `spec.requeueMilliseconds`, if
//! that is set. Does not read the clock if `spec.blind` is set. Has a ConfigMap `<name>`.

use std::hint::black_box;
use std::time::Duration;

use gyre_guests::config_map;
use gyre_sdk::k8s::ConfigMap;
use gyre_sdk::{Cluster, Manifest, NoSettings, NoStatus, Object, Plan, Reconciler, Result, Strategy};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    requeue_milliseconds: Option<u64>,
    #[serde(default)]
    blind: bool,
}

struct Clockwork;

impl Reconciler for Clockwork {
    type Parent = Object<Spec, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe("Clockwork").child::<ConfigMap>(Strategy::Apply)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, cluster: &Cluster) -> Result<Plan> {
        if !parent.spec.blind {
            black_box(cluster.now());
        }
        let plan = Plan::children([config_map(&parent.metadata.name, json!({}))]);
        let delay = parent.spec.requeue_milliseconds.map(Duration::from_millis);
        Ok(Plan { requeue_after: delay, ..plan })
    }
}

gyre_sdk::export!(Clockwork);
