//! Asks for 15 ConfigMaps with names of ten million letters, which the host would have to keep.

use gyre_guests::{CONFIG_MAP, Parent};
use gyre_sdk::{Cluster, Failure, Manifest, NoSettings, ReadKind, Reconciler, Response};
use serde_json::Value;

const NAMES: u8 = 15;
const LENGTH: usize = 10_000_000;

struct EndlessNames;

impl Reconciler for EndlessNames {
    type Parent = Parent;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::manifest(env!("CARGO_CRATE_NAME"), "EndlessNames").read(ReadKind::new(CONFIG_MAP).metadata_only())
    }

    fn reconcile(_: &Parent, _: &NoSettings, cluster: &Cluster) -> Result<Response, Failure> {
        for number in 0..NAMES {
            let name = char::from(b'a' + number).to_string().repeat(LENGTH);
            if cluster.get::<Value>(CONFIG_MAP, None, &name)?.is_some() {
                return Err(Failure::terminal("there is one"));
            }
        }
        Ok(Response::children())
    }
}

gyre_sdk::export!(EndlessNames);
