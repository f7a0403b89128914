//! Wants the objects in `spec.children`, and the status in `spec.status`, unchanged, and reports
//! it: what a tenant can make of an operator that creates Namespaces.

use gyre_sdk::k8s::{ConfigMap, Job, Namespace};
use gyre_sdk::{Cluster, Manifest, NoSettings, NoStatus, Object, Plan, Reconciler, Result, Strategy};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Spec {
    #[serde(default)]
    children: Vec<Value>,
    #[serde(default)]
    status: Value,
}

struct Landlord;

impl Reconciler for Landlord {
    type Parent = Object<Spec, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe("Landlord")
            .child::<Namespace>(Strategy::Apply)
            .child::<ConfigMap>(Strategy::Apply)
            .child::<Job>(Strategy::Recreate)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        let children = &parent.spec.children;
        let plan = Plan::children(children.iter().cloned()).ready("Written", format!("{} children", children.len()));
        Ok(if parent.spec.status.is_object() { plan.status(&parent.spec.status) } else { plan })
    }
}

gyre_sdk::export!(Landlord);
