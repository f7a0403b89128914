//! Creates the ConfigMaps `<name>-one` and `<name>-two`, each with its version and `spec.text`. The
//! version of ten nines wants no children.
//!
//! `gyre_artifacts::versioned` replaces the ten digits in the bytes of the component, so that tests
//! get many versions without compiling them. The `black_box` keeps the compiler from moving them; a
//! test in `gyre-artifacts` checks that they exist once.

use std::hint::black_box;

use gyre_guests::config_map;
use gyre_sdk::k8s::ConfigMap;
use gyre_sdk::{Cluster, Manifest, NoSettings, NoStatus, Object, Plan, Reconciler, Result, Strategy};
use serde::Deserialize;
use serde_json::json;

static VERSION: [u8; 24] = *b"gyre-version:0000000000v";

#[derive(Deserialize)]
struct Spec {
    #[serde(default)]
    text: String,
}

struct Versioned;

impl Reconciler for Versioned {
    type Parent = Object<Spec, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe("Versioned").child::<ConfigMap>(Strategy::Apply)
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        let marker = black_box(&VERSION).as_slice();
        let version = marker.get(13..23).and_then(|digits| std::str::from_utf8(digits).ok()).unwrap_or_default();
        if version == "9999999999" {
            return Ok(Plan::no_children());
        }
        let child = |end| {
            let name = format!("{}-{end}", parent.metadata.name);
            config_map(&name, json!({"version": version, "text": parent.spec.text}))
        };
        Ok(Plan::children(["one", "two"].map(child)))
    }
}

gyre_sdk::export!(Versioned);
