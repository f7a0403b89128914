//! Tables, as `kubectl get` shows them.

mod admission;
mod age;
mod autoscaling;
mod builtin;
mod cluster;
mod custom;
mod headings;
mod json_path;
mod network;
mod pod;
mod read;
mod workloads;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::kinds::{Column, Kind, Origin};
use crate::{object, partial};

/// The part of its object that a row contains: `?includeObject=`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IncludeObject {
    /// Its metadata, as `PartialObjectMetadata`.
    #[default]
    Metadata,
    /// The whole object.
    Object,
    /// Nothing.
    None,
}

/// The presence of column definitions; later events of a watch have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Headings {
    /// Present.
    Shown,
    /// Absent.
    Omitted,
}

pub(crate) fn render(
    kind: &Kind,
    metadata: &Value,
    objects: &[&Value],
    include: IncludeObject,
    headings: Headings,
    now: Timestamp,
) -> Value {
    let renderer = Renderer::of(kind);
    let rows: Vec<Value> = match &renderer {
        Renderer::Custom(columns) => {
            let cells = custom::Cells::new(columns, now);
            objects.iter().map(|object| row(object, cells.of(object), None, include)).collect()
        }
        Renderer::Default => objects.iter().map(|object| row(object, default_cells(object), None, include)).collect(),
        Renderer::Builtin => {
            let cells =
                objects.iter().map(|object| (object, builtin::cells(kind, object, now), builtin::conditions(kind, object)));
            cells.map(|(object, cells, conditions)| row(object, cells, conditions, include)).collect()
        }
    };
    let columns = match headings {
        Headings::Shown => renderer.headings(kind),
        Headings::Omitted => Value::Null,
    };
    // The server's default renderer writes null for no rows.
    let rows = if rows.is_empty() && matches!(renderer, Renderer::Default) { Value::Null } else { Value::Array(rows) };
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": partial::list_metadata(metadata),
        "columnDefinitions": columns, "rows": rows,
    })
}

pub(crate) fn of_scale(scale: &Value, include: IncludeObject, now: Timestamp) -> Value {
    let metadata = json!({ "resourceVersion": object::metadata(scale, "resourceVersion") });
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
        "columnDefinitions": headings::scale(), "rows": [row(scale, autoscaling::scale(scale, now), None, include)],
    })
}

fn row(object: &Value, cells: Vec<Value>, conditions: Option<Value>, include: IncludeObject) -> Value {
    let included = match include {
        IncludeObject::Metadata => partial::object(object),
        IncludeObject::Object => object.clone(),
        IncludeObject::None => Value::Null,
    };
    let mut row = json!({ "cells": cells, "object": included });
    if let (Some(row), Some(conditions)) = (row.as_object_mut(), conditions) {
        row.insert("conditions".to_owned(), conditions);
    }
    row
}

enum Renderer<'a> {
    Custom(&'a [Column]),
    Builtin,
    /// `rest.DefaultTableConvertor`: name and creation time.
    Default,
}

impl<'a> Renderer<'a> {
    fn of(kind: &'a Kind) -> Self {
        match &kind.origin {
            Origin::Custom(version) => Self::Custom(&version.columns),
            Origin::Builtin if builtin::has_printer(kind) => Self::Builtin,
            Origin::Builtin => Self::Default,
        }
    }

    fn headings(&self, kind: &Kind) -> Value {
        match self {
            Self::Custom(columns) => custom::headings(columns, headings::name()),
            Self::Builtin => headings::of(kind),
            Self::Default => headings::default(),
        }
    }
}

fn default_cells(object: &Value) -> Vec<Value> {
    vec![object::name(object).into(), object::metadata(object, "creationTimestamp").into()]
}

#[cfg(test)]
mod tests;
