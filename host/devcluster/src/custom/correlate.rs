//! Old values beside the new ones that took their place: what ratcheting and transition rules compare.

use serde_json::Value;

use super::structural::Node;

/// A value that has a predecessor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Correlated<'a> {
    pub(crate) new: &'a Value,
    pub(crate) old: &'a Value,
    pub(crate) schema: &'a Node,
}

impl<'a> Correlated<'a> {
    /// A field that both have and the schema knows.
    pub(crate) fn key(self, name: &str) -> Option<Self> {
        Some(Self { new: self.new.get(name)?, old: self.old.get(name)?, schema: self.schema.field(name)? })
    }

    /// An item of a list-map that both have; items of other lists have no predecessors.
    pub(crate) fn index(self, index: usize) -> Option<Self> {
        let new = self.new.as_array()?.get(index)?;
        let old = matching_item(self.schema, self.old, new)?;
        Some(Self { new, old, schema: self.schema.items.as_deref()? })
    }

    /// Whether nothing changed. Items of a list-map may change places.
    pub(crate) fn is_unchanged(self) -> bool {
        match (self.new, self.old) {
            (Value::Array(new), Value::Array(_)) if new.is_empty() || !self.schema.is_list_map() => self.new == self.old,
            (Value::Array(new), Value::Array(old)) => {
                new.len() == old.len() && (0..new.len()).all(|index| self.index(index).is_some_and(Self::is_unchanged))
            }
            (Value::Object(new), Value::Object(old)) => {
                new.len() == old.len() && new.keys().all(|name| self.key(name).is_some_and(Self::is_unchanged))
            }
            (new, old) => new == old,
        }
    }
}

/// The item of the list-map `list` with the keys of `item`.
pub(crate) fn matching_item<'a>(schema: &Node, list: &'a Value, item: &Value) -> Option<&'a Value> {
    if !schema.is_list_map() || schema.list_map_keys.is_empty() || !item.is_object() {
        return None;
    }
    let same = |candidate: &&Value| {
        candidate.is_object() && schema.list_map_keys.iter().all(|key| candidate.get(key) == item.get(key))
    };
    list.as_array()?.iter().find(same)
}
