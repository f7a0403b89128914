//! Keeps values of Secrets out of recordings.
//!
//! The inputs of a call are redacted: in Secrets each value (`data`, `stringData` and the
//! annotation of `kubectl apply`), in settings what their schema marks as secret (`writeOnly`,
//! `format: password`), and elsewhere each string that contains such a value, plain or in base64.
//! If something was replaced, the call is repeated with the redacted inputs, and that call is
//! recorded: a plugin is a pure function, so its answer cannot reveal what it was not given, in any
//! encoding.
//!
//! Equal values get equal placeholders within a recording, but different ones in another.
//!
//! Not found: values of Secrets that the mount never sees; parts of values, except lines of a text
//! and strings of JSON; what a plugin derived from a value and wrote earlier; and names
//! (`metadata.name` etc.).

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher as _, RandomState};
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gyre_core::generated::{LAST_APPLIED, is_placeholder};
use gyre_core::object::GroupVersionKind;
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

/// Values of at least this many bytes are replaced wherever they occur.
const ANYWHERE: usize = 8;
/// Values of at least this many bytes are replaced as whole words: not `root` in `rootless`.
const AS_WORD: usize = 3;
/// The stored part of a value. After a match, the rest of the string is removed.
const KEPT: usize = 256;
const MOST_BYTES: usize = 4 << 20;
/// The search needs some tens of bytes per byte, so only beginnings are searched for.
const BEGINNING: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Error {
    #[error("there are too many values of Secrets to hide all of them")]
    TooMany,
    #[error(transparent)]
    NotJson(#[from] NotJson),
}

/// The key of placeholders. Without it, nobody can test guessed values.
#[derive(Clone)]
pub(super) struct Key([u8; 32]);

impl Key {
    pub(super) fn random() -> Self {
        let state = RandomState::new();
        let mut key = [0; 32];
        for (number, chunk) in key.chunks_mut(8).enumerate() {
            chunk.copy_from_slice(&state.hash_one(number).to_le_bytes());
        }
        Self(key)
    }

    /// Returns the placeholder of a value: a valid name, so it can replace any string.
    fn placeholder(&self, value: &[u8]) -> String {
        let digest = Digest::of(&[&self.0, value].concat()).to_string();
        format!("redacted-{}", digest.get(..16).unwrap_or_default())
    }
}

pub(super) struct Redactor {
    key: Key,
    known: BTreeMap<String, Known>,
    known_bytes: usize,
    search: Option<Search>,
}

#[derive(Clone)]
struct Known {
    placeholder: String,
    is_cut: bool,
}

struct Search {
    beginnings: AhoCorasick,
    /// The values with each beginning, by pattern.
    values: Vec<Vec<(String, Known)>>,
}

impl Redactor {
    pub(super) fn new(key: Key) -> Self {
        Self { key, known: BTreeMap::new(), known_bytes: 0, search: None }
    }

    /// Redacts the values of this Secret from now on; other objects are ignored.
    pub(super) fn learn(&mut self, json: &[u8]) -> Result<(), Error> {
        let text = str::from_utf8(json).map_err(|_| NotJson)?;
        if !is_secret(text) {
            return Ok(());
        }
        let mut values: BTreeSet<Vec<u8>> = BTreeSet::new();
        strings::replace(text, |path, string| {
            match path {
                [Step::Key(field), Step::Key(_)] if field == "data" => {
                    values.extend(STANDARD.decode(string).ok().filter(|value| !is_placeholder(value)));
                }
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

    /// Values that are learned first must leave room for those of calls.
    pub(super) fn is_half_full(&self) -> bool {
        self.known_bytes > MOST_BYTES / 2
    }

    /// Returns the inputs without values of Secrets; `None` if there were none.
    pub(super) fn redact(&mut self, inputs: &CallInputs) -> Result<Option<CallInputs>, Error> {
        let read = || inputs.reads.values().flatten().flatten();
        for object in
            [&inputs.parent].into_iter().chain(&inputs.members).chain(inputs.children.values().flatten()).chain(read())
        {
            self.learn(object)?;
        }
        if self.known.is_empty() && !inputs.has_secrets() {
            return Ok(None);
        }
        let mut redacted = inputs.clone();
        let mut is_changed = false;
        let objects = [&mut redacted.parent, &mut redacted.settings].into_iter();
        for object in objects.chain(&mut redacted.members).chain(redacted.children.values_mut().flatten()) {
            is_changed |= self.redact_object(object)?;
        }
        for (question, mut reply) in std::mem::take(&mut redacted.reads) {
            for object in reply.iter_mut().flatten() {
                is_changed |= self.redact_object(object)?;
            }
            // A plugin that got a redacted name reads by that name.
            let asked = self.redact_question(&question)?;
            insert_both(&mut redacted.reads, asked, question, reply);
        }
        Ok(is_changed.then_some(redacted))
    }

    fn redact_object(&mut self, object: &mut Bytes) -> Result<bool, Error> {
        let text = str::from_utf8(object).map_err(|_| NotJson)?;
        let is_secret = is_secret(text);
        let key = self.key.clone();
        let search = self.search()?;
        let replaced = strings::replace(text, |path, string| match path {
            [Step::Key(field), Step::Key(_)] if is_secret && field == "data" => {
                let value = STANDARD.decode(string).unwrap_or_else(|_| string.as_bytes().to_vec());
                // The repeated call needs the digest.
                (!is_placeholder(&value)).then(|| STANDARD.encode(key.placeholder(&value)))
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

/// Removes values of Secrets, and secret settings, from what is shown to people, plain and in
/// base64.
pub struct Redaction(Redactor);

impl Redaction {
    /// Learns the Secrets among these objects, and secret settings; `None` if there are too many.
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

    /// Returns the redacted object; null if it cannot be read.
    pub fn object(&mut self, object: &Value) -> Value {
        let mut text = Bytes::from(object.to_string().into_bytes());
        match self.0.redact_object(&mut text) {
            Ok(_) => serde_json::from_slice(&text).unwrap_or_default(),
            Err(_) => Value::Null,
        }
    }

    /// Returns the redacted answer, without texts that are not JSON.
    pub fn answer(&mut self, mut answer: AnswerLine) -> AnswerLine {
        let mut sentences: Vec<&mut String> = Vec::new();
        for line in &mut answer.log {
            sentences.push(&mut line.message);
            sentences.extend(line.fields.iter_mut().map(|(_, value)| value));
        }
        match &mut answer.result {
            ResultLine::Response(response) => {
                response.objects_mut().for_each(|text| self.text(text));
                sentences.extend(response.sentences_mut());
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

    /// Returns the redacted sentence.
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

    /// Returns the redacted string; `None` if nothing was found.
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
        found.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
        let mut replaced = String::new();
        let mut copied = 0;
        for (range, placeholder) in found {
            if range.start >= copied {
                replaced.push_str(string.get(copied..range.start).unwrap_or_default());
                replaced.push_str(placeholder);
            }
            // The rest of an overlapping match is removed without a second placeholder.
            copied = copied.max(range.end);
        }
        replaced.push_str(string.get(copied..).unwrap_or_default());
        Some(replaced)
    }
}

impl CallInputs {
    fn has_secrets(&self) -> bool {
        let read = self.reads.values().flatten().flatten();
        let mut objects = [&self.parent].into_iter().chain(&self.members).chain(self.children.values().flatten()).chain(read);
        objects.any(|object| str::from_utf8(object).is_ok_and(is_secret))
    }
}

fn insert_both(reads: &mut BTreeMap<Question, Reply>, redacted: Question, original: Question, reply: Reply) {
    reads.insert(redacted, reply.clone());
    reads.insert(original, reply);
}

fn is_word(string: &str, range: Range<usize>) -> bool {
    let before = string.get(..range.start).and_then(|before| before.chars().next_back());
    let after = string.get(range.end..).and_then(|after| after.chars().next());
    !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
}

/// The parts of a value that may be copied alone: lines of a text, strings of JSON.
fn parts(value: &str) -> BTreeSet<String> {
    let mut parts: BTreeSet<String> = value.lines().map(str::trim).map(str::to_owned).collect();
    if value.trim_start().starts_with(['{', '[']) && serde_json::from_str::<serde::de::IgnoredAny>(value).is_ok() {
        let _ = strings::replace(value, |_, string| {
            parts.insert(string.to_owned());
            None
        });
    }
    parts.retain(|part| part.len() >= ANYWHERE && part != value);
    // People often remove the line break at the end of files.
    parts.insert(value.trim().to_owned());
    parts
}

/// Collects the strings that a schema marks as secret. serde_json has limited the depth.
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

/// Returns whether the text is a Secret or a list of them, in any spelling.
fn is_secret(json: &str) -> bool {
    if !json.contains("Secret") && !json.contains(r"\u") {
        return false;
    }
    let text = |name| raw::member(json, name).and_then(raw::text).unwrap_or_default();
    let GroupVersionKind { group, kind, .. } = GroupVersionKind::from_api_version(&text("apiVersion"), &text("kind"));
    group.is_empty() && (kind == "Secret" || kind == "SecretList")
}

#[cfg(test)]
mod tests;
