//! Creates a ConfigMap in `spec.namespace` and, if `spec.clusterScoped` is true, a ClusterRole,
//! both `<namespace>-<name>` and not garbage-collected; and a ConfigMap `<name>` in its namespace.

use gyre_guests::{CONFIG_MAP, config_map};
use gyre_sdk::{Cluster, Failure, Kind, Manifest, NoSettings, NoStatus, Object, Reconciler, Response, Strategy};
use serde::Deserialize;
use serde_json::json;

const CLUSTER_ROLE: Kind = Kind::new("rbac.authorization.k8s.io/v1", "ClusterRole");

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
        gyre_guests::probe("CrossNamespace").child(CONFIG_MAP, Strategy::Apply).child(CLUSTER_ROLE, Strategy::Apply)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Response, Failure> {
        let name = &parent.metadata.name;
        let far_name = format!("{}-{name}", parent.metadata.namespace.as_deref().unwrap_or_default());
        let mut response = Response::children().apply(&config_map(name, json!({})))?;
        if let Some(namespace) = &parent.spec.namespace {
            response = response.apply(&json!({
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": far_name, "namespace": namespace},
            }))?;
        }
        if parent.spec.cluster_scoped {
            response = response.apply(&json!({
                "apiVersion": CLUSTER_ROLE.api_version,
                "kind": CLUSTER_ROLE.kind,
                "metadata": {"name": far_name},
                "rules": [],
            }))?;
        }
        Ok(response)
    }
}

gyre_sdk::export!(CrossNamespace);
