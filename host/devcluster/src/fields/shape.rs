//! The shape of values for ownership, derived from [`crate::schema`]. In structured-merge-diff, it
//! is the schema.

use serde_json::Value;

use crate::schema::{ListType, MapType, SchemaRef, Type};

#[derive(Clone, Copy, Debug)]
pub(super) enum Shape<'a> {
    /// A node of the kind's schema.
    Known {
        schema: SchemaRef<'a>,
        /// True if this node or one above it allows unnamed fields.
        open: bool,
    },
    /// No schema. Maps are owned field by field, lists as a whole.
    Deduced,
    /// No schema. Any value is owned as a whole.
    Whole,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Forms {
    map: bool,
    scalar: bool,
    list: bool,
}

/// The form in which a value is traversed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Map,
    Scalar,
    List,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar {
    Numeric,
    String,
    Boolean,
    Untyped,
}

/// How the items of a list are identified.
#[derive(Clone, Copy, Debug)]
pub(super) enum Items<'a> {
    /// Not at all: the list is owned as a whole.
    Atomic,
    /// By their value.
    Set,
    /// By these key fields.
    Map(&'a [String]),
}

/// The origin of the shape of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Naming {
    /// A property of the schema.
    Named,
    /// The additional properties, or the absence of a schema.
    Other,
}

const RAW_EXTENSION: &str = "io.k8s.apimachinery.pkg.runtime.RawExtension";

impl<'a> Shape<'a> {
    pub(super) fn root(schema: SchemaRef<'a>) -> Self {
        Self::below(schema, false)
    }

    fn below(schema: SchemaRef<'a>, open: bool) -> Self {
        if schema.definition.as_deref() == Some(RAW_EXTENSION) {
            return Self::Whole;
        }
        // The permission of a node above does not extend into a referenced definition.
        let open = schema.preserve_unknown_fields || (open && schema.definition.is_none());
        Self::Known { schema, open }
    }

    fn forms(self) -> Forms {
        let Self::Known { schema, .. } = self else { return Forms { map: true, scalar: true, list: true } };
        match schema.kind {
            Type::Any | Type::IntOrString => Forms { map: true, scalar: true, list: true },
            Type::Object => Forms { map: true, scalar: false, list: false },
            Type::Array => Forms { map: false, scalar: false, list: true },
            Type::String | Type::Integer | Type::Number | Type::Boolean | Type::Quantity => {
                Forms { map: false, scalar: true, list: false }
            }
        }
    }

    /// Returns the form of `value`, or all forms if it is absent, null or invalid.
    pub(super) fn narrowed(self, value: Option<&Value>) -> Forms {
        let forms = self.forms();
        match value {
            Some(Value::Object(_)) if forms.map => Forms { map: true, scalar: false, list: false },
            Some(Value::Array(_)) if forms.list => Forms { map: false, scalar: false, list: true },
            Some(Value::Bool(_) | Value::Number(_) | Value::String(_)) if forms.scalar => {
                Forms { map: false, scalar: true, list: false }
            }
            _ => forms,
        }
    }

    pub(super) fn form(self, value: &Value) -> Form {
        self.narrowed(Some(value)).first()
    }

    pub(super) fn scalar(self) -> Scalar {
        let Self::Known { schema, .. } = self else { return Scalar::Untyped };
        match schema.kind {
            Type::Integer | Type::Number => Scalar::Numeric,
            Type::Boolean => Scalar::Boolean,
            Type::String if matches!(schema.format.as_deref(), None | Some("" | "byte")) => Scalar::String,
            _ => Scalar::Untyped,
        }
    }

    pub(super) fn items(self) -> Items<'a> {
        let Self::Known { schema, .. } = self else { return Items::Atomic };
        match &schema.schema().list_type {
            ListType::Atomic => Items::Atomic,
            ListType::Set => Items::Set,
            ListType::Map(keys) => Items::Map(keys),
        }
    }

    pub(super) fn item(self) -> Self {
        match self {
            Self::Known { schema, open } => schema.items().map_or(Self::Whole, |items| Self::below(items, open)),
            Self::Deduced | Self::Whole => Self::Whole,
        }
    }

    pub(super) fn default_of(self, field: &str) -> Option<&'a Value> {
        let Self::Known { schema, .. } = self else { return None };
        schema.property(field)?.schema().default.as_ref().filter(|default| !default.is_null())
    }

    pub(super) fn is_atomic_map(self) -> bool {
        match self {
            Self::Known { schema, .. } => schema.map_type == MapType::Atomic,
            Self::Deduced => false,
            Self::Whole => true,
        }
    }

    /// Returns whether the schema says nothing about the fields of a map.
    pub(super) fn is_unknown_map(self) -> bool {
        match self {
            Self::Known { schema, .. } => {
                schema.properties.is_empty()
                    && match self.others() {
                        Some(others @ Self::Known { schema, .. }) => {
                            schema.definition.is_none() && others.forms().scalar && others.scalar() == Scalar::Untyped
                        }
                        Some(Self::Deduced) => true,
                        Some(Self::Whole) | None => false,
                    }
            }
            Self::Deduced => true,
            Self::Whole => false,
        }
    }

    /// Returns the shape of a field, or `None` if the schema does not allow it.
    pub(super) fn field(self, name: &str) -> Option<(Self, Naming)> {
        if let Self::Known { schema, open } = self
            && let Some(property) = schema.property(name)
        {
            return Some((Self::below(property, open), Naming::Named));
        }
        Some((self.others()?, Naming::Other))
    }

    fn others(self) -> Option<Self> {
        match self {
            Self::Known { schema, open } => match schema.additional_properties() {
                Some(values) => Some(Self::below(values, open)),
                None if open || schema.properties.is_empty() => Some(Self::Deduced),
                None => None,
            },
            Self::Deduced | Self::Whole => Some(self),
        }
    }
}

impl Forms {
    /// The first allowed form, in which the value is traversed.
    pub(super) fn first(self) -> Form {
        if self.map {
            Form::Map
        } else if self.scalar {
            Form::Scalar
        } else {
            Form::List
        }
    }
}
