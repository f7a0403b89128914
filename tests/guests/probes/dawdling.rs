//! Takes `spec.steps` idle steps in each call.

use std::hint::black_box;

use gyre_sdk::{Cluster, Failure, Manifest, NoSettings, NoStatus, Object, Reconciler, Response};
use serde::Deserialize;

#[derive(Deserialize)]
struct Spec {
    steps: u64,
}

struct Dawdling;

impl Reconciler for Dawdling {
    type Parent = Object<Spec, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe("Dawdling")
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Response, Failure> {
        (0..parent.spec.steps).for_each(|step| {
            black_box(step);
        });
        Ok(Response::children())
    }
}

gyre_sdk::export!(Dawdling);
