//! Notes about what a check leaves out, and why: a clean result does not cover it.

use gyre_core::object::GroupVersionKind;
use gyre_engine::program::Program;
use serde_json::Value;

use super::disturb::MOST_CHILDREN;
use super::drawn;
use super::setup::{CheckSetup, ConvergedState, MOST_PARENTS};
use crate::plan::Subject;

const MOST_NAMED: usize = 5;

pub(super) fn notes(setup: &CheckSetup, converged: &ConvergedState) -> Vec<String> {
    let mut notes = Vec::new();
    let parents = converged.parents.len();
    if let left @ 1.. = parents.saturating_sub(MOST_PARENTS) {
        notes.push(format!(
            "{left} of {parents} parents were left out: they were not deleted, and their specs were not changed."
        ));
    }
    let children = converged.children.len();
    if let left @ 1.. = children.saturating_sub(MOST_CHILDREN) {
        notes.push(format!("{left} of {children} children were left out: they were not removed, changed or finished."));
    }
    notes.extend(childless(setup, converged));
    for program in &setup.programs {
        notes.extend(of_definition(setup, converged, program));
    }
    notes
}

fn childless(setup: &CheckSetup, converged: &ConvergedState) -> Vec<String> {
    let mut notes: Vec<String> = converged.parents.iter().filter_map(|parent| of_parent(setup, converged, parent)).collect();
    let others = notes.len().saturating_sub(MOST_NAMED);
    notes.truncate(MOST_NAMED);
    if others > 0 {
        notes.push(format!("{others} more parents have no child that could be changed."));
    }
    notes
}

fn of_parent(setup: &CheckSetup, converged: &ConvergedState, parent: &Value) -> Option<String> {
    let subject = Subject::of(parent);
    if converged.children.iter().any(|made| made.parent == subject) {
        return None;
    }
    let is_member = setup.program_of(parent).is_some_and(|program| program.manifest().members.is_some());
    if !is_member && !converged.calls.contains_key(&subject) {
        return Some(format!("{subject} was never reconciled: the mount does not select it, or it has been released."));
    }
    let program = setup.program_of(parent)?;
    match (not_ready(parent), program.manifest().children.is_empty()) {
        (Some(reason), _) => Some(format!("{subject} is not Ready: {reason}; it has no child that could be changed.")),
        (None, false) => Some(format!("{subject} has no child that could be changed.")),
        (None, true) => None,
    }
}

/// The reason why the condition `Ready` is not true, or `None` if it is true or absent.
fn not_ready(parent: &Value) -> Option<&str> {
    let conditions = parent.pointer("/status/conditions")?.as_array()?;
    let is = |condition: &&Value, field: &str, word: &str| condition.get(field).is_some_and(|value| value == word);
    let ready = conditions.iter().find(|condition| is(condition, "type", "Ready"))?;
    if is(&ready, "status", "True") { None } else { ready.get("reason")?.as_str() }
}

fn of_definition(setup: &CheckSetup, converged: &ConvergedState, program: &Program) -> Option<String> {
    if !converged.parents.iter().any(|parent| program.reconciles(parent)) {
        return None;
    }
    let parent @ GroupVersionKind { kind, .. } = program.manifest().users_kind();
    let Some(definition) = drawn::definition(setup, program) else {
        return Some(format!(
            "No specs of {kind} were generated: neither the plugin nor the files contain the CustomResourceDefinition of {parent}."
        ));
    };
    if drawn::schema_of(definition, &parent.version).is_none() {
        return Some(format!(
            "No specs of {kind} were generated: its CustomResourceDefinition has no schema for {}.",
            parent.version
        ));
    }
    let strategy = definition.pointer("/spec/conversion/strategy").and_then(Value::as_str)?;
    (strategy != "None").then(|| {
        format!("No {kind} was stored as another version: its CustomResourceDefinition has a conversion webhook, which is not available here.")
    })
}
