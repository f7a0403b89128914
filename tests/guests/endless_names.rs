//! Asks for 15 ConfigMaps with names of ten million letters, which the host would have to keep.

use gyre_guests::Parent;
use gyre_sdk::k8s::ConfigMap;
use gyre_sdk::{Cluster, Failure, Manifest, NoSettings, Plan, ReadKind, Reconciler, Result};

const NAMES: u8 = 15;
const LENGTH: usize = 10_000_000;

struct EndlessNames;

impl Reconciler for EndlessNames {
    type Parent = Parent;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::manifest(env!("CARGO_CRATE_NAME"), "EndlessNames").read_kind(ReadKind::of::<ConfigMap>().metadata_only())
    }

    fn reconcile(_: &Parent, _: &NoSettings, cluster: &Cluster) -> Result<Plan> {
        for number in 0..NAMES {
            let name = char::from(b'a' + number).to_string().repeat(LENGTH);
            if cluster.get::<ConfigMap>(&name)?.is_some() {
                return Err(Failure::terminal("there is one"));
            }
        }
        Ok(Plan::no_children())
    }
}

gyre_sdk::export!(EndlessNames);
