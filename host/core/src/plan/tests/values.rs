//! Generated values in plans.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::{any, prop_assert, proptest};

use super::*;
use crate::generated::{CertificateFacts, HashAlgorithm, Inspect, Issuers, MOST_VALUES};

/// Certificates are `start:end`, and every hash matches.
struct Reader;

impl Inspect for Reader {
    fn certificate(&self, pem: &[u8]) -> Option<CertificateFacts> {
        let (start, end) = str::from_utf8(pem).ok()?.split_once(':')?;
        Some(CertificateFacts { not_before: start.parse().ok()?, not_after: end.parse().ok()? })
    }

    fn matches(&self, _: HashAlgorithm, _: &[u8], _: &[u8]) -> bool {
        true
    }
}

fn with_strategy(strategy: Strategy) -> World {
    let mut manifest = manifest();
    for child in manifest.children.iter_mut().filter(|child| child.kind == gvk("v1/Secret")) {
        child.strategy = strategy;
    }
    World { grants: Grants::new(&manifest, Namespaces::All), ..world() }
}

fn secret(name: &str, data: Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name }, "data": data })
}

fn password(epoch: u64) -> Value {
    json!({ "generate": { "password": { "length": 8 } }, "epoch": epoch })
}

fn certificate(issuer: &Value) -> Value {
    json!({ "generate": { "certificate": {
        "privateKey": "tls.key", "issuer": issuer, "commonName": "it", "lifetimeSeconds": 86_400,
    } } })
}

/// The plan at a time, and when it must be made again.
fn planned(world: &World, now: i64) -> (Plan, Option<i64>) {
    world.with_input(|input| {
        let mut plan = plan(input);
        let generation = Generation { issuers: &Issuers::new(), digests: None, inspect: &Reader, now };
        let due = plan_values(input, &mut plan, &generation);
        (plan, due)
    })
}

/// The world once the steps were carried out with these values.
fn carried_out(mut world: World, values: Value, record: Value) -> World {
    let (plan, _) = planned(&world, 0);
    let [Step::Create { desired }] = plan.steps.as_slice() else { panic!("{plan:?}") };
    let mut object = Value::Object(desired.object.clone());
    object["metadata"]["uid"] = json!("uid-1");
    object["metadata"]["resourceVersion"] = json!("5");
    object["metadata"]["annotations"]["gyre.dev/generated"] = json!(json!({ "values": record }).to_string());
    object["data"] = values;
    world = world.sees([object]);
    world
}

#[test]
fn a_step_has_requests_and_no_values() {
    let world = with_strategy(Strategy::Apply).wants([secret("it", json!({ "user": "YQ==", "password": password(0) }))]);
    let (plan, _) = planned(&world, 0);
    let [Step::Create { desired }] = plan.steps.as_slice() else { panic!("{plan:?}") };
    assert_eq!(desired.object["data"], json!({ "user": "YQ==" }));
    assert_eq!(desired.generated.outputs().collect::<Vec<_>>(), [("password", "password")]);
    assert_eq!(desired.digest, planned(&world, 9).0.steps[0].desired().unwrap().digest);
}

/// A plugin that returns a Secret as it has read it would replace its password.
#[test]
fn a_placeholder_is_no_value_of_a_secret() {
    let placeholder = format!("{}7p6z", crate::generated::PLACEHOLDER_PREFIX);
    let encoded = STANDARD.encode(&placeholder);
    for (field, value) in [("data", &encoded), ("stringData", &placeholder)] {
        let mut object = secret("it", json!({ "user": "YQ==" }));
        object[field]["password"] = json!(value);
        let (plan, _) = planned(&with_strategy(Strategy::Apply).wants([object]), 0);
        assert!(plan.steps.is_empty(), "{plan:?}");
        let [refusal] = plan.refusals.as_slice() else { panic!("{plan:?}") };
        assert_eq!(refusal.reason, RefusalReason::InvalidChild);
        assert!(refusal.message.contains("the placeholder of a generated value in data.password"), "{refusal:?}");
    }
}

#[test]
fn a_secret_is_written_for_its_values_alone() {
    let wants = |world: World, epoch| world.wants([secret("it", json!({ "password": password(epoch) }))]);
    let world = wants(with_strategy(Strategy::Apply), 0);
    let made = carried_out(world.clone(), json!({ "password": "YQ==" }), json!({ "password": { "epoch": 0 } }));
    assert_eq!(planned(&made, 0).0, Plan::default());
    // Removed by hand, or made for a lower epoch than the record says is wanted.
    let removed = carried_out(world.clone(), json!({}), json!({ "password": { "epoch": 0 } }));
    let unrecorded = carried_out(world, json!({ "password": "YQ==" }), json!({}));
    for world in [removed, unrecorded] {
        let (plan, _) = planned(&world, 0);
        let [Step::Apply { uid, cause, .. }] = plan.steps.as_slice() else { panic!("{plan:?}") };
        assert_eq!((uid.as_str(), cause), ("uid-1", &Cause::Generated));
    }
}

#[test]
fn a_certificate_is_due_at_its_renewal() {
    let world = with_strategy(Strategy::Apply).wants([secret("it", json!({ "tls.crt": certificate(&json!("self")) }))]);
    let record = json!({ "tls.crt": { "epoch": 0 }, "tls.key": { "with": "tls.crt" } });
    let made = |values: Value| carried_out(world.clone(), values, record.clone());
    let world = made(json!({ "tls.crt": STANDARD.encode("0:86400"), "tls.key": "YQ==" }));
    let due = 86_400 - 86_400 / 3;
    assert_eq!(planned(&world, 0), (Plan::default(), Some(due)));
    assert_eq!(planned(&world, due - 1).0, Plan::default());
    let (plan, next) = planned(&world, due);
    assert!(matches!(plan.steps.as_slice(), [Step::Apply { cause: Cause::Generated, .. }]), "{plan:?}");
    assert_eq!(next, Some(due + 86_400 - 86_400 / 3));
}

#[test]
fn a_value_that_cannot_be_made_refuses_its_secret_and_no_other_child() {
    let wanted =
        secret("it", json!({ "password": password(0), "tls.crt": certificate(&json!({ "secret": { "name": "ca" } })) }));
    let world = with_strategy(Strategy::Apply).wants([wanted, config_map("other", "text")]);
    let (plan, _) = planned(&world, 0);
    assert_eq!(plan.steps.iter().map(|step| step.child().key.name.as_str()).collect::<Vec<_>>(), ["other"]);
    let [refusal] = plan.refusals.as_slice() else { panic!("{plan:?}") };
    assert_eq!(refusal.reason, RefusalReason::ValueNotMade);
    assert!(refusal.message.contains("the value of \"tls.crt\" cannot be made"), "{}", refusal.message);
}

#[test]
fn a_secret_with_values_is_never_replaced_and_bad_requests_are_refused() {
    let data = json!({ "password": password(0) });
    for (strategy, data, says) in [
        (Strategy::Recreate, data, "which a deletion would lose"),
        (Strategy::Apply, json!({ "password": { "generate": { "password": { "length": 0 } } } }), "length is 0"),
        (Strategy::Apply, json!({ "password": { "make": 1 } }), "is no request for a value"),
    ] {
        let (plan, _) = planned(&with_strategy(strategy).wants([secret("it", data)]), 0);
        assert_eq!(plan.steps, []);
        assert_eq!(plan.refusals[0].reason, RefusalReason::InvalidChild);
        assert!(plan.refusals[0].message.contains(says), "{}", plan.refusals[0].message);
    }
    // A create-only Secret is created with its values, and then never touched.
    let world = with_strategy(Strategy::CreateOnly).wants([secret("it", json!({ "password": password(0) }))]);
    let made = carried_out(world, json!({}), json!({}));
    assert_eq!(planned(&made, 0).0, Plan::default());
}

#[test]
fn a_parent_may_ask_for_a_limited_number_of_values() {
    let many = |count: usize| {
        let children =
            (0..count).map(|number| secret(&format!("s{number}"), json!({ "tls.crt": certificate(&json!("self")) })));
        planned(&with_strategy(Strategy::Apply).wants(children), 0).0
    };
    // A certificate is two values: it has a private key.
    let most = MOST_VALUES / 2;
    assert_eq!((many(most).steps.len(), many(most).refusals.len()), (most, 0));
    let plan = many(10_000);
    assert_eq!((plan.steps.len(), plan.refusals.len()), (most, 10_000 - most));
    assert!(plan.refusals[0].message.ends_with("the limit of a parent is 256: ask for fewer"), "{}", plan.refusals[0].message);
}

proptest! {
    /// A tenant may write anything into a Secret: it never panics, and changes no other object.
    #[test]
    fn whatever_is_in_a_secret_only_that_secret_is_written(
        record in "\\PC{0,20}", value in "\\PC{0,8}", epoch in 0_u64..3, now in any::<i64>(),
    ) {
        let world = with_strategy(Strategy::Apply).wants([secret("it", json!({ "password": password(epoch) }))]);
        let mut world = carried_out(world, json!({ "password": value }), json!({}));
        let mut object: Value = serde_json::from_str(&world.observed[0].json).unwrap();
        object["metadata"]["annotations"]["gyre.dev/generated"] = json!(record);
        world = world.sees([object]);
        let (plan, _) = planned(&world, now);
        prop_assert!(plan.refusals.is_empty());
        let is_of_it = |step: &Step| step.child().key.name == "it" && matches!(step, Step::Apply { .. });
        prop_assert!(plan.steps.iter().all(is_of_it));
    }
}
