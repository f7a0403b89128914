//! Writes the status of a parent, which `gyre_core::status` decides.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use gyre_core::queue::{RECHECK, Time};
use gyre_core::response::Response;
use gyre_core::status::{DroppedFields, Execution, Readiness, StatusCapabilities, StatusInput, desired_status};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::clock::Clock;
use crate::cluster::kinds::{self, StatusSubresource};
use crate::cluster::object::{Object, SharedObject};
use crate::writes::parent::{At, ParentWriter};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    No,
    Conditions,
    /// The plugin's part changed, which is an input of its next call.
    PluginStatus,
}

/// A status of which the API server stored something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AcceptedStatus {
    attempt: Attempt,
    dropped: DroppedFields,
    at: Time,
}

/// Hashes of a status that was sent, without transition times, and of what the API server stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Attempt {
    subresource: StatusSubresource,
    desired: u64,
    stored: u64,
}

impl AcceptedStatus {
    /// Returns the fields that the API server dropped. They are written again every [`RECHECK`],
    /// because nothing reports that a CustomResourceDefinition has got more fields.
    pub(crate) fn dropped(&self) -> Option<&DroppedFields> {
        Some(&self.dropped).filter(|dropped| !dropped.is_empty())
    }

    fn is_due(&self, now: Time) -> bool {
        self.dropped().is_some() && now.saturating_since(self.at) >= RECHECK
    }
}

/// Writes the desired status. Returns the new parent, too, if a request was answered with it.
///
/// # Guarantees
///
/// - If the status is as desired, no request is sent.
/// - Writes only over the state that it was decided from.
/// - Fields that the API server drops, because the CRD lacks them, are sent again every
///   [`RECHECK`].
///
/// # Errors
///
/// The error of the request; a conflict means that the cache was behind.
pub(crate) async fn write(
    writer: &ParentWriter<'_>,
    clock: &Clock,
    parent: &Object,
    response: &Response,
    (readiness, execution): (Readiness<'_>, Execution),
    accepted: &mut Option<AcceptedStatus>,
    now: Time,
) -> Result<(Written, Option<SharedObject>), kube::Error> {
    let live = status_of(parent);
    let Some(desired) =
        decide(live.as_ref(), parent, response, (readiness, execution), writer.status_capabilities, clock.now())
    else {
        *accepted = None;
        return Ok((Written::No, None));
    };
    let live = live.as_ref().and_then(Value::as_object);
    let without_times = without_transition_times(&desired);
    let subresource = writer.parents.resource.status;
    let attempt = Attempt { subresource, desired: status_hash(Some(&without_times)), stored: status_hash(live) };
    if accepted.as_ref().is_some_and(|accepted| accepted.attempt == attempt && !accepted.is_due(now)) {
        return Ok((Written::No, None));
    }
    let patch = json!({ "status": merge_patch(live, &desired) });
    let Some(answer) = writer.patch(parent, patch, At::Status, "status").await? else {
        return Ok((Written::Conditions, None));
    };
    let made = status_of(&answer);
    let made = made.as_ref().and_then(Value::as_object);
    *accepted = (made != Some(&desired)).then(|| AcceptedStatus {
        attempt: Attempt { stored: status_hash(made), ..attempt },
        dropped: DroppedFields::find(&desired, made, |field| is_expected(field, writer, response)),
        at: now,
    });
    let written = match (made == live, plugins_part(made) == plugins_part(live)) {
        (true, _) => Written::No,
        (false, true) => Written::Conditions,
        (false, false) => Written::PluginStatus,
    };
    Ok((written, Some(answer)))
}

/// Returns whether the plugin relies on a field of the status. If the plugin brings no definition
/// of the kind, the host's own fields may have no place in it.
fn is_expected(field: &str, writer: &ParentWriter<'_>, response: &Response) -> bool {
    match field {
        "conditions" if !response.conditions.is_empty() => true,
        "conditions" | "observedGeneration" => kinds::give_status(writer.definitions, writer.kind),
        _ => true,
    }
}

pub(crate) fn decide(
    live: Option<&Value>,
    parent: &Object,
    response: &Response,
    (readiness, execution): (Readiness<'_>, Execution),
    status_capabilities: StatusCapabilities,
    now: Timestamp,
) -> Option<Map<String, Value>> {
    desired_status(&StatusInput {
        live,
        generation: (parent.generation() > 0).then_some(parent.generation()),
        status: response.status.as_ref(),
        conditions: &response.conditions,
        execution,
        readiness,
        now: &format!("{now:.0}"),
        capabilities: status_capabilities,
    })
}

pub(crate) fn status_of(object: &Object) -> Option<Value> {
    #[derive(serde::Deserialize)]
    struct WithStatus {
        status: Option<Value>,
    }
    serde_json::from_str::<WithStatus>(object.json()).ok()?.status
}

fn plugins_part(status: Option<&Map<String, Value>>) -> Vec<(&String, &Value)> {
    let fields = status.into_iter().flatten();
    fields.filter(|(field, _)| !matches!(field.as_str(), "conditions" | "observedGeneration")).collect()
}

/// A JSON merge patch (RFC 7396) from `live` to `desired`.
fn merge_patch(live: Option<&Map<String, Value>>, desired: &Map<String, Value>) -> Value {
    let mut patch = Map::new();
    for (key, value) in desired {
        match (live.and_then(|live| live.get(key)), value) {
            (Some(live), value) if live == value => {}
            (Some(Value::Object(live)), Value::Object(value)) => {
                patch.insert(key.clone(), merge_patch(Some(live), value));
            }
            (_, value) => {
                patch.insert(key.clone(), value.clone());
            }
        }
    }
    for key in live.iter().flat_map(|live| live.keys()).filter(|key| !desired.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    Value::Object(patch)
}

/// Removes the times, in which two attempts at the same status differ.
fn without_transition_times(status: &Map<String, Value>) -> Map<String, Value> {
    let mut status = status.clone();
    for condition in status.get_mut("conditions").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(condition) = condition.as_object_mut() {
            condition.remove("lastTransitionTime");
        }
    }
    status
}

pub(crate) fn status_hash(status: Option<&Map<String, Value>>) -> u64 {
    let mut hasher = DefaultHasher::new();
    status.map(|status| serde_json::to_string(status).unwrap_or_default()).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(live: Value, desired: Value, expected: Value) {
        let patch = merge_patch(live.as_object(), desired.as_object().unwrap());
        assert_eq!(patch, expected, "{live} -> {desired}");
    }

    #[test]
    fn a_patch_contains_differing_fields_and_removes_fields_that_are_not_desired() {
        check(json!(null), json!({"a": 1}), json!({"a": 1}));
        check(json!({"a": 1, "b": 2}), json!({"a": 1}), json!({"b": null}));
        check(json!({"a": {"x": 1, "y": 2}}), json!({"a": {"x": 1, "z": 3}}), json!({"a": {"y": null, "z": 3}}));
        check(json!({"a": [1, 2]}), json!({"a": [1]}), json!({"a": [1]}));
        check(json!({"a": 1}), json!({"a": {"x": 1}}), json!({"a": {"x": 1}}));
    }
}
