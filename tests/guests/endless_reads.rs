//! Reads for ever.

use gyre_guests::Parent;
use gyre_sdk::k8s::ConfigMap;
use gyre_sdk::{Cluster, Failure, Manifest, NoSettings, Plan, ReadKind, Reconciler, Result};

struct EndlessReads;

impl Reconciler for EndlessReads {
    type Parent = Parent;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::manifest(env!("CARGO_CRATE_NAME"), "EndlessReads").read_kind(ReadKind::of::<ConfigMap>().metadata_only())
    }

    fn reconcile(_: &Parent, _: &NoSettings, cluster: &Cluster) -> Result<Plan> {
        let mut found = 0_usize;
        for number in 0_u64.. {
            found += cluster.get::<ConfigMap>(&format!("number-{number}"))?.iter().count();
        }
        Err(Failure::Terminal(format!("found {found}")))
    }
}

gyre_sdk::export!(EndlessReads);
