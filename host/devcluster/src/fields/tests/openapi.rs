//! The subset of OpenAPI in which the tests write schemas.

use std::sync::Arc;

use serde_json::Value;

use crate::schema::{ListType, MapType, Schema, SchemaId, Schemas, Type};

pub(crate) fn load(json: &Value) -> (Schemas, SchemaId) {
    let mut schemas = Schemas::new();
    let id = node(&mut schemas, json);
    (schemas, id)
}

fn node(schemas: &mut Schemas, json: &Value) -> SchemaId {
    let text = |field: &str| json.get(field).and_then(Value::as_str);
    let mut schema = Schema {
        kind: Type::named(text("type")),
        format: text("format").map(Arc::from),
        default: json.get("default").cloned(),
        list_type: match text("x-kubernetes-list-type") {
            Some("set") => ListType::Set,
            Some("map") => {
                let keys = json.get("x-kubernetes-list-map-keys").and_then(Value::as_array).into_iter().flatten();
                ListType::Map(keys.filter_map(Value::as_str).map(str::to_owned).collect())
            }
            _ => ListType::Atomic,
        },
        map_type: if text("x-kubernetes-map-type") == Some("atomic") { MapType::Atomic } else { MapType::Granular },
        preserve_unknown_fields: json.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true)),
        ..Schema::default()
    };
    for (name, property) in json.get("properties").and_then(Value::as_object).into_iter().flatten() {
        schema.properties.insert(name.clone(), node(schemas, property));
    }
    schema.additional_properties = json.get("additionalProperties").map(|values| node(schemas, values));
    schema.items = json.get("items").map(|items| node(schemas, items));
    for (name, value) in json.get("always").and_then(Value::as_object).into_iter().flatten() {
        schema.always.insert(name.clone(), value.clone());
    }
    schemas.add(schema)
}
