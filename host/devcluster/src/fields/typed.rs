//! Validates values by their schema, and collects the fields that they hold.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Map, Value};

use super::element::{Literal, PathElement};
use super::set::{FieldNode, FieldSet};
use super::shape::{Form, Items, Naming, Scalar, Shape};
use crate::go;
use crate::object::type_name;
use crate::status::MAX_ERROR_BYTES;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Duplicates {
    /// For stored objects, which may be older than the check.
    Allowed,
    Forbidden,
}

/// The violations of the schema. `Display` prints them like the real server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violations(Vec<Violation>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Violation {
    path: String,
    message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => f.write_str(&self.message),
            path => write!(f, "{path}: {}", self.message),
        }
    }
}

impl fmt::Display for Violations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [one] = self.0.as_slice() {
            return one.fmt(f);
        }
        f.write_str("errors:")?;
        self.0.iter().try_for_each(|violation| write!(f, "\n  {violation}"))
    }
}

impl std::error::Error for Violations {}

pub(super) fn validate(value: &Value, shape: Shape<'_>, duplicates: Duplicates) -> Result<(), Violations> {
    let mut validation = Validation { duplicates, path: Vec::new(), violations: Vec::new(), bytes: 0 };
    validation.value(value, shape);
    if validation.violations.is_empty() { Ok(()) } else { Err(Violations(validation.violations)) }
}

struct Validation<'v> {
    duplicates: Duplicates,
    path: Vec<Step<'v>>,
    violations: Vec<Violation>,
    bytes: usize,
}

/// A step of the path to a value. Names are borrowed, because most values are valid, and then
/// nobody needs the path.
enum Step<'v> {
    Field(&'v str),
    Item(PathElement),
}

impl fmt::Display for Step<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => PathElement::field(*name).fmt(f),
            Self::Item(element) => element.fmt(f),
        }
    }
}

impl<'v> Validation<'v> {
    fn report(&mut self, message: impl Into<String>) {
        if self.bytes >= MAX_ERROR_BYTES {
            return;
        }
        let path: String = self.path.iter().map(ToString::to_string).collect();
        let message = message.into();
        self.bytes = self.bytes.saturating_add(path.len() + message.len());
        self.violations.push(Violation { path, message });
    }

    fn value(&mut self, value: &'v Value, shape: Shape<'_>) {
        match (shape.form(value), value) {
            (_, Value::Null) => {}
            (Form::Scalar, _) => {
                if let Some(message) = scalar_violation(value, shape.scalar()) {
                    self.report(message);
                }
            }
            (Form::List, Value::Array(items)) => self.items(items, shape),
            (Form::List, other) => self.report(format!("expected list, got {}", type_name(other))),
            (Form::Map, Value::Object(fields)) => self.fields(fields, shape),
            (Form::Map, other) => self.report(format!("expected map, got {}", type_name(other))),
        }
    }

    fn items(&mut self, items: &'v [Value], shape: Shape<'_>) {
        let mut observed = BTreeSet::new();
        for (index, item) in items.iter().enumerate() {
            let element = match shape.items() {
                Items::Atomic => PathElement::Index(i64::try_from(index).unwrap_or(i64::MAX)),
                Items::Set | Items::Map(_) => {
                    let element = match item_element(shape, item) {
                        Ok(element) => element,
                        Err(message) => {
                            self.report(format!("element {index}: {message}"));
                            return;
                        }
                    };
                    if !observed.insert(element.clone()) && self.duplicates == Duplicates::Forbidden {
                        self.report(format!("duplicate entries for key {element}"));
                    }
                    element
                }
            };
            self.path.push(Step::Item(element));
            self.value(item, shape.item());
            self.path.pop();
        }
    }

    fn fields(&mut self, fields: &'v Map<String, Value>, shape: Shape<'_>) {
        for (name, value) in fields {
            self.path.push(Step::Field(name));
            let field = shape.field(name);
            match field {
                Some((shape, _)) => self.value(value, shape),
                None => self.report("field not declared in schema"),
            }
            self.path.pop();
            if field.is_none() {
                // The real server stops at the first, too.
                return;
            }
        }
    }
}

fn scalar_violation(value: &Value, scalar: Scalar) -> Option<String> {
    let (is_admitted, expected) = match scalar {
        Scalar::Numeric => (value.is_number(), "numeric (int or float)"),
        Scalar::String => (value.is_string(), "string"),
        Scalar::Boolean => (value.is_boolean(), "boolean"),
        Scalar::Untyped => (value.is_number() || value.is_string() || value.is_boolean(), "any scalar"),
    };
    (!is_admitted).then(|| format!("expected {expected}, got {}", type_name(value)))
}

/// Returns the path element that identifies an item of a list, or the reason why it has none.
pub(super) fn item_element(shape: Shape<'_>, item: &Value) -> Result<PathElement, String> {
    match shape.items() {
        Items::Atomic => Err("invalid indexing of non-associative list".to_owned()),
        Items::Set => set_element(item),
        // Without keys, the list is treated as a set.
        Items::Map([]) => set_element(item),
        Items::Map(keys) => key_element(shape.item(), keys, item),
    }
}

fn set_element(item: &Value) -> Result<PathElement, String> {
    match item {
        Value::Object(_) => Err("associative list without keys has an element that's a map type".to_owned()),
        Value::Array(_) => Err("not supported: associative list with lists as elements".to_owned()),
        Value::Null => Err("associative list without keys has an element that's an explicit null".to_owned()),
        scalar => Ok(PathElement::Value(Literal(scalar.clone()))),
    }
}

fn key_element(shape: Shape<'_>, keys: &[String], item: &Value) -> Result<PathElement, String> {
    let fields = match item {
        Value::Object(fields) => fields,
        Value::Null => return Err("associative list with keys may not have a null element".to_owned()),
        _ => return Err("associative list with keys may not have non-map elements".to_owned()),
    };
    let key = |name: &String| {
        let value = fields.get(name).or_else(|| shape.default_of(name))?;
        Some((name.clone(), Literal(value.clone())))
    };
    let mut key: Vec<_> = keys.iter().filter_map(key).collect();
    if key.is_empty() {
        let keys: Vec<_> = keys.iter().map(|key| go::quoted(key)).collect();
        return Err(format!(
            "associative list with keys has an element that omits all key fields [{}] \
             (and doesn't have default values for any key fields)",
            keys.join(" ")
        ));
    }
    key.sort();
    Ok(PathElement::Key(key))
}

/// Returns the fields that an applier of the value owns: its leaves, the items of its lists and the
/// keys of its maps.
pub(super) fn field_set(value: &Value, shape: Shape<'_>) -> FieldSet {
    held(value, shape).children
}

fn held(value: &Value, shape: Shape<'_>) -> FieldNode {
    match (shape.form(value), value) {
        (Form::Scalar, _) => FieldNode::leaf(),
        (Form::List, _) if matches!(shape.items(), Items::Atomic) => FieldNode::leaf(),
        (Form::Map, _) if shape.is_atomic_map() => FieldNode::leaf(),
        (Form::List, Value::Array(items)) => FieldNode { member: false, children: held_items(items, shape) },
        (Form::Map, Value::Object(fields)) => FieldNode { member: false, children: held_fields(fields, shape) },
        (Form::List | Form::Map, _) => FieldNode::default(),
    }
}

fn held_items(items: &[Value], shape: Shape<'_>) -> FieldSet {
    // Pruning can replace an item by null, which has no key, but makes the list not empty.
    let by_index = |index| PathElement::Index(i64::try_from(index).unwrap_or(i64::MAX));
    let element = |index, item| item_element(shape, item).unwrap_or_else(|_| by_index(index));
    let items: Vec<_> = items.iter().enumerate().map(|(index, item)| (element(index, item), item)).collect();
    let (mut seen, mut duplicates) = (BTreeSet::new(), BTreeSet::new());
    for (element, _) in &items {
        if !seen.insert(element) {
            duplicates.insert(element.clone());
        }
    }
    let mut set = FieldSet::default();
    for (element, item) in items {
        // Duplicates are owned as a whole.
        let below = if duplicates.contains(&element) { FieldSet::default() } else { held(item, shape.item()).children };
        set.add(element, FieldNode { member: true, children: below });
    }
    set
}

fn held_fields(fields: &Map<String, Value>, shape: Shape<'_>) -> FieldSet {
    let mut set = FieldSet::default();
    for (name, value) in fields {
        let (shape, naming) = shape.field(name).unwrap_or((Shape::Deduced, Naming::Other));
        let mut node = held(value, shape);
        let is_empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
        node.member |= is_empty || naming == Naming::Other;
        set.add(PathElement::field(name), node);
    }
    set
}

/// Adds the named fields above the paths. Sets omit them, because their children imply them.
pub(super) fn with_named_fields(set: &FieldSet, shape: Option<Shape<'_>>) -> FieldSet {
    set.rebuilt(|element, node| {
        let (below, named) = match (shape, element) {
            (Some(shape), PathElement::Field(name)) => match shape.field(name) {
                Some((below, naming)) => (Some(below), naming == Naming::Named),
                None => (None, false),
            },
            (Some(shape), PathElement::Key(_)) => (Some(shape.item()), false),
            _ => (None, false),
        };
        FieldNode {
            member: node.member || (named && !node.children.is_empty()),
            children: with_named_fields(&node.children, below),
        }
    })
}

/// Adapts a set to the current schema: replaces the children of values that became atomic.
pub(super) fn reconciled(set: &FieldSet, shape: Shape<'_>) -> FieldSet {
    set.rebuilt(|element, node| {
        let below = match element {
            PathElement::Field(name) => shape.field(name).map(|(below, _)| below),
            _ => Some(shape.item()),
        };
        let Some(below) = below else { return node.clone() };
        let became_whole = !node.children.is_empty()
            && match below.narrowed(None).first() {
                Form::Map => below.is_atomic_map() && !below.is_unknown_map(),
                Form::List => matches!(below.items(), Items::Atomic),
                Form::Scalar => false,
            };
        if became_whole {
            return FieldNode::leaf();
        }
        FieldNode { member: node.member, children: reconciled(&node.children, below) }
    })
}
