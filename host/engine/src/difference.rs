//! The changes that would be made: the output of `gyre diff` and `gyre shadow`.

pub mod unified;

use std::collections::BTreeMap;
use std::fmt;

use anyhow::Context as _;
use gyre_core::parent_fields::MARK_PREFIX;
use gyre_core::plan::LIST_ANNOTATION_PREFIX;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::difference::unified::unified;
use crate::program::Program;
use crate::record::Redaction;

/// The change to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    /// It is created.
    Create,
    /// It is changed.
    Update,
    /// It is deleted.
    Delete,
    /// The status of a parent.
    Status,
    /// A parent gets or loses the plugin's finalizer.
    Finalizers,
    /// An event is published.
    Event,
    /// The call about a parent fails.
    Fail,
    /// It is created only once, and would differ if it were recreated.
    WouldRecreate,
}

impl Verb {
    /// The name in plans.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Status => "status",
            Self::Finalizers => "finalizers",
            Self::Event => "event",
            Self::Fail => "fail",
            Self::WouldRecreate => "anew",
        }
    }
}

/// Names an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Subject {
    /// E.g. `batch/v1`.
    pub api_version: String,
    /// E.g. `Job`.
    pub kind: String,
    /// `None` if it is cluster-scoped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

impl Subject {
    /// The subject of an object; missing fields are empty.
    pub fn of(object: &Value) -> Self {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        Self {
            api_version: text("/apiVersion").unwrap_or_default(),
            kind: text("/kind").unwrap_or_default(),
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name").unwrap_or_default(),
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ", self.kind)?;
        if let Some(namespace) = &self.namespace {
            write!(formatter, "{namespace}/")?;
        }
        write!(formatter, "{}", self.name)
    }
}

/// A change that would be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// The verb.
    pub verb: Verb,
    /// The object.
    #[serde(flatten)]
    pub subject: Subject,
    /// The reason, if it is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// The message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The parent, if it is known.
    pub parent: Option<String>,
    /// Null if nothing exists, or it is not shown.
    pub before: Value,
    /// Null if nothing exists, or it is not shown.
    pub after: Value,
}

impl Change {
    fn text(&self) -> anyhow::Result<String> {
        let mut text = format!("{:<10} {}", self.verb.name(), self.subject);
        if let Some(message) = &self.message {
            text.push_str(&format!(": {message}"));
        }
        if let Some(refusal) = &self.refusal {
            text.push_str(&format!(" (refused: {refusal})"));
        }
        if let Some(parent) = self.parent.as_ref().filter(|parent| **parent != self.subject.to_string()) {
            text.push_str(&format!(", of {parent}"));
        }
        text.push('\n');
        if self.verb != Verb::Delete {
            let shown = unified(&shown(&self.before)?, &shown(&self.after)?);
            shown.lines().for_each(|line| text.push_str(&format!("  {line}\n")));
        }
        Ok(text)
    }
}

/// The number of changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// Changes that are not refused.
    pub by_verb: BTreeMap<Verb, usize>,
    /// Changes that would be refused.
    pub refused: usize,
}

impl Counts {
    /// Counts changes.
    pub fn of<'a>(changes: impl IntoIterator<Item = &'a Change>) -> Self {
        let mut counts = Self::default();
        for change in changes {
            match &change.refusal {
                Some(_) => counts.refused += 1,
                None => *counts.by_verb.entry(change.verb).or_default() += 1,
            }
        }
        counts
    }

    pub(crate) fn get(&self, verb: Verb) -> usize {
        self.by_verb.get(&verb).copied().unwrap_or_default()
    }

    /// Returns whether there are no changes.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether anything would be done, except to children that are recreated.
    pub fn is_change(&self) -> bool {
        self.refused > 0 || self.by_verb.keys().any(|verb| *verb != Verb::WouldRecreate)
    }

    pub(crate) fn add(&mut self, other: &Self) {
        other.by_verb.iter().for_each(|(verb, count)| *self.by_verb.entry(*verb).or_default() += count);
        self.refused += other.refused;
    }

    pub(crate) fn subtract(&mut self, other: &Self) {
        for (verb, count) in &other.by_verb {
            if let Some(sum) = self.by_verb.get_mut(verb) {
                *sum = sum.saturating_sub(*count);
            }
        }
        self.by_verb.retain(|_, count| *count > 0);
        self.refused = self.refused.saturating_sub(other.refused);
    }
}

/// The changes that would be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// The number of parents.
    pub parents: usize,
    /// The number of parents with changes.
    pub changing: usize,
    /// The number of changes.
    pub counts: Counts,
    /// Notes, each half a sentence.
    pub remarks: Vec<String>,
    /// All changes, or as many as are kept.
    pub changes: Vec<Change>,
}

impl Difference {
    pub(crate) fn summary(&self) -> String {
        let change = if self.changing == 1 { "changes" } else { "change" };
        let parents = if self.parents == 1 { "parent" } else { "parents" };
        let mut text = format!("{} of {} {parents} {change}", self.changing, self.parents);
        let counts = [
            (Verb::Create, ["child created", "children created"]),
            (Verb::Update, ["child changed", "children changed"]),
            (Verb::Delete, ["child deleted", "children deleted"]),
            (Verb::Status, ["status written", "statuses written"]),
            (Verb::Finalizers, ["finalizer added or removed", "finalizers added or removed"]),
            (Verb::Fail, ["call fails", "calls fail"]),
            (Verb::WouldRecreate, ["child would differ if recreated", "children would differ if recreated"]),
        ];
        let counted: Vec<String> = counts
            .into_iter()
            .map(|(verb, [one, several])| (self.counts.get(verb), one, several))
            .filter(|(count, _, _)| *count > 0)
            .map(|(count, one, several)| format!("{count} {}", if count == 1 { one } else { several }))
            .collect();
        if !counted.is_empty() {
            text.push_str(&format!(": {}", counted.join(", ")));
        }
        if self.counts.refused > 0 {
            let changes = if self.counts.refused == 1 { "change" } else { "changes" };
            text.push_str(&format!("; {} {changes} would be refused", self.counts.refused));
        }
        for remark in &self.remarks {
            text.push_str(&format!("; {remark}"));
        }
        text
    }

    /// Returns the changes, unless only the summary is wanted, and the summary.
    ///
    /// # Errors
    ///
    /// If an object cannot be written as YAML.
    pub fn text(&self, only_summary: bool) -> anyhow::Result<String> {
        let mut text = String::new();
        if !only_summary {
            for change in &self.changes {
                text.push_str(&change.text()?);
            }
        }
        Ok(format!("{text}{}\n", self.summary()))
    }

    /// Returns the difference as JSON, for programs.
    pub fn json(&self) -> Value {
        let mut json = serde_json::to_value(self).unwrap_or_default();
        if let Some(fields) = json.as_object_mut() {
            fields.insert("summary".to_owned(), Value::from(self.summary()));
        }
        json
    }
}

/// Returns an object without fields that change with each write or name the writer.
pub fn without_bookkeeping(mut object: Value) -> Value {
    if let Some(metadata) = object.pointer_mut("/metadata").and_then(Value::as_object_mut) {
        for field in ["managedFields", "resourceVersion", "generation"] {
            metadata.remove(field);
        }
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            let is_mark = |name: &str| [LIST_ANNOTATION_PREFIX, MARK_PREFIX].iter().any(|prefix| name.starts_with(prefix));
            annotations.retain(|name, _| !is_mark(name));
            if annotations.is_empty() {
                metadata.remove("annotations");
            }
        }
    }
    object
}

/// The remark if [`redacted`] hides all objects.
pub const NOT_SHOWN: &str = "objects are not shown, because there are too many values of Secrets to hide all of them";

/// Redacts Secrets that were seen or are desired, or hides all objects if there are too many
/// values. Returns whether redaction was possible.
pub fn redacted(changes: Vec<Change>, seen: &[&[u8]], programs: &[&Program]) -> (Vec<Change>, bool) {
    let wanted = changes.iter().flat_map(|change| [&change.before, &change.after]).filter(|object| object.is_object());
    let wanted: Vec<String> = wanted.map(Value::to_string).collect();
    let redaction = Redaction::new(seen.iter().copied().chain(wanted.iter().map(String::as_bytes)), programs);
    let is_redacted = redaction.is_some();
    (without_secrets(changes, redaction), is_redacted)
}

fn without_secrets(changes: Vec<Change>, mut redaction: Option<Redaction>) -> Vec<Change> {
    let shown = |change: Change| match &mut redaction {
        Some(redaction) => Change {
            message: change.message.map(|message| redaction.sentence(&message)),
            refusal: change.refusal.map(|refusal| redaction.sentence(&refusal)),
            before: redaction.object(&change.before),
            after: redaction.object(&change.after),
            ..change
        },
        None => Change {
            message: None,
            refusal: change.refusal.map(|_| "not shown".to_owned()),
            before: Value::Null,
            after: Value::Null,
            ..change
        },
    };
    changes.into_iter().map(shown).collect()
}

/// Writes a value as YAML, with a line break at the end.
///
/// # Errors
///
/// If it cannot be written as YAML.
pub fn to_yaml(value: &Value) -> anyhow::Result<String> {
    let mut text = serde_saphyr::to_string(value).context("cannot write YAML")?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

fn shown(object: &Value) -> anyhow::Result<String> {
    if object.is_null() { Ok(String::new()) } else { to_yaml(object) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn change(verb: Verb, name: &str, refusal: Option<&str>) -> Change {
        let subject = Subject { api_version: "v1".to_owned(), kind: "Pod".to_owned(), namespace: None, name: name.to_owned() };
        let refusal = refusal.map(str::to_owned);
        Change {
            verb,
            subject,
            refusal,
            message: None,
            parent: Some("Site one".to_owned()),
            before: json!({"a": 1}),
            after: json!({"a": 2}),
        }
    }

    #[test]
    fn what_was_added_can_be_subtracted_again() {
        let all = [change(Verb::Create, "a", None), change(Verb::Create, "b", None), change(Verb::Delete, "c", Some("no"))];
        let [one, rest] = [&all[..1], &all[1..]].map(Counts::of);
        let mut sum = one.clone();
        sum.add(&rest);
        assert_eq!(sum, Counts::of(&all));
        assert_eq!((sum.get(Verb::Create), sum.get(Verb::Delete), sum.refused), (2, 0, 1));
        sum.subtract(&rest);
        assert_eq!(sum, one);
        sum.subtract(&one);
        assert!(sum.is_empty());
    }

    #[test]
    fn a_difference_is_described_in_words_and_survives_json() {
        let mut failing = change(Verb::Fail, "it", None);
        failing.message = Some("it trapped".to_owned());
        let changes = vec![
            change(Verb::Update, "a", None),
            change(Verb::Delete, "b", None),
            change(Verb::Create, "c", Some("no")),
            failing,
        ];
        let counts = Counts::of(&changes);
        let difference = Difference { parents: 5, changing: 1, counts, remarks: vec!["three wait".to_owned()], changes };
        let expected = "\
update     Pod a, of Site one
  @@ -1 +1 @@
  -a: 1
  +a: 2
delete     Pod b, of Site one
create     Pod c (refused: no), of Site one
  @@ -1 +1 @@
  -a: 1
  +a: 2
fail       Pod it: it trapped, of Site one
  @@ -1 +1 @@
  -a: 1
  +a: 2
1 of 5 parents changes: 1 child changed, 1 child deleted, 1 call fails; 1 change would be refused; three wait
";
        assert_eq!(difference.text(false).unwrap(), expected);
        assert_eq!(difference.text(true).unwrap(), expected.lines().last().unwrap().to_owned() + "\n");
        assert_eq!(serde_json::from_value::<Difference>(difference.json()).unwrap(), difference);
    }
}
