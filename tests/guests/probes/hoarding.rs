//! Takes 48 MiB of memory in each call, without using it.

use std::hint::black_box;

use gyre_sdk::{Cluster, Manifest, NoSettings, NoStatus, Object, Plan, Reconciler, Result};

struct Hoarding;

impl Reconciler for Hoarding {
    type Parent = Object<gyre_guests::Parent, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe("Hoarding")
    }

    fn reconcile(_: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        drop(black_box(vec![1_u8; 48 << 20]));
        Ok(Plan::no_children())
    }
}

gyre_sdk::export!(Hoarding);
