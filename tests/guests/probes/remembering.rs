//! Counts its calls in memory, and writes the number into its ConfigMap `<name>`: not pure. If
//! `spec.secret` is set, a Secret `<name>` has both, and the ConfigMap has a `copy`.

use std::sync::atomic::{AtomicU64, Ordering};

use gyre_guests::config_map;
use gyre_sdk::k8s::{ConfigMap, Secret};
use gyre_sdk::{Cluster, Manifest, NoSettings, NoStatus, Object, Plan, Reconciler, Result, Strategy};
use serde::Deserialize;
use serde_json::json;

static CALLS: AtomicU64 = AtomicU64::new(0);

#[derive(Deserialize)]
struct Spec {
    secret: Option<String>,
}

struct Remembering;

impl Reconciler for Remembering {
    type Parent = Object<Spec, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe("Remembering").child::<ConfigMap>(Strategy::Apply).child::<Secret>(Strategy::Apply)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        let calls = CALLS.fetch_add(1, Ordering::Relaxed);
        let name = &parent.metadata.name;
        let Some(secret) = &parent.spec.secret else {
            return Ok(Plan::children([config_map(name, json!({"calls": calls.to_string()}))]));
        };
        let value = format!("{secret}-{calls}");
        let config_map = config_map(name, json!({"calls": calls.to_string(), "copy": value}));
        Ok(Plan::children([config_map]).apply(Secret::new(name).with_string_data([("value", value)])))
    }
}

gyre_sdk::export!(Remembering);
