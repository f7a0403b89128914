use serde_json::{Map, Value, json};

use super::{Names, SHARED, reference};
use crate::kinds::Kind;

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";

const ABOUT_METADATA: &str = "Standard object's metadata. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";
const ABOUT_LIST_METADATA: &str = "Standard list metadata. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";
const ABOUT_EMBEDDED_VERSION: &str = "apiVersion defines the versioned schema of this representation of an object. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources";
const ABOUT_EMBEDDED_KIND: &str = "kind is a string value representing the type of this object. In CamelCase. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";

/// Returns the schema of a definition with the metadata of all objects.
pub(super) fn of_kind(kind: &Kind, schema: &Value) -> Value {
    let mut published = published(schema);
    if let Some(schema) = published.as_object_mut() {
        let metadata = described_reference(ABOUT_METADATA, OBJECT_META);
        let added = [("apiVersion", type_meta("apiVersion")), ("kind", type_meta("kind")), ("metadata", metadata)];
        add_properties(schema, added);
        schema.insert("x-kubernetes-group-version-kind".to_owned(), group_version_kind(kind, &kind.kind));
    }
    published
}

pub(super) fn of_list(kind: &Kind, names: &Names) -> Value {
    let about_items = format!(
        "List of {}. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md",
        kind.resource.plural
    );
    json!({
        "description": format!("{} is a list of {}", kind.list_kind, kind.kind),
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": type_meta("apiVersion"),
            "kind": type_meta("kind"),
            "metadata": described_reference(ABOUT_LIST_METADATA, LIST_META),
            "items": { "description": about_items, "type": "array", "items": reference(&names.definition) },
        },
        "x-kubernetes-group-version-kind": group_version_kind(kind, &kind.list_kind),
    })
}

fn group_version_kind(kind: &Kind, name: &str) -> Value {
    json!([{ "group": kind.group(), "version": &*kind.version, "kind": name }])
}

/// All documents describe `apiVersion` and `kind` alike.
fn type_meta(field: &str) -> Value {
    let options = SHARED.get("schemas").and_then(|schemas| schemas.get("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"));
    let schema = options.and_then(|options| options.get("properties")?.get(field));
    schema.cloned().unwrap_or_else(|| json!({ "type": "string" }))
}

fn described_reference(description: &str, definition: &str) -> Value {
    json!({ "description": description, "allOf": [reference(definition)] })
}

fn add_properties(schema: &mut Map<String, Value>, added: [(&str, Value); 3]) {
    let mut properties = match schema.remove("properties") {
        Some(Value::Object(properties)) => properties,
        _ => Map::new(),
    };
    properties.extend(added.map(|(name, schema)| (name.to_owned(), schema)));
    schema.insert("properties".to_owned(), Value::Object(properties));
}

/// Returns a structural schema as published: without unsupported fields, with implied ones.
fn published(schema: &Value) -> Value {
    let Value::Object(schema) = schema else { return schema.clone() };
    let mut published = Map::new();
    for (field, value) in schema {
        let value = match (field.as_str(), value) {
            ("externalDocs" | "example" | "id" | "$schema" | "definitions" | "dependencies" | "patternProperties", _) => {
                continue;
            }
            ("properties", Value::Object(properties)) => {
                Value::Object(properties.iter().map(|(name, schema)| (name.clone(), self::published(schema))).collect())
            }
            ("items" | "additionalProperties", schema) => self::published(schema),
            (_, value) => value.clone(),
        };
        published.insert(field.clone(), value);
    }
    let is = |extension: &str| schema.get(extension).and_then(Value::as_bool) == Some(true);
    if is("x-kubernetes-int-or-string") && !schema.contains_key("anyOf") {
        published.insert("anyOf".to_owned(), json!([{ "type": "integer" }, { "type": "string" }]));
    }
    if is("x-kubernetes-embedded-resource") {
        embed(&mut published);
    }
    Value::Object(published)
}

fn embed(schema: &mut Map<String, Value>) {
    let added = [
        ("apiVersion", json!({ "description": ABOUT_EMBEDDED_VERSION, "type": "string" })),
        ("kind", json!({ "description": ABOUT_EMBEDDED_KIND, "type": "string" })),
        ("metadata", described_reference(ABOUT_METADATA, OBJECT_META)),
    ];
    add_properties(schema, added);
    let required = schema.entry("required").or_insert_with(|| json!([]));
    if let Value::Array(required) = required {
        for field in ["kind", "apiVersion"] {
            if !required.iter().any(|name| name == field) {
                required.push(field.into());
            }
        }
    }
}
