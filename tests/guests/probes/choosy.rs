//! Has the settings `greeting`, not empty, and `count`, 1 to 10, and writes both into its ConfigMap
//! `<name>`. Refuses the greeting `forbidden`, which its schema allows.

use gyre_guests::config_map;
use gyre_sdk::k8s::ConfigMap;
use gyre_sdk::{Cluster, Manifest, NoStatus, Object, Plan, Reconciler, Result, Strategy};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize, gyre_sdk::Schema)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    #[schema(min_length = 1, default = "Good day.")]
    greeting: String,
    #[schema(minimum = 1, maximum = 10, default = 1)]
    count: i32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { greeting: "Good day.".to_owned(), count: 1 }
    }
}

struct Choosy;

impl Reconciler for Choosy {
    type Parent = Object<gyre_guests::Parent, NoStatus>;
    type Settings = Settings;

    fn manifest() -> Manifest {
        gyre_guests::probe("Choosy").child::<ConfigMap>(Strategy::Apply)
    }

    fn reconcile(parent: &Self::Parent, settings: &Settings, _: &Cluster) -> Result<Plan> {
        let data = json!({"greeting": settings.greeting, "count": settings.count.to_string()});
        Ok(Plan::children([config_map(&parent.metadata.name, data)]))
    }

    fn validate_settings(settings: &Settings) -> Result<(), String> {
        if settings.greeting == "forbidden" {
            return Err("the greeting \"forbidden\" is forbidden: choose another one".to_owned());
        }
        Ok(())
    }
}

gyre_sdk::export!(Choosy);
