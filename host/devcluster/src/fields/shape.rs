//! The shape of values as ownership sees it: structured-merge-diff calls it the schema. It follows from [`crate::schema`].

use serde_json::Value;

use crate::schema::{ListType, MapType, SchemaRef, Type};

/// The shape of a place in an object.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape<'a> {
    /// A node of the kind's schema.
    Known {
        /// The node.
        schema: SchemaRef<'a>,
        /// If true, unnamed fields are allowed here and below: a node above allows them.
        open: bool,
    },
    /// Nothing: the value decides. Maps are owned field by field, lists as a whole.
    Deduced,
    /// Nothing, and whatever it is, it is owned as a whole.
    Whole,
}

/// The forms that a value may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Forms {
    map: bool,
    scalar: bool,
    list: bool,
}

/// The way in which a value is traversed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// As an object.
    Map,
    /// As what has no parts.
    Scalar,
    /// As a list.
    List,
}

/// The values that a scalar may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar {
    /// A number.
    Numeric,
    /// Text.
    String,
    /// `true` or `false`.
    Boolean,
    /// Any of these.
    Untyped,
}

/// The identity of the items of a list.
#[derive(Clone, Copy, Debug)]
pub(super) enum Items<'a> {
    /// Not at all: the list is owned as a whole.
    Atomic,
    /// By their value.
    Set,
    /// By these fields.
    Map(&'a [String]),
}

/// The origin of the shape of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Naming {
    /// The schema names it.
    Named,
    /// It is one of the others.
    Other,
}

const RAW_EXTENSION: &str = "io.k8s.apimachinery.pkg.runtime.RawExtension";

impl<'a> Shape<'a> {
    /// The shape of whole objects.
    pub(super) fn root(schema: SchemaRef<'a>) -> Self {
        Self::below(schema, false)
    }

    fn below(schema: SchemaRef<'a>, open: bool) -> Self {
        if schema.definition.as_deref() == Some(RAW_EXTENSION) {
            return Self::Whole;
        }
        // A definition stands for itself wherever it is referred to: what is said above the reference does not reach into it.
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

    /// The forms that are left when the value is known. An absent value, null and one that the schema does not admit leave them all.
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

    /// Returns the way in which a value is traversed.
    pub(super) fn form(self, value: &Value) -> Form {
        self.narrowed(Some(value)).first()
    }

    /// Returns the values that a scalar may have here.
    pub(super) fn scalar(self) -> Scalar {
        let Self::Known { schema, .. } = self else { return Scalar::Untyped };
        match schema.kind {
            Type::Integer | Type::Number => Scalar::Numeric,
            Type::Boolean => Scalar::Boolean,
            Type::String if matches!(schema.format.as_deref(), None | Some("" | "byte")) => Scalar::String,
            _ => Scalar::Untyped,
        }
    }

    /// Returns the identity of the items of a list.
    pub(super) fn items(self) -> Items<'a> {
        let Self::Known { schema, .. } = self else { return Items::Atomic };
        match &schema.schema().list_type {
            ListType::Atomic => Items::Atomic,
            ListType::Set => Items::Set,
            ListType::Map(keys) => Items::Map(keys),
        }
    }

    /// The shape of the items of a list.
    pub(super) fn item(self) -> Self {
        match self {
            Self::Known { schema, open } => schema.items().map_or(Self::Whole, |items| Self::below(items, open)),
            Self::Deduced | Self::Whole => Self::Whole,
        }
    }

    /// Returns the value that an absent key field of an item has by default.
    pub(super) fn default_of(self, field: &str) -> Option<&'a Value> {
        let Self::Known { schema, .. } = self else { return None };
        schema.property(field)?.schema().default.as_ref().filter(|default| !default.is_null())
    }

    /// Returns whether an object is owned as a whole.
    pub(super) fn is_atomic_map(self) -> bool {
        match self {
            Self::Known { schema, .. } => schema.map_type == MapType::Atomic,
            Self::Deduced => false,
            Self::Whole => true,
        }
    }

    /// Returns whether of an object nothing is known, not even a name of a field.
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

    /// The shape of a field of an object; `None` if there may be none of that name.
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
    /// The form that is walked.
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
