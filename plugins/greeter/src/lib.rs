//! A Greeting keeps its message in a ConfigMap.
//!
//! `reconcile` is a pure function. The host calls it whenever one of its inputs has changed: the
//! Greeting or its ConfigMap. It returns what should exist; the host compares, applies, prunes and
//! retries.
//!
//! Common next steps:
//!
//! - It makes objects of other kinds: `Job::new(name).with_container(container)`, where the
//!   container is `Container::new("main", "busybox").with_env([("COLOR", "blue")])`. Methods read
//!   them: `job.is_complete()`, `job.status().failed().unwrap_or(0)`, `pod.labels().get("app")`.
//! - It reads: `cluster.get::<Secret>(name)?`, of which `data().get("token")` is an
//!   `Option<String>`; in another namespace,
//!   `cluster.in_namespace("shared").list::<Pod>("app=web")?`. The manifest declares the kind by
//!   `.reads::<Secret>()`. Children need no declaration: `cluster.child::<Job>(name)?`,
//!   `cluster.children::<Job>()?`. What was read is watched.
//! - It waits for what is missing, and leaves the children as they are:
//!   `return Ok(Plan::wait("SecretMissing", "there is no Secret token"))`.
//! - It tells more: `.condition(Condition::new("Degraded", false, "AsExpected", message))`,
//!   `.event(Event::warning("Late", message))`.
//! - It is called again, although nothing changes: `.requeue_after(Duration::from_secs(60))`.
//! - It fails: `Failure::terminal(message)`, `Failure::transient(message).retry_after(delay)`, or
//!   by `?` on any error.
//! - It cleans up before the Greeting is removed: `.finalizes()` in the manifest, and a function
//!   `finalize`, which returns `Plan::finalized()` in the end.

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
    // With its status, which is not read here, it is a `Greeting`: the derive defines this type.
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
