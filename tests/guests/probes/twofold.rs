//! Two reconcilers in one component: the probe `twofold`, whose ConfigMap `<name>` has `spec.text`,
//! and the probe `backward`, whose ConfigMap has it backward. `backward` traps at the text "trap".

use gyre_guests::config_map;
use gyre_sdk::k8s::ConfigMap;
use gyre_sdk::{Cluster, Manifest, NoSettings, NoStatus, Object, Plan, Reconciler, Result, Schema, Strategy};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct Spec {
    text: String,
}

#[derive(Default, Deserialize, Schema)]
#[serde(default, deny_unknown_fields)]
struct Prefix {
    /// Precedes the text.
    prefix: String,
}

struct Twofold;

impl Reconciler for Twofold {
    type Parent = Object<Spec, NoStatus>;
    type Settings = Prefix;

    fn manifest() -> Manifest {
        gyre_guests::probe("Twofold").child::<ConfigMap>(Strategy::Apply)
    }

    fn reconcile(parent: &Self::Parent, settings: &Prefix, _: &Cluster) -> Result<Plan> {
        let text = format!("{}{}", settings.prefix, parent.spec.text);
        Ok(Plan::children([config_map(&parent.metadata.name, json!({"text": text}))]))
    }

    fn validate_settings(settings: &Prefix) -> std::result::Result<(), String> {
        if settings.prefix == "none" { Err("the prefix is none".to_owned()) } else { Ok(()) }
    }
}

struct Backward;

impl Reconciler for Backward {
    type Parent = Object<Spec, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe("Backward").child::<ConfigMap>(Strategy::Apply)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        assert_ne!(parent.spec.text, "trap");
        let text: String = parent.spec.text.chars().rev().collect();
        Ok(Plan::children([config_map(&parent.metadata.name, json!({"text": text}))]))
    }
}

gyre_sdk::export!(Twofold, Backward);
