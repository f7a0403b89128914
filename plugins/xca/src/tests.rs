//! The answers of the plugin, state by state.

use gyre_sdk::testing;
use serde_json::{Value, json};

use super::*;

fn xca(status: Value) -> Value {
    json!({
        "apiVersion": "apps.xca.k8s.kb.cx/v1beta1",
        "kind": "Xca",
        "metadata": {"name": "hello", "namespace": "default", "uid": "1"},
        "spec": {"foo": "bar"},
        "status": status,
    })
}

fn noon() -> testing::Cluster {
    testing::Cluster::new().at(Time::from_unix(1_767_268_800))
}

#[track_caller]
fn becomes_active(xca: Value) {
    let expected = json!({"active": true, "last_update_time": "2026-01-01T12:00:00Z"});
    let plan = testing::reconcile::<XcaReconciler>(xca, json!({}), &noon()).unwrap();
    assert_eq!(plan.status_json(), expected);
    assert_eq!(Plan { status: None, ..plan }, Plan::keep_children());
}

#[test]
fn an_inactive_xca_becomes_active_now() {
    becomes_active(xca(Value::Null));
    becomes_active(xca(json!({})));
    becomes_active(xca(json!({"active": false, "last_update_time": "2025-01-01T00:00:00Z"})));
    becomes_active(xca(json!({"conditions": [], "observedGeneration": 1})));
    becomes_active(json!({"metadata": {"name": "without-a-spec"}}));
}

#[test]
fn an_active_xca_stays_as_it_is_without_reading_the_clock() {
    let active = xca(json!({"active": true, "last_update_time": "2025-01-01T00:00:00Z"}));
    let without_a_clock = testing::Cluster::new();
    let plan = testing::reconcile::<XcaReconciler>(active, json!({}), &without_a_clock).unwrap();
    assert_eq!(plan, Plan::keep_children());
}

#[test]
fn an_xca_becomes_active_only_once() {
    let first = testing::reconcile::<XcaReconciler>(xca(Value::Null), json!({}), &noon()).unwrap();
    let second = testing::reconcile::<XcaReconciler>(xca(first.status_json()), json!({}), &testing::Cluster::new()).unwrap();
    assert_eq!(second, Plan::keep_children());
}

#[test]
fn the_crd_is_of_the_parent_and_admits_what_is_written() {
    let manifest = XcaReconciler::manifest();
    let [crd] = manifest.crds.as_slice() else { panic!("one CRD") };
    let crd: Value = serde_json::from_slice(crd).unwrap();
    assert_eq!(crd["metadata"]["name"], "xcas.apps.xca.k8s.kb.cx");
    assert_eq!(crd["spec"]["names"]["kind"], XcaSpec::KIND.kind);
    let version = &crd["spec"]["versions"][0];
    assert_eq!(
        format!("{}/{}", crd["spec"]["group"].as_str().unwrap(), version["name"].as_str().unwrap()),
        XcaSpec::KIND.api_version
    );
    assert_eq!(version["subresources"], json!({"status": {}}));
    let columns = version["additionalPrinterColumns"].as_array().unwrap();
    let columns: Vec<&Value> = columns.iter().map(|column| &column["name"]).collect();
    assert_eq!(columns, ["Foo", "Active", "Last Update", "Ready", "Age"]);

    let known = &version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"];
    assert_eq!(known["conditions"]["x-kubernetes-list-type"], "map");
    let plan = testing::reconcile::<XcaReconciler>(xca(Value::Null), json!({}), &noon()).unwrap();
    for field in plan.status_json().as_object().unwrap().keys() {
        assert!(known.get(field).is_some(), "{field} would be pruned");
    }
}

#[test]
fn crd_json_is_derived_from_the_type() {
    testing::assert_crd_file::<XcaSpec>("crd.json");
}
