//! The answers of the plugin for different parents.

use gyre_sdk::testing;
use serde_json::json;

use super::*;

#[test]
fn the_message_is_in_the_config_map() {
    let parent = json!({
        "apiVersion": "example.com/v1alpha1",
        "kind": "Greeting",
        "metadata": {"name": "hello", "namespace": "default", "uid": "1"},
        "spec": {"message": "Hello, world!"},
    });
    let response = testing::reconcile::<GreetingReconciler>(parent, json!({}), &testing::Cluster::new()).unwrap();
    let config_map = response.applied(ConfigMap::KIND, "hello").unwrap();
    assert_eq!(config_map["data"]["message"], "Hello, world!");
}
