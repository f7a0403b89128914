//! Creates a ConfigMap in `spec.namespace` and, if `spec.clusterScoped` is true, a ClusterRole,
//! both `<namespace>-<name>` and not garbage-collected; and a ConfigMap `<name>` in its namespace.

use gyre_guests::config_map;
use gyre_sdk::k8s::{ClusterRole, ConfigMap};
use gyre_sdk::{Cluster, Manifest, NoSettings, NoStatus, Object, Plan, Reconciler, Result, Strategy};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    namespace: Option<String>,
    #[serde(default)]
    cluster_scoped: bool,
}

struct CrossNamespace;

impl Reconciler for CrossNamespace {
    type Parent = Object<Spec, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe("CrossNamespace").child::<ConfigMap>(Strategy::Apply).child::<ClusterRole>(Strategy::Apply)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        let name = &parent.metadata.name;
        let far_name = format!("{}-{name}", parent.metadata.namespace.as_deref().unwrap_or_default());
        let mut plan = Plan::children([config_map(name, json!({}))]);
        if let Some(namespace) = &parent.spec.namespace {
            plan = plan.apply(ConfigMap::new(&far_name).with_namespace(namespace));
        }
        if parent.spec.cluster_scoped {
            plan = plan.apply(ClusterRole::new(far_name).with_rules([]));
        }
        Ok(plan)
    }
}

gyre_sdk::export!(CrossNamespace);
