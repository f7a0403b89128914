//! Finds the old value that a new one replaces, for ratcheting and transition rules.

use std::collections::HashMap;

use serde_json::Value;

use super::structural::Node;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Correlated<'a> {
    pub(crate) new: &'a Value,
    pub(crate) old: &'a Value,
    pub(crate) schema: &'a Node,
}

impl<'a> Correlated<'a> {
    pub(crate) fn key(self, name: &str) -> Option<Self> {
        Some(Self { new: self.new.get(name)?, old: self.old.get(name)?, schema: self.schema.field(name)? })
    }

    /// Returns whether nothing changed, ignoring the order of list-maps.
    pub(crate) fn is_unchanged(self) -> bool {
        match (self.new, self.old) {
            (Value::Array(new), Value::Array(_)) if new.is_empty() || !self.schema.is_list_map() => self.new == self.old,
            (Value::Array(new), Value::Array(old)) => {
                if new.len() != old.len() {
                    return false;
                }
                let old = OldItems::of(self.schema, self.old);
                new.iter().all(|item| old.correlated(item).is_some_and(Self::is_unchanged))
            }
            (Value::Object(new), Value::Object(old)) => {
                new.len() == old.len() && new.keys().all(|name| self.key(name).is_some_and(Self::is_unchanged))
            }
            (new, old) => new == old,
        }
    }
}

/// The items of the old list by their keys. Only items of list-maps have a predecessor.
#[derive(Debug)]
pub(crate) struct OldItems<'a> {
    schema: &'a Node,
    by_keys: HashMap<String, &'a Value>,
}

impl<'a> OldItems<'a> {
    pub(crate) fn of(schema: &'a Node, list: &'a Value) -> Self {
        let mut by_keys = HashMap::new();
        for item in list.as_array().into_iter().flatten() {
            if let Some(keys) = keys(schema, item) {
                by_keys.entry(keys).or_insert(item);
            }
        }
        Self { schema, by_keys }
    }

    pub(crate) fn matching(&self, item: &Value) -> Option<&'a Value> {
        self.by_keys.get(&keys(self.schema, item)?).copied()
    }

    pub(crate) fn correlated<'b>(&self, item: &'b Value) -> Option<Correlated<'b>>
    where
        'a: 'b,
    {
        Some(Correlated { new: item, old: self.matching(item)?, schema: self.schema.items.as_deref()? })
    }
}

/// Returns the keys of an item of a list-map as one text, or `None` without keys.
fn keys(schema: &Node, item: &Value) -> Option<String> {
    let item = item.as_object().filter(|_| schema.is_list_map() && !schema.list_map_keys.is_empty())?;
    let mut text = String::new();
    for key in &schema.list_map_keys {
        // Encoded JSON has no line breaks, so the text is unambiguous.
        if let Some(value) = item.get(key) {
            text.push_str(&value.to_string());
        }
        text.push('\n');
    }
    Some(text)
}
