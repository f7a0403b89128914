//! Creates a RoleBinding of `spec.clusterRole` to the account `default` and, if `spec.verbs` has
//! any, a Role with these verbs for ConfigMaps. Both have the name of their parent.

use gyre_sdk::k8s::{PolicyRule, Role, RoleBinding, RoleRef, Subject};
use gyre_sdk::{Cluster, Manifest, NoSettings, NoStatus, Object, Plan, Reconciler, Result, Strategy};
use serde::Deserialize;

const GROUP: &str = "rbac.authorization.k8s.io";

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
        gyre_guests::probe("Granting").child::<RoleBinding>(Strategy::Apply).child::<Role>(Strategy::Apply)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        let (name, spec) = (&parent.metadata.name, &parent.spec);
        let role = RoleRef::new(&spec.cluster_role).with_api_group(GROUP).with_kind("ClusterRole");
        let account = Subject::new("default").with_kind("ServiceAccount");
        let account = account.with_namespace(parent.metadata.namespace.as_deref().unwrap_or_default());
        let plan = Plan::children([RoleBinding::new(name).with_role_ref(role).with_subjects([account])]);
        if spec.verbs.is_empty() {
            return Ok(plan);
        }
        let rule = PolicyRule::new().with_api_groups([""]).with_resources(["configmaps"]).with_verbs(spec.verbs.iter());
        Ok(plan.apply(Role::new(name).with_rules([rule])))
    }
}

gyre_sdk::export!(Granting);
