//! Server-side apply and `metadata.managedFields`, as structured-merge-diff and apimachinery's `pkg/util/managedfields` do them.
//!
//! ```text
//!  record_update ─┐                        ┌─ shape (schema) ── typed: value → violations, set
//!                 ├─▶ ownership: owner → set                    compare: old, new → removed, modified, added
//!  apply ─────────┘    (managedFields)                          merge: live, applied → merged; remove
//!    └─ last_applied (client-side apply)   scale: owners of the replicas
//! ```
//!
//! Everything is a function of JSON values. There is no conversion between the versions of a kind: a path means the same in all of
//! them. Entries have no canonical order of keys inside `fieldsV1`, since JSON objects have none here.

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

/// The manager of a write, and the way of the write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manager<'a> {
    /// The field manager; see [`manager_name`].
    pub name: &'a str,
    /// The version of the kind that the request is about; that of Scale for `scale`.
    pub api_version: &'a str,
    /// E.g. `status`; empty for the object itself.
    pub subresource: &'a str,
}

/// Decides if an apply takes fields from their owners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Force {
    /// It takes them.
    Yes,
    /// It fails where it would.
    No,
}

/// The name of who writes: `?fieldManager=`, or what its user agent begins with.
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

/// Returns whether two objects differ in nothing but the times in `managedFields` and the `resourceVersion`: then nothing is to be written,
/// and the old times stay.
pub fn same_but_for_times(old: &Value, new: &Value) -> bool {
    let without = |object: &Value| {
        let mut object = object.clone();
        object::remove_metadata(&mut object, "resourceVersion");
        if let Some(entries) = object.pointer_mut("/metadata/managedFields").and_then(Value::as_array_mut) {
            entries.iter_mut().filter_map(Value::as_object_mut).for_each(|entry| drop(entry.remove("time")));
        }
        object
    };
    // Most writes change something, and that is seen without a copy.
    let is_metadata = |field: &str| field == "metadata";
    let same_outside = match (old.as_object(), new.as_object()) {
        (Some(old), Some(new)) => {
            old.len() == new.len() && old.iter().all(|(field, value)| is_metadata(field) || new.get(field) == Some(value))
        }
        _ => false,
    };
    same_outside && without(old) == without(new)
}
