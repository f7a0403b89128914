//! Wants the objects in `spec.children` unchanged. Jobs are recreated.

use gyre_guests::SECRET;
use gyre_sdk::{Cluster, Failure, Kind, Manifest, NoSettings, NoStatus, Object, Reconciler, Response, Strategy};
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
            .child(SECRET, Strategy::Apply)
            .child(Kind::new("apps/v1", "Deployment"), Strategy::Apply)
            .child(Kind::new("autoscaling/v2", "HorizontalPodAutoscaler"), Strategy::Apply)
            .child(Kind::new("batch/v1", "Job"), Strategy::Recreate)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Response, Failure> {
        parent.spec.children.iter().try_fold(Response::children(), |response, child| response.apply(child))
    }
}

gyre_sdk::export!(Verbatim);
