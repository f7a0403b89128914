//! Sets of fields, encoded as `fieldsV1`.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde_json::{Map, Value};

use super::element::{Path, PathElement};

/// A set of paths. Membership of a path does not imply that of its parents or children.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FieldSet {
    nodes: BTreeMap<PathElement, FieldNode>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FieldNode {
    pub(super) member: bool,
    pub(super) children: FieldSet,
}

impl FieldNode {
    pub(super) fn leaf() -> Self {
        Self { member: true, children: FieldSet::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.member && self.children.is_empty()
    }
}

impl FieldSet {
    pub(super) fn of_fields<'a>(paths: impl IntoIterator<Item = &'a [&'a str]>) -> Self {
        let mut set = Self::default();
        for path in paths {
            let mut elements = path.iter().rev().map(|name| PathElement::field(*name));
            let Some(last) = elements.next() else { continue };
            let innermost = Self { nodes: BTreeMap::from([(last, FieldNode::leaf())]) };
            set.extend(elements.fold(innermost, |children, element| Self {
                nodes: BTreeMap::from([(element, FieldNode { member: false, children })]),
            }));
        }
        set
    }

    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub(super) fn node(&self, element: &PathElement) -> Option<&FieldNode> {
        self.nodes.get(element)
    }

    pub(super) fn has(&self, path: &[PathElement]) -> bool {
        let Some((first, rest)) = path.split_first() else { return false };
        self.node(first).is_some_and(|node| if rest.is_empty() { node.member } else { node.children.has(rest) })
    }

    pub(super) fn add(&mut self, element: PathElement, node: FieldNode) {
        if node.is_empty() {
            return;
        }
        match self.nodes.entry(element) {
            Entry::Vacant(vacant) => drop(vacant.insert(node)),
            Entry::Occupied(mut occupied) => {
                let known = occupied.get_mut();
                known.member |= node.member;
                known.children.extend(node.children);
            }
        }
    }

    pub(super) fn extend(&mut self, other: Self) {
        if self.nodes.is_empty() {
            *self = other;
            return;
        }
        for (element, node) in other.nodes {
            self.add(element, node);
        }
    }

    pub(super) fn union(mut self, other: &Self) -> Self {
        self.extend(other.clone());
        self
    }

    pub(super) fn intersection(&self, other: &Self) -> Self {
        self.rebuilt(|element, node| match other.node(element) {
            Some(other) => {
                FieldNode { member: node.member && other.member, children: node.children.intersection(&other.children) }
            }
            None => FieldNode::default(),
        })
    }

    pub(super) fn difference(&self, other: &Self) -> Self {
        self.rebuilt(|element, node| match other.node(element) {
            Some(other) => {
                FieldNode { member: node.member && !other.member, children: node.children.difference(&other.children) }
            }
            None => node.clone(),
        })
    }

    /// Returns the members that are neither in the other set nor below one of its paths.
    pub(super) fn recursive_difference(&self, other: &Self) -> Self {
        self.rebuilt(|element, node| match other.node(element) {
            Some(other) if other.member => FieldNode::default(),
            Some(other) => FieldNode { member: node.member, children: node.children.recursive_difference(&other.children) },
            None => node.clone(),
        })
    }

    /// Returns a set with every top-level node replaced by `change`.
    pub(super) fn rebuilt(&self, change: impl Fn(&PathElement, &FieldNode) -> FieldNode) -> Self {
        let changed = self.nodes.iter().map(|(element, node)| (element, change(element, node)));
        Self { nodes: changed.filter(|(_, node)| !node.is_empty()).map(|(element, node)| (element.clone(), node)).collect() }
    }

    /// Returns the paths, each level before those below it, as conflicts are listed.
    pub(super) fn paths(&self) -> Vec<Path> {
        let mut paths = Vec::new();
        self.collect_paths(&Path::default(), &mut paths);
        paths
    }

    fn collect_paths(&self, prefix: &Path, paths: &mut Vec<Path>) {
        paths.extend(self.nodes.iter().filter(|(_, node)| node.member).map(|(element, _)| prefix.to(element)));
        for (element, node) in self.nodes.iter().filter(|(_, node)| !node.children.is_empty()) {
            node.children.collect_paths(&prefix.to(element), paths);
        }
    }

    pub(super) fn to_json(&self) -> Value {
        Value::Object(self.to_fields(IncludeSelf::No))
    }

    fn to_fields(&self, include_self: IncludeSelf) -> Map<String, Value> {
        let mut fields = Map::new();
        if include_self == IncludeSelf::Yes && !self.is_empty() {
            fields.insert(".".to_owned(), Value::Object(Map::new()));
        }
        for (element, node) in &self.nodes {
            let include_self = if node.member { IncludeSelf::Yes } else { IncludeSelf::No };
            fields.insert(element.to_key(), Value::Object(node.children.to_fields(include_self)));
        }
        fields
    }

    /// Decodes `fieldsV1`, or returns its first error. Keys with an unknown prefix are ignored, and
    /// so is everything below them.
    pub(super) fn from_json(fields: &Value) -> Result<Self, String> {
        Ok(read_node(fields)?.children)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum IncludeSelf {
    Yes,
    No,
}

fn read_node(fields: &Value) -> Result<FieldNode, String> {
    let mut node = FieldNode::default();
    match fields {
        Value::Null => {}
        Value::Object(fields) => {
            for (key, below) in fields {
                if key == "." {
                    node.member = true;
                } else if let Some(element) =
                    PathElement::parse(key).map_err(|error| format!("parsing key as path element: {error}"))?
                {
                    node.children.add(element, read_node(below)?);
                }
            }
        }
        other => return Err(format!("ReadMapCB: expect {{ or n, but found {}", text_start(other))),
    }
    // A node without children stands for itself.
    node.member |= node.children.is_empty();
    Ok(node)
}

fn text_start(value: &Value) -> String {
    value.to_string().chars().take(1).collect()
}
