//! Reconciles a cluster-scoped kind: creates a ConfigMap in the namespace `spec.namespace`, and a
//! ClusterRole, both with the name of their parent.

use gyre_guests::{API_VERSION, CONFIG_MAP, crd};
use gyre_sdk::{Cluster, Failure, Kind, Manifest, NoSettings, NoStatus, Object, Reconciler, Response, Strategy};
use serde::Deserialize;
use serde_json::json;

const WORLDWIDE: Kind = Kind::new(API_VERSION, "Worldwide");
const CLUSTER_ROLE: Kind = Kind::new("rbac.authorization.k8s.io/v1", "ClusterRole");

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
            .child(CONFIG_MAP, Strategy::Apply)
            .child(CLUSTER_ROLE, Strategy::Apply)
            .crd(definition)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Response, Failure> {
        let name = &parent.metadata.name;
        let metadata = match &parent.spec.namespace {
            Some(namespace) => json!({"name": name, "namespace": namespace}),
            None => json!({"name": name}),
        };
        let map = json!({"apiVersion": CONFIG_MAP.api_version, "kind": CONFIG_MAP.kind, "metadata": metadata});
        let role = json!({
            "apiVersion": CLUSTER_ROLE.api_version,
            "kind": CLUSTER_ROLE.kind,
            "metadata": {"name": name},
            "rules": [],
        });
        Response::children().apply(&map)?.apply(&role)
    }
}

gyre_sdk::export!(Worldwide);
