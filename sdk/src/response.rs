//! The answers of a plugin.

use std::fmt::Display;
use std::time::Duration;

use serde::Serialize;

use crate::host;
use crate::kind::ObjectRef;

/// The desired state of one child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Child {
    /// This object, given as JSON, should exist with these fields. Other fields are left to other managers.
    Apply(Vec<u8>),
    /// If it exists, leave it as it is; if not, do not create it.
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

/// A `metav1.Condition` of the parent. The host fills in `observedGeneration` and `lastTransitionTime`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The condition's type, in CamelCase, e.g. `Ready`.
    pub kind: String,
    /// The status of the condition.
    pub status: ConditionStatus,
    /// One word in CamelCase, for programs.
    pub reason: String,
    /// A sentence, for people.
    pub message: String,
}

impl Condition {
    /// A condition of this type.
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

/// A Kubernetes Event about the parent. A plugin returns it whenever it applies; the host does not publish it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Normal or Warning.
    pub severity: Severity,
    /// One word in CamelCase, for programs.
    pub reason: String,
    /// A sentence, for people.
    pub message: String,
}

impl Event {
    /// An event that is as it should be.
    pub fn normal(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self { severity: Severity::Normal, reason: reason.into(), message: message.into() }
    }

    /// An event that someone should look at.
    pub fn warning(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::normal(reason, message) }
    }
}

/// A condition, and an event with the same reason and message: [`Response::report`] sets both.
///
/// ```
/// use gyre_sdk::{Report, Response};
///
/// let response = Response::status_only().report(Report::not_ready("TemplateMissing", "there is no ConfigMap welcome"));
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
    /// A condition of this type. The event is `Normal` if the condition is `True`, otherwise a `Warning`.
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

    /// `Ready` is `True`, and the event is `Normal`.
    pub fn ready(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new("Ready", ConditionStatus::True, reason, message)
    }

    /// `Ready` is `False`, and the event is a `Warning`.
    pub fn not_ready(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new("Ready", ConditionStatus::False, reason, message)
    }

    /// With another severity of the event.
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }
}

/// The children and the status that should exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// All children that should exist; owned objects that are not among them are deleted. None: leave the children as they are.
    pub children: Option<Vec<Child>>,
    /// The whole status that the plugin owns, as a JSON object without `conditions` and `observedGeneration`. None: leave it.
    pub status: Option<Vec<u8>>,
    /// Conditions to set in the status. Types that are not named are left as they are.
    pub conditions: Vec<Condition>,
    /// Events that hold.
    pub events: Vec<Event>,
    /// Call again after this time, even if nothing changes.
    pub requeue_after: Option<Duration>,
}

impl Response {
    /// Exactly the children that are added to it should exist; **without any, all existing children are deleted**.
    pub fn children() -> Self {
        Self { children: Some(Vec::new()), ..Self::status_only() }
    }

    /// Existing children stay as they are. Only the status, conditions and events that are added to it are written.
    pub fn status_only() -> Self {
        Self { children: None, status: None, conditions: Vec::new(), events: Vec::new(), requeue_after: None }
    }

    /// This child should exist, with these fields: one from [`k8s`](crate::k8s), a [`DynamicObject`](crate::DynamicObject), or anything
    /// that serialises to an object with `apiVersion`, `kind` and `metadata.name`. The namespace defaults to the parent's. The host adds
    /// the owner reference and its labels; fields that are not given are left to others.
    ///
    /// # Errors
    ///
    /// [`Failure::Terminal`] if it cannot be serialised.
    pub fn apply(mut self, object: &impl Serialize) -> Result<Self, Failure> {
        self.children.get_or_insert_default().push(Child::Apply(to_json(object)?));
        Ok(self)
    }

    /// If this child exists it stays as it is; if not, it is not created. So a finished Job that its TTL removed is not run
    /// again.
    pub fn keep(mut self, object: ObjectRef) -> Self {
        self.children.get_or_insert_default().push(Child::Keep(object));
        self
    }

    /// The whole status that the plugin owns, without `conditions` and `observedGeneration`, which the host fills in.
    ///
    /// # Errors
    ///
    /// [`Failure::Terminal`] if it cannot be serialised.
    pub fn status(mut self, status: &impl Serialize) -> Result<Self, Failure> {
        self.status = Some(to_json(status)?);
        Ok(self)
    }

    /// Sets a condition in the status.
    pub fn condition(mut self, condition: Condition) -> Self {
        self.conditions.push(condition);
        self
    }

    /// Sets a condition in the status, and adds an event with the same reason and message.
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

    /// Call again after this time, even if nothing changes.
    pub fn requeue_after(mut self, delay: Duration) -> Self {
        self.requeue_after = Some(delay);
        self
    }
}

/// The reason why there is no response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Try again with back-off.
    Transient(String),
    /// Try again after that time.
    RetryAfter(Duration, String),
    /// Do not try again until an input changes.
    Terminal(String),
}

impl Failure {
    /// Try again with back-off.
    pub fn transient(message: impl Display) -> Self {
        Self::Transient(message.to_string())
    }

    /// Try again after that time.
    pub fn retry_after(delay: Duration, message: impl Display) -> Self {
        Self::RetryAfter(delay, message.to_string())
    }

    /// Do not try again until an input changes.
    pub fn terminal(message: impl Display) -> Self {
        Self::Terminal(message.to_string())
    }
}

/// A kind that is not served yet may be served soon. The other read errors persist until something changes.
impl From<host::Error> for Failure {
    fn from(error: host::Error) -> Self {
        match error {
            host::Error::NotServed(_) => Self::transient(error),
            _ => Self::terminal(error),
        }
    }
}

/// The answer for a parent that is being deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Teardown {
    /// The children and the status that should still exist.
    pub response: Response,
    /// Nothing is left to do: the parent is removed once the children that must be deleted are gone.
    pub done: bool,
}

impl Teardown {
    /// Nothing is left to do, and no child should remain.
    pub fn done() -> Self {
        Self { response: Response::children(), done: true }
    }

    /// This should still exist, and more remains to be done.
    pub fn waiting(response: Response) -> Self {
        Self { response, done: false }
    }
}

fn to_json(value: &impl Serialize) -> Result<Vec<u8>, Failure> {
    serde_json::to_vec(value).map_err(Failure::terminal)
}
