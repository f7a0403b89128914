//! Counts its calls in memory, and writes the number into its ConfigMap `<name>`: not pure. If
//! `spec.secret` is set, a Secret `<name>` has both, and the ConfigMap has a `copy`.

use std::sync::atomic::{AtomicU64, Ordering};

use gyre_guests::{CONFIG_MAP, SECRET, config_map};
use gyre_sdk::{Cluster, Failure, Manifest, NoSettings, NoStatus, Object, Reconciler, Response, Strategy};
use serde::Deserialize;
use serde_json::json;

static CALLS: AtomicU64 = AtomicU64::new(0);

#[derive(Deserialize)]
struct Spec {
    secret: Option<String>,
}

struct Remembering;

impl Reconciler for Remembering {
    type Parent = Object<Spec, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe("Remembering").child(CONFIG_MAP, Strategy::Apply).child(SECRET, Strategy::Apply)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Response, Failure> {
        let calls = CALLS.fetch_add(1, Ordering::Relaxed);
        let name = &parent.metadata.name;
        let Some(secret) = &parent.spec.secret else {
            return Response::children().apply(&config_map(name, json!({"calls": calls.to_string()})));
        };
        let value = format!("{secret}-{calls}");
        let (api_version, kind) = (SECRET.api_version, SECRET.kind);
        Response::children().apply(&config_map(name, json!({"calls": calls.to_string(), "copy": value})))?.apply(
            &json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "stringData": {"value": value}}),
        )
    }
}

gyre_sdk::export!(Remembering);
