//! The results of a plugin: response, failure and teardown.

use std::fmt::Display;
use std::time::Duration;

use serde::Serialize;

use crate::host;
use crate::kind::ObjectRef;

/// The desired state of one child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Child {
    /// This JSON object should exist with these fields. Other fields belong to other managers.
    Apply(Vec<u8>),
    /// If it exists, it stays as it is; if not, it is not created.
    Keep(ObjectRef),
}

/// The status of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// It is not known whether it holds.
    Unknown,
}

impl From<bool> for ConditionStatus {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

/// A `metav1.Condition` of the parent. The host sets `observedGeneration` and `lastTransitionTime`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The type in CamelCase, e.g. `Ready`.
    pub kind: String,
    /// The status.
    pub status: ConditionStatus,
    /// A reason in CamelCase, for programs.
    pub reason: String,
    /// A sentence for people.
    pub message: String,
}

impl Condition {
    /// Returns a condition of this type.
    pub fn new(
        kind: impl Into<String>,
        status: impl Into<ConditionStatus>,
        reason: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self { kind: kind.into(), status: status.into(), reason: reason.into(), message: message.into() }
    }
}

/// The type of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// `Normal`.
    Normal,
    /// `Warning`.
    Warning,
}

/// An Event about the parent. Return it whenever it applies; the host does not repeat it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The type of the event.
    pub severity: Severity,
    /// A reason in CamelCase, for programs.
    pub reason: String,
    /// A sentence for people.
    pub message: String,
}

impl Event {
    /// Returns an event of type `Normal`.
    pub fn normal(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self { severity: Severity::Normal, reason: reason.into(), message: message.into() }
    }

    /// Returns an event of type `Warning`.
    pub fn warning(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::normal(reason, message) }
    }
}

/// A condition, and an event with the same reason and message. [`Response::report`] sets both.
///
/// ```
/// use gyre_sdk::{Report, Response};
///
/// let report = Report::not_ready("TemplateMissing", "there is no ConfigMap welcome");
/// let response = Response::status_only().report(report);
/// assert_eq!(response.conditions[0].kind, "Ready");
/// assert_eq!(response.events[0].reason, "TemplateMissing");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The condition.
    pub condition: Condition,
    /// The event's severity.
    pub severity: Severity,
}

impl Report {
    /// Returns a report. The event is `Normal` if the status is `True`, otherwise a `Warning`.
    pub fn new(
        kind: impl Into<String>,
        status: impl Into<ConditionStatus>,
        reason: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        let condition = Condition::new(kind, status, reason, message);
        let severity = if condition.status == ConditionStatus::True { Severity::Normal } else { Severity::Warning };
        Self { condition, severity }
    }

    /// Returns the condition `Ready` with status `True`, and a `Normal` event.
    pub fn ready(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new("Ready", ConditionStatus::True, reason, message)
    }

    /// Returns the condition `Ready` with status `False`, and a `Warning` event.
    pub fn not_ready(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new("Ready", ConditionStatus::False, reason, message)
    }

    /// Sets the severity of the event.
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }
}

/// The children and the status that should exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// All children that should exist; other children are deleted. `None` leaves all as they are.
    pub children: Option<Vec<Child>>,
    /// The complete status of the plugin as a JSON object, without `conditions` and
    /// `observedGeneration`. `None` leaves it as it is.
    pub status: Option<Vec<u8>>,
    /// Conditions to set in the status. Conditions of other types are left as they are.
    pub conditions: Vec<Condition>,
    /// Events that apply.
    pub events: Vec<Event>,
    /// The plugin is called again after this time, even if nothing changes.
    pub requeue_after: Option<Duration>,
}

impl Response {
    /// Returns a response with children. **Without any, all existing children are deleted.**
    pub fn children() -> Self {
        Self { children: Some(Vec::new()), ..Self::status_only() }
    }

    /// Returns a response that leaves the children as they are.
    pub fn status_only() -> Self {
        Self { children: None, status: None, conditions: Vec::new(), events: Vec::new(), requeue_after: None }
    }

    /// Adds a child that should exist with these fields: a type of [`k8s`](crate::k8s), a
    /// [`DynamicObject`](crate::DynamicObject), or anything that serialises to an object with
    /// `apiVersion`, `kind` and `metadata.name`. The namespace defaults to the parent's. The host
    /// adds the owner reference and its labels.
    ///
    /// # Errors
    ///
    /// [`Failure::Terminal`] if it cannot be serialised.
    pub fn apply(mut self, object: &impl Serialize) -> Result<Self, Failure> {
        self.children.get_or_insert_default().push(Child::Apply(to_json(object)?));
        Ok(self)
    }

    /// Adds a child that stays if it exists, e.g. a finished Job; it is not created if it does not.
    pub fn keep(mut self, object: ObjectRef) -> Self {
        self.children.get_or_insert_default().push(Child::Keep(object));
        self
    }

    /// Sets the complete status of the plugin. The host adds `conditions` and `observedGeneration`.
    ///
    /// # Errors
    ///
    /// [`Failure::Terminal`] if it cannot be serialised.
    pub fn status(mut self, status: &impl Serialize) -> Result<Self, Failure> {
        self.status = Some(to_json(status)?);
        Ok(self)
    }

    /// Adds a condition.
    pub fn condition(mut self, condition: Condition) -> Self {
        self.conditions.push(condition);
        self
    }

    /// Adds a condition, and an event with the same reason and message.
    pub fn report(self, report: Report) -> Self {
        let Report { condition, severity } = report;
        let event = Event { severity, reason: condition.reason.clone(), message: condition.message.clone() };
        self.condition(condition).event(event)
    }

    /// Adds an event.
    pub fn event(mut self, event: Event) -> Self {
        self.events.push(event);
        self
    }

    /// Sets the time after which the plugin is called again, even if nothing changes.
    pub fn requeue_after(mut self, delay: Duration) -> Self {
        self.requeue_after = Some(delay);
        self
    }
}

/// An error that a plugin returns instead of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The call is retried with back-off.
    Transient(String),
    /// The call is retried after that time.
    RetryAfter(Duration, String),
    /// The call is retried only when an input changes.
    Terminal(String),
}

impl Failure {
    /// Returns a failure after which the call is retried with back-off.
    pub fn transient(message: impl Display) -> Self {
        Self::Transient(message.to_string())
    }

    /// Returns a failure after which the call is retried after that time.
    pub fn retry_after(delay: Duration, message: impl Display) -> Self {
        Self::RetryAfter(delay, message.to_string())
    }

    /// Returns a failure after which the call is retried only when an input changes.
    pub fn terminal(message: impl Display) -> Self {
        Self::Terminal(message.to_string())
    }
}

/// `ReadError::NotServed` is transient, because the kind may be served soon. Others are terminal.
impl From<host::Error> for Failure {
    fn from(error: host::Error) -> Self {
        match error {
            host::Error::NotServed(_) => Self::transient(error),
            _ => Self::terminal(error),
        }
    }
}

/// The result for a parent that is being deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Teardown {
    /// The children and the status that should still exist.
    pub response: Response,
    /// If true, the parent is removed once the children that must be deleted are gone.
    pub done: bool,
}

impl Teardown {
    /// Returns a finished teardown, after which no child remains.
    pub fn done() -> Self {
        Self { response: Response::children(), done: true }
    }

    /// Returns an unfinished teardown, during which this should exist.
    pub fn waiting(response: Response) -> Self {
        Self { response, done: false }
    }
}

fn to_json(value: &impl Serialize) -> Result<Vec<u8>, Failure> {
    serde_json::to_vec(value).map_err(Failure::terminal)
}
