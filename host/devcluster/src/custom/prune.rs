//! Drops unknown fields and nulls, sets defaults and normalizes numbers.

use serde_json::Value;

use super::path::Path;
use super::structural::{Additional, MAX_VALUE_DEPTH, Node};
use super::validate::is_whole;
use crate::status::MAX_ERROR_BYTES;

const META_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Decides if a value is an API object, with its own `apiVersion`, `kind` and `metadata`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Resource,
    /// Only if the schema says so.
    Field,
}

/// Drops unknown fields from `value`, and returns their sorted paths.
pub(crate) fn prune(value: &mut Value, schema: &Node, level: Level) -> Vec<String> {
    let mut pruning = Pruning { unknown: Vec::new(), bytes: 0 };
    let embedded = level == Level::Resource || schema.embedded_resource;
    pruning.walk(value, Some(schema), embedded, schema.preserve_unknown_fields, &Path::root(), 0);
    pruning.unknown.sort();
    pruning.unknown
}

struct Pruning {
    unknown: Vec<String>,
    bytes: usize,
}

impl Pruning {
    /// `schema` is `None` below a field without one. `preserve` keeps unknown fields, here and in
    /// the items of lists.
    fn walk(&mut self, value: &mut Value, schema: Option<&Node>, embedded: bool, preserve: bool, path: &Path, depth: usize) {
        if depth > MAX_VALUE_DEPTH {
            *value = Value::Null;
            return;
        }
        match value {
            Value::Object(fields) => fields.retain(|name, field| {
                if embedded && META_FIELDS.contains(&name.as_str()) {
                    return true;
                }
                let below = || path.child(name);
                let known = match schema {
                    None => Known::No,
                    Some(schema) => known(schema, name),
                };
                match known {
                    Known::As(schema) => {
                        self.walk(
                            field,
                            Some(schema),
                            schema.embedded_resource,
                            schema.preserve_unknown_fields,
                            &below(),
                            depth + 1,
                        );
                    }
                    Known::Whatever => self.walk(field, None, false, false, &below(), depth + 1),
                    Known::No if preserve => {}
                    Known::No => {
                        if (!path.is_root() || !META_FIELDS.contains(&name.as_str())) && self.bytes < MAX_ERROR_BYTES {
                            let field = below().text();
                            self.bytes = self.bytes.saturating_add(field.len());
                            self.unknown.push(field);
                        }
                        return false;
                    }
                }
                true
            }),
            Value::Array(items) => {
                let schema = schema.and_then(|schema| schema.items.as_deref());
                if preserve && schema.is_none() {
                    return;
                }
                for (index, item) in items.iter_mut().enumerate() {
                    let (embedded, own) =
                        schema.map_or((false, false), |schema| (schema.embedded_resource, schema.preserve_unknown_fields));
                    self.walk(item, schema, embedded, preserve || own, &path.key(index), depth + 1);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

enum Known<'a> {
    As(&'a Node),
    /// `additionalProperties` is a boolean.
    Whatever,
    No,
}

fn known<'a>(schema: &'a Node, name: &str) -> Known<'a> {
    match (schema.properties.get(name), &schema.additional) {
        (Some(property), _) => Known::As(property),
        (None, Additional::Each(each)) => Known::As(each),
        (None, Additional::Anything | Additional::Forbidden) => Known::Whatever,
        (None, Additional::Unset) => Known::No,
    }
}

/// Returns whether [`prune`], [`drop_nulls`] and [`default`] would not change an API object. A fast
/// check, which may return false for such an object.
pub(crate) fn is_settled(value: &Value, schema: &Node) -> bool {
    is_settled_at(value, Some(schema), true, schema.preserve_unknown_fields, 0)
}

fn is_settled_at(value: &Value, schema: Option<&Node>, embedded: bool, preserve: bool, depth: usize) -> bool {
    if depth > MAX_VALUE_DEPTH {
        return false;
    }
    match value {
        Value::Object(fields) => {
            let lacks_default = |schema: &Node| {
                let mut properties = schema.properties.iter();
                properties.any(|(name, property)| property.default.is_some() && !fields.contains_key(name))
            };
            if schema.is_some_and(lacks_default) {
                return false;
            }
            fields.iter().all(|(name, field)| {
                if embedded && META_FIELDS.contains(&name.as_str()) {
                    return schema.and_then(|schema| schema.field(name)).is_none_or(|schema| is_plain(schema, field));
                }
                match schema.map_or(Known::No, |schema| known(schema, name)) {
                    Known::As(schema) => is_child_settled(field, schema, false, depth),
                    Known::Whatever => is_settled_at(field, None, false, false, depth + 1),
                    Known::No => preserve,
                }
            })
        }
        Value::Array(items) => match schema.and_then(|schema| schema.items.as_deref()) {
            Some(each) => items.iter().all(|item| is_child_settled(item, each, preserve, depth)),
            None => preserve || items.iter().all(|item| is_settled_at(item, None, false, false, depth + 1)),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

fn is_child_settled(value: &Value, schema: &Node, preserve: bool, depth: usize) -> bool {
    let preserve = preserve || schema.preserve_unknown_fields;
    (!value.is_null() || schema.nullable) && is_settled_at(value, Some(schema), schema.embedded_resource, preserve, depth + 1)
}

/// Returns whether the schema of the metadata, which is not pruned, adds no defaults.
fn is_plain(schema: &Node, value: &Value) -> bool {
    !value.is_null() && schema.default.is_none() && schema.properties.values().all(|property| property.default.is_none())
}

/// Drops null fields that are neither nullable nor have a default.
pub(crate) fn drop_nulls(value: &mut Value, schema: Option<&Node>) {
    drop_nulls_at(value, schema, 0);
}

fn drop_nulls_at(value: &mut Value, schema: Option<&Node>, depth: usize) {
    if depth > MAX_VALUE_DEPTH {
        return;
    }
    match value {
        Value::Object(fields) => fields.retain(|name, field| {
            let schema = schema.and_then(|schema| schema.field(name));
            if field.is_null() && schema.is_some_and(|schema| !schema.nullable && schema.default.is_none()) {
                return false;
            }
            drop_nulls_at(field, schema, depth + 1);
            true
        }),
        Value::Array(items) => {
            for item in items {
                drop_nulls_at(item, schema.and_then(|schema| schema.items.as_deref()), depth + 1);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Sets the defaults of fields that are absent, or null and not nullable.
pub(crate) fn default(value: &mut Value, schema: &Node) {
    default_at(value, schema, 0);
}

fn default_at(value: &mut Value, schema: &Node, depth: usize) {
    if depth > MAX_VALUE_DEPTH {
        return;
    }
    let fill = |field: &mut Value, schema: &Node| {
        if field.is_null()
            && !schema.nullable
            && let Some(default) = &schema.default
        {
            field.clone_from(default);
        }
        default_at(field, schema, depth + 1);
    };
    match value {
        Value::Object(fields) => {
            for (name, property) in &schema.properties {
                if let Some(default) = &property.default
                    && !fields.contains_key(name)
                {
                    fields.insert(name.clone(), default.clone());
                }
            }
            for (name, field) in fields.iter_mut() {
                if let Some(schema) = schema.field(name) {
                    fill(field, schema);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = &schema.items {
                items.iter_mut().for_each(|item| fill(item, schema));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Prunes the defaults of a schema, as the real server does before it uses them.
pub(crate) fn prune_defaults(schema: &mut Node) {
    if let Some(mut default) = schema.default.take() {
        prune(&mut default, schema, Level::Field);
        schema.default = Some(default);
    }
    schema.properties.values_mut().for_each(prune_defaults);
    if let Some(items) = &mut schema.items {
        prune_defaults(items);
    }
    if let Additional::Each(each) = &mut schema.additional {
        prune_defaults(each);
    }
}

/// Replaces whole floats by integers, e.g. `1.0` by `1`. The API server does so after validation.
pub(crate) fn canonical_numbers(value: &mut Value) {
    canonical_numbers_at(value, 0);
}

fn canonical_numbers_at(value: &mut Value, depth: usize) {
    match value {
        _ if depth > MAX_VALUE_DEPTH => {}
        Value::Number(number) if !number.is_i64() => {
            if let Some(whole) = number.as_f64().filter(|float| is_whole(*float)) {
                *value = Value::from(whole as i64);
            }
        }
        Value::Object(fields) => fields.values_mut().for_each(|field| canonical_numbers_at(field, depth + 1)),
        Value::Array(items) => items.iter_mut().for_each(|item| canonical_numbers_at(item, depth + 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
