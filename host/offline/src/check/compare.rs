//! Compares objects field by field.

use serde_json::Value;

use crate::plan::{Action, Subject, Verb};

const MOST_SHOWN: usize = 10;

pub(super) fn brief(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 100 { text } else { text.chars().take(100).collect::<String>() + "…" }
}

pub(super) fn differences(before: &Value, after: &Value, path: &str, into: &mut Vec<String>) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            let null = Value::Null;
            let names: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
            for name in names {
                let [one, other] = [before, after].map(|fields| fields.get(name).unwrap_or(&null));
                differences(one, other, &format!("{path}.{name}"), into);
            }
        }
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
            for (index, (one, other)) in before.iter().zip(after).enumerate() {
                differences(one, other, &format!("{path}[{index}]"), into);
            }
        }
        _ if before == after => {}
        _ => into.push(format!("{}: {} becomes {}", path.trim_start_matches('.'), brief(before), brief(after))),
    }
}

/// Describes, for each object, how the last two writes of a host that does not converge differ.
pub fn flapping(actions: &[Action]) -> String {
    let writes: Vec<&Action> = actions.iter().filter(|action| action.verb != Verb::Event).collect();
    let mut subjects: Vec<&Subject> = Vec::new();
    let mut lines = vec!["The host keeps writing although nothing else changes.".to_owned()];
    for write in &writes {
        if !subjects.contains(&&write.subject) {
            subjects.push(&write.subject);
        }
    }
    for subject in subjects {
        let mut of_it = writes.iter().rev().filter(|write| write.subject == *subject);
        let (Some(last), Some(before)) = (of_it.next(), of_it.next()) else { continue };
        let mut fields = Vec::new();
        differences(&before.object, &last.object, "", &mut fields);
        // The time of a transition and the resource version follow from other changes.
        fields.retain(|field| !field.contains("lastTransitionTime") && !field.starts_with("metadata.resourceVersion:"));
        if fields.is_empty() || last.verb != before.verb {
            lines.push(format!("{subject}: {}, then {}, and so on", before.verb.name(), last.verb.name()));
        }
        lines.extend(fields.iter().map(|field| format!("{subject}: {field}")));
    }
    lines.truncate(MOST_SHOWN);
    lines.join("\n")
}

pub(super) fn lost(desired: &Value, before: &Value, after: &Value) -> Vec<String> {
    let mut lost = Vec::new();
    find_lost(desired, before, after, "", &mut lost);
    lost.truncate(MOST_SHOWN);
    lost
}

fn find_lost(desired: &Value, before: &Value, after: &Value, path: &str, into: &mut Vec<String>) {
    let null = Value::Null;
    match desired {
        Value::Object(fields) => {
            for (name, field) in fields {
                let [one, other] = [before, after].map(|object| object.get(name).unwrap_or(&null));
                find_lost(field, one, other, &format!("{path}.{name}"), into);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let [one, other] = [before, after].map(|list| list.get(index).unwrap_or(&null));
                find_lost(item, one, other, &format!("{path}[{index}]"), into);
            }
        }
        // Compares both live values: the API server may have normalized the desired one.
        _ if before == after => {}
        _ => into.push(format!("{}: {} became {}", path.trim_start_matches('.'), brief(before), brief(after))),
    }
}

/// JSON pointers to the scalars of an object that another client may change, e.g. not its name.
pub(super) fn leaves(object: &Value) -> Vec<String> {
    let mut leaves = Vec::new();
    find_leaves(object, "", &mut leaves);
    let names = ["/apiVersion", "/kind", "/metadata/name", "/metadata/namespace"];
    leaves.retain(|leaf| {
        let is_metadata = leaf.starts_with("/metadata/");
        let is_plain = !is_metadata || leaf.starts_with("/metadata/labels/") || leaf.starts_with("/metadata/annotations/");
        is_plain && !names.contains(&leaf.as_str()) && !leaf.starts_with("/status") && !leaf.contains("gyre.dev~1")
    });
    leaves
}

fn find_leaves(value: &Value, path: &str, into: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                find_leaves(field, &format!("{path}/{}", name.replace('~', "~0").replace('/', "~1")), into);
            }
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| find_leaves(item, &format!("{path}/{index}"), into))
        }
        _ => into.push(path.to_owned()),
    }
}
