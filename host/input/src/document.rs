//! A YAML document as a tree with the position of each value. JSON is YAML.

use std::fmt;
use std::sync::Arc;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Number;
use serde_saphyr::{Location, MergeKeyPolicy, MessageFormatter as _, NonFiniteFloatPolicy, Spanned, UserMessageFormatter};

use crate::problem::{Place, Position, Problem};

/// The deepest nesting. A level takes up to 40 KiB (unoptimised) of a thread's 2 MiB of stack.
const DEEPEST: usize = 32;

/// A value and its position.
#[derive(Clone, Debug)]
pub struct Node {
    /// Where it begins.
    pub position: Position,
    /// The value.
    pub value: Value,
}

/// A JSON value whose parts have positions.
#[derive(Clone, Debug)]
pub enum Value {
    /// `null`, or nothing.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A text.
    String(String),
    /// A list.
    List(Vec<Node>),
    /// A map, in the order of the document.
    Map(Vec<(Key, Node)>),
}

/// A key of a map and its position.
#[derive(Clone, Debug)]
pub struct Key {
    /// Where it begins.
    pub position: Position,
    /// The key.
    pub text: String,
}

/// A document and its name in messages.
#[derive(Clone, Debug)]
pub struct Document {
    /// Where it comes from.
    pub source: Source,
    /// Its value.
    pub root: Node,
}

/// A value of a document, by its JSON pointer. It may be missing.
#[derive(Clone, Debug)]
pub struct Part {
    document: Arc<Document>,
    pointer: String,
}

/// Where a document comes from.
#[derive(Clone, Debug)]
pub enum Source {
    /// The path of a file; places in it have lines.
    File(Arc<str>),
    /// A flag; it is the place of all its values.
    Flag(Arc<str>),
}

impl Source {
    /// The place of the whole document.
    pub fn whole(&self) -> Place {
        match self {
            Self::File(name) | Self::Flag(name) => Place::whole(name),
        }
    }

    /// The place of this position.
    pub fn place(&self, position: Position) -> Place {
        match self {
            Self::File(name) => Place::at(name, position),
            Self::Flag(name) => Place::whole(name),
        }
    }
}

impl Document {
    /// Parses a text. An empty one is null.
    ///
    /// # Errors
    ///
    /// The first error in the YAML.
    pub fn parse(source: Source, text: &str) -> Result<Self, Problem> {
        let options = serde_saphyr::options! {
            budget: serde_saphyr::budget! { max_depth: DEEPEST },
            merge_keys: MergeKeyPolicy::Merge,
            strict_booleans: true,
            non_finite_float_policy: NonFiniteFloatPolicy::Reject,
            reject_unsupported_tags: true,
            with_snippet: false,
        };
        match serde_saphyr::from_str_with_options::<Option<Node>>(text, options) {
            Ok(root) => {
                let empty = || Node { position: Position { line: 1, column: 1 }, value: Value::Null };
                Ok(Self { source, root: root.unwrap_or_else(empty) })
            }
            Err(error) => Err(problem(&source, &error)),
        }
    }
}

impl Part {
    /// A document as a whole.
    pub fn whole(document: Document) -> Self {
        Self { document: Arc::new(document), pointer: String::new() }
    }

    /// A part for problems of something other than a document, such as a flag.
    pub fn flag(name: &str) -> Self {
        let root = Node { position: Position { line: 1, column: 1 }, value: Value::Null };
        Self::whole(Document { source: Source::Flag(name.into()), root })
    }

    /// The part at this pointer below this one.
    pub fn at(&self, pointer: &str) -> Self {
        Self { document: Arc::clone(&self.document), pointer: format!("{}{pointer}", self.pointer) }
    }

    /// Its JSON pointer.
    pub fn pointer(&self) -> &str {
        &self.pointer
    }

    /// The value, if there is one.
    pub fn node(&self) -> Option<&Node> {
        self.steps().try_fold(&self.document.root, |node, step| node.step(&step))
    }

    /// Its place, or that of the nearest value around it if it is missing.
    pub fn place(&self) -> Place {
        let (node, path) = self.nearest();
        self.document.source.place(node.position).with_path(path)
    }

    /// The place of the whole document.
    pub fn document(&self) -> Place {
        self.document.source.whole()
    }

    /// The keys of this map that `which` accepts, each with its place.
    pub fn keys<'a>(&'a self, which: impl Fn(&str) -> bool + 'a) -> impl Iterator<Item = (&'a str, Place)> {
        let (node, path) = self.nearest();
        let entries = if let Value::Map(entries) = &node.value { &entries[..] } else { &[] };
        let place = move |key: &Key| self.document.source.place(key.position).with_path(path.as_str());
        entries.iter().filter(move |(key, _)| which(&key.text)).map(move |(key, _)| (key.text.as_str(), place(key)))
    }

    fn steps(&self) -> impl Iterator<Item = String> {
        self.pointer.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~"))
    }

    fn nearest(&self) -> (&Node, String) {
        let (mut node, mut path) = (&self.document.root, String::new());
        for step in self.steps() {
            let Some(next) = node.step(&step) else { break };
            path.push_str(&match node.value {
                Value::List(_) => format!("[{step}]"),
                _ if path.is_empty() => step,
                _ => format!(".{step}"),
            });
            node = next;
        }
        (node, path)
    }
}

impl Node {
    /// Returns whether it is null or nothing.
    pub fn is_null(&self) -> bool {
        matches!(self.value, Value::Null)
    }

    /// A short description for messages.
    pub fn describe(&self) -> String {
        match &self.value {
            Value::Null => "nothing".to_owned(),
            Value::Bool(value) => value.to_string(),
            Value::Number(number) => number.to_string(),
            Value::String(text) => format!("{text:?}"),
            Value::List(items) if items.is_empty() => "an empty list".to_owned(),
            Value::List(_) => "a list".to_owned(),
            Value::Map(_) => "a map".to_owned(),
        }
    }

    fn step(&self, step: &str) -> Option<&Self> {
        match &self.value {
            Value::List(items) => items.get(step.parse::<usize>().ok()?),
            Value::Map(entries) => entries.iter().find(|(key, _)| key.text == step).map(|(_, node)| node),
            _ => None,
        }
    }

    /// The value as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(value) => serde_json::Value::Bool(*value),
            Value::Number(number) => serde_json::Value::Number(number.clone()),
            Value::String(text) => serde_json::Value::String(text.clone()),
            Value::List(items) => items.iter().map(Self::to_json).collect(),
            Value::Map(entries) => entries.iter().map(|(key, node)| (key.text.clone(), node.to_json())).collect(),
        }
    }
}

/// The problem that a file is not valid YAML.
pub fn yaml_problem(file: &str, error: &serde_saphyr::Error) -> Problem {
    problem(&Source::File(file.into()), error)
}

fn problem(source: &Source, error: &serde_saphyr::Error) -> Problem {
    let place = error.location().and_then(position).map_or_else(|| source.whole(), |position| source.place(position));
    // Only the text, because the place is known.
    let what = UserMessageFormatter.format_message(error.without_snippet()).into_owned();
    // The rest names the limit as in the code of the library.
    match what.split_once(": limits breached") {
        Some((what, _)) => Problem::new(place, what, "split it up, or nest it less"),
        None => Problem::new(place, &what, "correct the YAML"),
    }
}

fn position(location: Location) -> Option<Position> {
    (location.line() > 0).then(|| Position { line: location.line(), column: location.column() })
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Spanned { value, referenced, .. } = Spanned::<Value>::deserialize(deserializer)?;
        Ok(Self { position: position(referenced).unwrap_or(Position { line: 1, column: 1 }), value })
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Spanned { value, referenced, .. } = Spanned::<String>::deserialize(deserializer)?;
        Ok(Self { position: position(referenced).unwrap_or(Position { line: 1, column: 1 }), text: value })
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value that exists in JSON, too")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Value::deserialize(deserializer)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number that is not finite"))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E: de::Error>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = sequence.next_element()? {
            items.push(item);
        }
        Ok(Value::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Value::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Document, Problem> {
        Document::parse(Source::File("gyre.yaml".into()), text)
    }

    #[test]
    fn a_document_that_nests_too_deep_for_the_stack_is_refused() {
        for (opening, closing) in [("[", "]"), ("{\"a\": ", "}")] {
            let nested = |depth| format!("{}null{}", opening.repeat(depth), closing.repeat(depth));
            assert!(parse(&nested(DEEPEST)).is_ok());
            let problem = parse(&nested(DEEPEST + 1)).unwrap_err().to_string();
            assert!(problem.ends_with("split it up, or nest it less"), "{problem}");
            for depth in [64, 100_000] {
                assert!(parse(&nested(depth)).is_err());
            }
        }
    }
}
