//! Server-side apply and `metadata.managedFields`, as in structured-merge-diff and apimachinery's
//! `pkg/util/managedfields`.
//!
//! ```text
//!  record_update ─┐
//!                 ├─▶ ownership: owner → set (managedFields)
//!  apply ─────────┘     ├─ compare: old, new → removed, modified, added
//!    └─ last_applied    ├─ merge: live, applied → merged; remove
//!                       └─ typed: value, shape (of its schema) → violations, set
//!  scale: the owners of the replicas
//! ```
//!
//! Absent: conversion between the versions of a kind (a path means the same in all of them), and a
//! canonical order of the keys inside `fieldsV1`.

mod apply;
mod compare;
mod element;
mod error;
mod last_applied;
mod merge;
mod ownership;
mod scale;
mod set;
mod shape;
mod text;
mod typed;
mod update;

#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

pub use apply::{apply, check_type};
pub use error::{Conflict, Error};
pub use scale::{ReplicasPaths, parent_to_scale, scale_to_parent};
pub use typed::Violations;
pub use update::record_update;

/// The longest name of a field manager, in bytes: `FieldManagerMaxLength` of apimachinery.
const NAME_LIMIT: usize = 128;

/// The field manager of a write, and how it writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manager<'a> {
    /// Its name; see [`manager_name`].
    pub name: &'a str,
    /// The API version of the request's kind; that of Scale for `scale`.
    pub api_version: &'a str,
    /// E.g. `status`; empty for the object itself.
    pub subresource: &'a str,
}

/// Decides if an apply takes over fields that others own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Force {
    /// It takes them over.
    Yes,
    /// It fails with conflicts.
    No,
}

/// Returns the manager of a request: `?fieldManager=`, or the program in the user agent.
pub fn manager_name(field_manager: &str, user_agent: &str) -> String {
    if !field_manager.is_empty() {
        return field_manager.to_owned();
    }
    let mut name = String::new();
    let program = user_agent.split('/').next().unwrap_or_default();
    for character in program.chars().filter(|character| !character.is_control()) {
        if name.len() + character.len_utf8() > NAME_LIMIT {
            break;
        }
        name.push(character);
    }
    name
}

/// Returns whether two objects are equal, ignoring the `resourceVersion` and the times in
/// `managedFields`. Then nothing is written, and the old times stay.
pub fn same_but_for_times(old: &Value, new: &Value) -> bool {
    same_fields(old, new, None, |field, old, new| match field {
        "metadata" => same_fields(old, new, Some("resourceVersion"), |field, old, new| match field {
            "managedFields" => same_entries(old, new),
            _ => old == new,
        }),
        _ => old == new,
    })
}

fn same_entries(old: &Value, new: &Value) -> bool {
    let same = |old: &Value, new: &Value| same_fields(old, new, Some("time"), |_, old, new| old == new);
    match (old.as_array(), new.as_array()) {
        (Some(old), Some(new)) => old.len() == new.len() && old.iter().zip(new).all(|(old, new)| same(old, new)),
        _ => old == new,
    }
}

/// Returns whether two maps have the same fields; one field is ignored.
fn same_fields(old: &Value, new: &Value, except: Option<&str>, same: impl Fn(&str, &Value, &Value) -> bool) -> bool {
    let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else { return old == new };
    let count = |fields: &Map<String, Value>| {
        let ignored = except.is_some_and(|except| fields.contains_key(except));
        fields.len().saturating_sub(usize::from(ignored))
    };
    let mut compared = old.iter().filter(|(name, _)| Some(name.as_str()) != except);
    count(old) == count(new) && compared.all(|(name, old)| new.get(name).is_some_and(|new| same(name, old, new)))
}
