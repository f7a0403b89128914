//! Laws of all statuses.

use std::collections::BTreeSet;

use gyre_core::plan::Refusal;
use gyre_core::response::{Condition, ConditionStatus, Response};
use gyre_core::status::{
    Execution, Fields, MESSAGE_LIMIT, NextAttempt, Readiness, StatusCapabilities, StatusInput, desired_status,
};
use gyre_devcluster::random::Random;
use gyre_sandbox::call;
use serde_json::{Map, Value, json};

use crate::mutate::{self, Draw as _};
use crate::outcome::{Failure, Tally, count, law, shown};

const REASON_LIMIT: usize = 1_024;
const KIND_LIMIT: usize = 316;

pub(super) fn of_response(
    random: &mut Random,
    response: &Response,
    refusals: &[Refusal],
    tally: &mut Tally,
) -> Result<(), Failure> {
    let readiness = if random.chance(0.1) {
        Readiness::Failed { reason: "Rejected", message: "no", next_attempt: NextAttempt::Later }
    } else {
        Readiness::Refused(refusals)
    };
    let is_written = check(random, response.status.as_ref(), &response.conditions, readiness)?;
    count(tally, if is_written { "status" } else { "no-status" });
    Ok(())
}

pub(super) fn of_failure(random: &mut Random, error: &call::Error) -> Result<(), Failure> {
    let message = error.to_string();
    let next_attempt = *random.pick(&[NextAttempt::Later, NextAttempt::OnChange]);
    check(random, None, &[], Readiness::Failed { reason: error.reason(), message: &message, next_attempt }).map(drop)
}

fn capabilities(random: &mut Random) -> StatusCapabilities {
    let mut flip = || random.chance(0.5);
    let fields = Fields { conditions: flip(), condition_generation: flip(), observed_generation: flip(), alone: flip() };
    match random.below(3) {
        0 => StatusCapabilities::Everything,
        1 => StatusCapabilities::Nothing,
        _ => StatusCapabilities::Schema(fields),
    }
}

fn live_status(random: &mut Random) -> Option<Value> {
    if random.chance(0.2) {
        return None;
    }
    let mut live = json!({ "phase": "x", "observedGeneration": 3, "conditions": [
        { "type": "Ready", "status": "True", "reason": "R", "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z" },
        { "type": "Stalled", "status": "True", "reason": "R", "message": "m", "lastTransitionTime": "" },
        { "type": "Ready", "status": "False" },
        { "type": "OfOthers", "status": "Unknown" },
    ] });
    mutate::structure(random, &mut live);
    if live["conditions"].is_array() {
        mutate::structure(random, &mut live["conditions"]);
    }
    // Like the host, ignores too deeply nested objects.
    serde_json::from_str(&json!({ "status": live }).to_string()).ok().map(|mut parent: Value| parent["status"].take())
}

fn check(
    random: &mut Random,
    status: Option<&Map<String, Value>>,
    conditions: &[Condition],
    readiness: Readiness<'_>,
) -> Result<bool, Failure> {
    let (live, capabilities) = (live_status(random), capabilities(random));
    let generation = random.chance(0.8).then(|| *random.pick(&[0, 3, i64::MIN, i64::MAX]));
    let input = StatusInput {
        live: live.as_ref(),
        generation,
        status,
        conditions,
        execution: *random.pick(&[Execution::Complete, Execution::Incomplete]),
        readiness,
        capabilities,
        now: "2026-02-02T00:00:00Z",
    };
    let about = |what: String| format!("{what}\n  of {}", shown(&format!("{input:?}")));
    let desired = desired_status(&input);
    law(desired == desired_status(&input), || about("two statuses".to_owned()))?;
    let Some(desired) = desired else { return Ok(false) };
    let written = Value::Object(desired);
    let again = desired_status(&StatusInput { live: Some(&written), now: "2027-03-03T00:00:00Z", ..input });
    law(again.is_none(), || {
        let again = shown(&format!("{again:?}"));
        about(format!("{} is written once more, as {again}", shown(&written.to_string())))
    })?;
    let before: Vec<&Value> = live.iter().filter_map(|live| live["conditions"].as_array()).flatten().collect();
    let after: Vec<&Value> = written["conditions"].as_array().into_iter().flatten().collect();
    let mut kinds = BTreeSet::new();
    for condition in after.iter().filter(|condition| !before.contains(condition)) {
        law(is_valid(condition), || about(format!("the condition {condition}")))?;
        law(kinds.insert(condition["type"].to_string()), || about(format!("a second condition {condition}")))?;
    }
    // Conditions of others stay.
    let is_set = |kind: &Value| {
        ["Ready", "Stalled", "Reconciling"].iter().any(|host| kind == host) || kinds.contains(&kind.to_string()) || {
            conditions.iter().any(|condition| {
                kind.as_str().is_some_and(|kind| condition.kind.contains(kind) || kind.contains(&condition.kind))
            })
        }
    };
    let lost = before.iter().find(|condition| !is_set(&condition["type"]) && !after.contains(condition));
    law(lost.is_none(), || about(format!("the condition {lost:?} of others is lost")))?;
    Ok(true)
}

/// Returns whether the API server accepts it.
fn is_valid(condition: &Value) -> bool {
    let text = |field: &str| condition[field].as_str().unwrap_or_default();
    let (kind, reason, message) = (text("type"), text("reason"), text("message"));
    let name = kind.rsplit('/').next().unwrap_or_default();
    let is_edge = |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_alphanumeric());
    let is_name = name.len() <= 63
        && is_edge(name.chars().next())
        && is_edge(name.chars().last())
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter));
    let is_reason = reason.len() <= REASON_LIMIT
        && reason.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && !reason.ends_with([',', ':'])
        && reason.chars().all(|letter| letter.is_ascii_alphanumeric() || "_,:".contains(letter));
    let statuses = [ConditionStatus::True, ConditionStatus::False, ConditionStatus::Unknown].map(ConditionStatus::as_str);
    let is_time = !text("lastTransitionTime").is_empty();
    kind.len() <= KIND_LIMIT
        && is_name
        && is_reason
        && message.len() <= MESSAGE_LIMIT
        && statuses.contains(&text("status"))
        && is_time
}
