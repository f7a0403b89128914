//! Takes `spec.steps` idle steps in each call.

use std::hint::black_box;

use gyre_sdk::{Cluster, Manifest, NoSettings, NoStatus, Object, Plan, Reconciler, Result};
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

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        (0..parent.spec.steps).for_each(|step| {
            black_box(step);
        });
        Ok(Plan::no_children())
    }
}

gyre_sdk::export!(Dawdling);
