//! The answers of the plugin before and after the host has made the values.

use gyre_sdk::testing;
use serde_json::{Value, json};

use super::*;

fn database(epoch: u32) -> Value {
    json!({
        "apiVersion": "db.gyre.dev/v1alpha1",
        "kind": "Database",
        "metadata": {"name": "orders", "namespace": "shop", "uid": "1"},
        "spec": {"name": "orders", "passwordEpoch": epoch},
    })
}

/// The Secret as the plugin sees it: placeholders in place of values.
fn made(password: &str, certificate: &str) -> Value {
    let placeholder = |digest: &str| format!("Z3lyZS1nZW5lcmF0ZWQ6{digest}");
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "orders", "namespace": "shop", "ownerReferences": [{"controller": true, "uid": "1"}]},
        "data": {"password": placeholder(password), "tls.crt": placeholder(certificate)},
    })
}

fn reconcile(epoch: u32, secret: Option<Value>) -> Plan {
    let mut cluster = testing::Cluster::new();
    if let Some(secret) = secret {
        cluster = cluster.with(secret);
    }
    testing::reconcile::<DatabaseReconciler>(database(epoch), json!({}), &cluster).unwrap()
}

fn digest(plan: &Plan) -> Value {
    let stateful_set = plan.applied(StatefulSet::KIND, "orders").unwrap();
    stateful_set["spec"]["template"]["metadata"]["annotations"]["db.gyre.dev/secret"].clone()
}

#[test]
fn the_secret_asks_for_values_and_has_none() {
    let plan = reconcile(3, None);
    let secret = plan.applied(Secret::KIND, "orders").unwrap();
    let data = secret["data"].as_object().unwrap();
    assert!(data.values().all(|value| value.is_object()), "{data:?}");
    assert_eq!(data["password"]["epoch"], 3);
    let url = "postgresql://orders:{password}@orders.shop.svc:5432/orders?sslmode=verify-full";
    assert_eq!(data["url"]["generate"]["text"], url);
}

#[test]
fn nothing_runs_before_the_values_are_there() {
    let plan = reconcile(0, None);
    assert!(plan.applied(StatefulSet::KIND, "orders").is_none());
    assert!(plan.keeps(&StatefulSet::named("orders")), "what runs already goes on");
}

#[test]
fn pods_are_replaced_when_a_value_changes_and_not_else() {
    let of = |password: &str, certificate: &str| digest(&reconcile(0, Some(made(password, certificate))));
    assert_eq!(of("a", "b"), of("a", "b"));
    assert_ne!(of("a", "b"), of("c", "b"));
    assert_ne!(of("a", "b"), of("a", "c"));
}

#[test]
fn crd_json_is_derived_from_the_type() {
    testing::assert_crd_file::<DatabaseSpec>("crd.json");
}
