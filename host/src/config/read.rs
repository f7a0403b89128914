//! Reading the nodes of a document as what they should be. What is wrong is collected, and reading goes on.

use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::node::{Node, Source, Value};
use super::problem::{Place, Position, Problems, list, nearest};
use super::quantity::{Bytes, parse_bytes, parse_duration};

/// A value of a document that is about to be read.
#[derive(Clone)]
pub(crate) struct Field<'a> {
    source: &'a Source,
    pub(crate) node: &'a Node,
    pub(crate) path: String,
    problems: &'a RefCell<Problems>,
}

/// A map whose keys are all known.
pub(crate) struct Map<'a>(Field<'a>);

impl<'a> Field<'a> {
    pub(crate) fn root(source: &'a Source, node: &'a Node, problems: &'a RefCell<Problems>) -> Self {
        Self { source, node, path: String::new(), problems }
    }

    pub(crate) fn source(&self) -> &'a Source {
        self.source
    }

    pub(crate) fn place(&self) -> Place {
        self.place_of(self.node.position)
    }

    fn place_of(&self, position: Position) -> Place {
        self.source.place(position).with_path(self.path.as_str())
    }

    pub(crate) fn wrong(&self, what: impl Into<String>, remedy: impl Into<String>) {
        self.problems.borrow_mut().add(self.place(), what, remedy);
    }

    /// It should be something else.
    pub(crate) fn unexpected(&self, expected: &str) {
        self.wrong(format!("{} is not valid here", self.node.describe()), format!("write {expected}"));
    }

    /// A map with none but these keys. `what` it is, for people.
    pub(crate) fn map(self, what: &str, known: &[&str]) -> Option<Map<'a>> {
        let Value::Map(entries) = &self.node.value else {
            self.unexpected(&format!("{what} as a map of {}", list(known)));
            return None;
        };
        for (key, _) in entries {
            if !known.contains(&key.text.as_str()) {
                let remedy = match nearest(&key.text, known.iter().copied()) {
                    Some(near) => format!("did you mean {near}?"),
                    None => format!("known here are {}", list(known)),
                };
                self.problems.borrow_mut().add(self.place_of(key.position), format!("unknown key {:?}", key.text), remedy);
            }
        }
        Some(Map(self))
    }

    /// The value of a key, if this is a map; none if it is absent or null.
    pub(crate) fn get(&self, key: &str) -> Option<Field<'a>> {
        let node = self.node.get(key).filter(|node| !matches!(node.value, Value::Null))?;
        let path = if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) };
        Some(Field { node, path, ..self.clone() })
    }

    pub(crate) fn list(&self, what: &str) -> Option<Vec<Field<'a>>> {
        let Value::List(items) = &self.node.value else {
            self.unexpected(&format!("a list of {what}"));
            return None;
        };
        let item = |(index, node)| Self { node, path: format!("{}[{index}]", self.path), ..self.clone() };
        Some(items.iter().enumerate().map(item).collect())
    }

    pub(crate) fn string(&self, what: &str) -> Option<&'a str> {
        match &self.node.value {
            Value::String(text) => Some(text),
            _ => {
                self.unexpected(what);
                None
            }
        }
    }

    pub(crate) fn boolean(&self) -> Option<bool> {
        match &self.node.value {
            Value::Bool(value) => Some(*value),
            _ => {
                self.unexpected("true or false");
                None
            }
        }
    }

    pub(crate) fn number(&self, range: RangeInclusive<u32>) -> Option<u32> {
        self.number_or_word(range, None)?
    }

    /// A number, or the word that stands for none.
    pub(crate) fn number_or_word(&self, range: RangeInclusive<u32>, word: Option<&str>) -> Option<Option<u32>> {
        let found = match &self.node.value {
            Value::Number(number) => number.as_u64().and_then(|number| u32::try_from(number).ok()).map(Some),
            Value::String(text) if Some(text.as_str()) == word => Some(None),
            _ => None,
        };
        let found = found.filter(|number| number.is_none_or(|number| range.contains(&number)));
        if found.is_none() {
            let word = word.map(|word| format!(", or {word}")).unwrap_or_default();
            self.unexpected(&format!("a number from {} to {}{word}", range.start(), range.end()));
        }
        found
    }

    pub(crate) fn bytes(&self, range: RangeInclusive<u64>) -> Option<usize> {
        let found = self.text().and_then(|text| parse_bytes(&text)).filter(|bytes| range.contains(bytes));
        if found.is_none() {
            let (least, most) = (Bytes(*range.start()), Bytes(*range.end()));
            self.unexpected(&format!("a quantity of bytes from {least} to {most}, such as 64Mi"));
        }
        usize::try_from(found?).ok()
    }

    pub(crate) fn duration(&self, range: RangeInclusive<Duration>) -> Option<Duration> {
        let found = self.text().and_then(|text| parse_duration(&text)).filter(|duration| range.contains(duration));
        if found.is_none() {
            self.unexpected(&format!("a duration from {:?} to {:?}, such as 500ms, 2s or 1m", range.start(), range.end()));
        }
        found
    }

    fn text(&self) -> Option<String> {
        match &self.node.value {
            Value::Number(number) => Some(number.to_string()),
            Value::String(text) => Some(text.clone()),
            _ => None,
        }
    }
}

impl<'a> Map<'a> {
    /// The value of a key; none if it is absent or null.
    pub(crate) fn get(&self, key: &str) -> Option<Field<'a>> {
        self.0.get(key)
    }

    pub(crate) fn field(&self) -> &Field<'a> {
        &self.0
    }
}
