//! What a plugin answers. The WIT contract documents each field; this is the host's own form of it, whatever the contract's
//! version.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::object::ObjectRef;

/// What is wanted of one child.
#[derive(Clone, Debug, PartialEq)]
pub enum Child {
    /// This object should exist, with these fields.
    Apply(Map<String, Value>),
    /// If it exists, leave it; if not, do not create it. Without a namespace: in that of the parent, if the kind has them.
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

impl Truth {
    /// As `metav1.Condition` writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Yes => "True",
            Self::No => "False",
            Self::Unknown => "Unknown",
        }
    }
}

/// A condition of the parent, without what the host fills in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// In CamelCase, e.g. `Ready`.
    pub kind: String,
    /// Whether it holds.
    pub status: Truth,
    /// One word, for programs.
    pub reason: String,
    /// A sentence, for people.
    pub message: String,
}

/// Whether an event is as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Severity {
    /// `Normal`.
    Normal,
    /// `Warning`.
    Warning,
}

/// A Kubernetes Event about the parent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    /// Normal or Warning.
    pub severity: Severity,
    /// One word, for programs.
    pub reason: String,
    /// A sentence, for people.
    pub message: String,
}

/// What should exist. The default changes nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    /// All children that should exist; none: leave them as they are.
    pub children: Option<Vec<Child>>,
    /// The whole status that the plugin owns; none: leave it as it is.
    pub status: Option<Map<String, Value>>,
    /// Conditions to set.
    pub conditions: Vec<Condition>,
    /// Events that hold.
    pub events: Vec<Event>,
    /// Call again after this time even if nothing changes.
    pub requeue_after: Option<Duration>,
}

/// Why there is no response, in the plugin's own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Try again with back-off.
    Transient(String),
    /// Try again after that time.
    RetryAfter(Duration, String),
    /// Do not try again until an input changes.
    Terminal(String),
}

/// On the way down.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Teardown {
    /// What should still exist.
    pub response: Response,
    /// Nothing is left to do.
    pub done: bool,
}
