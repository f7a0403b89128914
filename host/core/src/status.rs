//! Computes the parent's status. The conditions follow kstatus: people wait for `Ready`, and
//! `Reconciling` and `Stalled` only exist while they hold.

mod capabilities;
mod dropped;

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::contains::equal;
use crate::names::is_dns_subdomain;
use crate::plan::Refusal;
use crate::response::{Condition, ConditionStatus};
use crate::text::cut;

pub use self::capabilities::{Fields, StatusCapabilities};
pub use self::dropped::DroppedFields;

/// The most bytes of a message. The API allows 32,768, but long lists help nobody and fill etcd.
pub const MESSAGE_LIMIT: usize = 1024;
/// The limit of `metav1.Condition`.
const REASON_LIMIT: usize = 1024;
/// The limit of `metav1.Condition`.
const KIND_LIMIT: usize = 316;
/// The refusals that a message names. The log has them all.
const NAMED_REFUSALS: usize = 3;

const READY: &str = "Ready";
const RECONCILING: &str = "Reconciling";
const STALLED: &str = "Stalled";

/// The next attempt after a failed reconcile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextAttempt {
    /// Automatic, after a while.
    Later,
    /// Only when an input changes.
    OnChange,
}

/// The result of a reconcile, as the conditions show it.
#[derive(Clone, Copy, Debug)]
pub enum Readiness<'a> {
    /// The desired state was reached.
    Ready,
    /// Part of the desired state was refused. An empty slice counts as `Ready`.
    Refused(&'a [Refusal]),
    /// It failed, or waits.
    Failed {
        /// One word, for programs.
        reason: &'a str,
        /// A sentence, for people.
        message: &'a str,
        /// The next attempt.
        next_attempt: NextAttempt,
    },
}

/// Whether the host carried out the plugin's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Execution {
    /// All of it.
    Complete,
    /// A child was refused, could not be written, or has to wait. The plugin's fields may say that
    /// it was written, e.g. as `lastScheduleTime`, so the live ones stay.
    Incomplete,
}

/// The inputs of [`desired_status`].
#[derive(Clone, Copy, Debug)]
pub struct StatusInput<'a> {
    /// The parent's `status` as observed.
    pub live: Option<&'a Value>,
    /// The parent's `metadata.generation`.
    pub generation: Option<i64>,
    /// The plugin's status without conditions, or `None` to leave it as it is.
    pub status: Option<&'a Map<String, Value>>,
    /// The plugin's conditions.
    pub conditions: &'a [Condition],
    /// Whether the answer with this status was carried out.
    pub execution: Execution,
    /// The result of the reconcile.
    pub readiness: Readiness<'a>,
    /// The host's fields that the status can hold.
    pub capabilities: StatusCapabilities,
    /// The time, in RFC 3339 with seconds.
    pub now: &'a str,
}

/// Returns the complete status to write, or `None` if it is up to date.
///
/// # Guarantees
///
/// - Once the result is written, the same input gives `None` at any time.
/// - Conditions of types that neither the plugin nor the host sets stay.
/// - If the answer was not carried out, only conditions and `observedGeneration` change.
pub fn desired_status(input: &StatusInput<'_>) -> Option<Map<String, Value>> {
    let capabilities = input.capabilities.fields();
    let live = input.live.and_then(Value::as_object);
    let plugins = input.status.filter(|_| input.execution == Execution::Complete);
    let hosts_alone = plugins.is_none() && input.conditions.is_empty() && live.is_none_or(Map::is_empty);
    if hosts_alone && !capabilities.alone {
        return None;
    }
    let mut status = plugins.or(live).cloned().unwrap_or_default();
    match input.generation.filter(|_| capabilities.observed_generation) {
        Some(generation) => {
            status.insert("observedGeneration".to_owned(), json!(generation));
        }
        // The plugin does not own the field, so the live one stays.
        None => restore(&mut status, live, "observedGeneration"),
    }
    if capabilities.conditions || !input.conditions.is_empty() {
        let live_conditions = live.and_then(|live| live.get("conditions")).and_then(Value::as_array);
        let conditions = merge(live_conditions.map_or(&[][..], Vec::as_slice), &wanted_conditions(input), input);
        status.insert("conditions".to_owned(), Value::Array(conditions));
    } else {
        restore(&mut status, live, "conditions");
    }
    let nothing = Value::Object(Map::new());
    let status = Value::Object(status);
    let unchanged = equal(input.live.filter(|live| !live.is_null()).unwrap_or(&nothing), &status);
    match status {
        Value::Object(status) if !unchanged => Some(status),
        _ => None,
    }
}

fn restore(status: &mut Map<String, Value>, live: Option<&Map<String, Value>>, field: &str) {
    match live.and_then(|live| live.get(field)) {
        Some(value) => status.insert(field.to_owned(), value.clone()),
        None => status.remove(field),
    };
}

/// The conditions of the plugin, then those of the host. If something was refused, the host's
/// overrule the plugin's even where the status has no room for more.
fn wanted_conditions(input: &StatusInput<'_>) -> Vec<Condition> {
    let hosts = host_conditions(&input.readiness);
    let healthy = matches!(input.readiness, Readiness::Ready | Readiness::Refused([]));
    let mut wanted: Vec<Condition> = Vec::new();
    for condition in input.conditions {
        let Some(condition) = valid(condition) else { continue };
        let overruled = !healthy && hosts.iter().any(|host| host.kind == condition.kind);
        if !overruled && wanted.iter().all(|other| other.kind != condition.kind) {
            wanted.push(condition);
        }
    }
    let can_hold = |condition: &Condition| {
        input.capabilities.fields().conditions
            || input.conditions.iter().any(|plugins| valid_kind(&plugins.kind).as_ref() == Some(&condition.kind))
    };
    for condition in hosts.into_iter().filter(can_hold) {
        if wanted.iter().all(|other| other.kind != condition.kind) {
            wanted.push(condition);
        }
    }
    wanted
}

fn host_conditions(readiness: &Readiness<'_>) -> Vec<Condition> {
    let condition = |kind: &str, status: ConditionStatus, reason: &str, message: &str| Condition {
        kind: kind.to_owned(),
        status,
        reason: valid_reason(reason),
        message: cut(message, MESSAGE_LIMIT),
    };
    match readiness {
        Readiness::Ready | Readiness::Refused([]) => {
            vec![condition(READY, ConditionStatus::True, "Reconciled", "All desired children are in place.")]
        }
        Readiness::Refused(refusals @ [first, ..]) => {
            let (reason, message) = (first.reason.as_str(), refusal_message(refusals));
            vec![
                condition(READY, ConditionStatus::False, reason, &message),
                condition(STALLED, ConditionStatus::True, reason, &message),
            ]
        }
        Readiness::Failed { reason, message, next_attempt } => {
            let kind = match next_attempt {
                NextAttempt::Later => RECONCILING,
                NextAttempt::OnChange => STALLED,
            };
            vec![
                condition(READY, ConditionStatus::False, reason, message),
                condition(kind, ConditionStatus::True, reason, message),
            ]
        }
    }
}

fn refusal_message(refusals: &[Refusal]) -> String {
    // Each has its share, so that a long one does not hide the others.
    let share = MESSAGE_LIMIT / NAMED_REFUSALS - 16;
    let named: Vec<String> = refusals.iter().take(NAMED_REFUSALS).map(|refusal| cut(&refusal.message, share)).collect();
    let message = named.join("; ");
    match refusals.len().saturating_sub(NAMED_REFUSALS) {
        0 => message,
        more => format!("{message} (and {more} more)"),
    }
}

/// The live conditions with the wanted ones in their places, and new ones last.
fn merge(live: &[Value], wanted: &[Condition], input: &StatusInput<'_>) -> Vec<Value> {
    let can_hold = input.capabilities.fields().conditions;
    let mut merged = Vec::with_capacity(live.len() + wanted.len());
    let mut placed = BTreeSet::new();
    for old in live {
        let kind = old.get("type").and_then(Value::as_str);
        match wanted.iter().find(|condition| Some(condition.kind.as_str()) == kind) {
            Some(condition) if placed.insert(condition.kind.as_str()) => merged.push(written(condition, Some(old), input)),
            // A second one of the same type, which should not exist.
            Some(_) => {}
            None if can_hold && (kind == Some(STALLED) || kind == Some(RECONCILING)) => {}
            None => merged.push(old.clone()),
        }
    }
    let new = wanted.iter().filter(|condition| !placed.contains(condition.kind.as_str()));
    merged.extend(new.map(|condition| written(condition, None, input)));
    merged
}

fn written(condition: &Condition, old: Option<&Value>, input: &StatusInput<'_>) -> Value {
    let text = |field: &str| old.and_then(|old| old.get(field)).and_then(Value::as_str);
    let status = condition.status.as_str();
    let since = match text("lastTransitionTime") {
        Some(since) if text("status") == Some(status) && !since.is_empty() => since,
        _ => input.now,
    };
    let mut value = Map::new();
    value.insert("type".to_owned(), json!(condition.kind));
    value.insert("status".to_owned(), json!(status));
    value.insert("reason".to_owned(), json!(condition.reason));
    value.insert("message".to_owned(), json!(condition.message));
    value.insert("lastTransitionTime".to_owned(), json!(since));
    if let Some(generation) = input.generation.filter(|_| input.capabilities.fields().condition_generation) {
        value.insert("observedGeneration".to_owned(), json!(generation));
    }
    Value::Object(value)
}

/// The condition as the API server accepts it, or `None` if its type is empty: one bad condition
/// must not prevent the whole status.
fn valid(condition: &Condition) -> Option<Condition> {
    Some(Condition {
        kind: valid_kind(&condition.kind)?,
        status: condition.status,
        reason: valid_reason(&condition.reason),
        message: cut(&condition.message, MESSAGE_LIMIT),
    })
}

/// A qualified name, `[prefix/]name` of letters, digits, `-`, `_` and `.`. Others are left out.
fn valid_kind(kind: &str) -> Option<String> {
    let (prefix, name) = match kind.split_once('/') {
        Some((prefix, name)) if is_dns_subdomain(prefix) => (Some(prefix), name),
        Some((_, name)) => (None, name),
        None => (None, kind),
    };
    let limit = KIND_LIMIT - prefix.map_or(0, |prefix| prefix.len() + 1);
    let fitting = name.chars().filter(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(*letter));
    let name: String = fitting.skip_while(|letter| !letter.is_ascii_alphanumeric()).take(limit.min(63)).collect();
    let name = name.trim_end_matches(['-', '_', '.']);
    match (name, prefix) {
        ("", _) => None,
        (name, Some(prefix)) => Some(format!("{prefix}/{name}")),
        (name, None) => Some(name.to_owned()),
    }
}

/// `[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?` without other characters, or `Unknown`.
fn valid_reason(reason: &str) -> String {
    let fitting = reason.chars().filter(|letter| letter.is_ascii_alphanumeric() || "_,:".contains(*letter));
    let reason: String = fitting.skip_while(|letter| !letter.is_ascii_alphabetic()).take(REASON_LIMIT).collect();
    match reason.trim_end_matches([',', ':']) {
        "" => "Unknown".to_owned(),
        reason => reason.to_owned(),
    }
}

#[cfg(test)]
mod tests;
