//! Reads an OpenAPI document of the API server into [`Schemas`].

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use crate::schema::{ListType, MapType, Schema, SchemaId, Schemas, Type};

const REFERENCE: &str = "#/components/schemas/";
pub(super) const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
pub(super) const MICRO_TIME: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime";
const INT_OR_STRING: &str = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";

/// The parts of a document that are read. Most of it (descriptions, paths) is skipped.
#[derive(Deserialize)]
struct Document {
    components: Components,
}

#[derive(Deserialize)]
struct Components {
    schemas: BTreeMap<String, Node>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Node {
    #[serde(rename = "$ref")]
    reference: Option<String>,
    #[serde(rename = "allOf")]
    all_of: Vec<Node>,
    #[serde(rename = "type")]
    kind: Option<String>,
    format: Option<String>,
    properties: BTreeMap<String, Node>,
    #[serde(rename = "additionalProperties")]
    additional_properties: Option<Box<Node>>,
    items: Option<Box<Node>>,
    required: Vec<String>,
    default: Option<Value>,
    #[serde(rename = "x-kubernetes-list-type")]
    list_type: Option<String>,
    #[serde(rename = "x-kubernetes-list-map-keys")]
    list_map_keys: Vec<String>,
    #[serde(rename = "x-kubernetes-map-type")]
    map_type: Option<String>,
    #[serde(rename = "x-kubernetes-patch-strategy")]
    patch_strategy: Option<String>,
    #[serde(rename = "x-kubernetes-patch-merge-key")]
    patch_merge_key: Option<String>,
    #[serde(rename = "x-kubernetes-group-version-kind")]
    kinds: Vec<GroupVersionKind>,
}

#[derive(Deserialize)]
struct GroupVersionKind {
    group: String,
    version: String,
    kind: String,
}

#[derive(Debug, Default)]
pub(super) struct Definitions {
    pub(super) schemas: Arc<Schemas>,
    pub(super) by_name: HashMap<Arc<str>, SchemaId>,
    pub(super) by_kind: HashMap<(String, String, String), SchemaId>,
}

/// Reads a document. `complete` amends the node of each definition.
pub(super) fn read(json: &[u8], complete: impl Fn(&str, &mut Schema)) -> Result<Definitions, serde_json::Error> {
    let document: Document = serde_json::from_slice(json)?;
    let mut reader = Reader { schemas: Schemas::new(), by_name: HashMap::new(), copies: Vec::new() };
    let mut by_kind = HashMap::new();
    for (name, node) in &document.components.schemas {
        let id = reader.schemas.add(Schema::default());
        reader.by_name.insert(name.as_str().into(), id);
        // Options such as DeleteOptions belong to every group, and are not kinds.
        if let [kind] = node.kinds.as_slice() {
            by_kind.insert((kind.group.clone(), kind.version.clone(), kind.kind.clone()), id);
        }
    }
    for (name, node) in document.components.schemas {
        let mut schema = reader.schema(node);
        schema.definition = Some(name.as_str().into());
        match name.as_str() {
            QUANTITY => schema.kind = Type::Quantity,
            INT_OR_STRING => schema.kind = Type::IntOrString,
            // Objects without fields, such as RawExtension and FieldsV1, are raw JSON in Go.
            _ if schema.kind == Type::Object && schema.properties.is_empty() && schema.additional_properties.is_none() => {
                schema.kind = Type::Any;
                schema.preserve_unknown_fields = true;
            }
            _ => {}
        }
        complete(&name, &mut schema);
        if let Some(id) = reader.by_name.get(name.as_str()).copied()
            && let Some(place) = reader.schemas.get_mut(id)
        {
            *place = schema;
        }
    }
    reader.settle_copies();
    Ok(Definitions { schemas: Arc::new(reader.schemas), by_name: reader.by_name, by_kind })
}

struct Reader {
    schemas: Schemas,
    by_name: HashMap<Arc<str>, SchemaId>,
    /// Nodes that extend a definition. They are built when all definitions are complete.
    copies: Vec<(SchemaId, SchemaId, Schema)>,
}

impl Reader {
    fn add(&mut self, node: Node) -> SchemaId {
        let reference = node.reference.as_deref().or(match node.all_of.as_slice() {
            [one] => one.reference.as_deref(),
            _ => None,
        });
        let target = reference.and_then(|reference| reference.strip_prefix(REFERENCE));
        let target = target.and_then(|name| self.by_name.get(name)).copied();
        match target {
            Some(target) => {
                let over = self.schema(Node { reference: None, all_of: Vec::new(), ..node });
                // A default of `{}` marks a struct that is no pointer, which the dump states too.
                let plain = over.default.as_ref().is_none_or(|value| *value == Value::Object(serde_json::Map::new()));
                if plain && over.patch_strategy.is_empty() && over.map_type == MapType::Granular {
                    return target;
                }
                let id = self.schemas.add(Schema::default());
                self.copies.push((id, target, over));
                id
            }
            None => {
                let schema = self.schema(node);
                self.schemas.add(schema)
            }
        }
    }

    fn schema(&mut self, node: Node) -> Schema {
        let kind = Type::named(node.kind.as_deref());
        Schema {
            kind,
            preserve_unknown_fields: kind == Type::Any,
            format: node.format.map(Into::into),
            properties: node.properties.into_iter().map(|(name, property)| (name, self.add(property))).collect(),
            additional_properties: node.additional_properties.map(|values| self.add(*values)),
            items: node.items.map(|items| self.add(*items)),
            required: node.required,
            default: node.default,
            list_type: match node.list_type.as_deref() {
                Some("set") => ListType::Set,
                Some("map") => ListType::Map(node.list_map_keys),
                _ => ListType::Atomic,
            },
            map_type: match node.map_type.as_deref() {
                Some("atomic") => MapType::Atomic,
                _ => MapType::Granular,
            },
            patch_strategy: node.patch_strategy.iter().flat_map(|strategy| strategy.split(',')).map(Into::into).collect(),
            patch_merge_key: node.patch_merge_key.map(Into::into),
            ..Schema::default()
        }
    }

    fn settle_copies(&mut self) {
        for (id, target, over) in std::mem::take(&mut self.copies) {
            let mut schema = self.schemas.at(target).schema().clone();
            schema.default = over.default.or(schema.default);
            schema.patch_strategy = over.patch_strategy;
            schema.patch_merge_key = over.patch_merge_key;
            if over.map_type == MapType::Atomic {
                schema.map_type = MapType::Atomic;
            }
            if let Some(place) = self.schemas.get_mut(id) {
                *place = schema;
            }
        }
    }
}
