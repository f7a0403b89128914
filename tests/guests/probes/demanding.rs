//! Has the required setting `greeting`, and writes it into its ConfigMap `<name>`.

use gyre_guests::{CONFIG_MAP, config_map};
use gyre_sdk::{Cluster, Failure, Manifest, NoStatus, Object, Reconciler, Response, Strategy};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct Settings {
    greeting: String,
}

struct Demanding;

impl Reconciler for Demanding {
    type Parent = Object<gyre_guests::Parent, NoStatus>;
    type Settings = Settings;

    fn manifest() -> Manifest {
        let schema = json!({"type": "object", "required": ["greeting"], "properties": {"greeting": {"type": "string"}}});
        gyre_guests::probe("Demanding").child(CONFIG_MAP, Strategy::Apply).settings_schema(schema.to_string())
    }

    fn reconcile(parent: &Self::Parent, settings: &Settings, _: &Cluster) -> Result<Response, Failure> {
        Response::children().apply(&config_map(&parent.metadata.name, json!({"greeting": settings.greeting})))
    }
}

gyre_sdk::export!(Demanding);
