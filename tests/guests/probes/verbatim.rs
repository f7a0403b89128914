//! Wants the objects in `spec.children` unchanged. Jobs are recreated.

use gyre_sdk::k8s::{Deployment, HorizontalPodAutoscaler, Job, Secret};
use gyre_sdk::{Cluster, Manifest, NoSettings, NoStatus, Object, Plan, Reconciler, Result, Strategy};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Spec {
    children: Vec<Value>,
}

struct Verbatim;

impl Reconciler for Verbatim {
    type Parent = Object<Spec, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe("Verbatim")
            .child::<Secret>(Strategy::Apply)
            .child::<Deployment>(Strategy::Apply)
            .child::<HorizontalPodAutoscaler>(Strategy::Apply)
            .child::<Job>(Strategy::Recreate)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        Ok(Plan::children(parent.spec.children.iter().cloned()))
    }
}

gyre_sdk::export!(Verbatim);
