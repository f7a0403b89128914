//! The answer of a plugin, in the host's own form. The WIT contract documents each field.
//!
//! `gyre_sandbox` converts the contract's types to these, and recordings contain them. `Json` is
//! the form of objects: parsed, or the plugin's text.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::manifest::{Propagation, Strategy};
use crate::object::{ObjectKey, ObjectRef, flat_reference};

/// A child that should exist.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DesiredChild<Json = Map<String, Value>> {
    /// The object, with these fields.
    pub object: Json,
    /// The strategy of this child; `None` is that of its kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
}

/// A child with the strategy of its kind.
impl<Json> From<Json> for DesiredChild<Json> {
    fn from(object: Json) -> Self {
        Self { object, strategy: None }
    }
}

/// One child in an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Child<Json = Map<String, Value>> {
    /// It should exist.
    Apply(DesiredChild<Json>),
    /// Leave the object if it exists. The namespace defaults to the parent's.
    Keep(#[serde(with = "flat_reference")] ObjectRef),
}

/// A child that should exist, with the strategy of its kind.
impl<Json> From<Json> for Child<Json> {
    fn from(object: Json) -> Self {
        Self::Apply(object.into())
    }
}

impl<Json> Child<Json> {
    /// The child that should exist, if it is one.
    pub fn applied(&self) -> Option<&DesiredChild<Json>> {
        match self {
            Self::Apply(child) => Some(child),
            Self::Keep(_) => None,
        }
    }

    fn applied_mut(&mut self) -> Option<&mut DesiredChild<Json>> {
        match self {
            Self::Apply(child) => Some(child),
            Self::Keep(_) => None,
        }
    }

    fn map<Other>(&self, form: &mut impl FnMut(&Json) -> Other) -> Child<Other> {
        match self {
            Self::Apply(DesiredChild { object, strategy }) => {
                Child::Apply(DesiredChild { object: form(object), strategy: *strategy })
            }
            Self::Keep(reference) => Child::Keep(reference.clone()),
        }
    }
}

/// The status of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConditionStatus {
    /// The condition holds.
    True,
    /// The condition does not hold.
    False,
    /// Nobody knows whether the condition holds.
    Unknown,
}

impl ConditionStatus {
    /// The text of `metav1.Condition`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

/// A condition of the parent, without the fields that the host fills in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// In CamelCase, e.g. `Ready`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The status of the condition.
    pub status: ConditionStatus,
    /// One word, for programs.
    pub reason: String,
    /// A sentence, for people.
    pub message: String,
}

/// The type of an Event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Severity {
    /// `Normal`.
    Normal,
    /// `Warning`.
    Warning,
}

/// A Kubernetes Event about the parent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Event {
    /// The type.
    #[serde(rename = "type")]
    pub severity: Severity,
    /// One word, for programs.
    pub reason: String,
    /// A sentence, for people.
    pub message: String,
}

/// The deletion of the parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ParentDeletion {
    /// When it is due. If that is later than now, the plugin is called again then.
    #[serde(rename = "afterMs", with = "crate::milliseconds")]
    pub after: Duration,
    /// The deletion policy of the objects that the parent owns.
    pub propagation: Propagation,
}

/// The status of one member of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MemberStatus<Json = Map<String, Value>> {
    /// The member.
    #[serde(flatten)]
    pub member: ObjectKey,
    /// The whole status that the plugin owns, or `None` to leave it as it is.
    pub status: Option<Json>,
    /// Conditions to set.
    pub conditions: Vec<Condition>,
}

impl MemberStatus {
    /// Returns the response of a plugin that would have been called about the member alone.
    pub fn as_response(&self) -> Response {
        Response { status: self.status.clone(), conditions: self.conditions.clone(), ..Response::default() }
    }
}

impl<Json> MemberStatus<Json> {
    fn map<Other>(&self, form: &mut impl FnMut(&Json) -> Other) -> MemberStatus<Other> {
        let Self { member, status, conditions } = self;
        MemberStatus { member: member.clone(), status: status.as_ref().map(form), conditions: conditions.clone() }
    }
}

/// The desired state of a parent. The default changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Response<Json = Map<String, Value>> {
    /// All children that should exist, or `None` to leave them as they are.
    pub children: Option<Vec<Child<Json>>>,
    /// The whole status that the plugin owns, or `None` to leave it as it is.
    pub status: Option<Json>,
    /// Conditions to set.
    pub conditions: Vec<Condition>,
    /// The Events.
    pub events: Vec<Event>,
    /// When to call again even if nothing changes.
    #[serde(rename = "requeueAfterMs", with = "crate::milliseconds::optional", default)]
    pub requeue_after: Option<Duration>,
    /// All fields of the parent that the plugin sets: see [`Response::completed`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<Json>,
    /// The deletion of the parent, if the plugin asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delete_parent: Option<ParentDeletion>,
    /// The statuses of members of the group.
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<MemberStatus<Json>>,
    /// After `finalize`, whether nothing is left to do. False after `reconcile`.
    pub done: bool,
}

/// All that recordings and comparisons need to know of the fields. A new field does not compile
/// before each of these functions has decided about it.
impl<Json> Response<Json> {
    /// The same with another form of each object, which is called in the order of
    /// [`Response::objects_mut`].
    pub fn map<Other>(&self, mut form: impl FnMut(&Json) -> Other) -> Response<Other> {
        let Self { children, status, conditions, events, requeue_after, parent, delete_parent, members, done } = self;
        Response {
            children: children.as_ref().map(|children| children.iter().map(|child| child.map(&mut form)).collect()),
            status: status.as_ref().map(&mut form),
            conditions: conditions.clone(),
            events: events.clone(),
            requeue_after: *requeue_after,
            parent: parent.as_ref().map(&mut form),
            delete_parent: *delete_parent,
            members: members.iter().map(|member| member.map(&mut form)).collect(),
            done: *done,
        }
    }

    /// The objects, in the order in which the plugin's texts are recorded.
    pub fn objects_mut(&mut self) -> impl Iterator<Item = &mut Json> {
        let Self { children, status, conditions: _, events: _, requeue_after: _, parent, delete_parent: _, members, done: _ } =
            self;
        let applied = children.iter_mut().flatten().filter_map(Child::applied_mut);
        let of_members = members.iter_mut().filter_map(|member| member.status.as_mut());
        applied.map(|child| &mut child.object).chain(status).chain(parent).chain(of_members)
    }

    /// The sentences for people.
    pub fn sentences_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let Self {
            children: _,
            status: _,
            conditions,
            events,
            requeue_after: _,
            parent: _,
            delete_parent: _,
            members,
            done: _,
        } = self;
        let of_members = members.iter_mut().flat_map(|member| &mut member.conditions);
        let of_conditions = conditions.iter_mut().chain(of_members).map(|condition| &mut condition.message);
        of_conditions.chain(events.iter_mut().map(|event| &mut event.message))
    }
}

impl Response {
    /// Returns the response as a whole: if it lists the children, it also lists all fields of the
    /// parent, so that those which it does not set are withdrawn.
    pub fn completed(mut self) -> Self {
        if self.children.is_some() {
            self.parent.get_or_insert_default();
        }
        self
    }
}

impl<Json: PartialEq> Response<Json> {
    /// The fields that differ, as the contract calls them.
    pub fn differences(&self, other: &Self) -> Vec<&'static str> {
        let Self { children, status, conditions, events, requeue_after, parent, delete_parent, members, done } = self;
        let fields = [
            ("children", *children == other.children),
            ("status", *status == other.status),
            ("conditions", *conditions == other.conditions),
            ("events", *events == other.events),
            ("requeue-after", *requeue_after == other.requeue_after),
            ("parent", *parent == other.parent),
            ("delete-parent", *delete_parent == other.delete_parent),
            ("members", *members == other.members),
            ("done", *done == other.done),
        ];
        fields.into_iter().filter(|(_, is_same)| !is_same).map(|(name, _)| name).collect()
    }
}

/// Why the plugin returned no response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason")]
#[expect(missing_docs, reason = "each variant has the message")]
pub enum Failure {
    /// Retry with back-off.
    #[serde(rename = "TransientFailure")]
    Transient { message: String },
    /// Retry after this time.
    RetryAfter {
        message: String,
        #[serde(rename = "afterMs", with = "crate::milliseconds")]
        after: Duration,
    },
    /// Do not retry until an input changes.
    #[serde(rename = "TerminalFailure")]
    Terminal { message: String },
}

impl Failure {
    /// One word in CamelCase: the label of metrics, the reason of conditions and events.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Transient { .. } => "TransientFailure",
            Self::RetryAfter { .. } => "RetryAfter",
            Self::Terminal { .. } => "TerminalFailure",
        }
    }

    /// A sentence, for people.
    pub fn message(&self) -> &str {
        match self {
            Self::Transient { message } | Self::RetryAfter { message, .. } | Self::Terminal { message } => message,
        }
    }

    /// The mutable message.
    pub fn message_mut(&mut self) -> &mut String {
        match self {
            Self::Transient { message } | Self::RetryAfter { message, .. } | Self::Terminal { message } => message,
        }
    }
}
