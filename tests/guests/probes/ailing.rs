//! Has the status `spec.status`, whose schema knows an integer `size`. Returns a child of the kind
//! `Absent`, which no API server serves, if `spec.child` is set. Fails if `spec.fail` is set.

use gyre_guests::CONFIG_MAP;
use gyre_sdk::{Cluster, Failure, Kind, Manifest, NoSettings, NoStatus, Object, Reconciler, Response, Strategy};
use serde::Deserialize;
use serde_json::{Value, json};

const ABSENT: Kind = Kind::new("guests.gyre.dev/v1", "Absent");

#[derive(Deserialize)]
struct Spec {
    #[serde(default)]
    fail: bool,
    status: Option<Value>,
    #[serde(default)]
    child: bool,
}

struct Ailing;

impl Reconciler for Ailing {
    type Parent = Object<Spec, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let status = json!({"type": "object", "properties": {
            "size": {"type": "integer"},
            "observedGeneration": {"type": "integer"},
            "conditions": {"type": "array", "items": any},
        }});
        gyre_guests::probe_with_version("Ailing", |version| version["schema"] = gyre_guests::schema(status))
            .child(CONFIG_MAP, Strategy::Apply)
            .child(ABSENT, Strategy::Apply)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Response, Failure> {
        let Spec { fail, status, child } = &parent.spec;
        if *fail {
            return Err(Failure::transient("not yet"));
        }
        let mut response = Response::children();
        if *child {
            let name = &parent.metadata.name;
            response =
                response.apply(&json!({"apiVersion": ABSENT.api_version, "kind": ABSENT.kind, "metadata": {"name": name}}))?;
        }
        match status {
            Some(status) => response.status(status),
            None => Ok(response),
        }
    }
}

gyre_sdk::export!(Ailing);
