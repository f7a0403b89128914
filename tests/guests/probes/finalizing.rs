//! Creates the ConfigMaps `<name>-a` and `<name>-b`, and wants `-b` until `-a` is deleted. If
//! `spec.finalize` is `fail`, teardown fails; `trap` panics; `never` is never done.

use gyre_guests::{CONFIG_MAP, config_map};
use gyre_sdk::{Cluster, Failure, Manifest, Metadata, NoSettings, NoStatus, Object, Reconciler, Response, Strategy, Teardown};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct Spec {
    #[serde(default)]
    finalize: String,
}

#[derive(Deserialize)]
struct Child {
    metadata: Metadata,
}

struct Finalizing;

impl Reconciler for Finalizing {
    type Parent = Object<Spec, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe("Finalizing").child(CONFIG_MAP, Strategy::Apply).finalizes()
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Response, Failure> {
        let [a, b] = children(parent);
        Response::children().apply(&config_map(&a, json!({})))?.apply(&config_map(&b, json!({})))
    }

    #[expect(clippy::panic, reason = "one of the ways in which it finalizes")]
    fn finalize(parent: &Self::Parent, _: &NoSettings, cluster: &Cluster) -> Result<Teardown, Failure> {
        match parent.spec.finalize.as_str() {
            "fail" => return Err(Failure::transient("spec.finalize says so")),
            "trap" => panic!("spec.finalize says so"),
            _ => {}
        }
        let [a, b] = children(parent);
        let observed: Vec<Child> = cluster.children(CONFIG_MAP)?;
        let a_is_gone = observed.iter().all(|child| child.metadata.name != a);
        if a_is_gone && parent.spec.finalize != "never" {
            return Ok(Teardown::done());
        }
        Ok(Teardown::waiting(Response::children().apply(&config_map(&b, json!({})))?))
    }
}

fn children(parent: &Object<Spec, NoStatus>) -> [String; 2] {
    ["a", "b"].map(|end| format!("{}-{end}", parent.metadata.name))
}

gyre_sdk::export!(Finalizing);
