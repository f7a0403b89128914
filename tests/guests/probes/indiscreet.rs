//! Reveals Secrets in every way: the Secret `spec.secret` of its namespace, and all in a list.
//!
//! Each value is in a ConfigMap, a Secret (base64), an annotation (backwards), the status, a
//! condition, an event and the log; with `spec.refuses` in a failure, with `spec.panics` in a
//! panic.

use gyre_sdk::k8s::{ConfigMap, Secret};
use gyre_sdk::{
    Bytes, Cluster, Condition, Event, Failure, Manifest, NoSettings, Object, Plan, Reconciler, Result, Strategy, log,
};
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
struct Spec {
    secret: String,
    #[serde(default)]
    refuses: bool,
    #[serde(default)]
    panics: bool,
}

#[derive(Deserialize)]
struct Status {
    told: Option<String>,
}

#[derive(Serialize)]
struct Told {
    told: String,
}

struct Indiscreet;

impl Reconciler for Indiscreet {
    type Parent = Object<Spec, Status>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe("Indiscreet").child::<ConfigMap>(Strategy::Apply).child::<Secret>(Strategy::Apply).reads::<Secret>()
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, cluster: &Cluster) -> Result<Plan> {
        let name = &parent.metadata.name;
        let found = cluster.get::<Secret>(&parent.spec.secret)?;
        let mut secrets = cluster.list_all::<Secret>()?;
        secrets.splice(0..0, found);
        let told = secrets.iter().flat_map(texts).collect::<Vec<_>>().join(" ");
        let before = parent.status.as_ref().and_then(|status| status.told.as_deref()).unwrap_or_default();
        log::info(&told, &[("before", before)]);
        if parent.spec.refuses {
            return Err(Failure::terminal(told));
        }
        assert!(!parent.spec.panics, "{told}");
        let backwards: String = told.chars().rev().collect();
        let config_map = ConfigMap::new(name).with_annotations([("backwards", backwards)]).with_data([("told", &told)]);
        let first: Bytes = secrets.iter().flat_map(texts).take(1).map(|text| ("told", text)).collect();
        let secret = Secret::new(format!("{name}-copy")).with_data(first);
        Ok(Plan::children([config_map])
            .apply(secret)
            .condition(Condition::new("Told", true, "Told", told.as_str()))
            .event(Event::normal("Told", told.as_str()))
            .status(Told { told }))
    }
}

/// Returns the texts of a Secret.
fn texts(secret: &Secret) -> impl Iterator<Item = String> {
    secret.data().keys().filter_map(|key| secret.data().get(key))
}

gyre_sdk::export!(Indiscreet);
