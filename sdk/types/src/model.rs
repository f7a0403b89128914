//! Types, independent of where their schema is from.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

/// The types of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Module {
    /// The kinds, by name.
    pub kinds: Vec<Kind>,
    /// The objects inside of kinds, by name.
    pub objects: Vec<Object>,
    /// The sets of texts, by name.
    pub choices: Vec<Choice>,
}

/// A kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The `apiVersion`.
    pub api_version: String,
    /// The fields, without `apiVersion` and `kind`. The name is the `kind`.
    pub object: Object,
}

/// An object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// The name of its type.
    pub name: String,
    /// The description.
    pub description: String,
    /// The fields, by name.
    pub fields: Vec<Field>,
    /// The names of the fields that the API server requires.
    pub required: Vec<String>,
}

/// The API server refuses these without an image, although the schema does not say so.
const HAVE_IMAGES: [&str; 2] = ["Container", "EphemeralContainer"];

impl Object {
    /// Returns the fields without which no object makes sense, in the order of the arguments of
    /// `new`.
    pub(crate) fn keys(&self) -> Vec<&Field> {
        let Some(key) = self.key() else { return Vec::new() };
        let image = if HAVE_IMAGES.contains(&self.name.as_str()) { self.field("image") } else { None };
        std::iter::once(key).chain(image).collect()
    }

    /// Returns the name or key that is required, or the only field that is. A status is written by
    /// others, so that nothing of it is required.
    fn key(&self) -> Option<&Field> {
        let is_required = |name: &str| self.required.iter().any(|required| required == name);
        let name = ["name", "key"].into_iter().find(|name| is_required(name));
        let name = match (name, self.required.as_slice()) {
            (Some(name), _) => name,
            (None, [only]) if !self.name.ends_with("Status") => only.as_str(),
            _ => return None,
        };
        let field = self.field(name)?;
        let is_scalar = matches!(field.shape, Shape::Text | Shape::Int | Shape::IntOrText | Shape::Choice(_));
        is_scalar.then_some(field)
    }

    fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// A field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The name in JSON.
    pub name: String,
    /// The description.
    pub description: String,
    /// The type.
    pub shape: Shape,
}

/// The type of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A string, also a quantity.
    Text,
    /// An integer of 32 bits.
    Int,
    /// An integer of 64 bits.
    Long,
    /// A number.
    Number,
    /// A boolean.
    Flag,
    /// A time in RFC 3339.
    Time,
    /// An integer or a string.
    IntOrText,
    /// Any JSON.
    Json,
    /// An object of this type.
    Object(String),
    /// One of the texts of this type.
    Choice(String),
    /// A list of strings.
    Texts,
    /// A list of integers.
    Longs,
    /// A list of objects of this type.
    Objects(String),
    /// A list of texts of this type.
    Choices(String),
    /// Strings by key.
    TextMap,
    /// Bytes by key.
    ByteMap,
    /// Objects of this type by key.
    ObjectMap(String),
}

impl Shape {
    /// Returns the shape of an integer, a number or a boolean, `None` for other types.
    pub(crate) fn of_scalar(schema: &Value) -> Option<Self> {
        match schema["type"].as_str()? {
            "integer" if schema["format"] == "int32" => Some(Self::Int),
            "integer" => Some(Self::Long),
            "number" => Some(Self::Number),
            "boolean" => Some(Self::Flag),
            _ => None,
        }
    }

    /// Returns the shape of a list of this.
    pub(crate) fn listed(self) -> Self {
        match self {
            Self::Object(name) => Self::Objects(name),
            Self::Choice(name) => Self::Choices(name),
            Self::Text => Self::Texts,
            Self::Int | Self::Long => Self::Longs,
            _ => Self::Json,
        }
    }
}

/// A set of texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The name of its type.
    pub name: String,
    /// The texts.
    pub texts: Vec<String>,
}

/// Two types of the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duplicate(String);

impl fmt::Display for Duplicate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "there is a type {} already: write the types into files of their own", self.0)
    }
}

impl std::error::Error for Duplicate {}

impl Module {
    /// Adds the types of another module.
    ///
    /// # Errors
    ///
    /// If both have a type of the same name.
    pub fn extend(&mut self, other: Self) -> Result<(), Duplicate> {
        let taken: BTreeSet<&str> = self.names().collect();
        if let Some(name) = other.names().find(|name| taken.contains(name)) {
            return Err(Duplicate(name.to_owned()));
        }
        self.kinds.extend(other.kinds);
        self.objects.extend(other.objects);
        self.choices.extend(other.choices);
        self.sort();
        Ok(())
    }

    /// The names of its types.
    fn names(&self) -> impl Iterator<Item = &str> {
        let kinds = self.kinds.iter().map(|kind| kind.object.name.as_str());
        let objects = self.objects.iter().map(|object| object.name.as_str());
        kinds.chain(objects).chain(self.choices.iter().map(|choice| choice.name.as_str()))
    }

    /// Sorts the types, so that the same schemas give the same file.
    pub(crate) fn sort(&mut self) {
        self.kinds.sort_by(|one, other| one.object.name.cmp(&other.object.name));
        self.objects.sort_by(|one, other| one.name.cmp(&other.name));
        self.choices.sort_by(|one, other| one.name.cmp(&other.name));
    }
}
