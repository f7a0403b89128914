//! The answers of the plugin for different parents.
//!
//! What a test says beside the parent: objects that exist, `.with(Secret::new("token"))`; children,
//! `.with_child(Job::new("backup").complete())`; the time, `.at("2026-01-01T00:00:00Z")`;
//! and `.settings(…)`. What it asserts: `.waits(reason)`, `.has_event(reason)`,
//! `.deletes::<Job>("old")`, `.status()["field"]`.

use gyre_sdk::testing::given;

use super::*;

#[test]
fn the_message_is_in_the_config_map() {
    let greeting = Object::new("hello", GreetingSpec { message: "Hello, world!".to_owned() });
    let plan = given::<GreetingReconciler>(greeting).reconcile();
    assert_eq!(plan.applies::<ConfigMap>("hello").data().get("message"), Some("Hello, world!"));
    plan.is_ready("Written");
}
