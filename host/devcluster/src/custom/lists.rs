//! Finds duplicates in lists of `x-kubernetes-list-type` `set` and `map`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::path::Path;
use super::structural::{MAX_VALUE_DEPTH, Node};
use crate::status::{Fault, FieldError, MAX_ERROR_BYTES};

pub(crate) fn validate(value: &Value, schema: &Node) -> Vec<FieldError> {
    let mut errors = Errors::default();
    walk(value, schema, &Path::root(), 0, &mut errors);
    errors.list
}

#[derive(Default)]
struct Errors {
    list: Vec<FieldError>,
    bytes: usize,
}

impl Errors {
    fn push(&mut self, error: impl FnOnce() -> FieldError) {
        if self.bytes < MAX_ERROR_BYTES {
            let error = error();
            self.bytes = self.bytes.saturating_add(error.footprint());
            self.list.push(error);
        }
    }
}

fn walk(value: &Value, schema: &Node, path: &Path, depth: usize, errors: &mut Errors) {
    if depth > MAX_VALUE_DEPTH {
        return;
    }
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                if let Some(each) = schema.each() {
                    walk(field, each, &path.key(name), depth + 1, errors);
                }
                if let Some(property) = schema.properties.get(name) {
                    walk(field, property, &path.child(name), depth + 1, errors);
                }
            }
        }
        Value::Array(items) => {
            match schema.list_type.as_deref() {
                Some("set") => duplicates(items, path, errors),
                Some("map") => match items.iter().position(|item| !item.is_object() && !item.is_null()) {
                    Some(index) => {
                        let item = items.get(index).cloned().unwrap_or_default();
                        let why = "must be an object for an array of list-type map";
                        errors.push(|| FieldError::invalid(path.key(index), item, why));
                    }
                    None => duplicates(&items.iter().map(|item| keys(item, schema)).collect::<Vec<_>>(), path, errors),
                },
                _ => {}
            }
            if let Some(each) = &schema.items {
                for (index, item) in items.iter().enumerate() {
                    walk(item, each, &path.key(index), depth + 1, errors);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn keys(item: &Value, schema: &Node) -> Value {
    let given = schema.list_map_keys.iter().filter_map(|key| Some((key.clone(), item.get(key)?.clone())));
    Value::Object(given.collect::<Map<_, _>>())
}

fn duplicates(items: &[Value], path: &Path, errors: &mut Errors) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for (index, item) in items.iter().enumerate() {
        let times = seen.entry(item.to_string()).or_default();
        *times += 1;
        if *times == 2 {
            errors.push(|| FieldError::new(Fault::Duplicate(item.clone()), path.key(index), ""));
        }
    }
}
