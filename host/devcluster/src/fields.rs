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

use serde_json::Value;

pub use apply::{apply, check_type};
pub use error::{Conflict, Error};
pub use scale::{ReplicasPaths, parent_to_scale, scale_to_parent};
pub use typed::Violations;
pub use update::record_update;

use crate::object;

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
    let without = |object: &Value| {
        let mut object = object.clone();
        object::remove_metadata(&mut object, "resourceVersion");
        if let Some(entries) = object.pointer_mut("/metadata/managedFields").and_then(Value::as_array_mut) {
            entries.iter_mut().filter_map(Value::as_object_mut).for_each(|entry| drop(entry.remove("time")));
        }
        object
    };
    // Most writes change something outside of the metadata, which is found without a copy.
    let is_metadata = |field: &str| field == "metadata";
    let same_outside = match (old.as_object(), new.as_object()) {
        (Some(old), Some(new)) => {
            old.len() == new.len() && old.iter().all(|(field, value)| is_metadata(field) || new.get(field) == Some(value))
        }
        _ => false,
    };
    same_outside && without(old) == without(new)
}
