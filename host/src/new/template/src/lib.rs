//! A {{Kind}} keeps its message in a ConfigMap.
//!
//! `reconcile` is a pure function: it is called whenever something that it was given or read has changed, and says what should exist. The
//! host compares, applies, prunes and tries again.

use gyre_sdk::{Cluster, Condition, Failure, Kind, Manifest, NoSettings, Object, Reconciler, Response, Strategy};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// What is reconciled.
pub const {{KIND}}: Kind = Kind::new("{{group}}/v1alpha1", "{{Kind}}");
/// What comes of it.
pub const CONFIG_MAP: Kind = Kind::new("v1", "ConfigMap");

/// What people ask for: `spec` in crd.json.
#[derive(Debug, Deserialize)]
pub struct {{Kind}}Spec {
    /// Any text.
    pub message: String,
}

/// What is told of it, beside the conditions: `status` in crd.json.
#[derive(Debug, Deserialize, Serialize)]
pub struct {{Kind}}Status {
    /// The ConfigMap.
    #[serde(rename = "configMap")]
    pub config_map: String,
}

/// The plugin.
pub struct {{Kind}}Reconciler;

gyre_sdk::export!({{Kind}}Reconciler);

impl Reconciler for {{Kind}}Reconciler {
    type Parent = Object<{{Kind}}Spec, {{Kind}}Status>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        Manifest::new("{{name}}", env!("CARGO_PKG_VERSION"), {{KIND}})
            .description(env!("CARGO_PKG_DESCRIPTION"))
            .child(CONFIG_MAP, Strategy::Apply)
            .crd(include_str!("../crd.json"))
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Response, Failure> {
        let name = &parent.metadata.name;
        let config_map = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name},
            "data": {"message": parent.spec.message},
        });
        let ready = Condition::yes("Ready", "Written", format!("ConfigMap {name} holds the message"));
        Response::new().apply(&config_map)?.condition(ready).status(&{{Kind}}Status { config_map: name.clone() })
    }
}

#[cfg(test)]
mod tests;
