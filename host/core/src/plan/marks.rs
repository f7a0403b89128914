//! The marks by which an object is known as a child: the host's labels, and the ownerReference. A
//! mutating webhook may remove them from what the host writes.

use serde_json::{Map, Value};

use super::refusals::{Refusal, RefusalReason};
use super::{OWNER_UID_LABEL, PLUGIN_LABEL};
use crate::object::ObjectRef;

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
