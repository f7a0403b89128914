//! The result of a run of the host.

use std::fmt;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::reference::Reference;
use crate::subject::Subject;
use crate::yaml;

/// The writes of the host and the calls of the plugin since the last run, and the parents.
#[derive(Deserialize)]
pub struct Run {
    plan: Vec<Action>,
    children: Vec<Value>,
    parents: Vec<Value>,
    calls: Vec<Value>,
    reads: Vec<String>,
    log: Vec<LogLine>,
    summary: Value,
}

/// An action that the host performed or attempted. It prints as in plans.
#[derive(Clone, Debug, Deserialize)]
pub struct Action {
    text: String,
    /// The kind of action: `create`, `update`, `delete`, `status`, `finalizers` or `event`.
    pub verb: String,
    /// The object of the action; for an event, the object that it is about.
    pub subject: Subject,
    /// The object that was sent; for a deletion, the deleted object.
    pub object: Value,
    /// Why the API server rejected it, or `None` if it did not.
    pub refusal: Option<String>,
}

impl fmt::Display for Action {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

/// A line of a plugin's log.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct LogLine {
    /// `log`, `stdout` or `stderr`.
    pub source: String,
    /// `trace`, `debug`, `info`, `warn` or `error`.
    pub level: String,
    /// The text.
    pub message: String,
    /// Keys and values.
    #[serde(default)]
    pub fields: Vec<(String, String)>,
}

/// A published event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The object of the event.
    pub about: Subject,
    /// `Normal` or `Warning`.
    pub severity: String,
    /// The reason.
    pub reason: String,
    /// The message.
    pub message: String,
}

/// Prints e.g. `Echo default/hello: Normal JobCreated: Job hello runs the message`.
impl fmt::Display for Event {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { about, severity, reason, message } = self;
        write!(formatter, "{about}: {severity} {reason}: {message}")
    }
}

impl Run {
    /// Returns the writes, refusals and events of the host, in order.
    pub fn plan(&self) -> &[Action] {
        &self.plan
    }

    /// Returns the actions that the API server rejected.
    pub fn refusals(&self) -> impl Iterator<Item = &Action> {
        self.plan.iter().filter(|action| action.refusal.is_some())
    }

    /// Returns the children as last written, in the order in which they were first written.
    pub fn children(&self) -> &[Value] {
        &self.children
    }

    /// Returns a parent at the end of the run.
    ///
    /// # Errors
    ///
    /// If there is no such parent.
    pub fn parent(&self, parent: impl Into<Reference>) -> Result<&Value> {
        let reference = parent.into();
        self.parents.iter().find(|parent| reference.names(&Subject::of(parent))).ok_or_else(|| {
            let there = list(self.parents.iter().map(|parent| Subject::of(parent).to_string()));
            Error::new(format!("there is no parent {reference}; there is {there}"))
        })
    }

    /// Returns a parent's status at the end of the run, or null without one.
    ///
    /// # Errors
    ///
    /// If there is no such parent.
    pub fn status(&self, parent: impl Into<Reference>) -> Result<&Value> {
        Ok(self.parent(parent)?.get("status").unwrap_or(&Value::Null))
    }

    /// Returns a parent's conditions at the end of the run.
    ///
    /// # Errors
    ///
    /// If there is no such parent.
    pub fn conditions(&self, parent: impl Into<Reference>) -> Result<&[Value]> {
        let conditions = self.status(parent)?.get("conditions").and_then(Value::as_array);
        Ok(conditions.map_or(&[], Vec::as_slice))
    }

    /// Returns a parent's condition of this type.
    ///
    /// # Errors
    ///
    /// If there is no such parent or condition.
    pub fn condition(&self, parent: impl Into<Reference>, kind: &str) -> Result<&Value> {
        let conditions = self.conditions(parent)?;
        let is_meant = |condition: &&Value| condition.get("type").is_some_and(|named| named == kind);
        conditions.iter().find(is_meant).ok_or_else(|| {
            let types = conditions.iter().filter_map(|condition| condition.get("type")?.as_str());
            Error::new(format!("there is no condition {kind}; there is {}", list(types.map(str::to_owned))))
        })
    }

    /// Returns the published events.
    pub fn events(&self) -> Vec<Event> {
        self.plan.iter().filter_map(event).collect()
    }

    /// Returns the first 1000 calls of the plugin, with their inputs, reads and answers, as in
    /// recordings.
    pub fn calls(&self) -> &[Value] {
        &self.calls
    }

    /// Returns the distinct reads (`get ConfigMap.v1 settings`) in the order of the calls. Children
    /// are not included, because every call gets them.
    pub fn reads(&self) -> &[String] {
        &self.reads
    }

    /// Returns the log lines of the plugin.
    pub fn log(&self) -> &[LogLine] {
        &self.log
    }

    /// Returns the plan, the children and the statuses, like the `expected.yaml` of `gyre test`.
    pub fn summary(&self) -> &Value {
        &self.summary
    }

    /// Asserts the plan, one action per line: `create Job default/hello`. Spaces do not matter.
    ///
    /// # Panics
    ///
    /// If the plan differs, with the difference.
    #[track_caller]
    pub fn assert_plan(&self, expected: &str) {
        let lines = |texts: &mut dyn Iterator<Item = &str>| {
            let words = texts.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
            words.filter(|line| !line.is_empty()).map(|line| line + "\n").collect::<String>()
        };
        let actual = lines(&mut self.plan.iter().map(|action| action.text.as_str()));
        let expected = json!({"value": lines(&mut expected.lines())});
        yaml::compare(&Value::from(actual), &expected, "lines", "the plan is not as expected");
    }

    /// Asserts that the host did nothing.
    ///
    /// # Panics
    ///
    /// If the host did something.
    #[track_caller]
    pub fn assert_nothing_done(&self) {
        self.assert_plan("");
    }

    /// Compares the [summary](Self::summary) with a file; `GYRE_BLESS=1` writes it. In a world
    /// [without controllers](crate::Setup::without_controllers), the `expected.yaml` of a case of
    /// `gyre test` has the same content, including UIDs.
    ///
    /// # Panics
    ///
    /// If they differ, or the file cannot be read or written.
    #[track_caller]
    pub fn assert_golden(&self, path: impl AsRef<Path>) {
        yaml::assert_golden(&self.summary, path);
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.plan.iter().try_for_each(|action| writeln!(formatter, "{action}"))
    }
}

fn event(action: &Action) -> Option<Event> {
    if action.verb != "event" || action.refusal.is_some() {
        return None;
    }
    let text = |field: &str| action.object.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    Some(Event { about: action.subject.clone(), severity: text("type"), reason: text("reason"), message: text("note") })
}

/// The names for a sentence.
fn list(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
