//! Strategic merge patch, in which the schema says which lists are merged, and by which key. Also
//! the directives `$patch`, `$retainKeys`, `$deleteFromPrimitiveList` and `$setElementOrder`.

mod lists;

use std::collections::BTreeSet;

use http::StatusCode;
use serde_json::{Map, Value};

use super::{rejected, undecodable};
use crate::go;
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
/// `BadRequest` for malformed directives, 500 without a reason for lists that do not fit the
/// schema, as in the API server.
pub(crate) fn apply(object: &Value, patch: &Value, schema: SchemaRef<'_>) -> Result<Value, Status> {
    let patch = match patch {
        Value::Null => Map::new(),
        Value::Object(patch) => patch.clone(),
        other => return Err(Status::bad_request(undecodable(other, "map[string]interface {}"))),
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
    // The server prints the type with `%s`; null has none.
    let received = if value.is_null() { "%!s(<nil>)" } else { go::type_name(value) };
    failure(format!("expected a {expected}, but received a {received}"))
}

fn no_merge_key(item: &Map<String, Value>, key: &str) -> Status {
    let item = go::print(&Value::Object(item.clone()));
    failure(format!("map: {item} does not contain declared merge key: {key}"))
}

fn unknown_directive(directive: &Value, patch: Map<String, Value>) -> Status {
    let shown = match directive {
        Value::Bool(_) | Value::Number(_) => format!("%!s({}={})", go::type_name(directive), go::print(directive)),
        Value::Null => "%!s(<nil>)".to_owned(),
        other => go::print(other),
    };
    failure(format!("unknown patch type: {shown} in map: {}", go::print(&Value::Object(patch))))
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
        Some(directive) => return Err(unknown_directive(&directive.clone(), patch)),
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
            if old.is_none_or(|old| go::type_name(old) != go::type_name(&patch)) {
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
            other => return Err(wrong_type("[]interface {}", &other.unwrap_or_default())),
        };
        let Some((ELEMENT_ORDER, name)) = directive.split_once('/') else {
            return Err(lists::bad_element_order());
        };
        for value in [original.get(name), patch.get(name)].into_iter().flatten() {
            if !value.is_array() {
                return Err(wrong_type("[]interface {}", value));
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
    schema.property(name).ok_or_else(|| {
        if schema.additional_properties().is_some() {
            return failure("merging an object in json but data type is not struct, instead is: map");
        }
        let definition = schema.schema().definition.as_deref().unwrap_or_default();
        let go_struct = definition.rsplit('.').next().unwrap_or_default();
        failure(format!("unable to find api field in struct {go_struct} for the json field {name:?}"))
    })
}

fn list_field<'a>(schema: SchemaRef<'a>, name: &str) -> Result<List<'a>, Status> {
    let field = struct_field(schema, name)?;
    if field.kind != Type::Array && field.kind != Type::Any {
        return Err(failure("expected slice or array type, but got: struct"));
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
        _ => Err(failure(format!("unexpected patch strategy: [{}]", strategies.join(" ")))),
    }
}

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
