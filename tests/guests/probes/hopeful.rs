//! Reads the object `spec.hope` of the kind `Hope`, which has no CRD. The key `hope` of its
//! ConfigMap `<name>` is `NotServed` without the CRD, then `absent`, then `spec.text` of the
//! object.

use gyre_guests::{API_VERSION, config_map, read_error};
use gyre_sdk::k8s::ConfigMap;
use gyre_sdk::{Cluster, Kind, Manifest, NoSettings, NoStatus, Object, Plan, Reconciler, Resource, Result, Strategy};
use serde::Deserialize;
use serde_json::json;

/// The kind, and the word for an absent object: one text, so that tests can patch it.
const TEXTS: (&str, &str) = "Hopeabsent".split_at(4);

#[derive(Deserialize)]
struct Spec {
    hope: String,
}

#[derive(Deserialize)]
struct Hope {
    spec: HopeSpec,
}

#[derive(Deserialize)]
struct HopeSpec {
    text: String,
}

impl Resource for Hope {
    const KIND: Kind = Kind::new(API_VERSION, TEXTS.0);
}

struct Hopeful;

impl Reconciler for Hopeful {
    type Parent = Object<Spec, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe("Hopeful").child::<ConfigMap>(Strategy::Apply).reads::<Hope>()
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, cluster: &Cluster) -> Result<Plan> {
        let hope = match cluster.get::<Hope>(&parent.spec.hope) {
            Ok(found) => found.map_or(TEXTS.1.to_owned(), |found| found.spec.text),
            Err(error) => read_error(&error),
        };
        Ok(Plan::children([config_map(&parent.metadata.name, json!({"hope": hope}))]))
    }
}

gyre_sdk::export!(Hopeful);
