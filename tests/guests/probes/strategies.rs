//! Creates a ConfigMap (apply), a Job (recreate) and a Secret (create-only), all `<name>`.
//!
//! `spec.text` is in the ConfigMap and the Secret, and `spec.image` is the Job's. With `spec.keep`,
//! the ConfigMap is kept: neither created nor changed.

use gyre_guests::{CONFIG_MAP, SECRET, config_map};
use gyre_sdk::{Cluster, DynamicObject, Failure, Kind, Manifest, NoSettings, NoStatus, Object, Reconciler, Response, Strategy};
use serde::Deserialize;
use serde_json::json;

const JOB: Kind = Kind::new("batch/v1", "Job");

#[derive(Deserialize)]
struct Spec {
    #[serde(default)]
    text: String,
    image: Option<String>,
    #[serde(default)]
    keep: bool,
}

struct Strategies;

impl Reconciler for Strategies {
    type Parent = Object<Spec, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe("Strategies")
            .child(CONFIG_MAP, Strategy::Apply)
            .child(JOB, Strategy::Recreate)
            .child(SECRET, Strategy::CreateOnly)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Response, Failure> {
        let (name, spec) = (&parent.metadata.name, &parent.spec);
        let response = if spec.keep {
            Response::children().keep(CONFIG_MAP.named(name))
        } else {
            Response::children().apply(&config_map(name, json!({"text": spec.text})))?
        };
        let container = json!({
            "name": "job",
            "image": spec.image.as_deref().unwrap_or("busybox:1.33.1"),
            "command": ["true"],
        });
        let job = json!({"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}});
        let secret = json!({
            "apiVersion": SECRET.api_version,
            "kind": SECRET.kind,
            "metadata": {"name": name},
            "stringData": {"text": spec.text},
        });
        response.apply(&DynamicObject::new(JOB, name).with("/spec", job))?.apply(&secret)
    }
}

gyre_sdk::export!(Strategies);
