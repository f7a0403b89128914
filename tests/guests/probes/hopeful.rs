//! Reads the object `spec.hope` of the kind `Hope`, which has no CRD. The key `hope` of its
//! ConfigMap `<name>` is `NotServed` without the CRD, then `absent`, then `spec.text` of the
//! object.

use gyre_guests::{API_VERSION, CONFIG_MAP, config_map, read_error};
use gyre_sdk::{Cluster, Failure, Kind, Manifest, NoSettings, NoStatus, Object, ReadKind, Reconciler, Response, Strategy};
use serde::Deserialize;
use serde_json::json;

const HOPE: Kind = Kind::new(API_VERSION, "Hope");

#[derive(Deserialize)]
struct Spec {
    hope: String,
}

#[derive(Deserialize)]
struct HopeSpec {
    text: String,
}

struct Hopeful;

impl Reconciler for Hopeful {
    type Parent = Object<Spec, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe("Hopeful").child(CONFIG_MAP, Strategy::Apply).read(ReadKind::new(HOPE))
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, cluster: &Cluster) -> Result<Response, Failure> {
        let hope = match cluster.get::<Object<HopeSpec, NoStatus>>(HOPE, None, &parent.spec.hope) {
            Ok(found) => found.map_or("absent".to_owned(), |found| found.spec.text),
            Err(error) => read_error(&error),
        };
        Response::children().apply(&config_map(&parent.metadata.name, json!({"hope": hope})))
    }
}

gyre_sdk::export!(Hopeful);
