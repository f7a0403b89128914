//! Reads for ever.

use gyre_guests::{CONFIG_MAP, Parent};
use gyre_sdk::{Cluster, Failure, Manifest, NoSettings, ReadKind, Reconciler, Response};
use serde_json::Value;

struct EndlessReads;

impl Reconciler for EndlessReads {
    type Parent = Parent;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::manifest(env!("CARGO_CRATE_NAME"), "EndlessReads").read(ReadKind::new(CONFIG_MAP).metadata_only())
    }

    fn reconcile(_: &Parent, _: &NoSettings, cluster: &Cluster) -> Result<Response, Failure> {
        let mut found = 0_usize;
        for number in 0_u64.. {
            found += cluster.get::<Value>(CONFIG_MAP, None, &format!("number-{number}"))?.iter().count();
        }
        Err(Failure::Terminal(format!("found {found}")))
    }
}

gyre_sdk::export!(EndlessReads);
