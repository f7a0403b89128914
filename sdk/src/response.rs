//! What a plugin answers.

use std::fmt::Display;
use std::time::Duration;

use serde::Serialize;

use crate::cluster;
use crate::json;
use crate::kind::ObjectRef;

/// What is wanted of one child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Child {
    /// This object, given as JSON, should exist with these fields. Fields that are not given are left to others.
    Apply(Vec<u8>),
    /// If it exists, leave it as it is; if not, do not create it.
    Keep(ObjectRef),
}

/// The status of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// `True`.
    Yes,
    /// `False`.
    No,
    /// `Unknown`.
    Unknown,
}

/// A `metav1.Condition` of the parent. The host fills in `observedGeneration` and `lastTransitionTime`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The condition's type, in CamelCase, e.g. `Ready`.
    pub kind: String,
    /// Whether it holds.
    pub status: Truth,
    /// One word in CamelCase, for programs.
    pub reason: String,
    /// A sentence, for people.
    pub message: String,
}

impl Condition {
    /// A condition that holds.
    pub fn yes(kind: impl Into<String>, reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind: kind.into(), status: Truth::Yes, reason: reason.into(), message: message.into() }
    }

    /// A condition that does not hold.
    pub fn no(kind: impl Into<String>, reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self { status: Truth::No, ..Self::yes(kind, reason, message) }
    }

    /// A condition of which it is not known whether it holds.
    pub fn unknown(kind: impl Into<String>, reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self { status: Truth::Unknown, ..Self::yes(kind, reason, message) }
    }
}

/// Whether an event is as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// `Normal`.
    Normal,
    /// `Warning`.
    Warning,
}

/// A Kubernetes Event about the parent. A plugin returns it every time that it holds; not repeating it is up to the host.
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

/// What should exist.
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
    /// Exactly the children that are added to it should exist; **without any, all that there are will be deleted**.
    #[expect(clippy::new_without_default, reason = "a default that deletes children would be a trap")]
    pub fn new() -> Self {
        Self { children: Some(Vec::new()), ..Self::leaving_children() }
    }

    /// Whatever children there are stay as they are.
    pub fn leaving_children() -> Self {
        Self { children: None, status: None, conditions: Vec::new(), events: Vec::new(), requeue_after: None }
    }

    /// This child should exist, with these fields: a [`Desired`](crate::Desired), or anything that serialises to an object
    /// with `apiVersion`, `kind` and `metadata.name`. The namespace defaults to the parent's. The host adds the owner
    /// reference and its labels; fields that are not given are left to others.
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

/// Why there is no response.
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

/// A kind that is not served yet may be served soon; what else keeps a plugin from reading does not pass by itself.
impl From<cluster::Error> for Failure {
    fn from(error: cluster::Error) -> Self {
        match error {
            cluster::Error::NotServed(_) => Self::transient(error),
            _ => Self::terminal(error),
        }
    }
}

/// What a parent that is being deleted still needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Teardown {
    /// What should still exist.
    pub response: Response,
    /// Nothing is left to do: the parent may go once the children that must go are gone.
    pub done: bool,
}

impl Teardown {
    /// Nothing is left to do, and no child should remain.
    pub fn done() -> Self {
        Self { response: Response::new(), done: true }
    }

    /// This should still exist, and there is more to do.
    pub fn waiting(response: Response) -> Self {
        Self { response, done: false }
    }
}

fn to_json(value: &impl Serialize) -> Result<Vec<u8>, Failure> {
    json::write(value).map_err(Failure::terminal)
}
