//! The answers and logs of the plugin.

use gyre_sdk::testing::{self, LogLine};
use serde_json::{Value, json};

use super::*;

fn gateway(spec: Value) -> Value {
    json!({
        "apiVersion": "app.example.com/v1",
        "kind": "Gateway",
        "metadata": {"name": "hello", "namespace": "default", "uid": "1"},
        "spec": spec,
    })
}

/// Checks the plan, which is always the same, and returns the logged spec.
#[track_caller]
fn logged(gateway: Value) -> String {
    testing::take_log();
    let plan = testing::reconcile::<GatewayReconciler>(gateway, json!({}), &testing::Cluster::new()).unwrap();
    let expected = Plan::keep_children()
        .event(Event::normal("Synced", "Student synced successfully"))
        .requeue_after(Duration::from_secs(30));
    assert_eq!(plan, expected);
    let [LogLine { level: log::Level::Info, message, fields }] = &testing::take_log()[..] else { panic!("one line") };
    assert_eq!(message, "the desired state of Gateway hello");
    let [(key, spec)] = &fields[..] else { panic!("one field") };
    assert_eq!(key, "spec");
    spec.clone()
}

#[test]
fn the_desired_state_is_logged_as_it_stands() {
    let spec = json!({"listeners": [{"name": "web", "port": 8080}], "ratio": 0.5, "none": null});
    assert_eq!(serde_json::from_str::<Value>(&logged(gateway(spec.clone()))).unwrap(), spec);
    assert_eq!(logged(gateway(Value::Null)), "{}");
    assert_eq!(logged(json!({"metadata": {"name": "hello"}})), "{}");
}

#[test]
fn a_long_spec_is_cut_between_characters() {
    for character in ["a", "é", "🎉"] {
        let logged = logged(gateway(json!({"text": character.repeat(100_000)})));
        assert!(logged.len() <= SHOWN_BYTES && logged.len() > SHOWN_BYTES - 4, "{} bytes", logged.len());
        assert!(logged.ends_with(character), "{logged}");
    }
}

#[test]
fn the_crd_is_of_the_parent_and_takes_any_spec() {
    let manifest = GatewayReconciler::manifest();
    let [crd] = manifest.crds.as_slice() else { panic!("one CRD") };
    let crd: Value = serde_json::from_slice(crd).unwrap();
    assert_eq!(crd["metadata"]["name"], "gateways.app.example.com");
    assert_eq!(crd["spec"]["names"]["kind"], GATEWAY.kind);
    let version = &crd["spec"]["versions"][0];
    assert_eq!(
        format!("{}/{}", crd["spec"]["group"].as_str().unwrap(), version["name"].as_str().unwrap()),
        GATEWAY.api_version
    );
    let properties = &version["schema"]["openAPIV3Schema"]["properties"];
    assert_eq!(properties["spec"]["x-kubernetes-preserve-unknown-fields"], true);
    assert_eq!(properties["status"]["properties"]["conditions"]["x-kubernetes-list-type"], "map");
}
