//! Creates the ConfigMaps `<name>-a` and `<name>-b`, and wants `-b` until `-a` is deleted. If
//! `spec.finalize` is `fail`, teardown fails; `trap` panics; `never` is never done.

use gyre_guests::config_map;
use gyre_sdk::k8s::ConfigMap;
use gyre_sdk::{Cluster, Failure, Manifest, NoSettings, NoStatus, Object, Plan, Reconciler, Result, Strategy};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct Spec {
    #[serde(default)]
    finalize: String,
}

struct Finalizing;

impl Reconciler for Finalizing {
    type Parent = Object<Spec, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe("Finalizing").child::<ConfigMap>(Strategy::Apply).finalizes()
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        let [a, b] = children(parent);
        Ok(Plan::children([a, b].map(|name| config_map(&name, json!({})))))
    }

    #[expect(clippy::panic, reason = "one of the ways in which it finalizes")]
    fn finalize(parent: &Self::Parent, _: &NoSettings, cluster: &Cluster) -> Result<Plan> {
        match parent.spec.finalize.as_str() {
            "fail" => return Err(Failure::transient("spec.finalize says so")),
            "trap" => panic!("spec.finalize says so"),
            _ => {}
        }
        let [a, b] = children(parent);
        let a_is_gone = cluster.child::<ConfigMap>(&a)?.is_none();
        if a_is_gone && parent.spec.finalize != "never" {
            return Ok(Plan::finalized());
        }
        Ok(Plan::children([config_map(&b, json!({}))]))
    }
}

fn children(parent: &Object<Spec, NoStatus>) -> [String; 2] {
    ["a", "b"].map(|end| format!("{}-{end}", parent.metadata.name))
}

gyre_sdk::export!(Finalizing);
