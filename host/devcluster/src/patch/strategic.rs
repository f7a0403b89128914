//! Strategic merge patch: a merge patch that merges lists by keys, as the schema says, with
//! directives for everything else: `$patch`, `$retainKeys`, `$deleteFromPrimitiveList/…` and
//! `$setElementOrder/…`.

mod lists;

use std::collections::BTreeSet;

use http::StatusCode;
use serde_json::{Map, Value};

use super::{rejected, undecodable};
use crate::schema::{SchemaRef, Type};
use crate::status::Status;

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM_LIST: &str = "$deleteFromPrimitiveList";
const ELEMENT_ORDER: &str = "$setElementOrder";

/// Returns the object with the patch merged into it, according to its schema.
///
/// # Errors
///
/// Those of the API server: `BadRequest` for directives of the wrong form, a 500 without a reason
/// if lists and merge keys do not fit.
pub(crate) fn apply(object: &Value, patch: &Value, schema: SchemaRef<'_>) -> Result<Value, Status> {
    let patch = match patch {
        Value::Null => Map::new(),
        Value::Object(patch) => patch.clone(),
        other => return Err(Status::bad_request(undecodable(other, "object"))),
    };
    let mut merged = object.as_object().cloned().unwrap_or_default();
    merge_map(&mut merged, patch, schema)?;
    Ok(Value::Object(merged))
}

/// An error without a reason, as in the API server.
fn failure(message: impl Into<String>) -> Status {
    Status::new(StatusCode::INTERNAL_SERVER_ERROR, "", message)
}

fn wrong_type(expected: &str, value: &Value) -> Status {
    failure(undecodable(value, expected))
}

fn no_merge_key(item: &Map<String, Value>, key: &str) -> Status {
    failure(format!("the item {} lacks the merge key {key}", Value::Object(item.clone())))
}

fn unknown_directive(directive: &Value) -> Status {
    failure(format!("{DIRECTIVE} may not be {directive}"))
}

fn merge_map(original: &mut Map<String, Value>, mut patch: Map<String, Value>, schema: SchemaRef<'_>) -> Result<(), Status> {
    match patch.get(DIRECTIVE) {
        None => {}
        Some(Value::String(directive)) if directive == "replace" => {
            patch.remove(DIRECTIVE);
            *original = patch;
            return Ok(());
        }
        Some(Value::String(directive)) if directive == "delete" => {
            original.clear();
            return Ok(());
        }
        Some(directive) => return Err(unknown_directive(directive)),
    }
    retain_keys(original, &mut patch)?;
    order_elements(original, &mut patch, schema)?;
    for (name, value) in patch {
        match deletion_target(&name)? {
            Some(list) => delete_from_list(original, list, value, schema)?,
            None => merge_field(original, &name, value, schema)?,
        }
    }
    Ok(())
}

fn merge_field(original: &mut Map<String, Value>, name: &str, patch: Value, schema: SchemaRef<'_>) -> Result<(), Status> {
    if patch.is_null() {
        original.remove(name);
        return Ok(());
    }
    match (original.get_mut(name), patch) {
        (Some(Value::Object(old)), Value::Object(patch)) => {
            let field = struct_field(schema, name)?;
            if strategy(field)? == "replace" {
                *old = patch;
            } else {
                merge_map(old, patch, field)?;
            }
        }
        (Some(Value::Array(old)), Value::Array(patch)) => {
            let list = list_field(schema, name)?;
            *old = if list.merged { lists::merge(std::mem::take(old), patch, list)? } else { patch };
        }
        // Only values of another type are stripped of nulls.
        (old, mut patch) => {
            if old.is_none_or(|old| !same_type(old, &patch)) {
                discard_nulls(&mut patch);
            }
            match without_directives(patch) {
                Some(value) => original.insert(name.to_owned(), value),
                None => original.remove(name),
            };
        }
    }
    Ok(())
}

fn deletion_target(name: &str) -> Result<Option<&str>, Status> {
    if !name.starts_with(DELETE_FROM_LIST) {
        return Ok(None);
    }
    match name.split_once('/') {
        Some((DELETE_FROM_LIST, list)) => Ok(Some(list)),
        _ => Err(Status::bad_request("invalid patch format of primitive list")),
    }
}

fn delete_from_list(original: &mut Map<String, Value>, name: &str, patch: Value, schema: SchemaRef<'_>) -> Result<(), Status> {
    match (original.get_mut(name), patch) {
        (_, Value::Null) => {
            original.remove(name);
        }
        (Some(Value::Array(old)), Value::Array(unwanted)) => {
            let list = list_field(schema, name)?;
            *old = lists::delete(std::mem::take(old), unwanted, list)?;
        }
        (Some(Value::Object(_)), Value::Object(_)) => {
            struct_field(schema, name)?;
        }
        _ => {}
    }
    Ok(())
}

/// Applies `$retainKeys`, which removes all fields that it does not name.
fn retain_keys(original: &mut Map<String, Value>, patch: &mut Map<String, Value>) -> Result<(), Status> {
    let Some(retained) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let bad = || Status::bad_request("invalid patch format of retainKeys");
    let retained: BTreeSet<&str> = retained.as_array().ok_or_else(bad)?.iter().filter_map(Value::as_str).collect();
    let is_directive = |name: &str| name.starts_with(DELETE_FROM_LIST) || name.starts_with(ELEMENT_ORDER);
    if patch.iter().any(|(name, value)| !value.is_null() && !is_directive(name) && !retained.contains(name.as_str())) {
        return Err(bad());
    }
    original.retain(|name, _| retained.contains(name.as_str()));
    Ok(())
}

fn order_elements(
    original: &mut Map<String, Value>,
    patch: &mut Map<String, Value>,
    schema: SchemaRef<'_>,
) -> Result<(), Status> {
    let directives: Vec<String> = patch.keys().filter(|name| name.starts_with(ELEMENT_ORDER)).cloned().collect();
    for directive in directives {
        let order = match patch.remove(&directive) {
            Some(Value::Array(order)) => order,
            other => return Err(wrong_type("array", &other.unwrap_or_default())),
        };
        let Some((ELEMENT_ORDER, name)) = directive.split_once('/') else {
            return Err(lists::bad_element_order());
        };
        for value in [original.get(name), patch.get(name)].into_iter().flatten() {
            if !value.is_array() {
                return Err(wrong_type("array", value));
            }
        }
        let list = list_field(schema, name)?;
        let patched = match patch.remove(name) {
            Some(Value::Array(items)) => Some(items),
            _ => None,
        };
        let live = match original.get(name) {
            Some(Value::Array(items)) => Some(items.clone()),
            _ => None,
        };
        if let Some(ordered) = lists::merge_in_order(live, patched, &order, list)? {
            original.insert(name.to_owned(), Value::Array(ordered));
        }
    }
    Ok(())
}

#[derive(Clone, Copy)]
struct List<'a> {
    merged: bool,
    /// The field that identifies items; empty for scalars.
    merge_key: &'a str,
    items: Option<SchemaRef<'a>>,
}

fn struct_field<'a>(schema: SchemaRef<'a>, name: &str) -> Result<SchemaRef<'a>, Status> {
    schema.property(name).ok_or_else(|| failure(format!("the schema has no field {name:?} to merge into")))
}

fn list_field<'a>(schema: SchemaRef<'a>, name: &str) -> Result<List<'a>, Status> {
    let field = struct_field(schema, name)?;
    if field.kind != Type::Array && field.kind != Type::Any {
        return Err(failure(format!("the field {name:?} is not a list in the schema")));
    }
    Ok(List {
        merged: strategy(field)? == "merge",
        merge_key: field.schema().patch_merge_key.as_deref().unwrap_or_default(),
        items: field.items(),
    })
}

/// Returns the patch strategy. `retainKeys` only tells clients to send `$retainKeys`.
fn strategy(field: SchemaRef<'_>) -> Result<&str, Status> {
    let strategies = &field.schema().patch_strategy;
    let mut others = strategies.iter().map(|strategy| &**strategy).filter(|strategy| *strategy != "retainKeys");
    match (others.next(), others.next()) {
        (strategy, None) => Ok(strategy.unwrap_or_default()),
        _ => Err(failure(format!("unexpected patch strategy: {}", strategies.join(", ")))),
    }
}

/// Returns whether Go decodes two values into the same type. Numbers are integers or floats.
fn same_type(left: &Value, right: &Value) -> bool {
    std::mem::discriminant(left) == std::mem::discriminant(right) && left.is_f64() == right.is_f64()
}

/// Drops the fields that are null, also in lists.
fn discard_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(discard_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(discard_nulls),
        _ => {}
    }
}

fn without_directives(value: Value) -> Option<Value> {
    Some(match value {
        Value::Object(fields) if fields.contains_key(DIRECTIVE) => return None,
        Value::Object(fields) => {
            let kept = fields.into_iter().filter_map(|(name, value)| Some((name, without_directives(value)?)));
            Value::Object(kept.collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().filter_map(without_directives).collect()),
        other => other,
    })
}

#[cfg(test)]
mod tests;
