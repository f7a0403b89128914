//! Creates a RoleBinding of `spec.clusterRole` to the account `default` and, if `spec.verbs` has
//! any, a Role with these verbs for ConfigMaps. Both have the name of their parent.

use gyre_sdk::{Cluster, Failure, Kind, Manifest, NoSettings, NoStatus, Object, Reconciler, Response, Strategy};
use serde::Deserialize;
use serde_json::json;

const GROUP: &str = "rbac.authorization.k8s.io";
const ROLE: Kind = Kind::new("rbac.authorization.k8s.io/v1", "Role");
const ROLE_BINDING: Kind = Kind::new("rbac.authorization.k8s.io/v1", "RoleBinding");

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    cluster_role: String,
    #[serde(default)]
    verbs: Vec<String>,
}

struct Granting;

impl Reconciler for Granting {
    type Parent = Object<Spec, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe("Granting").child(ROLE_BINDING, Strategy::Apply).child(ROLE, Strategy::Apply)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Response, Failure> {
        let (name, spec) = (&parent.metadata.name, &parent.spec);
        let binding = json!({
            "apiVersion": ROLE_BINDING.api_version, "kind": ROLE_BINDING.kind, "metadata": {"name": name},
            "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": spec.cluster_role},
            "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": parent.metadata.namespace}],
        });
        let response = Response::children().apply(&binding)?;
        if spec.verbs.is_empty() {
            return Ok(response);
        }
        response.apply(&json!({
            "apiVersion": ROLE.api_version, "kind": ROLE.kind, "metadata": {"name": name},
            "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": spec.verbs}],
        }))
    }
}

gyre_sdk::export!(Granting);
