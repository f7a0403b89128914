//! Converts the schema of a custom kind to [`Schemas`], for merging and rendering.

use std::collections::BTreeMap;

use super::structural::{Additional, Node};
use crate::schema::{ListType, MapType, Schema, SchemaId, Schemas, Type};

/// Builds the schema of whole objects, with `apiVersion`, `kind` and `metadata`.
pub(super) fn build(root: &Node) -> (Schemas, SchemaId) {
    let mut building = Building { schemas: Schemas::new(), object_meta: None };
    let root = building.node(root, true);
    (building.schemas, root)
}

struct Building {
    schemas: Schemas,
    object_meta: Option<SchemaId>,
}

impl Building {
    fn node(&mut self, node: &Node, resource: bool) -> SchemaId {
        let mut properties: BTreeMap<String, SchemaId> =
            node.properties.iter().map(|(name, property)| (name.clone(), self.node(property, false))).collect();
        if resource || node.embedded_resource {
            for name in ["apiVersion", "kind"] {
                properties.insert(name.to_owned(), self.scalar(Type::String));
            }
            properties.insert("metadata".to_owned(), self.object_meta());
        }
        let additional_properties = match &node.additional {
            Additional::Each(each) => Some(self.node(each, false)),
            Additional::Anything => Some(self.schemas.add(Schema { preserve_unknown_fields: true, ..Schema::default() })),
            Additional::Unset | Additional::Forbidden => None,
        };
        let items = node.items.as_deref().map(|items| self.node(items, false));
        self.schemas.add(Schema {
            kind: match Type::named(Some(&node.kind)) {
                _ if node.int_or_string => Type::IntOrString,
                Type::Any if resource => Type::Object,
                kind => kind,
            },
            format: node.format.as_deref().map(Into::into),
            nullable: node.nullable,
            properties,
            additional_properties,
            items,
            required: node.checks.required.clone(),
            default: node.default.clone(),
            list_type: match node.list_type.as_deref() {
                Some("set") => ListType::Set,
                Some("map") => ListType::Map(node.list_map_keys.clone()),
                _ => ListType::Atomic,
            },
            map_type: if node.map_type.as_deref() == Some("atomic") { MapType::Atomic } else { MapType::Granular },
            preserve_unknown_fields: node.preserve_unknown_fields,
            embedded_resource: node.embedded_resource,
            ..Schema::default()
        })
    }

    fn scalar(&mut self, kind: Type) -> SchemaId {
        self.schemas.add(Schema { kind, ..Schema::default() })
    }

    fn list(&mut self, items: SchemaId, list_type: ListType) -> SchemaId {
        self.schemas.add(Schema { kind: Type::Array, items: Some(items), list_type, ..Schema::default() })
    }

    fn of_fields(&mut self, definition: &str, fields: &[(&str, SchemaId)], map_type: MapType) -> SchemaId {
        let properties = fields.iter().map(|(name, id)| ((*name).to_owned(), *id)).collect();
        self.schemas.add(Schema {
            definition: Some(definition.into()),
            kind: Type::Object,
            properties,
            map_type,
            ..Schema::default()
        })
    }

    /// `ObjectMeta`, like the API server's schema for merging.
    fn object_meta(&mut self) -> SchemaId {
        if let Some(known) = self.object_meta {
            return known;
        }
        let (text, whole, flag) = (self.scalar(Type::String), self.scalar(Type::Integer), self.scalar(Type::Boolean));
        let time = self.schemas.add(Schema { kind: Type::String, format: Some("date-time".into()), ..Schema::default() });
        let texts = self.schemas.add(Schema { kind: Type::Object, additional_properties: Some(text), ..Schema::default() });
        let finalizers = self.list(text, ListType::Set);
        let names = [
            ("apiVersion", text),
            ("kind", text),
            ("name", text),
            ("uid", text),
            ("controller", flag),
            ("blockOwnerDeletion", flag),
        ];
        let owner = self.of_fields("io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference", &names, MapType::Atomic);
        let owners = self.list(owner, ListType::Map(vec!["uid".to_owned()]));
        let anything = self.schemas.add(Schema { kind: Type::Object, preserve_unknown_fields: true, ..Schema::default() });
        let entry = [
            ("manager", text),
            ("operation", text),
            ("apiVersion", text),
            ("time", time),
            ("fieldsType", text),
            ("fieldsV1", anything),
            ("subresource", text),
        ];
        let entry = self.of_fields("io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry", &entry, MapType::Granular);
        let managed_fields = self.list(entry, ListType::Atomic);
        let fields = [
            ("name", text),
            ("generateName", text),
            ("namespace", text),
            ("selfLink", text),
            ("uid", text),
            ("resourceVersion", text),
            ("generation", whole),
            ("creationTimestamp", time),
            ("deletionTimestamp", time),
            ("deletionGracePeriodSeconds", whole),
            ("labels", texts),
            ("annotations", texts),
            ("ownerReferences", owners),
            ("finalizers", finalizers),
            ("managedFields", managed_fields),
        ];
        let id = self.of_fields("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", &fields, MapType::Granular);
        self.object_meta = Some(id);
        id
    }
}
