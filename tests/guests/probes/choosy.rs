//! Has the settings `greeting`, not empty, and `count`, 1 to 10, and writes both into its ConfigMap
//! `<name>`. Refuses the greeting `forbidden`, which its schema allows.

use gyre_guests::{CONFIG_MAP, config_map};
use gyre_sdk::{Cluster, Failure, Manifest, NoStatus, Object, Reconciler, Response, Strategy};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    #[serde(default = "good_day")]
    greeting: String,
    #[serde(default = "once")]
    count: u8,
}

fn good_day() -> String {
    "Good day.".to_owned()
}

fn once() -> u8 {
    1
}

struct Choosy;

impl Reconciler for Choosy {
    type Parent = Object<gyre_guests::Parent, NoStatus>;
    type Settings = Settings;

    fn manifest() -> Manifest {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "greeting": {"type": "string", "minLength": 1, "default": "Good day."},
                "count": {"type": "integer", "minimum": 1, "maximum": 10, "default": 1},
            },
            "additionalProperties": false,
        });
        gyre_guests::probe("Choosy").child(CONFIG_MAP, Strategy::Apply).settings_schema(schema.to_string())
    }

    fn reconcile(parent: &Self::Parent, settings: &Settings, _: &Cluster) -> Result<Response, Failure> {
        let data = json!({"greeting": settings.greeting, "count": settings.count.to_string()});
        Response::children().apply(&config_map(&parent.metadata.name, data))
    }

    fn validate_settings(settings: &Settings) -> Result<(), String> {
        if settings.greeting == "forbidden" {
            return Err("the greeting \"forbidden\" is forbidden: choose another one".to_owned());
        }
        Ok(())
    }
}

gyre_sdk::export!(Choosy);
