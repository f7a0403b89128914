//! Reads the clock without using it, and requests a requeue after `spec.requeueMilliseconds`, if
//! that is set. Does not read the clock if `spec.blind` is set. Has a ConfigMap `<name>`.

use std::hint::black_box;
use std::time::Duration;

use gyre_guests::{CONFIG_MAP, config_map};
use gyre_sdk::{Cluster, Failure, Manifest, NoSettings, NoStatus, Object, Reconciler, Response, Strategy};
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
        gyre_guests::probe("Clockwork").child(CONFIG_MAP, Strategy::Apply)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, cluster: &Cluster) -> Result<Response, Failure> {
        if !parent.spec.blind {
            black_box(cluster.now());
        }
        let response = Response::children().apply(&config_map(&parent.metadata.name, json!({})))?;
        let delay = parent.spec.requeue_milliseconds.map(Duration::from_millis);
        Ok(Response { requeue_after: delay, ..response })
    }
}

gyre_sdk::export!(Clockwork);
