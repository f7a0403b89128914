//! Dropping what the schema does not know: unknown fields, and nulls that are neither admitted nor defaulted.

use serde_json::Value;

use super::structural::{Additional, MAX_VALUE_DEPTH, Node};
use super::validate::is_whole;

const META_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Whether the value is an object of the API, with `apiVersion`, `kind` and `metadata` of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// It is.
    Resource,
    /// It is only if the schema says so.
    Field,
}

/// Drops unknown fields from `value`. Returns their paths, in order.
pub(crate) fn prune(value: &mut Value, schema: &Node, level: Level) -> Vec<String> {
    let mut pruning = Pruning { unknown: Vec::new() };
    let embedded = level == Level::Resource || schema.embedded_resource;
    pruning.walk(value, Some(schema), embedded, schema.preserve_unknown_fields, "", 0);
    pruning.unknown.sort();
    pruning.unknown
}

struct Pruning {
    unknown: Vec<String>,
}

impl Pruning {
    /// `schema` is none below a field of which nothing is said. `preserve` keeps what is not named here, and in the items of lists.
    fn walk(&mut self, value: &mut Value, schema: Option<&Node>, embedded: bool, preserve: bool, path: &str, depth: usize) {
        if depth > MAX_VALUE_DEPTH {
            *value = Value::Null;
            return;
        }
        match value {
            Value::Object(fields) => fields.retain(|name, field| {
                if embedded && META_FIELDS.contains(&name.as_str()) {
                    return true;
                }
                let below = || if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
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
                        if !path.is_empty() || !META_FIELDS.contains(&name.as_str()) {
                            self.unknown.push(below());
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
                    self.walk(item, schema, embedded, preserve || own, &format!("{path}[{index}]"), depth + 1);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

enum Known<'a> {
    As(&'a Node),
    /// `additionalProperties` is given, but no schema.
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

/// Drops fields that are null where the schema admits no null and has no default.
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

/// Puts defaults where fields are absent, or null though they may not be.
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

/// Prunes the defaults of a schema, as the server does before it uses them.
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

/// Writes whole numbers as such: `1.0` is stored as `1`. The API server does so only when it has validated the object.
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
