//! Keeping values of Secrets out of recordings.
//!
//! What a call was given is redacted: in Secrets each value (`data`, `stringData`, and what `kubectl apply` leaves of them in an
//! annotation), in settings what their schema calls secret (`writeOnly`, `format: password`), and in every other text each string that holds such a value, as it is or in base64. Where nothing had to be replaced,
//! the call saw no value of a Secret, so neither does its answer. Where something had, the call is made again with what stands there
//! now, and *that* call is recorded: a plugin is a pure function, so it cannot answer with what it was not told, however it may have
//! encoded, hashed or cut it.
//!
//! Equal values stay equal in one recording, and differ between two.
//!
//! What is not found: values of Secrets that the mount never sees; parts of values, other than lines of a text and strings of a JSON; what a
//! plugin computed from a value and wrote into the cluster earlier; and names, which no Secret keeps (`metadata.name` and the like).

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher as _, RandomState};
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gyre_core::object::GroupVersionKind;
use gyre_core::response::{Child, Response};
use gyre_sandbox::{Bytes, Digest};
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::cluster::raw;
use crate::program::Program;

use super::call_inputs::CallInputs;
use super::call_record::{Question, Reply};
use super::format::{AnswerLine, ResultLine};
use super::strings::{self, NotJson, Path, Step};
use super::text::Text;

/// A value of so many bytes is replaced wherever it occurs,
const ANYWHERE: usize = 8;
/// and one of so many where it is a word of its own: `root` is not to be looked for in `rootless`. What is shorter says nothing.
const AS_WORD: usize = 3;
/// Of a longer value no more is kept. Where that much stands, all that follows in the string goes with it.
const KEPT: usize = 256;
/// How many bytes of values are kept in one recording, at most.
const MOST_BYTES: usize = 4 << 20;
/// What is looked for are the beginnings of values: what finds them takes some tens of bytes for each byte.
const BEGINNING: usize = 16;
/// What `kubectl apply` keeps of an object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// There are more values than can be looked for, so that nothing more can be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Error {
    #[error("there are too many values of Secrets to hide all of them")]
    TooMany,
    #[error(transparent)]
    NotJson(#[from] NotJson),
}

/// What placeholders are derived from, beside the values: whoever does not know it cannot try values out.
#[derive(Clone)]
pub(super) struct Key([u8; 32]);

impl Key {
    /// A new one, from what the standard library seeds its tables with.
    pub(super) fn random() -> Self {
        let state = RandomState::new();
        let mut key = [0; 32];
        for (number, chunk) in key.chunks_mut(8).enumerate() {
            chunk.copy_from_slice(&state.hash_one(number).to_le_bytes());
        }
        Self(key)
    }

    /// What stands for a value: a valid name, so that it can stand wherever a value may.
    fn placeholder(&self, value: &[u8]) -> String {
        let digest = Digest::of(&[&self.0, value].concat()).to_string();
        format!("redacted-{}", digest.get(..16).unwrap_or_default())
    }
}

/// Knows the values that were seen so far.
pub(super) struct Redactor {
    key: Key,
    /// What is looked for, and what stands for it.
    known: BTreeMap<String, Known>,
    known_bytes: usize,
    /// For what is known; none: something has been learned since it was made.
    search: Option<Search>,
}

#[derive(Clone)]
struct Known {
    placeholder: String,
    /// Whether the value is longer than the part that is kept.
    is_cut: bool,
}

struct Search {
    beginnings: AhoCorasick,
    /// By pattern: what begins like that.
    values: Vec<Vec<(String, Known)>>,
}

impl Redactor {
    pub(super) fn new(key: Key) -> Self {
        Self { key, known: BTreeMap::new(), known_bytes: 0, search: None }
    }

    /// Looks for the values of a Secret from now on. What is none has none.
    pub(super) fn learn(&mut self, json: &[u8]) -> Result<(), Error> {
        let text = str::from_utf8(json).map_err(|_| NotJson)?;
        if !is_secret(text) {
            return Ok(());
        }
        let mut values: BTreeSet<Vec<u8>> = BTreeSet::new();
        strings::replace(text, |path, string| {
            match path {
                [Step::Key(field), Step::Key(_)] if field == "data" => values.extend(STANDARD.decode(string)),
                [Step::Key(field), Step::Key(_)] if field == "stringData" => values.extend([string.as_bytes().to_vec()]),
                _ => {}
            }
            None
        })?;
        for value in values {
            self.learn_value(&value)?;
        }
        Ok(())
    }

    /// Looks for the settings that their schema calls secret: by `writeOnly`, or `format: password`.
    pub(super) fn learn_settings(&mut self, schema: Option<&Value>, settings: &[u8]) -> Result<(), Error> {
        let (Some(schema), Ok(settings)) = (schema, serde_json::from_slice::<Value>(settings)) else { return Ok(()) };
        let mut values = Vec::new();
        secret_settings(schema, &settings, &mut values);
        values.into_iter().try_for_each(|value| self.learn_value(value.as_bytes()))
    }

    fn learn_value(&mut self, value: &[u8]) -> Result<(), Error> {
        let placeholder = self.key.placeholder(value);
        self.look_for(&STANDARD.encode(value), &STANDARD.encode(&placeholder))?;
        let Ok(text) = str::from_utf8(value) else { return Ok(()) };
        self.look_for(text, &placeholder)?;
        for part in parts(text) {
            let placeholder = self.key.placeholder(part.as_bytes());
            self.look_for(&STANDARD.encode(&part), &STANDARD.encode(&placeholder))?;
            self.look_for(&part, &placeholder)?;
        }
        Ok(())
    }

    fn look_for(&mut self, text: &str, placeholder: &str) -> Result<(), Error> {
        let kept = text.get(..text.floor_char_boundary(KEPT)).unwrap_or(text);
        if kept.len() < AS_WORD || self.known.contains_key(kept) {
            return Ok(());
        }
        if self.known_bytes + kept.len() > MOST_BYTES {
            return Err(Error::TooMany);
        }
        self.known_bytes += kept.len();
        let known = Known { placeholder: placeholder.to_owned(), is_cut: kept.len() < text.len() };
        self.known.insert(kept.to_owned(), known);
        self.search = None;
        Ok(())
    }

    /// Whether half of what can be looked for is: what is learned beforehand must leave room for what calls see.
    pub(super) fn is_half_full(&self) -> bool {
        self.known_bytes > MOST_BYTES / 2
    }

    /// What a call was given without the values of Secrets; none: there were none in it.
    pub(super) fn redact(&mut self, inputs: &CallInputs) -> Result<Option<CallInputs>, Error> {
        let read = || inputs.reads.values().flatten().flatten();
        for object in [&inputs.parent].into_iter().chain(inputs.children.values().flatten()).chain(read()) {
            self.learn(object)?;
        }
        if self.known.is_empty() && !inputs.has_secrets() {
            return Ok(None);
        }
        let mut redacted = inputs.clone();
        let mut is_changed = false;
        let objects = [&mut redacted.parent, &mut redacted.settings].into_iter();
        for object in objects.chain(redacted.children.values_mut().flatten()) {
            is_changed |= self.redact_object(object)?;
        }
        for (question, mut reply) in std::mem::take(&mut redacted.reads) {
            for object in reply.iter_mut().flatten() {
                is_changed |= self.redact_object(object)?;
            }
            // A plugin that was told of a name by a text asks for what stands in that text now.
            let asked = self.redact_question(&question)?;
            insert_both(&mut redacted.reads, asked, question, reply);
        }
        Ok(is_changed.then_some(redacted))
    }

    /// Whether anything was replaced.
    fn redact_object(&mut self, object: &mut Bytes) -> Result<bool, Error> {
        let text = str::from_utf8(object).map_err(|_| NotJson)?;
        let is_secret = is_secret(text);
        let key = self.key.clone();
        let search = self.search()?;
        let replaced = strings::replace(text, |path, string| match path {
            [Step::Key(field), Step::Key(_)] if is_secret && field == "data" => {
                let value = STANDARD.decode(string).unwrap_or_else(|_| string.as_bytes().to_vec());
                Some(STANDARD.encode(key.placeholder(&value)))
            }
            [Step::Key(field), Step::Key(_)] if is_secret && field == "stringData" => Some(key.placeholder(string.as_bytes())),
            [metadata, annotations, annotation]
                if is_secret && metadata.is("metadata") && annotations.is("annotations") && annotation.is(LAST_APPLIED) =>
            {
                Some(key.placeholder(string.as_bytes()))
            }
            path if is_name(path) => None,
            _ => search.replace(string),
        })?;
        let is_replaced = replaced.is_some();
        if let Some(replaced) = replaced {
            *object = Arc::from(replaced.into_bytes());
        }
        Ok(is_replaced)
    }

    fn redact_question(&mut self, question: &Question) -> Result<Question, Error> {
        let search = self.search()?;
        let redacted = |text: &String| search.replace(text).unwrap_or_else(|| text.clone());
        Ok(match question {
            Question::Children { .. } => question.clone(),
            Question::Get { kind, namespace, name } => {
                Question::Get { kind: kind.clone(), namespace: namespace.clone(), name: redacted(name) }
            }
            Question::List { kind, namespace, label_selector } => Question::List {
                kind: kind.clone(),
                namespace: namespace.clone(),
                label_selector: label_selector.as_ref().map(redacted),
            },
        })
    }

    fn search(&mut self) -> Result<&Search, Error> {
        let made = match self.search.take() {
            Some(made) => made,
            None => Search::of(&self.known)?,
        };
        Ok(self.search.insert(made))
    }
}

/// Keeps values of Secrets, and settings that a schema calls secret, out of what people are shown of objects: as far as they are there as
/// they are, or in base64.
pub struct Redaction(Redactor);

impl Redaction {
    /// Of what these objects hold that are Secrets, and of these programs' settings; none: it is more than can be looked for.
    pub fn new<'a>(objects: impl Iterator<Item = &'a [u8]>, programs: &[&Program]) -> Option<Self> {
        let mut redactor = Redactor::new(Key::random());
        for object in objects {
            match redactor.learn(object) {
                Ok(()) | Err(Error::NotJson(_)) => {}
                Err(Error::TooMany) => return None,
            }
        }
        for program in programs {
            redactor.learn_settings(program.manifest().settings_schema.as_ref(), &program.settings).ok()?;
        }
        redactor.search().ok()?;
        Some(Self(redactor))
    }

    /// The object without them; null, if it cannot be read.
    pub fn object(&mut self, object: &Value) -> Value {
        let mut text = Bytes::from(object.to_string().into_bytes());
        match self.0.redact_object(&mut text) {
            Ok(_) => serde_json::from_slice(&text).unwrap_or_default(),
            Err(_) => Value::Null,
        }
    }

    /// An answer without them. What is no JSON in it is left out.
    pub fn answer(&mut self, mut answer: AnswerLine) -> AnswerLine {
        let mut sentences: Vec<&mut String> = Vec::new();
        for line in &mut answer.log {
            sentences.push(&mut line.message);
            sentences.extend(line.fields.iter_mut().map(|(_, value)| value));
        }
        match &mut answer.result {
            // Without `..`, so that a new field does not compile until it is decided here whether it is redacted.
            ResultLine::Response(Response { children, status, conditions, events, requeue_after: _, done: _ }) => {
                let applied = children.iter_mut().flatten().filter_map(|child| match child {
                    Child::Apply(text) => Some(text),
                    Child::Keep(_) => None,
                });
                applied.chain(status).for_each(|text| self.text(text));
                sentences.extend(conditions.iter_mut().map(|condition| &mut condition.message));
                sentences.extend(events.iter_mut().map(|event| &mut event.message));
            }
            ResultLine::Failure(failure) => sentences.push(failure.message_mut()),
            ResultLine::Error { reason: _, message, texts } => {
                texts.iter_mut().for_each(|text| self.text(text));
                sentences.push(message);
            }
        }
        for sentence in sentences {
            *sentence = self.sentence(sentence);
        }
        answer
    }

    fn text(&mut self, text: &mut Text) {
        let is_json = serde_json::from_slice::<IgnoredAny>(&text.0).is_ok();
        if !is_json || self.0.redact_object(&mut text.0).is_err() {
            text.0 = Arc::from(&b"not shown"[..]);
        }
    }

    /// The sentence without them.
    pub fn sentence(&mut self, text: &str) -> String {
        self.0.search().map_or_else(|_| String::new(), |search| search.replace(text).unwrap_or_else(|| text.to_owned()))
    }
}

impl Search {
    fn of(known: &BTreeMap<String, Known>) -> Result<Self, Error> {
        let mut by_beginning: BTreeMap<&[u8], Vec<(String, Known)>> = BTreeMap::new();
        for (text, known) in known {
            let bytes = text.as_bytes();
            let beginning = bytes.get(..BEGINNING).unwrap_or(bytes);
            by_beginning.entry(beginning).or_default().push((text.clone(), known.clone()));
        }
        let beginnings = AhoCorasick::builder().match_kind(MatchKind::Standard).build(by_beginning.keys());
        Ok(Self { beginnings: beginnings.map_err(|_| Error::TooMany)?, values: by_beginning.into_values().collect() })
    }

    /// The string without what is known; none: there was nothing.
    fn replace(&self, string: &str) -> Option<String> {
        let mut found: Vec<(Range<usize>, &str)> = Vec::new();
        for beginning in self.beginnings.find_overlapping_iter(string) {
            let start = beginning.start();
            let Some(rest) = string.get(start..) else { continue };
            let values = self.values.get(beginning.pattern().as_usize()).into_iter().flatten();
            for (value, known) in values.filter(|(value, _)| rest.starts_with(value.as_str())) {
                let end = if known.is_cut { string.len() } else { start + value.len() };
                if value.len() >= ANYWHERE || is_word(string, start..end) {
                    found.push((start..end, &known.placeholder));
                }
            }
        }
        if found.is_empty() {
            return None;
        }
        // Of those that begin at one place, the longest first.
        found.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
        let mut replaced = String::new();
        let mut copied = 0;
        for (range, placeholder) in found {
            if range.start >= copied {
                replaced.push_str(string.get(copied..range.start).unwrap_or_default());
                replaced.push_str(placeholder);
            }
            // Of one that overlaps with the one before, the rest goes without a placeholder of its own.
            copied = copied.max(range.end);
        }
        replaced.push_str(string.get(copied..).unwrap_or_default());
        Some(replaced)
    }
}

impl CallInputs {
    /// Whether there are Secrets in it, if only by their metadata.
    fn has_secrets(&self) -> bool {
        let read = self.reads.values().flatten().flatten();
        let mut objects = [&self.parent].into_iter().chain(self.children.values().flatten()).chain(read);
        objects.any(|object| str::from_utf8(object).is_ok_and(is_secret))
    }
}

fn insert_both(reads: &mut BTreeMap<Question, Reply>, redacted: Question, original: Question, reply: Reply) {
    reads.insert(redacted, reply.clone());
    reads.insert(original, reply);
}

/// Whether what stands on either side of a match belongs to no word.
fn is_word(string: &str, range: Range<usize>) -> bool {
    let before = string.get(..range.start).and_then(|before| before.chars().next_back());
    let after = string.get(range.end..).and_then(|after| after.chars().next());
    !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
}

/// What of a value may be copied by itself: the lines of a text, and the strings of a JSON.
fn parts(value: &str) -> BTreeSet<String> {
    let mut parts: BTreeSet<String> = value.lines().map(str::trim).map(str::to_owned).collect();
    if value.trim_start().starts_with(['{', '[']) && serde_json::from_str::<serde::de::IgnoredAny>(value).is_ok() {
        let _ = strings::replace(value, |_, string| {
            parts.insert(string.to_owned());
            None
        });
    }
    parts.retain(|part| part.len() >= ANYWHERE && part != value);
    // Files often end with a line break, which readers take off.
    parts.insert(value.trim().to_owned());
    parts
}

/// The strings that a schema calls secret. As deep as the settings, which serde_json read.
fn secret_settings<'a>(schema: &Value, settings: &'a Value, found: &mut Vec<&'a str>) {
    let is = |key: &str, expected: Value| schema.get(key) == Some(&expected);
    match settings {
        Value::String(text) if is("writeOnly", true.into()) || is("format", "password".into()) => found.push(text),
        Value::Object(settings) => {
            for (key, value) in settings {
                let of_key = schema.get("properties").and_then(|properties| properties.get(key));
                if let Some(schema) = of_key.or_else(|| schema.get("additionalProperties")) {
                    secret_settings(schema, value, found);
                }
            }
        }
        Value::Array(settings) => {
            for (value, schema) in settings.iter().zip(std::iter::repeat(schema.get("items"))) {
                schema.into_iter().for_each(|schema| secret_settings(schema, value, found));
            }
        }
        _ => {}
    }
}

/// Names say where something is, and stay.
fn is_name(path: &Path<'_>) -> bool {
    match path {
        [field] => field.is("apiVersion") || field.is("kind"),
        [metadata, field] if metadata.is("metadata") => {
            ["name", "namespace", "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp"]
                .iter()
                .any(|name| field.is(name))
        }
        [metadata, owners, ..] => metadata.is("metadata") && owners.is("ownerReferences"),
        _ => false,
    }
}

/// Whether it is one, or a list of them, however it is spelled.
fn is_secret(json: &str) -> bool {
    // Most texts are none, and to read one takes longer than to look.
    if !json.contains("Secret") && !json.contains(r"\u") {
        return false;
    }
    let text = |name| raw::member(json, name).and_then(raw::text).unwrap_or_default();
    let GroupVersionKind { group, kind, .. } = GroupVersionKind::from_api_version(&text("apiVersion"), &text("kind"));
    group.is_empty() && (kind == "Secret" || kind == "SecretList")
}

#[cfg(test)]
mod tests;
