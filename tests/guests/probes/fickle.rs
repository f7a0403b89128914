//! Fails as `spec.fail` says: `transient`, `retry-after` (in `spec.delayMilliseconds`), `terminal`,
//! `trap`, or `flood` with 20,000 children. Otherwise creates a ConfigMap `<name>`.

use std::time::Duration;

use gyre_guests::config_map;
use gyre_sdk::k8s::ConfigMap;
use gyre_sdk::{Cluster, Failure, Manifest, NoSettings, NoStatus, Object, Plan, Reconciler, Result, Strategy};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    #[serde(default)]
    fail: String,
    #[serde(default)]
    delay_milliseconds: u64,
}

struct Fickle;

impl Reconciler for Fickle {
    type Parent = Object<Spec, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe("Fickle").child::<ConfigMap>(Strategy::Apply)
    }

    #[expect(clippy::panic, reason = "one of the ways in which it fails")]
    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        const SENTENCE: &str = "spec.fail says so";
        match parent.spec.fail.as_str() {
            "transient" => Err(Failure::transient(SENTENCE)),
            "retry-after" => {
                Err(Failure::transient(SENTENCE).retry_after(Duration::from_millis(parent.spec.delay_milliseconds)))
            }
            "terminal" => Err(Failure::terminal(SENTENCE)),
            "trap" => panic!("{SENTENCE}"),
            "flood" => {
                let child = |number| config_map(&format!("{}-{number}", parent.metadata.name), json!({}));
                Ok(Plan::children((0..20_000).map(child)))
            }
            _ => Ok(Plan::children([config_map(&parent.metadata.name, json!({}))])),
        }
    }
}

gyre_sdk::export!(Fickle);
