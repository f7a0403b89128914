//! Creates a ConfigMap `<name>` with `spec.text`. `tenant-00` reconciles the kind `Tenant00` etc.
//!
//! `gyre_artifacts::tenant` replaces the two digits in the bytes of the component, so that tests
//! get many plugins without compiling them. The `black_box` keeps the compiler from moving them.

use std::hint::black_box;

use gyre_guests::{API_VERSION, config_map, crd};
use gyre_sdk::k8s::ConfigMap;
use gyre_sdk::{Cluster, Kind, Manifest, NoSettings, NoStatus, Object, Plan, Reconciler, Result, Strategy};
use serde::Deserialize;
use serde_json::json;

static NUMBER: [u8; 24] = *b"gyre-tenant-number:00:ok";

#[derive(Deserialize)]
struct Spec {
    #[serde(default)]
    text: String,
}

struct Tenant;

impl Reconciler for Tenant {
    type Parent = Object<Spec, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        let marker = black_box(&NUMBER).as_slice();
        let number = marker.get(19..21).and_then(|digits| std::str::from_utf8(digits).ok()).unwrap_or_default();
        // Leaks once per load.
        let kind = Kind::new(API_VERSION, format!("Tenant{number}").leak());
        Manifest::new(format!("tenant-{number}"), env!("CARGO_PKG_VERSION"), kind)
            .description("One of many.")
            .child::<ConfigMap>(Strategy::Apply)
            .crd(crd(kind.group(), kind.version(), kind.kind))
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        Ok(Plan::children([config_map(&parent.metadata.name, json!({"text": parent.spec.text}))]))
    }
}

gyre_sdk::export!(Tenant);
