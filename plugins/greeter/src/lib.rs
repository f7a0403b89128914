//! A Greeting keeps its message in a ConfigMap.
//!
//! `reconcile` is a pure function. The host calls it whenever one of its inputs has changed: the
//! Greeting or its ConfigMap. It returns what should exist; the host compares, applies, prunes and
//! retries.

use gyre_sdk::k8s::ConfigMap;
use gyre_sdk::{Cluster, CustomResource, Manifest, NoSettings, Object, Plan, Reconciler, Result, Schema, Strategy};
use serde::{Deserialize, Serialize};

/// A message that is kept in a ConfigMap.
#[derive(Debug, Deserialize, CustomResource)]
#[resource(group = "example.com", version = "v1alpha1", kind = "Greeting", status = GreetingStatus, condition("Ready"), age)]
pub struct GreetingSpec {
    /// Any text.
    pub message: String,
}

/// The status of a Greeting. The host adds the conditions.
#[derive(Debug, Serialize, Schema)]
#[serde(rename_all = "camelCase")]
pub struct GreetingStatus {
    /// The ConfigMap that holds the message.
    pub config_map: String,
}

/// The plugin.
pub struct GreetingReconciler;

gyre_sdk::export!(GreetingReconciler);

impl Reconciler for GreetingReconciler {
    type Parent = Object<GreetingSpec>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_sdk::manifest!(Self::Parent).child::<ConfigMap>(Strategy::Apply)
    }

    fn reconcile(greeting: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        let name = &greeting.metadata.name;
        let config_map = ConfigMap::new(name).with_data([("message", &greeting.spec.message)]);
        Ok(Plan::children([config_map])
            .status(GreetingStatus { config_map: name.clone() })
            .ready("Written", format!("ConfigMap {name} holds the message")))
    }
}

#[cfg(test)]
mod tests;
