//! Validates the defaults in a schema: they must match it and be complete.

use super::super::cel::{self, Ratchet, Root};
use super::super::metadata;
use super::super::path::Path;
use super::super::prune::{self, Level};
use super::super::structural::{MAX_DEPTH, Node};
use super::super::validate as values;
use crate::status::FieldError;

pub(super) fn validate(schema: &Node, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    walk(schema, path, Inside::Root, 0, &mut errors);
    errors
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Root,
    Metadata,
    Object,
}

fn walk(schema: &Node, path: &Path, inside: Inside, depth: usize, errors: &mut Vec<FieldError>) {
    if depth > MAX_DEPTH {
        return;
    }
    if let Some(default) = &schema.default {
        errors.extend(validate_one(schema, default, &path.child("default"), inside));
    }
    if let Some(items) = &schema.items {
        walk(items, &path.child("items"), part(inside), depth + 1, errors);
    }
    for (name, property) in &schema.properties {
        let resource = inside == Inside::Root || schema.embedded_resource;
        let meta = resource && matches!(name.as_str(), "metadata" | "apiVersion" | "kind");
        let below = if meta {
            Inside::Metadata
        } else if schema.embedded_resource {
            Inside::Object
        } else {
            part(inside)
        };
        walk(property, &path.child("properties").key(name), below, depth + 1, errors);
    }
}

fn part(inside: Inside) -> Inside {
    if inside == Inside::Metadata { Inside::Metadata } else { Inside::Object }
}

fn validate_one(schema: &Node, default: &serde_json::Value, path: &Path, inside: Inside) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if inside != Inside::Metadata {
        let mut pruned = default.clone();
        prune::prune(&mut pruned, schema, Level::Field);
        if pruned != *default {
            errors.push(FieldError::invalid(path, default.clone(), "must not have unknown fields"));
        }
        let mut coerced = default.clone();
        if let Err(error) = metadata::coerce_embedded(&mut coerced, schema, path, &mut Vec::new()) {
            errors.push(error);
            return errors;
        }
        let before = errors.len();
        metadata::validate_embedded(default, schema, path, &mut errors);
        if errors.len() > before {
            return errors;
        }
    }
    let wrong = values::validate(default, schema, path, None);
    if !wrong.is_empty() {
        errors.extend(wrong);
        return errors;
    }
    let root = if inside == Inside::Root { Root::Resource } else { Root::Field };
    let held = cel::validate(default, schema, path, Some(default), Ratchet::Never, root);
    if held.is_empty() {
        errors.extend(cel::validate(default, schema, path, None, Ratchet::Never, root));
    } else {
        errors.extend(held);
    }
    errors
}
