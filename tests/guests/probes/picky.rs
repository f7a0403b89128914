//! Allows only specs with a pattern, a format and a rule, and panics for some of them.

use gyre_guests::config_map;
use gyre_sdk::k8s::ConfigMap;
use gyre_sdk::{Cluster, Manifest, NoSettings, NoStatus, Object, Plan, Reconciler, Result, Strategy};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct Spec {
    code: String,
    address: String,
}

struct Picky;

impl Reconciler for Picky {
    type Parent = Object<Spec, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        let spec = json!({
            "type": "object",
            "required": ["code", "address", "size"],
            "properties": {
                "code": {"type": "string", "pattern": "^[a-z]{2,4}-[0-9]+$", "maxLength": 8},
                "address": {"type": "string", "format": "ipv4"},
                "size": {"type": "integer", "minimum": 0, "maximum": 9},
            },
            "x-kubernetes-validations": [{"rule": "self.size % 2 == 0", "message": "size must be even"}],
        });
        gyre_guests::probe_with_version("Picky", |version| version["schema"] = gyre_guests::of_spec(&spec))
            .child::<ConfigMap>(Strategy::Apply)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        let number = parent.spec.code.split_once('-').map_or("", |(_, number)| number);
        assert!(!number.is_empty(), "a code without a number");
        assert!(parent.spec.address.parse::<std::net::Ipv4Addr>().is_ok(), "no address");
        assert!(!number.starts_with('0'), "a number that begins with 0");
        Ok(Plan::children([config_map(&parent.metadata.name, json!({"number": number}))]))
    }
}

gyre_sdk::export!(Picky);
