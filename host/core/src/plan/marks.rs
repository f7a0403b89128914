//! The marks by which an object is known as a child: the host's labels, and the ownerReference. A
//! mutating webhook may remove them from what the host writes.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};

use super::{Desired, OWNER_UID_LABEL, PLUGIN_LABEL, Refusal, RefusalReason};
use crate::object::ObjectRef;
use crate::queue::{RECHECK, Time};

/// Returns the refusal of a child whose marks are missing in the API server's answer to a write.
/// `sent` is what was written, or a part of it.
pub fn marks_removed(child: &ObjectRef, sent: &Map<String, Value>, answer: &Value) -> Option<Refusal> {
    let fields = missing_marks(sent, answer);
    if fields.is_empty() {
        return None;
    }
    let message = format!(
        "{child} was written, but {} missing in the API server's answer: a webhook removes what marks it as a child, so it may be left behind when its parent is deleted, and its changes may go unnoticed; exempt it from that webhook",
        match fields.as_slice() {
            [field] => format!("{field} is"),
            fields => format!("{} are", fields.join(" and ")),
        }
    );
    Some(Refusal { child: Some(child.clone()), reason: RefusalReason::MarksRemoved, message })
}

fn missing_marks(sent: &Map<String, Value>, answer: &Value) -> Vec<String> {
    let sent = |field: &str| sent.get("metadata").and_then(|metadata| metadata.get(field));
    let answered = |field: &str| answer.get("metadata").and_then(|metadata| metadata.get(field));
    let label = |labels: Option<&Value>, label: &str| labels.and_then(|labels| labels.get(label)).cloned();
    let labels = [PLUGIN_LABEL, OWNER_UID_LABEL].into_iter().filter(|name| {
        let wanted = label(sent("labels"), name);
        wanted.is_some() && wanted != label(answered("labels"), name)
    });
    let mut missing: Vec<String> = labels.map(|name| format!("metadata.labels[{name:?}]")).collect();
    let references = |references: Option<&'_ Value>| -> Vec<Value> {
        let references = references.and_then(Value::as_array).into_iter().flatten();
        references.filter_map(|reference| reference.get("uid").cloned()).collect()
    };
    let answered = references(answered("ownerReferences"));
    if references(sent("ownerReferences")).iter().any(|uid| !answered.contains(uid)) {
        missing.push("metadata.ownerReferences".to_owned());
    }
    missing
}

/// The children whose marks were removed. Each is written again every [`RECHECK`], or when the
/// plugin returns another one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnmarkedChildren(BTreeMap<ObjectRef, Unmarked>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Unmarked {
    digest: String,
    due: Time,
    refusal: Refusal,
}

impl UnmarkedChildren {
    /// Records the refusal by [`marks_removed`] of a write. Returns the time until the next write.
    pub fn record(&mut self, desired: &Desired, refusal: Refusal, now: Time) -> Duration {
        // A child that was not written when it was due is not desired any more.
        self.0.retain(|_, unmarked| unmarked.due + RECHECK > now);
        let unmarked = Unmarked { digest: desired.digest.clone(), due: now + RECHECK, refusal };
        self.0.insert(desired.child.clone(), unmarked);
        RECHECK
    }

    /// Returns the time until a child may be written, and its refusal; `None` if it may be now.
    pub fn held(&self, desired: &Desired, now: Time) -> Option<(Duration, &Refusal)> {
        let unmarked = self.0.get(&desired.child)?;
        let is_held = unmarked.digest == desired.digest && unmarked.due > now;
        is_held.then(|| (unmarked.due.saturating_since(now), &unmarked.refusal))
    }
}
