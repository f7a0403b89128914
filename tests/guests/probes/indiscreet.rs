//! Reveals Secrets in every way: the Secret `spec.secret` of its namespace, and all in a list.
//!
//! Each value is in a ConfigMap, a Secret (base64), an annotation (backwards), the status, a
//! condition, an event and the log; with `spec.refuses` in a failure, with `spec.panics` in a
//! panic.

use gyre_sdk::k8s::{ConfigMap, Secret};
use gyre_sdk::{
    Cluster, Condition, Event, Failure, Labels, Manifest, NoSettings, Object, Plan, Reconciler, Result, Strategy, log,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

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
        gyre_guests::probe("Indiscreet").child::<ConfigMap>(Strategy::Apply).child::<Secret>(Strategy::Apply).read::<Secret>()
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, cluster: &Cluster) -> Result<Plan> {
        let name = &parent.metadata.name;
        let found = cluster.get::<Secret>(&parent.spec.secret)?;
        let listed = cluster.list::<Secret>()?;
        let data: Vec<Labels> = found.into_iter().chain(listed).map(|secret| secret.data()).collect();
        let encoded: Vec<&str> = data.iter().flat_map(Labels::iter).map(|(_, value)| value).collect();
        let values: Vec<String> = encoded.iter().map(|value| decoded(value)).collect();
        let told = values.join(" ");
        let before = parent.status.as_ref().and_then(|status| status.told.as_deref()).unwrap_or_default();
        log::info(&told, &[("before", before)]);
        if parent.spec.refuses {
            return Err(Failure::terminal(told));
        }
        assert!(!parent.spec.panics, "{told}");
        let backwards: String = told.chars().rev().collect();
        let config_map = ConfigMap::new(name).with_annotations([("backwards", backwards)]).with_data([("told", &told)]);
        let secret = json!({
            "apiVersion": Secret::KIND.api_version,
            "kind": Secret::KIND.kind,
            "metadata": {"name": format!("{name}-copy")},
            "data": {"told": encoded.first()},
        });
        Ok(Plan::children([config_map])
            .apply(secret)
            .condition(Condition::new("Told", true, "Told", told.as_str()))
            .event(Event::normal("Told", told.as_str()))
            .status(&Told { told }))
    }
}

fn decoded(value: &str) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for byte in value.bytes() {
        let Some(digit) = ALPHABET.iter().position(|letter| *letter == byte) else { break };
        bits = bits << 6 | digit as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

gyre_sdk::export!(Indiscreet);
