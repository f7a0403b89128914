//! A Greeting keeps its message in a ConfigMap.
//!
//! `reconcile` is a pure function. The host calls it whenever one of its inputs has changed. It
//! returns what should exist; the host compares, applies, prunes and retries.

use gyre_sdk::k8s::ConfigMap;
use gyre_sdk::{
    Cluster, CustomResource, Failure, Manifest, NoSettings, Object, Reconciler, Report, Response, Schema, Strategy,
};
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
        gyre_sdk::manifest!(Self::Parent).child(ConfigMap::KIND, Strategy::Apply)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Response, Failure> {
        let name = &parent.metadata.name;
        let config_map = ConfigMap::new(name).data([("message", &parent.spec.message)]);
        Response::children()
            .apply(&config_map)?
            .report(Report::ready("Written", format!("ConfigMap {name} holds the message")))
            .status(&GreetingStatus { config_map: name.clone() })
    }
}

#[cfg(test)]
mod tests;
