//! What happened until the host converged.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use gyre_core::text::list;
use gyre_engine::record::CallRecord;
use gyre_offline::host_run::HostRun;
use gyre_offline::plan::{Action, Subject, Verb};
use gyre_sandbox::LogLine;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::reference::Reference;
use crate::yaml;

/// What happened since the last run: the writes of the host, the calls of the plugin, and the resulting parents.
pub struct Run {
    pub(crate) host_run: HostRun,
    pub(crate) calls: Vec<Arc<CallRecord>>,
}

/// An event that was published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The object that it is about.
    pub about: Subject,
    /// `Normal` or `Warning`.
    pub severity: String,
    /// The reason, for programs.
    pub reason: String,
    /// The message, for people.
    pub message: String,
}

/// `Echo default/hello: Normal JobCreated: Job hello runs the message`.
impl fmt::Display for Event {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { about, severity, reason, message } = self;
        write!(formatter, "{about}: {severity} {reason}: {message}")
    }
}

impl Run {
    /// What the host did, in order: writes, refusals, events.
    pub fn plan(&self) -> &[Action] {
        &self.host_run.actions
    }

    /// Actions that the API server rejected.
    pub fn refusals(&self) -> impl Iterator<Item = &Action> {
        self.plan().iter().filter(|action| action.refusal.is_some())
    }

    /// The children as they were last written, in the order in which they were first written.
    pub fn children(&self) -> Vec<&Value> {
        self.host_run.children()
    }

    /// A parent as it was when the host converged.
    ///
    /// # Errors
    ///
    /// When there is no parent of that name.
    pub fn parent(&self, parent: impl Into<Reference>) -> Result<&Value> {
        let reference = parent.into();
        reference.check()?;
        let parents = &self.host_run.parents;
        parents.iter().find(|parent| reference.names(&Subject::of(parent))).ok_or_else(|| {
            let there = list(parents.iter().map(Subject::of));
            Error::new(format!("there is no parent {} {}; there is {there}", reference.kind, reference.name))
        })
    }

    /// A parent's status when the host converged; null if it had none.
    ///
    /// # Errors
    ///
    /// When there is no parent of that name.
    pub fn status(&self, parent: impl Into<Reference>) -> Result<&Value> {
        Ok(self.parent(parent)?.get("status").unwrap_or(&Value::Null))
    }

    /// A parent's conditions when the host converged.
    ///
    /// # Errors
    ///
    /// When there is no parent of that name.
    pub fn conditions(&self, parent: impl Into<Reference>) -> Result<&[Value]> {
        let conditions = self.status(parent)?.get("conditions").and_then(Value::as_array);
        Ok(conditions.map_or(&[], Vec::as_slice))
    }

    /// A condition of a parent, by its type.
    ///
    /// # Errors
    ///
    /// When there is no parent of that name, or it has no such condition.
    pub fn condition(&self, parent: impl Into<Reference>, kind: &str) -> Result<&Value> {
        let conditions = self.conditions(parent)?;
        let is_meant = |condition: &&Value| condition.get("type").is_some_and(|named| named == kind);
        conditions.iter().find(is_meant).ok_or_else(|| {
            let there = list(conditions.iter().filter_map(|condition| condition.get("type")?.as_str()));
            Error::new(format!("there is no condition {kind}; there is {there}"))
        })
    }

    /// The events that were published.
    pub fn events(&self) -> Vec<Event> {
        self.plan().iter().filter_map(event).collect()
    }

    /// The calls of the plugin, with their inputs, reads and answers.
    pub fn calls(&self) -> &[Arc<CallRecord>] {
        &self.calls
    }

    /// The reads of the plugin by name or by selector, each once, in the order of the calls: `get ConfigMap.v1 settings`. The children of a
    /// parent are not among them, because each call gets them.
    pub fn reads(&self) -> Vec<String> {
        let mut reads = Vec::new();
        for question in self.calls.iter().flat_map(|call| call.reads.keys()) {
            let question = question.to_string();
            if !reads.contains(&question) {
                reads.push(question);
            }
        }
        reads
    }

    /// What the plugin logged.
    pub fn log(&self) -> Vec<&LogLine> {
        self.calls.iter().flat_map(|call| &call.answer.log).collect()
    }

    /// The plan, the children and the statuses of the parents, as `gyre test` compares them with `expected.yaml`.
    pub fn summary(&self) -> Value {
        self.host_run.summary()
    }

    /// Asserts what the host did, with a line for each action: `create Job default/hello`. The number of spaces between words does not matter.
    ///
    /// # Panics
    ///
    /// When the host did something else, with the difference.
    #[track_caller]
    pub fn assert_plan(&self, expected: &str) {
        let lines = |texts: &mut dyn Iterator<Item = String>| {
            let words = texts.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
            words.filter(|line| !line.is_empty()).map(|line| line + "\n").collect::<String>()
        };
        let actual = lines(&mut self.plan().iter().map(Action::to_string));
        yaml::compare(&actual, &lines(&mut expected.lines().map(str::to_owned)), "the plan is not as expected");
    }

    /// Asserts that the host did nothing.
    ///
    /// # Panics
    ///
    /// When the host did something.
    #[track_caller]
    pub fn assert_nothing_done(&self) {
        self.assert_plan("");
    }

    /// Compares the [summary](Self::summary) with a file; `GYRE_BLESS=1` writes it. The `expected.yaml` of a case of `gyre test` is such a file:
    /// in a world [without controllers](crate::Setup::without_controllers), even the UIDs are the same.
    ///
    /// # Panics
    ///
    /// When they differ, or the file cannot be read or written.
    #[track_caller]
    pub fn assert_golden(&self, path: impl AsRef<Path>) {
        yaml::assert_golden(&self.summary(), path);
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.plan().iter().try_for_each(|action| writeln!(formatter, "{action}"))
    }
}

fn event(action: &Action) -> Option<Event> {
    if action.verb != Verb::Event || action.refusal.is_some() {
        return None;
    }
    let text = |field: &str| action.object.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    Some(Event { about: action.subject.clone(), severity: text("type"), reason: text("reason"), message: text("note") })
}
