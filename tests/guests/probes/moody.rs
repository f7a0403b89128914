//! Has another default of `spec.size` in its older version: manifests mean different things by age.

use gyre_guests::{CONFIG_MAP, SizedParent, config_map};
use gyre_sdk::{Cluster, Failure, Manifest, NoSettings, Reconciler, Response, Strategy};
use serde_json::{Value, json};

struct Moody;

fn schema(default: i64) -> Value {
    let size = json!({"type": "integer", "minimum": 0, "maximum": 10, "default": default});
    gyre_guests::of_spec(&json!({"type": "object", "properties": {"size": size}}))
}

impl Reconciler for Moody {
    type Parent = SizedParent;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe_with_older_version("Moody", ("v1alpha1", &schema(1)), &schema(3)).child(CONFIG_MAP, Strategy::Apply)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Response, Failure> {
        Response::children().apply(&config_map(&parent.metadata.name, json!({"size": parent.spec.size.to_string()})))
    }
}

gyre_sdk::export!(Moody);
