//! Plugins for tests. Each program either misbehaves in one way or does one thing.
//!
//! ```text
//!   *.rs         misbehave in `reconcile` for every parent, by default: gyre_artifacts::guests
//!   probes/*.rs  do what their parent says, or break one rule:          gyre_artifacts::probes
//! ```
//!
//! Each reconciles a kind of its own in the group `guests.gyre.dev`, by default named after the
//! file, and contains its CRD. So they can be mounted together.
//!
//! What is absent: a misbehaving guest without a test. `gyre-artifacts` lists the files, and the
//! crates that use the list do not compile if a test is missing. Other tests use the probes.

pub mod cron;

use gyre_sdk::k8s::ConfigMap;
use gyre_sdk::{Kind, Manifest, NoStatus, Object, ReadError};
use serde::Deserialize;
use serde_json::{Value, json};

/// The group and version of the guests' parents.
pub const API_VERSION: &str = "guests.gyre.dev/v1";

/// A parent, or a spec, without fields.
#[derive(Deserialize)]
pub struct Parent {}

/// A parent whose spec has a `size`.
pub type SizedParent = Object<Size, NoStatus>;

/// The spec of [`sized`].
#[derive(Deserialize)]
pub struct Size {
    /// The size.
    pub size: i64,
}

/// The manifest of a misbehaving guest with this crate name and parent kind, without children.
pub fn manifest(crate_name: &str, kind: &'static str) -> Manifest {
    Manifest::new(crate_name.replace('_', "-"), env!("CARGO_PKG_VERSION"), Kind::new(API_VERSION, kind))
        .description("Misbehaves, so that tests can see it contained.")
        .crd(crd("guests.gyre.dev", "v1", kind))
}

/// The manifest of a probe with this parent kind, named in kebab case, without children.
pub fn probe(kind: &'static str) -> Manifest {
    probe_with_version(kind, |_| {})
}

/// Like [`probe`], with a change of the only version of its CRD. All names are derived at run time,
/// so a test may replace the kind in the component's bytes.
pub fn probe_with_version(kind: &'static str, change: impl FnOnce(&mut Value)) -> Manifest {
    let mut only = version(Kind::new(API_VERSION, kind).version());
    change(&mut only);
    probe_with_versions(kind, &[only])
}

/// Like [`probe`], with a CRD of two versions with these schemas. The newer one is read and stored.
pub fn probe_with_older_version(kind: &'static str, (name, older): (&str, &Value), newer: &Value) -> Manifest {
    let newer = version_with(Kind::new(API_VERSION, kind).version(), true, newer);
    let older = version_with(name, false, older);
    probe_with_versions(kind, &[newer, older])
}

fn probe_with_versions(kind: &'static str, versions: &[Value]) -> Manifest {
    let kind = std::hint::black_box(kind);
    let mut name = String::new();
    for character in kind.chars() {
        if character.is_ascii_uppercase() && !name.is_empty() {
            name.push('-');
        }
        name.push(character.to_ascii_lowercase());
    }
    let parent = Kind::new(API_VERSION, kind);
    let crd = definition(parent.group(), kind, versions);
    Manifest::new(name, env!("CARGO_PKG_VERSION"), parent)
        .description("Does one thing, so that tests can see what becomes of it.")
        .crd(crd.to_string().into_bytes())
}

/// A CustomResourceDefinition, as JSON, of a namespaced kind with any fields and a status.
pub fn crd(group: &str, version: &str, kind: &str) -> Vec<u8> {
    definition(group, kind, &[self::version(version)]).to_string().into_bytes()
}

fn version(name: &str) -> Value {
    version_with(name, true, &json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}))
}

fn version_with(name: &str, storage: bool, schema: &Value) -> Value {
    json!({"name": name, "served": true, "storage": storage, "schema": schema, "subresources": {"status": {}}})
}

fn definition(group: &str, kind: &str, versions: &[Value]) -> Value {
    let singular = kind.to_lowercase();
    let plural = format!("{singular}s");
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "listKind": format!("{kind}List"), "singular": singular, "plural": plural},
            "versions": versions,
        },
    })
}

/// The `schema` of a CRD's version with any spec, and with this schema of the status.
pub fn schema(status: Value) -> Value {
    let spec = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}})
}

/// The `schema` of a CRD's version whose spec has a `size` from `least` to 10.
pub fn sized(least: i64) -> Value {
    let size = json!({"type": "integer", "minimum": least, "maximum": 10});
    of_spec(&json!({"type": "object", "required": ["size"], "properties": {"size": size}}))
}

/// The `schema` of a CRD's version whose spec has this schema.
pub fn of_spec(spec: &Value) -> Value {
    let status = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}})
}

/// A ConfigMap in the namespace of its parent.
pub fn config_map(name: &str, data: Value) -> Value {
    json!({"apiVersion": ConfigMap::KIND.api_version, "kind": ConfigMap::KIND.kind, "metadata": {"name": name}, "data": data})
}

/// The name of a read error.
pub fn read_error(error: &ReadError) -> String {
    match error {
        ReadError::NotDeclared(_) => "NotDeclared".to_owned(),
        ReadError::NotGranted(_) => "NotGranted".to_owned(),
        ReadError::NotServed(_) => "NotServed".to_owned(),
        ReadError::InvalidSelector(message) => format!("InvalidSelector: {message}"),
        ReadError::Unexpected(_, message) => format!("Unexpected: {message}"),
    }
}

/// Exports a misbehaving plugin, from its kind, additions to the manifest, and `reconcile`.
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
            ) -> gyre_sdk::Result<gyre_sdk::Plan> {
                let reconcile: fn() -> gyre_sdk::Result<gyre_sdk::Plan> = $reconcile;
                reconcile()
            }
        }

        gyre_sdk::export!($kind);
    };
}
