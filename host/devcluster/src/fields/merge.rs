//! Merges an applied value into the live one, and removes fields that are no longer applied.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Map, Value};

use super::element::PathElement;
use super::set::FieldSet;
use super::shape::{Form, Items, Naming, Shape};
use super::typed::item_element;

/// Returns `live` with the values of `applied`. Nothing is removed. In lists, the order of
/// `applied` takes precedence over that of `live`.
pub(super) fn merge(live: &Value, applied: &Value, shape: Shape<'_>) -> Value {
    merged(Some(live), Some(applied), shape).unwrap_or(Value::Null)
}

fn merged(live: Option<&Value>, applied: Option<&Value>, shape: Shape<'_>) -> Option<Value> {
    // If the two differ in form, the applied value replaces the live one.
    let form = shape.narrowed(applied.or(live)).first();
    let leaf = || applied.or(live).cloned();
    match form {
        Form::Scalar => leaf(),
        Form::List => {
            let (live, applied) = (items_of(live), items_of(applied));
            if matches!(shape.items(), Items::Atomic) || (live.is_empty() && applied.is_empty()) {
                return leaf();
            }
            let items = ListMerge::new(live, applied, shape).run();
            (!items.is_empty()).then_some(Value::Array(items))
        }
        Form::Map => {
            let (live, applied) = (live.and_then(Value::as_object), applied.and_then(Value::as_object));
            if shape.is_atomic_map() || (live.is_none_or(Map::is_empty) && applied.is_none_or(Map::is_empty)) {
                return leaf();
            }
            let fields = merge_fields(live, applied, shape);
            (!fields.is_empty()).then_some(Value::Object(fields))
        }
    }
}

fn merge_fields(
    live: Option<&Map<String, Value>>,
    applied: Option<&Map<String, Value>>,
    shape: Shape<'_>,
) -> Map<String, Value> {
    let names: BTreeSet<&String> = live.into_iter().chain(applied).flat_map(Map::keys).collect();
    let merge_field = |name: &String| {
        let (shape, _) = shape.field(name).unwrap_or((Shape::Deduced, Naming::Other));
        let (live, applied) = (live.and_then(|live| live.get(name)), applied.and_then(|applied| applied.get(name)));
        Some((name.clone(), merged(live, applied, shape)?))
    };
    names.into_iter().filter_map(merge_field).collect()
}

fn items_of(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The merge of two lists with identified items. Items of both lists are in the order of the
/// applied one; items of the live list alone keep their place beside their neighbors.
struct ListMerge<'a> {
    shape: Shape<'a>,
    live: VecDeque<(PathElement, &'a Value)>,
    applied: VecDeque<(PathElement, &'a Value)>,
    /// The live items by identity. Duplicates are null, because they merge with nothing.
    live_by_element: BTreeMap<PathElement, &'a Value>,
    applied_by_element: BTreeMap<PathElement, &'a Value>,
    /// The unmerged items of both lists, in the order of the applied one.
    shared: VecDeque<PathElement>,
    merged: BTreeSet<PathElement>,
    out: Vec<Value>,
}

impl<'a> ListMerge<'a> {
    fn new(live: &'a [Value], applied: &'a [Value], shape: Shape<'a>) -> Self {
        let (live, live_by_element) = indexed(live, shape);
        let (applied, applied_by_element) = indexed(applied, shape);
        let shared = applied
            .iter()
            .map(|(element, _)| element)
            .filter(|element| live_by_element.contains_key(element))
            .cloned()
            .collect();
        let merged = BTreeSet::new();
        Self { shape, live, applied, live_by_element, applied_by_element, shared, merged, out: Vec::new() }
    }

    fn run(mut self) -> Vec<Value> {
        while !self.live.is_empty() || !self.applied.is_empty() {
            self.step();
        }
        self.out
    }

    fn step(&mut self) {
        if let Some((live, _)) = self.live.front() {
            if let Some((applied, _)) = self.applied.front() {
                if live == applied {
                    self.live.pop_front();
                    self.take_applied(IsNext::Yes);
                    return;
                }
                if self.applied_by_element.contains_key(live) && self.shared.front().is_some_and(|next| next != live) {
                    // It follows later, in its turn in the applied list.
                    self.live.pop_front();
                    return;
                }
            }
            if !self.applied_by_element.contains_key(live) {
                if let Some((_, item)) = self.live.pop_front() {
                    self.out.extend(merged(Some(item), None, self.shape.item()));
                }
                return;
            }
            if self.merged.contains(live) {
                self.live.pop_front();
            }
        }
        self.take_applied(IsNext::IfShared);
    }

    fn take_applied(&mut self, is_next: IsNext) {
        let Some((element, _)) = self.applied.pop_front() else { return };
        let (live, applied) = (self.live_by_element.get(&element), self.applied_by_element.get(&element));
        self.out.extend(merged(live.copied(), applied.copied(), self.shape.item()));
        if is_next == IsNext::Yes || self.shared.front() == Some(&element) {
            self.shared.pop_front();
        }
        self.merged.insert(element);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum IsNext {
    Yes,
    IfShared,
}

type Indexed<'a> = (VecDeque<(PathElement, &'a Value)>, BTreeMap<PathElement, &'a Value>);

fn indexed<'a>(items: &'a [Value], shape: Shape<'_>) -> Indexed<'a> {
    static NULL: Value = Value::Null;
    let items: VecDeque<_> = items.iter().filter_map(|item| Some((item_element(shape, item).ok()?, item))).collect();
    let mut by_element = BTreeMap::new();
    for (element, item) in &items {
        by_element.entry(element.clone()).and_modify(|known| *known = &NULL).or_insert(*item);
    }
    (items, by_element)
}

/// Removes the fields and items of a set. A map or list that loses its last part becomes null.
pub(super) fn remove(value: &Value, fields: &FieldSet, shape: Shape<'_>) -> Value {
    match (shape.form(value), value) {
        (Form::Scalar, _) => value.clone(),
        (Form::List, Value::Array(items)) if !matches!(shape.items(), Items::Atomic) => {
            let keep = |item: &Value| match item_element(shape, item).ok().and_then(|element| fields.node(&element)) {
                Some(node) if node.member => None,
                Some(node) => Some(remove(item, &node.children, shape.item())),
                None => Some(item.clone()),
            };
            let items: Vec<_> = items.iter().filter_map(keep).collect();
            if items.is_empty() { Value::Null } else { Value::Array(items) }
        }
        (Form::Map, Value::Object(values)) if !shape.is_atomic_map() => {
            let keep = |(name, value): (&String, &Value)| {
                let kept = match fields.node(&PathElement::field(name)) {
                    Some(node) if node.member => return None,
                    Some(node) => {
                        let (shape, _) = shape.field(name).unwrap_or((Shape::Deduced, Naming::Other));
                        remove(value, &node.children, shape)
                    }
                    None => value.clone(),
                };
                Some((name.clone(), kept))
            };
            let values: Map<_, _> = values.iter().filter_map(keep).collect();
            if values.is_empty() { Value::Null } else { Value::Object(values) }
        }
        (Form::List | Form::Map, _) => Value::Null,
    }
}
