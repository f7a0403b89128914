use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::plan::RefusalReason;

const NOW: &str = "2024-05-01T00:00:00Z";
const BEFORE: &str = "2023-01-01T00:00:00Z";

fn input<'a>(live: Option<&'a Value>, status: Option<&'a Map<String, Value>>, readiness: Readiness<'a>) -> StatusInput<'a> {
    StatusInput {
        live,
        generation: Some(2),
        status,
        conditions: &[],
        execution: Execution::Complete,
        readiness,
        capabilities: StatusCapabilities::Everything,
        now: NOW,
    }
}

fn written_status(input: &StatusInput<'_>) -> Value {
    Value::Object(desired_status(input).expect("there is something to write"))
}

fn find<'a>(status: &'a Value, kind: &str) -> Option<&'a Value> {
    status["conditions"].as_array().expect("conditions").iter().find(|condition| condition["type"] == kind)
}

fn refusal(message: &str) -> Refusal {
    Refusal { child: None, reason: RefusalReason::ForeignObject, message: message.to_owned() }
}

fn condition(kind: &str, status: ConditionStatus, reason: &str) -> Condition {
    Condition { kind: kind.to_owned(), status, reason: reason.to_owned(), message: "A sentence.".to_owned() }
}

#[test]
fn success_sets_ready_and_the_observed_generation() {
    let status = json!({"phase": "Done", "observedGeneration": 99, "conditions": "the host's"});
    let written = written_status(&input(None, status.as_object(), Readiness::Ready));
    let expected = json!({
        "phase": "Done",
        "observedGeneration": 2,
        "conditions": [{
            "type": "Ready", "status": "True", "reason": "Reconciled", "message": "All desired children are in place.",
            "lastTransitionTime": NOW, "observedGeneration": 2,
        }],
    });
    assert_eq!(written, expected);
}

#[test]
fn conditions_of_others_stay_and_ours_keep_their_places_and_times() {
    let live = json!({"phase": "Old", "conditions": [
        {"type": "Theirs", "status": "True", "since": "long"},
        {"type": "Stalled", "status": "True", "lastTransitionTime": BEFORE},
        {"type": "Ready", "status": "True", "lastTransitionTime": BEFORE},
        {"type": "Available", "status": "True", "lastTransitionTime": BEFORE},
        {"type": "Ready", "status": "False"},
        "nonsense",
    ]});
    let conditions =
        [condition("Available", ConditionStatus::False, "Down"), condition("New", ConditionStatus::Unknown, "Fresh")];
    let written = written_status(&StatusInput { conditions: &conditions, ..input(Some(&live), None, Readiness::Ready) });
    let kinds: Vec<&Value> = written["conditions"].as_array().unwrap().iter().map(|condition| &condition["type"]).collect();
    assert_eq!(json!(kinds), json!(["Theirs", "Ready", "Available", null, "New"]));
    assert_eq!(written["phase"], "Old");
    assert_eq!(find(&written, "Theirs"), Some(&live["conditions"][0]));
    assert_eq!(find(&written, "Ready").unwrap()["lastTransitionTime"], BEFORE);
    assert_eq!(find(&written, "Available").unwrap()["lastTransitionTime"], NOW);
}

#[test]
fn the_hosts_ready_overrules_the_plugins_only_when_something_is_wrong() {
    let conditions = [
        condition("Ready", ConditionStatus::False, "StillRunning"),
        condition("Reconciling", ConditionStatus::True, "StillRunning"),
    ];
    let written = written_status(&StatusInput { conditions: &conditions, ..input(None, None, Readiness::Ready) });
    assert_eq!(find(&written, "Ready").unwrap()["reason"], "StillRunning");
    assert_eq!(find(&written, "Reconciling").unwrap()["status"], "True");

    let conditions = [condition("Ready", ConditionStatus::True, "AllWell")];
    let refusals: Vec<Refusal> = ["one", "two", "three", "four", "five"].map(refusal).into();
    let written = written_status(&StatusInput { conditions: &conditions, ..input(None, None, Readiness::Refused(&refusals)) });
    for (kind, status) in [("Ready", "False"), ("Stalled", "True")] {
        let condition = find(&written, kind).unwrap();
        assert_eq!(condition["status"], status);
        assert_eq!(condition["reason"], "ForeignObject");
        assert_eq!(condition["message"], "one; two; three (and 2 more)");
    }
    let written = written_status(&StatusInput { conditions: &conditions, ..input(None, None, Readiness::Refused(&[])) });
    assert_eq!(find(&written, "Ready").unwrap()["reason"], "AllWell");
}

#[test]
fn a_failure_keeps_the_status_and_shows_whether_it_is_retried() {
    let live =
        json!({"phase": "Running", "conditions": [{"type": "Reconciling", "status": "True", "lastTransitionTime": BEFORE}]});
    for (next_attempt, present, absent) in
        [(NextAttempt::Later, "Reconciling", "Stalled"), (NextAttempt::OnChange, "Stalled", "Reconciling")]
    {
        let readiness = Readiness::Failed { reason: "PluginTrapped", message: "It trapped.", next_attempt };
        let written = written_status(&input(Some(&live), None, readiness));
        assert_eq!(written["phase"], "Running");
        assert_eq!(find(&written, "Ready").unwrap()["status"], "False");
        assert_eq!(find(&written, present).unwrap()["reason"], "PluginTrapped");
        assert_eq!(find(&written, absent), None);
    }
}

#[test]
fn conditions_are_made_to_fit_what_the_api_server_accepts() {
    let conditions = [
        Condition {
            kind: "My Condition!".to_owned(),
            status: ConditionStatus::True,
            reason: "1: not a word, really,".to_owned(),
            message: "ä".repeat(MESSAGE_LIMIT),
        },
        condition("example.com/Probe", ConditionStatus::True, "!!"),
        condition("///", ConditionStatus::True, "NoType"),
        condition(&"x".repeat(1000), ConditionStatus::True, "Long"),
    ];
    let written = written_status(&StatusInput { conditions: &conditions, ..input(None, None, Readiness::Ready) });
    let first = find(&written, "MyCondition").unwrap();
    assert_eq!(first["reason"], "notaword,really");
    let message = first["message"].as_str().unwrap();
    assert!(message.len() <= MESSAGE_LIMIT && message.ends_with('…'));
    assert_eq!(find(&written, "example.com/Probe").unwrap()["reason"], "Unknown");
    assert_eq!(written["conditions"].as_array().unwrap().len(), 4);
}

#[test]
fn a_status_that_the_api_server_spells_another_way_is_not_written_again() {
    let status = json!({"replicas": 1.0, "nothing": null});
    let mut live = written_status(&input(None, status.as_object(), Readiness::Ready));
    live["replicas"] = json!(1);
    live.as_object_mut().unwrap().remove("nothing");
    assert_eq!(desired_status(&input(Some(&live), status.as_object(), Readiness::Ready)), None);
}

#[test]
fn an_object_without_generation_has_none_observed() {
    let live = json!({"observedGeneration": 7});
    let status = json!({"observedGeneration": 8});
    let input = StatusInput { generation: None, ..input(Some(&live), status.as_object(), Readiness::Ready) };
    assert_eq!(written_status(&input)["observedGeneration"], 7);
    assert_eq!(written_status(&StatusInput { live: None, ..input }).get("observedGeneration"), None);
}

fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::sample::select(vec!["Ready", "Stalled", "Reconciling", "Available", "a/b", "x y", ""])
            .prop_map(str::to_owned),
        "\\PC{0,12}",
    ]
}

fn statuses() -> impl Strategy<Value = Value> {
    let condition = prop_oneof![
        Just(json!("nonsense")),
        (words(), proptest::sample::select(vec!["True", "False", "Unknown", ""]))
            .prop_map(|(kind, status)| json!({"type": kind, "status": status, "lastTransitionTime": BEFORE})),
    ];
    prop_oneof![
        Just(json!(null)),
        Just(json!({"conditions": 1, "phase": null})),
        proptest::collection::vec(condition, 0..6).prop_map(|conditions| json!({"conditions": conditions, "phase": "x"})),
    ]
}

fn rooms() -> impl Strategy<Value = StatusCapabilities> {
    let fields = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(conditions, condition_generation, observed_generation, alone)| {
            StatusCapabilities::Schema(Fields { conditions, condition_generation, observed_generation, alone })
        },
    );
    prop_oneof![2 => Just(StatusCapabilities::Everything), 1 => Just(StatusCapabilities::Nothing), 3 => fields]
}

fn executions() -> impl Strategy<Value = Execution> {
    proptest::sample::select(vec![Execution::Complete, Execution::Incomplete])
}

fn plugin_conditions() -> impl Strategy<Value = Vec<Condition>> {
    let truths = proptest::sample::select(vec![ConditionStatus::True, ConditionStatus::False, ConditionStatus::Unknown]);
    let condition = (words(), truths, words(), words()).prop_map(|(kind, status, reason, message)| Condition {
        kind,
        status,
        reason,
        message,
    });
    proptest::collection::vec(condition, 0..5)
}

#[test]
fn without_status_fields_for_the_host_only_the_plugins_status_is_written() {
    let live = json!({"replicas": 3, "observedGeneration": 1, "conditions": [
        {"type": "Available", "status": "True", "lastTransitionTime": BEFORE},
        {"type": "Reconciling", "status": "True"},
    ]});
    let failed = Readiness::Failed { reason: "Trapped", message: "m", next_attempt: NextAttempt::OnChange };
    for readiness in [Readiness::Ready, failed, Readiness::Refused(&[refusal("one")])] {
        for live in [None, Some(&live), Some(&Value::Null)] {
            let input = StatusInput { capabilities: StatusCapabilities::Nothing, ..input(live, None, readiness) };
            assert_eq!(desired_status(&input), None, "{live:?}");
        }
    }
    let conditions =
        [condition("Audited", ConditionStatus::True, "Passed"), condition("Ready", ConditionStatus::True, "Passed")];
    let status = json!({"replicas": 4});
    let refusals = [refusal("one")];
    let written = written_status(&StatusInput {
        capabilities: StatusCapabilities::Nothing,
        conditions: &conditions,
        ..input(Some(&live), status.as_object(), Readiness::Refused(&refusals))
    });
    assert_eq!((&written["replicas"], &written["observedGeneration"]), (&json!(4), &json!(1)));
    let conditions = written["conditions"].as_array().unwrap();
    assert_eq!(conditions[..2], *live["conditions"].as_array().unwrap());
    let ours = [json!(["Audited", "True", "Passed"]), json!(["Ready", "False", "ForeignObject"])];
    let found = conditions[2..].iter().map(|condition| json!([condition["type"], condition["status"], condition["reason"]]));
    assert!(found.eq(ours), "{conditions:?}");
    assert!(conditions.iter().all(|condition| condition.get("observedGeneration").is_none()));
}

#[test]
fn a_status_that_needs_more_than_the_host_can_say_is_begun_by_the_plugin() {
    let capabilities = StatusCapabilities::Schema(Fields {
        conditions: true,
        condition_generation: true,
        observed_generation: true,
        alone: false,
    });
    let failed = Readiness::Failed { reason: "Trapped", message: "m", next_attempt: NextAttempt::Later };
    assert_eq!(desired_status(&StatusInput { capabilities, ..input(None, None, failed) }), None);
    let live = json!({"phase": "Running"});
    let written = written_status(&StatusInput { capabilities, ..input(Some(&live), None, failed) });
    assert_eq!(find(&written, "Reconciling").unwrap()["reason"], "Trapped");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn status_written_is_not_written_again(
        live in proptest::option::of(statuses()),
        status in proptest::option::of(statuses()),
        conditions in plugin_conditions(),
        messages in proptest::collection::vec(words(), 0..6),
        next_attempt in proptest::option::of(any::<bool>()),
        generation in proptest::option::of(1i64..3),
        capabilities in rooms(),
        execution in executions(),
    ) {
        let refusals: Vec<Refusal> = messages.iter().map(|message| refusal(message)).collect();
        let readiness = match next_attempt {
            None => Readiness::Refused(&refusals),
            Some(later) => Readiness::Failed {
                reason: "Trap", message: "m", next_attempt: if later { NextAttempt::Later } else { NextAttempt::OnChange },
            },
        };
        let first = StatusInput {
            live: live.as_ref(),
            generation,
            status: status.as_ref().and_then(Value::as_object),
            conditions: &conditions,
            execution,
            readiness,
            capabilities,
            now: BEFORE,
        };
        let written = desired_status(&first).map(Value::Object);
        let again = StatusInput { live: written.as_ref().or(live.as_ref()), now: NOW, ..first };
        prop_assert_eq!(desired_status(&again), None);
    }

    #[test]
    fn without_room_for_generations_the_status_does_not_depend_on_them(
        live in proptest::option::of(statuses()),
        status in proptest::option::of(statuses()),
        conditions in plugin_conditions(),
        capabilities in rooms(),
        generation in 1i64..3,
    ) {
        let fields = capabilities.fields();
        let capabilities = StatusCapabilities::Schema(Fields { condition_generation: false, observed_generation: false, ..fields });
        let status = status.as_ref().and_then(Value::as_object);
        let before = StatusInput {
            capabilities, conditions: &conditions, generation: Some(generation), ..input(live.as_ref(), status, Readiness::Ready)
        };
        let after = StatusInput { generation: Some(generation + 1), ..before };
        prop_assert_eq!(desired_status(&before), desired_status(&after));
    }

    #[test]
    fn without_room_and_without_a_word_from_the_plugin_nothing_is_written(
        live in proptest::option::of(statuses()),
        messages in proptest::collection::vec(words(), 0..6),
    ) {
        let refusals: Vec<Refusal> = messages.iter().map(|message| refusal(message)).collect();
        let input = StatusInput { capabilities: StatusCapabilities::Nothing, ..input(live.as_ref(), None, Readiness::Refused(&refusals)) };
        prop_assert_eq!(desired_status(&input), None);
    }

    #[test]
    fn an_answer_that_was_not_carried_out_changes_no_field_of_the_plugin(
        live in proptest::option::of(statuses()),
        status in statuses(),
        conditions in plugin_conditions(),
        capabilities in rooms(),
    ) {
        let refusals = [refusal("one")];
        let held = StatusInput {
            status: status.as_object(),
            conditions: &conditions,
            execution: Execution::Incomplete,
            capabilities,
            ..input(live.as_ref(), None, Readiness::Refused(&refusals))
        };
        let written = desired_status(&held);
        prop_assert_eq!(&written, &desired_status(&StatusInput { status: None, ..held }), "as if it had no status");
        let plugins = |status: &Map<String, Value>| {
            let fields = status.iter().filter(|(field, _)| !["conditions", "observedGeneration"].contains(&field.as_str()));
            fields.map(|(field, value)| (field.clone(), value.clone())).collect::<Vec<_>>()
        };
        let before = live.as_ref().and_then(Value::as_object).map(plugins).unwrap_or_default();
        prop_assert_eq!(written.as_ref().map_or_else(|| before.clone(), plugins), before);
    }
}
