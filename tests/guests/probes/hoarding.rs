//! Takes 48 MiB of memory in each call, without using it.

use std::hint::black_box;

use gyre_sdk::{Cluster, Failure, Manifest, NoSettings, NoStatus, Object, Reconciler, Response};

struct Hoarding;

impl Reconciler for Hoarding {
    type Parent = Object<gyre_guests::Parent, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe("Hoarding")
    }

    fn reconcile(_: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Response, Failure> {
        drop(black_box(vec![1_u8; 48 << 20]));
        Ok(Response::children())
    }
}

gyre_sdk::export!(Hoarding);
