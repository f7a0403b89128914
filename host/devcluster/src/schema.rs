//! The shape of objects: types, defaults, list-map keys, merge keys. It describes built-in kinds
//! (from OpenAPI) and custom ones, to which `custom` adds bounds, patterns and rules.
//!
//! OpenAPI definitions are recursive, so nodes are in an arena and refer to each other by number.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

use serde_json::Value;

/// The nodes of one document.
#[derive(Debug, Default)]
pub struct Schemas {
    nodes: Vec<Schema>,
}

/// The number of a node in its [`Schemas`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SchemaId(u32);

/// The JSON values that a node allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Type {
    /// Any value: the schema has no type.
    #[default]
    Any,
    /// A JSON object: a struct if it has properties, a map if it has additional ones.
    Object,
    /// A list.
    Array,
    /// Text.
    String,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// `x-kubernetes-int-or-string`, and `IntOrString` of the built-in kinds.
    IntOrString,
    /// `resource.Quantity` of built-in kinds: read as text or number, written as canonical text.
    Quantity,
}

impl Type {
    /// Returns the type of a schema with this `type`.
    pub(crate) fn named(name: Option<&str>) -> Self {
        match name {
            Some("object") => Self::Object,
            Some("array") => Self::Array,
            Some("string") => Self::String,
            Some("integer") => Self::Integer,
            Some("number") => Self::Number,
            Some("boolean") => Self::Boolean,
            _ => Self::Any,
        }
    }
}

/// `x-kubernetes-list-type`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ListType {
    /// Replaced as a whole: the default.
    #[default]
    Atomic,
    /// Unique scalars, owned one by one.
    Set,
    /// Objects with these keys (`x-kubernetes-list-map-keys`), owned one by one.
    Map(Vec<String>),
}

/// `x-kubernetes-map-type`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MapType {
    /// Owned field by field.
    #[default]
    Granular,
    /// Replaced as a whole.
    Atomic,
}

/// The schema of one place in an object.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    /// The name of its OpenAPI definition, e.g. `io.k8s.api.core.v1.Container`.
    pub definition: Option<Arc<str>>,
    /// The allowed values.
    pub kind: Type,
    /// The format, e.g. `date-time`, `byte`, `int32`.
    pub format: Option<Arc<str>>,
    /// Whether it allows `null` (custom kinds).
    pub nullable: bool,
    /// The fields of a struct.
    pub properties: BTreeMap<String, SchemaId>,
    /// The values of a map.
    pub additional_properties: Option<SchemaId>,
    /// The items of a list.
    pub items: Option<SchemaId>,
    /// The required fields.
    pub required: Vec<String>,
    /// The default of an absent value.
    pub default: Option<Value>,
    /// How a list is merged.
    pub list_type: ListType,
    /// How an object is merged.
    pub map_type: MapType,
    /// `x-kubernetes-preserve-unknown-fields`: unknown fields are kept.
    pub preserve_unknown_fields: bool,
    /// `x-kubernetes-embedded-resource`: the value is an object with apiVersion, kind and metadata.
    pub embedded_resource: bool,
    /// `x-kubernetes-patch-strategy` for strategic merge patches: `merge`, `retainKeys`.
    pub patch_strategy: Vec<Arc<str>>,
    /// `x-kubernetes-patch-merge-key`.
    pub patch_merge_key: Option<Arc<str>>,
    /// Fields dropped if they are false, 0 or "", as Go's `omitempty` does (built-in kinds).
    pub omit_zero: Vec<String>,
    /// Lists and maps dropped if they are empty (built-in kinds).
    pub omit_empty: Vec<String>,
    /// Values written for absent fields, because Go has no absent structs (built-in kinds).
    pub always: BTreeMap<String, Value>,
    /// Values that the server's defaulting functions set (built-in kinds).
    pub defaulted: BTreeMap<String, Value>,
}

impl Schemas {
    /// An empty arena.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a node.
    pub fn add(&mut self, schema: Schema) -> SchemaId {
        let id = SchemaId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.nodes.push(schema);
        id
    }

    /// Returns a node to be completed, because recursive definitions are first added empty.
    pub fn get_mut(&mut self, id: SchemaId) -> Option<&mut Schema> {
        self.nodes.get_mut(id.0 as usize)
    }

    /// Returns a node, or one that allows anything if the arena has no such number.
    pub fn at(&self, id: SchemaId) -> SchemaRef<'_> {
        static ANYTHING: LazyLock<Schema> = LazyLock::new(|| Schema { preserve_unknown_fields: true, ..Schema::default() });
        SchemaRef { schemas: self, schema: self.nodes.get(id.0 as usize).unwrap_or(&ANYTHING) }
    }
}

/// A node with its arena.
#[derive(Clone, Copy, Debug)]
pub struct SchemaRef<'a> {
    schemas: &'a Schemas,
    schema: &'a Schema,
}

impl Deref for SchemaRef<'_> {
    type Target = Schema;

    fn deref(&self) -> &Schema {
        self.schema
    }
}

impl<'a> SchemaRef<'a> {
    /// Returns the node with the lifetime of the arena.
    pub fn schema(self) -> &'a Schema {
        self.schema
    }

    /// Returns the schema of a field of a struct.
    pub fn property(self, name: &str) -> Option<SchemaRef<'a>> {
        self.schema.properties.get(name).map(|id| self.schemas.at(*id))
    }

    /// Returns the schema of a field of a struct or of a value of a map.
    pub fn field(self, name: &str) -> Option<SchemaRef<'a>> {
        self.property(name).or_else(|| self.additional_properties())
    }

    /// Returns the schema of the values of a map.
    pub fn additional_properties(self) -> Option<SchemaRef<'a>> {
        self.schema.additional_properties.map(|id| self.schemas.at(id))
    }

    /// Returns the schema of the items of a list.
    pub fn items(self) -> Option<SchemaRef<'a>> {
        self.schema.items.map(|id| self.schemas.at(id))
    }

    /// Returns the fields of a struct.
    pub fn properties(self) -> impl Iterator<Item = (&'a str, SchemaRef<'a>)> {
        let schemas = self.schemas;
        self.schema.properties.iter().map(move |(name, id)| (name.as_str(), schemas.at(*id)))
    }
}

/// The schema of one version of a kind, loaded on first use.
#[derive(Clone)]
pub struct RootSchema(Arc<Lazy>);

type Lazy = LazyLock<Loaded, Box<dyn FnOnce() -> Loaded + Send + Sync>>;
type Loaded = (Arc<Schemas>, SchemaId);

impl RootSchema {
    /// The node `root` of `schemas`.
    pub fn new(schemas: Arc<Schemas>, root: SchemaId) -> Self {
        Self::lazy(move || (schemas, root))
    }

    /// Loads the schemas on first use.
    pub fn lazy(load: impl FnOnce() -> (Arc<Schemas>, SchemaId) + Send + Sync + 'static) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(load))))
    }

    /// Returns the schema of the whole object.
    pub fn root(&self) -> SchemaRef<'_> {
        let (schemas, root) = &**self.0;
        schemas.at(*root)
    }
}

impl std::fmt::Debug for RootSchema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RootSchema")
    }
}
