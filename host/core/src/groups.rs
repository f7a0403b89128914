//! Groups of parents: plugins that are called about many parents at once.
//!
//! ```text
//!   member ── its field ─▶ value ─▶ group: a ParentGroup, the parent of the call and owner of the children
//!                                     │
//!             members, none ──────────┤ no children, then the ParentGroup goes
//!             none is selected ───────┤ nothing happens, as with a parent that is not selected
//!             members, some ──────────┴ a call about all of them ─▶ children, and a status for each member
//! ```
//!
//! To the rest of the host, a group is a parent like any other: an object with children, a status,
//! a place in the queue and a quarantine. So calls about a group come one after the other, and each
//! sees what the host has written for the last one.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::field_path;
use crate::object::{GroupVersionKind, ObjectKey};

/// The time without a call that follows a call, for each member. Half of a core is left to others
/// even if a plugin takes 20 µs for a member, as for parsing an object of 4 KiB.
const PAUSE_PER_MEMBER: Duration = Duration::from_micros(20);

/// The longest pause: about half a million members.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// The parents that one call is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Grouping {
    /// All parents of the mount.
    All,
    /// Those with the same value in this field, a JSON Pointer (RFC 6901).
    ByField(String),
}

/// The parents of a plugin that groups them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Members {
    /// Their kind.
    pub kind: GroupVersionKind,
    /// The rule by which some of them are one group.
    pub grouping: Grouping,
}

/// The bytes of a value's hash in the name of its group. A collision takes 2^40 values.
const HASH_BYTES: usize = 10;

/// The kind that the host keeps for groups.
pub fn kind() -> GroupVersionKind {
    GroupVersionKind::new("gyre.dev", "v1", "ParentGroup")
}

/// The CustomResourceDefinition of [`kind`].
pub fn definition() -> Value {
    let text = |description: &str| json!({ "type": "string", "description": description });
    let condition = json!({
        "type": "object",
        "required": ["type", "status", "reason", "message", "lastTransitionTime"],
        "properties": {
            "type": { "type": "string" },
            "status": { "type": "string", "enum": ["True", "False", "Unknown"] },
            "reason": { "type": "string" },
            "message": { "type": "string" },
            "lastTransitionTime": { "type": "string", "format": "date-time" },
            "observedGeneration": { "type": "integer", "format": "int64" },
        },
    });
    let schema = json!({
        "type": "object",
        "description": "The object that a gyre host keeps for a group of parents. It owns their children. Hosts create and delete it.",
        "required": ["spec"],
        "properties": {
            "spec": {
                "type": "object",
                "required": ["reconciler"],
                "properties": {
                    "reconciler": text("The name of the plugin's reconciler."),
                    "value": text("The value of the field by which the parents are grouped."),
                },
                "x-kubernetes-validations": [{ "rule": "self == oldSelf", "message": "a group does not change: delete it" }],
            },
            "status": {
                "type": "object",
                "x-kubernetes-preserve-unknown-fields": true,
                "properties": {
                    "conditions": {
                        "type": "array",
                        "items": condition,
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["type"],
                    },
                    "observedGeneration": { "type": "integer", "format": "int64" },
                },
            },
        },
    });
    let ready = ".status.conditions[?(@.type==\"Ready\")].status";
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "parentgroups.gyre.dev" },
        "spec": {
            "group": "gyre.dev",
            "names": { "kind": "ParentGroup", "listKind": "ParentGroupList", "plural": "parentgroups", "singular": "parentgroup" },
            "scope": "Cluster",
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "schema": { "openAPIV3Schema": schema },
                "subresources": { "status": {} },
                "additionalPrinterColumns": [
                    { "name": "Reconciler", "type": "string", "jsonPath": ".spec.reconciler" },
                    { "name": "Value", "type": "string", "jsonPath": ".spec.value" },
                    { "name": "Ready", "type": "string", "jsonPath": ready },
                    { "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp" },
                ],
            }],
        },
    })
}

/// Returns whether a text is a JSON Pointer (RFC 6901) to a field.
pub(crate) fn is_json_pointer(text: &str) -> bool {
    text.starts_with('/') && text.split('/').all(field_path::is_encoded)
}

/// A group: what its members have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group {
    /// The name of its [`kind`]. Names of reconcilers have no dots, so the groups of two
    /// reconcilers have different names.
    pub name: String,
    /// The value of the field; `None` if all parents are one group.
    pub value: Option<String>,
}

impl Group {
    /// The group of all parents of a reconciler.
    pub fn all(reconciler: &str) -> Self {
        Self { name: reconciler.to_owned(), value: None }
    }

    /// The group of the parents with this value.
    pub fn of_value(reconciler: &str, value: String) -> Self {
        let hash: String = Sha256::digest(&value).iter().take(HASH_BYTES).map(|byte| format!("{byte:02x}")).collect();
        Self { name: format!("{reconciler}.{hash}"), value: Some(value) }
    }

    /// The group of a parent; `None` if it is in none.
    pub fn of_member(reconciler: &str, grouping: &Grouping, member: &Value) -> Option<Self> {
        match grouping {
            Grouping::All => Some(Self::all(reconciler)),
            Grouping::ByField(pointer) => {
                let value = match member.pointer(pointer)? {
                    Value::String(text) => text.clone(),
                    other @ (Value::Number(_) | Value::Bool(_)) => other.to_string(),
                    Value::Null | Value::Array(_) | Value::Object(_) => return None,
                };
                Some(Self::of_value(reconciler, value))
            }
        }
    }

    /// The group of an object of [`kind`]; `None` if it is another reconciler's, or somebody made
    /// it under another name.
    pub fn of_object(reconciler: &str, object: &Value) -> Option<Self> {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        let group = match text("/spec/value") {
            None => Self::all(reconciler),
            Some(value) => Self::of_value(reconciler, value.to_owned()),
        };
        let is_its = text("/spec/reconciler") == Some(reconciler) && text("/metadata/name") == Some(&*group.name);
        is_its.then_some(group)
    }

    /// Its object, to be created.
    pub fn object(&self, reconciler: &str) -> Value {
        let kind = self::kind();
        let mut spec = json!({ "reconciler": reconciler });
        if let (Some(value), Some(spec)) = (&self.value, spec.as_object_mut()) {
            spec.insert("value".to_owned(), Value::from(value.as_str()));
        }
        json!({
            "apiVersion": kind.api_version(),
            "kind": kind.kind,
            "metadata": { "name": self.name },
            "spec": spec,
        })
    }
}

/// Returns the time without a call that follows a call about this many members.
pub fn pause(members: usize) -> Duration {
    PAUSE_PER_MEMBER.saturating_mul(u32::try_from(members).unwrap_or(u32::MAX)).min(LONGEST_PAUSE)
}

/// The relation of a parent to a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Membership {
    /// It is in the group.
    Member,
    /// It has the value of the group, but the mount does not select it.
    NotSelected,
}

/// The members of each group, by its name.
#[derive(Debug, Default)]
pub struct MemberIndex {
    groups: HashMap<ObjectKey, (String, Membership)>,
    contents: BTreeMap<String, Contents>,
}

#[derive(Debug, Default)]
struct Contents {
    members: BTreeSet<ObjectKey>,
    not_selected: usize,
}

impl MemberIndex {
    /// Moves a parent to a group, or out of all.
    pub fn set(&mut self, parent: &ObjectKey, group: Option<(&str, Membership)>) {
        if let Some((left, membership)) = self.groups.remove(parent) {
            self.remove(parent, &left, membership);
        }
        let Some((group, membership)) = group else { return };
        self.groups.insert(parent.clone(), (group.to_owned(), membership));
        let contents = self.contents.entry(group.to_owned()).or_default();
        match membership {
            Membership::Member => {
                contents.members.insert(parent.clone());
            }
            Membership::NotSelected => contents.not_selected += 1,
        }
    }

    fn remove(&mut self, parent: &ObjectKey, group: &str, membership: Membership) {
        let Some(contents) = self.contents.get_mut(group) else { return };
        match membership {
            Membership::Member => {
                contents.members.remove(parent);
            }
            Membership::NotSelected => contents.not_selected = contents.not_selected.saturating_sub(1),
        }
        if contents.members.is_empty() && contents.not_selected == 0 {
            self.contents.remove(group);
        }
    }

    /// The members of a group, in order.
    pub fn members(&self, group: &str) -> impl Iterator<Item = &ObjectKey> {
        self.contents.get(group).into_iter().flat_map(|contents| &contents.members)
    }

    /// The number of members of a group.
    pub fn count(&self, group: &str) -> usize {
        self.contents.get(group).map_or(0, |contents| contents.members.len())
    }

    /// Returns whether a parent has the value of a group, or is in it; `Member` if one is in it.
    pub fn membership(&self, group: &str) -> Option<Membership> {
        let contents = self.contents.get(group)?;
        Some(if contents.members.is_empty() { Membership::NotSelected } else { Membership::Member })
    }
}

#[cfg(test)]
mod tests;
