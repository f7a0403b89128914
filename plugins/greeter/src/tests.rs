//! The answers of the plugin for different parents.

use gyre_sdk::testing::given;

use super::*;

#[test]
fn the_message_is_in_the_config_map() {
    let greeting = Object::new("hello", GreetingSpec { message: "Hello, world!".to_owned() });
    let plan = given::<GreetingReconciler>(greeting).reconcile();
    assert_eq!(plan.applies::<ConfigMap>("hello").data().get("message"), Some("Hello, world!"));
    plan.is_ready("Written");
}
