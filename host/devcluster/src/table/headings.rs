//! The column definitions of built-in kinds, from a real server.

use std::io::Read as _;
use std::sync::LazyLock;

use flate2::read::GzDecoder;
use serde_json::{Value, json};

use crate::kinds::Kind;

static COLUMNS: LazyLock<Value> = LazyLock::new(|| {
    let mut text = String::new();
    // A test reads the dump, so this cannot fail.
    match GzDecoder::new(include_bytes!("../builtin/dump/columns.json.gz").as_slice()).read_to_string(&mut text) {
        Ok(_) => serde_json::from_str(&text).unwrap_or_default(),
        Err(_) => Value::Null,
    }
});

pub(super) fn of(kind: &Kind) -> Value {
    find(kind.group(), &kind.version, &kind.resource.plural).unwrap_or(default())
}

/// `Name` and `Created At`.
pub(super) fn default() -> Value {
    find("rbac.authorization.k8s.io", "v1", "roles").unwrap_or_default()
}

/// `Name`.
pub(super) fn name() -> &'static Value {
    columns("", "v1", "configmaps").and_then(|columns| columns.get(0)).unwrap_or(&Value::Null)
}

pub(super) fn scale() -> Value {
    let replicas = |name: &str, description: &str| json!({ "name": name, "type": "integer", "format": "", "description": description, "priority": 0 });
    let age = columns("", "v1", "configmaps").and_then(Value::as_array).and_then(|columns| columns.last());
    json!([
        name(),
        replicas("Desired", "replicas is the desired number of instances for the scaled object."),
        replicas("Available", "replicas is the actual number of observed instances of the scaled object."),
        age,
    ])
}

fn find(group: &str, version: &str, plural: &str) -> Option<Value> {
    columns(group, version, plural).cloned()
}

fn columns(group: &str, version: &str, plural: &str) -> Option<&'static Value> {
    COLUMNS.get(group)?.get(version)?.get(plural)
}
