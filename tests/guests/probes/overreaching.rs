//! Asks for more than it is granted, as `spec.attack` says: `finalizers`, `owners` and `account`
//! (fields of its parent), `deletion` (of its parent), `copies` (of its parent, and of each copy),
//! `certificates` (10,000).

use gyre_guests::API_VERSION;
use gyre_sdk::k8s::Secret;
use gyre_sdk::{
    Child, ChildKind, Cluster, Failure, Kind, Manifest, NoSettings, NoStatus, Object, Plan, Reconciler, Result, Strategy,
};
use serde::Deserialize;
use serde_json::{Value, json};

const KIND: Kind = Kind::new(API_VERSION, "Overreaching");
/// As many as an answer may have children.
const CERTIFICATES: usize = 10_000;

#[derive(Deserialize)]
struct Spec {
    attack: String,
}

struct Overreaching;

impl Reconciler for Overreaching {
    type Parent = Object<Spec, NoStatus>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        gyre_guests::probe(KIND.kind)
            .child_kind(ChildKind::new(KIND, Strategy::Apply))
            .child::<Secret>(Strategy::Apply)
            .sets("/spec/serviceAccountName")
            .deletes_parent()
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        let name = &parent.metadata.name;
        let plan = Plan::no_children();
        Ok(match parent.spec.attack.as_str() {
            "finalizers" => plan.parent_fields(json!({"metadata": {"finalizers": ["example.com/mine"]}})),
            "owners" => {
                let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "mine", "uid": "mine"});
                plan.parent_fields(json!({"metadata": {"ownerReferences": [owner]}}))
            }
            "account" => plan.parent_fields(json!({"spec": {"serviceAccountName": "admin"}})),
            "deletion" => plan.delete_parent(),
            "copies" => plan.apply(copy(name)),
            "certificates" => Plan::children((0..CERTIFICATES).map(|number| certificate(&format!("{name}-{number}")))),
            other => return Err(Failure::terminal(format!("there is no attack {other:?}"))),
        })
    }
}

/// A copy with the label of a child of another plugin: the host replaces the label.
fn copy(name: &str) -> Value {
    json!({
        "apiVersion": KIND.api_version,
        "kind": KIND.kind,
        "metadata": {"name": format!("{name}-copy"), "labels": {"gyre.dev/plugin": "somebody"}},
        "spec": {"attack": "copies"},
    })
}

/// A Secret as bytes, because 10,000 of them as objects take most of the memory of a call.
fn certificate(name: &str) -> Child {
    let request = json!({"privateKey": "tls.key", "issuer": "self", "commonName": "it", "lifetimeSeconds": 7_776_000});
    let secret = json!({
        "apiVersion": Secret::KIND.api_version,
        "kind": Secret::KIND.kind,
        "metadata": {"name": name},
        "data": {"tls.crt": {"generate": {"certificate": request}}},
    });
    Child::Bytes(secret.to_string().into_bytes())
}

gyre_sdk::export!(Overreaching);
