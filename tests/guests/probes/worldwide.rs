//! Reconciles a cluster-scoped kind: creates a ConfigMap in the namespace `spec.namespace`, and a
//! ClusterRole, both with the name of their parent.

use gyre_guests::{API_VERSION, crd};
use gyre_sdk::k8s::{ClusterRole, ConfigMap};
use gyre_sdk::{Cluster, Kind, Manifest, NoSettings, NoStatus, Object, Plan, Reconciler, Result, Strategy};
use serde::Deserialize;

const WORLDWIDE: Kind = Kind::new(API_VERSION, "Worldwide");

#[derive(Deserialize)]
struct Spec {
    namespace: Option<String>,
}

struct Worldwide;

impl Reconciler for Worldwide {
    type Parent = Object<Spec, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        let definition = crd(WORLDWIDE.group(), WORLDWIDE.version(), WORLDWIDE.kind);
        let definition = String::from_utf8_lossy(&definition).replace("\"Namespaced\"", "\"Cluster\"");
        Manifest::new("worldwide", env!("CARGO_PKG_VERSION"), WORLDWIDE)
            .description("Does one thing, so that tests can see what becomes of it.")
            .child::<ConfigMap>(Strategy::Apply)
            .child::<ClusterRole>(Strategy::Apply)
            .crd(definition)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        let name = &parent.metadata.name;
        let config_map = ConfigMap::new(name);
        let config_map = match &parent.spec.namespace {
            Some(namespace) => config_map.with_namespace(namespace),
            None => config_map,
        };
        Ok(Plan::children([config_map]).apply(ClusterRole::new(name).with_rules([])))
    }
}

gyre_sdk::export!(Worldwide);
