//! The result of a run of the host.

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

/// The writes of the host and the calls of the plugin since the last run, and the parents.
pub struct Run {
    pub(crate) host_run: HostRun,
    pub(crate) calls: Vec<Arc<CallRecord>>,
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
        &self.host_run.actions
    }

    /// Returns the actions that the API server rejected.
    pub fn refusals(&self) -> impl Iterator<Item = &Action> {
        self.plan().iter().filter(|action| action.refusal.is_some())
    }

    /// Returns the children as last written, in the order in which they were first written.
    pub fn children(&self) -> Vec<&Value> {
        self.host_run.children()
    }

    /// Returns a parent at the end of the run.
    ///
    /// # Errors
    ///
    /// If there is no such parent.
    pub fn parent(&self, parent: impl Into<Reference>) -> Result<&Value> {
        let reference = parent.into();
        reference.check()?;
        let parents = &self.host_run.parents;
        parents.iter().find(|parent| reference.names(&Subject::of(parent))).ok_or_else(|| {
            let there = list(parents.iter().map(Subject::of));
            Error::new(format!("there is no parent {} {}; there is {there}", reference.kind, reference.name))
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
            let there = list(conditions.iter().filter_map(|condition| condition.get("type")?.as_str()));
            Error::new(format!("there is no condition {kind}; there is {there}"))
        })
    }

    /// Returns the published events.
    pub fn events(&self) -> Vec<Event> {
        self.plan().iter().filter_map(event).collect()
    }

    /// Returns the calls of the plugin, with their inputs, reads and answers.
    pub fn calls(&self) -> &[Arc<CallRecord>] {
        &self.calls
    }

    /// Returns the distinct reads (`get ConfigMap.v1 settings`) in the order of the calls. Children
    /// are not included, because every call gets them.
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

    /// Returns the log lines of the plugin.
    pub fn log(&self) -> Vec<&LogLine> {
        self.calls.iter().flat_map(|call| &call.answer.log).collect()
    }

    /// Returns the plan, the children and the statuses, like the `expected.yaml` of `gyre test`.
    pub fn summary(&self) -> Value {
        self.host_run.summary()
    }

    /// Asserts the plan, one action per line: `create Job default/hello`. Spaces do not matter.
    ///
    /// # Panics
    ///
    /// If the plan differs, with the difference.
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
