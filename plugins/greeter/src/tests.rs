//! The answers of the plugin for different parents.
//!
//! Besides the parent, a test can add objects, `.with(Secret::new("token"))`, and children,
//! `.with_child(Job::new("backup").complete())`. It can set the time,
//! `.at("2026-01-01T00:00:00Z")`, and `.settings(…)`. It can check `.waits(reason)`,
//! `.has_event(reason)`, `.deletes::<Job>("old")` and `.status()["field"]`.

use gyre_sdk::testing::given;

use super::*;

#[test]
fn the_message_is_in_the_config_map() {
    let greeting = Object::new("hello", GreetingSpec { message: "Hello, world!".to_owned() });
    let plan = given::<GreetingReconciler>(greeting).reconcile();
    assert_eq!(plan.applies::<ConfigMap>("hello").data().get("message"), Some("Hello, world!"));
    plan.is_ready("Written");
}
