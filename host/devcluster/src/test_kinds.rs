use std::sync::Arc;

use serde_json::{Value, json};

use crate::builtin::Builtin;
use crate::kinds::{Kind, Origin, Scope};
use crate::schema::{RootSchema, Schema, Schemas};
use crate::store::Resource;

pub(crate) fn builtin(group: &str, version: &str, plural: &str, kind: &str, scope: Scope) -> Kind {
    with_discovery(group, version, plural, kind, scope, json!({}))
}

/// A built-in kind without a schema, with this discovery entry.
pub(crate) fn with_discovery(group: &str, version: &str, plural: &str, kind: &str, scope: Scope, discovery: Value) -> Kind {
    let mut schemas = Schemas::new();
    let root = schemas.add(Schema::default());
    Kind {
        resource: Resource { group: group.into(), plural: plural.into() },
        version: version.into(),
        kind: kind.into(),
        list_kind: format!("{kind}List").into(),
        scope,
        discovery: Arc::new(discovery),
        verbs: Arc::new([]),
        subresources: Arc::new([]),
        schema: RootSchema::new(Arc::new(schemas), root),
        origin: Origin::Builtin,
        strategy: Arc::new(Builtin),
    }
}
