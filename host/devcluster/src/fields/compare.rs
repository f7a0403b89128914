//! The differences between two values, as sets of fields.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::element::PathElement;
use super::set::{FieldNode, FieldSet};
use super::shape::{Form, Items, Naming, Shape};
use super::text;
use super::typed::item_element;

#[derive(Clone, Debug, Default)]
pub(super) struct Difference {
    pub(super) removed: FieldSet,
    pub(super) modified: FieldSet,
    pub(super) added: FieldSet,
}

pub(super) fn compare(old: &Value, new: &Value, shape: Shape<'_>) -> Difference {
    let root = difference(Some(old), Some(new), shape);
    Difference { removed: root.removed.children, modified: root.modified.children, added: root.added.children }
}

impl Difference {
    pub(super) fn outside(self, fields: &FieldSet) -> Self {
        if fields.is_empty() {
            return self;
        }
        Self {
            removed: self.removed.recursive_difference(fields),
            modified: self.modified.recursive_difference(fields),
            added: self.added.recursive_difference(fields),
        }
    }

    pub(super) fn modified_or_added(&self) -> FieldSet {
        self.modified.clone().union(&self.added)
    }
}

#[derive(Default)]
struct Node {
    removed: FieldNode,
    modified: FieldNode,
    added: FieldNode,
}

impl Node {
    fn leaf(old: Option<&Value>, new: Option<&Value>) -> Self {
        match (old, new) {
            (None, _) => Self { added: FieldNode::leaf(), ..Self::default() },
            (_, None) => Self { removed: FieldNode::leaf(), ..Self::default() },
            (Some(old), Some(new)) if !text::same(old, new) => Self { modified: FieldNode::leaf(), ..Self::default() },
            _ => Self::default(),
        }
    }

    fn add(&mut self, element: PathElement, below: Self) {
        for (node, below) in
            [(&mut self.removed, below.removed), (&mut self.modified, below.modified), (&mut self.added, below.added)]
        {
            if !below.is_empty() {
                node.children.add(element.clone(), below);
            }
        }
    }

    fn extend(&mut self, other: Self) {
        for (node, other) in
            [(&mut self.removed, other.removed), (&mut self.modified, other.modified), (&mut self.added, other.added)]
        {
            node.member |= other.member;
            node.children.extend(other.children);
        }
    }
}

fn difference(old: Option<&Value>, new: Option<&Value>, shape: Shape<'_>) -> Node {
    let (old_forms, new_forms) = (shape.narrowed(old), shape.narrowed(new));
    let (mut node, is_leaf) = match (old, new) {
        (_, None) => walk(old_forms.first(), old, new, shape),
        (None, _) => walk(new_forms.first(), old, new, shape),
        _ if old_forms == new_forms => walk(new_forms.first(), old, new, shape),
        // The form changed, e.g. from map to text: walk the value in both forms.
        _ => {
            let (mut node, _) = walk(old_forms.first(), old, new, shape);
            let (other, is_leaf) = walk(new_forms.first(), old, new, shape);
            node.extend(other);
            (node, is_leaf)
        }
    };
    if is_leaf == IsLeaf::No {
        node.added.member |= old.is_none();
        node.removed.member |= old.is_some() && new.is_none();
    }
    node
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum IsLeaf {
    Yes,
    No,
}

fn walk(form: Form, old: Option<&Value>, new: Option<&Value>, shape: Shape<'_>) -> (Node, IsLeaf) {
    let leaf = || (Node::leaf(old, new), IsLeaf::Yes);
    match form {
        Form::Scalar => leaf(),
        Form::List => {
            let (old, new) = (items_of(old), items_of(new));
            if matches!(shape.items(), Items::Atomic) || (old.is_empty() && new.is_empty()) {
                return leaf();
            }
            (compare_items(old, new, shape), IsLeaf::No)
        }
        Form::Map => {
            let (old, new) = (old.and_then(Value::as_object), new.and_then(Value::as_object));
            if shape.is_atomic_map() || (old.is_none_or(Map::is_empty) && new.is_none_or(Map::is_empty)) {
                return leaf();
            }
            (compare_fields(old, new, shape), IsLeaf::No)
        }
    }
}

fn items_of(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn compare_items(old: &[Value], new: &[Value], shape: Shape<'_>) -> Node {
    // The items of both lists by their identity, which may have duplicates.
    let mut items: BTreeMap<PathElement, (Vec<&Value>, Vec<&Value>)> = BTreeMap::new();
    for item in old {
        if let Ok(element) = item_element(shape, item) {
            items.entry(element).or_default().0.push(item);
        }
    }
    for item in new {
        if let Ok(element) = item_element(shape, item) {
            items.entry(element).or_default().1.push(item);
        }
    }
    let mut node = Node::default();
    for (element, (old, new)) in items {
        let below = match (old.as_slice(), new.as_slice()) {
            ([] | [_], [] | [_]) => difference(old.first().copied(), new.first().copied(), shape.item()),
            ([_, _, ..], [_, _, ..]) => {
                let is_same = old.len() == new.len() && old.iter().zip(&new).all(|(old, new)| text::same(old, new));
                let modified = if is_same { FieldNode::default() } else { FieldNode::leaf() };
                Node { modified, ..Node::default() }
            }
            // Duplicates are owned as a whole; this identity just lost its duplicates, or got some.
            (_, [] | [_]) => {
                let mut below = new.first().map(|new| difference(None, Some(new), shape.item())).unwrap_or_default();
                below.removed.member = true;
                below
            }
            ([] | [_], _) => {
                let mut below = old.first().map(|old| difference(Some(old), None, shape.item())).unwrap_or_default();
                below.added.member = true;
                below
            }
        };
        node.add(element, below);
    }
    node
}

fn compare_fields(old: Option<&Map<String, Value>>, new: Option<&Map<String, Value>>, shape: Shape<'_>) -> Node {
    let mut node = Node::default();
    let mut add = |name: &String, old: Option<&Value>, new: Option<&Value>| {
        // Most fields stay, and are compared without a set for each of theirs.
        if old == new {
            return;
        }
        let (shape, _) = shape.field(name).unwrap_or((Shape::Deduced, Naming::Other));
        node.add(PathElement::field(name), difference(old, new, shape));
    };
    for (name, value) in old.into_iter().flatten() {
        add(name, Some(value), new.and_then(|new| new.get(name)));
    }
    for (name, value) in new.into_iter().flatten() {
        if !old.is_some_and(|old| old.contains_key(name)) {
            add(name, None, Some(value));
        }
    }
    node
}
