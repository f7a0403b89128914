//! Plugins that misbehave, one program a misbehaviour: the files beside this folder.
//!
//! Each reconciles a kind of its own, named as its file, in the group `guests.gyre.dev`, whose CRD it brings: so they can be
//! mounted side by side. Each misbehaves in `reconcile`, whatever its parent holds, unless its file says otherwise.
//!
//! What is absent: a guest without a test. `gyre-artifacts` lists the files, and its users fail to compile without one.

use gyre_sdk::{Kind, Manifest};
use serde::Deserialize;
use serde_json::json;

/// The group and version of the guests' parents.
pub const API_VERSION: &str = "guests.gyre.dev/v1";

/// Some misbehave by a child of this kind.
pub const CONFIG_MAP: Kind = Kind::new("v1", "ConfigMap");

/// A parent of which nothing is read.
#[derive(Deserialize)]
pub struct Parent {}

/// The manifest of a guest with this crate's name that reconciles this kind and makes no children.
pub fn manifest(crate_name: &str, kind: &'static str) -> Manifest {
    Manifest::new(crate_name.replace('_', "-"), env!("CARGO_PKG_VERSION"), Kind::new(API_VERSION, kind))
        .description("Misbehaves, so that tests can see it contained.")
        .crd(crd("guests.gyre.dev", "v1", kind))
}

/// A CustomResourceDefinition, as JSON, of a namespaced kind that takes any fields and has a status.
pub fn crd(group: &str, version: &str, kind: &str) -> Vec<u8> {
    let singular = kind.to_lowercase();
    let plural = format!("{singular}s");
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "listKind": format!("{kind}List"), "singular": singular, "plural": plural},
            "versions": [{
                "name": version,
                "served": true,
                "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
                "subresources": {"status": {}},
            }],
        },
    });
    crd.to_string().into_bytes()
}

/// Exports a plugin from the kind that it reconciles and from what it does in `reconcile`; in between, optionally, from what
/// is added to its manifest.
#[macro_export]
macro_rules! guest {
    ($kind:ident, $reconcile:expr) => {
        $crate::guest!($kind, |manifest| manifest, $reconcile);
    };
    ($kind:ident, $declare:expr, $reconcile:expr) => {
        struct $kind;

        impl gyre_sdk::Reconciler for $kind {
            type Parent = $crate::Parent;
            type Settings = gyre_sdk::NoSettings;

            fn manifest() -> gyre_sdk::Manifest {
                let declare: fn(gyre_sdk::Manifest) -> gyre_sdk::Manifest = $declare;
                declare($crate::manifest(env!("CARGO_CRATE_NAME"), stringify!($kind)))
            }

            fn reconcile(
                _: &$crate::Parent,
                _: &gyre_sdk::NoSettings,
                _: &gyre_sdk::Cluster,
            ) -> Result<gyre_sdk::Response, gyre_sdk::Failure> {
                let reconcile: fn() -> Result<gyre_sdk::Response, gyre_sdk::Failure> = $reconcile;
                reconcile()
            }
        }

        gyre_sdk::export!($kind);
    };
}
